/*
 * Reading pprof's profile format, of whatever producer.
 *
 * The message is read in place, by fields, in three passes, because referenced items may follow
 * their references: the first counts strings, mappings, locations and functions; the second notes
 * their offsets (read_index.c); the third reads the samples, and with them the locations that they
 * refer to.
 *
 *	sample  →  location ids  →  mapping id, lines  →  function ids  →  string numbers
 *	        →  labels: pid, tid, names of thread and process, for which the format has no field
 *
 * protobuf-c could parse the message whole, but would take ten times its size, and an allocation
 * for each number. The viewer would also need it. (It is used for writing.)
 */
#include "formats/pprof/pprof.h"

#include <errno.h>
#include <string.h>

#include "base/intern.h"
#include "formats/import.h"
#include "formats/known_samples.h"
#include "formats/pprof/read.h"
#include "formats/signed_sums.h"

/* Size of the first sample type, at the start of a profile; two numbers of at most ten bytes. */
#define MAX_TYPE_BYTES    22
#define NUM_DETECT_FIELDS 64

enum pprof_sample_field { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STRING = 2, LABEL_NUMBER = 3 };

/*
 * The owner of a sample, by its labels; strings by their number in the file. Compared by memcmp():
 * five numbers of one size, without padding.
 */
struct pprof_owner {
	uint64_t pid;
	uint64_t tid;
	uint64_t thread;
	uint64_t process;
	uint64_t script;
};

struct process_key {
	uint32_t pid;
	uint32_t comm;
	uint32_t script;
	uint32_t process; /* in the profile */
};
INTERN_TABLE(process_keys, struct process_key, pid, comm, script);

struct samples {
	struct pprof_reader *reader;
	struct pprof_owner last_owner;
	bool has_last_owner;
	uint32_t last_thread;
	struct process_keys processes;
	ARRAY(uint64_t) location_ids; /* of one sample */
	uint64_t values[PPROF_MAX_SAMPLE_TYPES];
	size_t num_values;
	struct signed_sums signed_sums;
	/* Labels for other things than a sample's owner. */
	uint64_t num_others;
	struct text others; /* the keys of the first of them */
	uint32_t num_keys;
};

/* Keys that are named. */
#define MAX_NAMED_KEYS  4
#define MAX_NAMED_BYTES 40

static bool is_word(struct bytes string, const char *const *words)
{
	for (; *words; words++)
		if (string.size == strlen(*words) && !memcmp(string.data, *words, string.size))
			return true;
	return false;
}

/* Whether a key is in a list with commas between them. */
static bool is_named(const struct text *names, struct bytes key)
{
	const char *next = names->data;

	while (next && *next) {
		size_t length = strcspn(next, ",");

		if (length == key.size && !memcmp(next, key.data, length))
			return true;
		next += length + strspn(next + length, ", ");
	}
	return false;
}

static void count_other(struct samples *samples, struct bytes key)
{
	samples->num_others++;
	if (samples->num_keys == MAX_NAMED_KEYS || !key.size || key.size > MAX_NAMED_BYTES ||
	    is_named(&samples->others, key))
		return;
	samples->num_keys++;
	text_append_string(&samples->others, samples->others.length ? ", " : "");
	text_append(&samples->others, (const char *)key.data, key.size);
}

static void warn_of_others(struct samples *samples)
{
	if (samples->num_others)
		import_warn(samples->reader->import,
			    "%llu labels of samples (%s) are skipped: only those of threads and "
			    "processes are read",
			    (unsigned long long)samples->num_others,
			    samples->others.failed || !samples->others.data ? ""
									    : samples->others.data);
}

static int read_label(struct samples *samples, struct bytes label, size_t offset,
		      struct pprof_owner *owner)
{
	/* Those that stackwide, async-profiler, py-spy and Datadog's profilers write. */
	static const char *const pids[] = {"pid", "process_id", "process id", NULL};
	static const char *const tids[] = {"tid", "thread_id", "thread id", NULL};
	static const char *const threads[] = {"thread", "thread name", "thread_name", NULL};
	static const char *const processes[] = {"process", NULL};
	static const char *const scripts[] = {"script", NULL};
	/* Ours, for waits: names of frames contain them, too. */
	static const char *const said[] = {"state", "waker", NULL};
	/* From `pprof -diff_base`: the sample is of the base, and negative. */
	static const char *const bases[] = {"pprof::base", NULL};
	uint64_t values[LABEL_NUMBER + 1] = {0};
	struct protobuf_field field;
	struct bytes key;
	int err;

	while (protobuf_next(&label, &field))
		if (field.type == PROTOBUF_VARINT && field.number <= LABEL_NUMBER)
			values[field.number] = field.value;
	if (label.failed)
		return import_fail_byte(samples->reader->import, offset, "a broken label");
	err = pprof_index_get_string(&samples->reader->index, values[LABEL_KEY], "a label", offset,
				     &key);
	if (err)
		return err;
	if (is_word(key, pids))
		owner->pid = values[LABEL_NUMBER];
	else if (is_word(key, tids))
		owner->tid = values[LABEL_NUMBER];
	else if (is_word(key, threads))
		owner->thread = values[LABEL_STRING];
	else if (is_word(key, processes))
		owner->process = values[LABEL_STRING];
	else if (is_word(key, scripts))
		owner->script = values[LABEL_STRING];
	else if (is_word(key, bases))
		samples->signed_sums.is_comparison = true;
	else if (!samples->reader->is_ours || !is_word(key, said))
		count_other(samples, key);
	return 0;
}

static int add_comm(struct samples *samples, uint64_t index, size_t offset, uint32_t *ret)
{
	struct profile *profile = samples->reader->import->profile;
	struct bytes comm = {0};
	int err = pprof_index_get_string(&samples->reader->index, index, "a label", offset, &comm);

	*ret = STRING_EMPTY;
	if (err || !comm.size)
		return err;
	return profile_add_frame_name(profile, (const char *)comm.data, comm.size, ret);
}

static int add_process(struct samples *samples, uint32_t pid, uint32_t comm, uint32_t script,
		       uint32_t *ret)
{
	struct process_key wanted = {.pid = pid, .comm = comm, .script = script};
	uint32_t item = process_keys_find(&samples->processes, &wanted);
	int err;

	if (item != HASH_INDEX_NONE) {
		*ret = samples->processes.items[item].process;
		return 0;
	}
	err = profile_add_process(samples->reader->import->profile, pid, comm, &wanted.process);
	if (err)
		return err;
	profile_set_process_script(samples->reader->import->profile, wanted.process, script);
	*ret = wanted.process;
	return process_keys_add(&samples->processes, &wanted, &item);
}

static int add_thread(struct samples *samples, const struct pprof_owner *owner, size_t offset,
		      uint32_t *ret)
{
	struct import *import = samples->reader->import;
	struct thread thread = {.source = import->source};
	uint32_t process_comm;
	uint32_t script;
	int err;

	/* Samples of a thread mostly follow each other. */
	if (samples->has_last_owner && !memcmp(owner, &samples->last_owner, sizeof(*owner))) {
		*ret = samples->last_thread;
		return 0;
	}
	thread.tid = owner->tid <= UINT32_MAX ? (uint32_t)owner->tid : 0;
	err = add_comm(samples, owner->thread, offset, &thread.comm);
	if (err)
		return err;
	err = add_comm(samples, owner->process, offset, &process_comm);
	if (err)
		return err;
	err = add_comm(samples, owner->script, offset, &script);
	if (err)
		return err;
	err = add_process(samples, owner->pid <= UINT32_MAX ? (uint32_t)owner->pid : 0,
			  process_comm, script, &thread.process);
	if (err)
		return err;
	err = profile_add_thread(import->profile, &thread, ret);
	if (err)
		return err;
	samples->last_owner = *owner;
	samples->has_last_owner = true;
	samples->last_thread = *ret;
	return 0;
}

static int add_location_id(struct samples *samples, uint64_t id)
{
	uint64_t *added = array_add(&samples->location_ids);

	if (!added)
		return -ENOMEM;
	*added = id;
	return 0;
}

static int add_value(struct samples *samples, uint64_t value)
{
	if (samples->num_values < PPROF_MAX_SAMPLE_TYPES)
		samples->values[samples->num_values] = value;
	samples->num_values++; /* too many are distinguished by their number */
	return 0;
}

/* A list of numbers: in one field, one after the other ("packed"), or one a field. */
static int read_numbers(struct samples *samples, struct protobuf_field field,
			int (*add)(struct samples *samples, uint64_t value), size_t offset)
{
	if (field.type == PROTOBUF_VARINT)
		return add(samples, field.value);
	while (bytes_left(&field.body)) {
		uint64_t value = protobuf_read_varint(&field.body);
		int err;

		if (field.body.failed)
			return import_fail_byte(samples->reader->import, offset,
						"a broken list of numbers");
		err = add(samples, value);
		if (err)
			return err;
	}
	return 0;
}

/* Locations are innermost first, and stacks are made from the outermost on. */
static int add_stack(struct samples *samples, size_t offset, uint32_t *ret)
{
	struct profile *profile = samples->reader->import->profile;
	size_t first;
	int err = pprof_reader_prune(samples->reader, samples->location_ids.items,
				     samples->location_ids.length, &first);

	if (err)
		return err;
	*ret = STACK_EMPTY;
	for (size_t i = samples->location_ids.length; i-- > first;) {
		uint32_t location;

		err = pprof_reader_add_location(samples->reader, samples->location_ids.items[i],
						offset, &location);
		if (err)
			return err;
		err = profile_add_stack(profile, *ret, location, ret);
		if (err)
			return err;
	}
	return 0;
}

/* The values that are not 0; if all are 0, the first, so that the stack is not lost. */
static int add_values(struct samples *samples, uint32_t thread, uint32_t stack, size_t offset)
{
	struct import *import = samples->reader->import;
	bool is_zero = true;

	for (size_t i = 0; i < samples->reader->num_metrics; i++)
		is_zero &= samples->values[i] == 0;
	for (size_t i = 0; i < samples->reader->num_metrics; i++) {
		int err;

		if (!samples->values[i] && (!is_zero || i))
			continue;
		err = samples->values[i] > INT64_MAX
			      ? signed_sums_subtract(&samples->signed_sums, thread, stack,
						     samples->reader->metrics[i],
						     0 - samples->values[i])
			      : profile_add_sample(import->profile, thread, stack,
						   samples->reader->metrics[i], samples->values[i]);
		if (err == -EOVERFLOW) /* the error is returned, with this reason */
			(void)import_fail_byte(import, offset,
					       "a sum of samples overflows 64 bits");
		if (err)
			return err;
		samples->reader->totals[i].read += samples->values[i];
	}
	return 0;
}

static int read_sample_field(struct samples *samples, struct protobuf_field field, size_t offset,
			     struct pprof_owner *owner)
{
	switch (field.number) {
	case SAMPLE_LOCATION:
		return read_numbers(samples, field, add_location_id, offset);
	case SAMPLE_VALUE:
		return read_numbers(samples, field, add_value, offset);
	case SAMPLE_LABEL:
		return field.type == PROTOBUF_BYTES ? read_label(samples, field.body, offset, owner)
						    : 0;
	}
	return 0;
}

static int read_sample(struct samples *samples, struct bytes message, size_t offset)
{
	struct import *import = samples->reader->import;
	struct protobuf_field field;
	struct pprof_owner owner = {0};
	uint32_t thread;
	uint32_t stack;
	int err;

	samples->location_ids.length = 0;
	samples->num_values = 0;
	while (protobuf_next(&message, &field)) {
		err = read_sample_field(samples, field, offset, &owner);
		if (err)
			return err;
	}
	if (message.failed)
		return import_fail_byte(import, offset, "a broken sample");
	/* If there are more or fewer values than sample types, their meaning is unknown. */
	if (samples->num_values != samples->reader->num_metrics)
		return import_fail_byte(import, offset, "a sample with %zu values, expected %zu",
					samples->num_values, samples->reader->num_metrics);
	err = add_thread(samples, &owner, offset, &thread);
	if (err)
		return err;
	err = add_stack(samples, offset, &stack);
	if (err)
		return err;
	err = add_values(samples, thread, stack, offset);
	if (err)
		return err;
	import->counts.records++;
	return 0;
}

/*
 * The third pass. import->advance() is never called: samples refer to messages anywhere, so all
 * bytes are needed until the end.
 */
static int read_samples(struct samples *samples)
{
	struct import *import = samples->reader->import;
	struct bytes bytes = bytes_of(import->data, import->size);
	struct protobuf_field field;
	size_t offset = 0;

	while (protobuf_next(&bytes, &field)) {
		if (field.number == PPROF_FIELD_SAMPLE && field.type == PROTOBUF_BYTES) {
			int err = read_sample(samples, field.body, offset);

			if (err)
				return err;
		}
		offset = bytes.offset;
	}
	warn_of_others(samples);
	if (samples->reader->pruning.num_frames)
		import_warn(import,
			    "dropped %llu frames of %llu samples that match the file's "
			    "drop_frames; --all-frames keeps them",
			    (unsigned long long)samples->reader->pruning.num_frames,
			    (unsigned long long)samples->reader->pruning.num_samples);
	return signed_sums_apply(&samples->signed_sums, import);
}

static void release_samples(struct samples *samples)
{
	process_keys_release(&samples->processes);
	array_release(&samples->location_ids);
	signed_sums_release(&samples->signed_sums);
	text_release(&samples->others);
}

static void release_reader(struct pprof_reader *reader)
{
	pprof_reader_release_code(reader);
	pprof_reader_release_pruning(reader);
	pprof_index_release(&reader->index);
}

/*
 * finished  false: no sample has been read yet. A number that belongs to another sum of values is
 *           void: samples have been removed since.
 */
static int know_samples(struct pprof_reader *reader, struct known_samples *known, bool finished)
{
	for (size_t i = 0; i < reader->num_metrics; i++) {
		const struct pprof_total *total = &reader->totals[i];
		bool is_good = finished && total->stated == total->read;
		int err = known_samples_add(known, reader->import->profile, reader->metrics[i],
					    is_good ? total->num_samples : 0);

		if (err)
			return err;
	}
	if (finished)
		known_samples_apply(known, reader->import->profile);
	return 0;
}

int pprof_read(struct import *import)
{
	_cleanup_(release_reader) struct pprof_reader reader = {.import = import};
	_cleanup_(release_samples) struct samples samples = {.reader = &reader};
	_cleanup_(known_samples_release) struct known_samples known = {0};
	int err;

	if (import->size > UINT32_MAX)
		return import_fail_byte(import, UINT32_MAX, "a profile of at most 4 GiB");
	err = pprof_index_init(&reader.index, import);
	if (err)
		return err;
	err = pprof_reader_read_header(&reader);
	if (err)
		return err;
	err = pprof_reader_prepare_code(&reader);
	if (err)
		return err;
	err = pprof_reader_prepare_pruning(&reader);
	if (err)
		return err;
	err = know_samples(&reader, &known, false);
	if (err)
		return err;
	err = read_samples(&samples);
	if (err)
		return err;
	err = know_samples(&reader, &known, true);
	if (err || import->will_name_code)
		return err;
	return unsymbolized_code_name(import, false, UNNAMED_NO_SYMBOL);
}

/* A ValueType: nothing but two numbers. */
static bool is_type(struct bytes message)
{
	struct protobuf_field field;

	if (message.size > MAX_TYPE_BYTES)
		return false;
	while (protobuf_next(&message, &field))
		if (field.number > 2 || field.type != PROTOBUF_VARINT)
			return false;
	return !message.failed;
}

/* Whether a field can be one of a Profile. */
static bool is_field(const struct protobuf_field *field)
{
	bool is_number =
		field->number == 7 || field->number == 8 || field->number == PPROF_FIELD_TIME ||
		field->number == PPROF_FIELD_DURATION || field->number == PPROF_FIELD_PERIOD ||
		field->number == 14 || field->number == 15;

	if (field->number == PPROF_FIELD_COMMENT)
		return field->type == PROTOBUF_VARINT || field->type == PROTOBUF_BYTES;
	if (field->number == PPROF_FIELD_SAMPLE_TYPE || field->number == PPROF_FIELD_PERIOD_TYPE)
		return field->type == PROTOBUF_BYTES && is_type(field->body);
	if (is_number)
		return field->type == PROTOBUF_VARINT;
	return field->number <= PPROF_FIELD_STRING && field->type == PROTOBUF_BYTES;
}

/*
 * The format has no magic number. Its fields are checked until there were many, or they end, or are
 * broken: each must fit, and a message or string besides the sample type must be there, for a
 * number fits by chance. Without a sample type, a broken file is a profile by its name only.
 */
enum detection pprof_detect(const uint8_t *data, size_t size)
{
	struct bytes bytes = bytes_of(data, size);
	struct protobuf_field field;
	bool has_field = false;
	bool has_type = false;
	bool has_more = false;

	for (int i = 0; i < NUM_DETECT_FIELDS && protobuf_next(&bytes, &field); i++) {
		if (!is_field(&field))
			return DETECTED_NOT;
		has_field = true;
		has_type |= field.number == PPROF_FIELD_SAMPLE_TYPE;
		has_more |= field.number != PPROF_FIELD_SAMPLE_TYPE && field.type == PROTOBUF_BYTES;
	}
	if (has_type && has_more)
		return DETECTED_SURE;
	if (has_more && !bytes.failed)
		return DETECTED_MAYBE;
	return has_field ? DETECTED_BY_NAME : DETECTED_NOT;
}

const struct format format_pprof = {
	.name = "pprof",
	.extension = ".pb.gz",
	.is_compressed = true,
	.summary = "profile of pprof, compressed: addresses, lines, threads",
	.producers = "Go 1.19",
	.has_all_metrics = true,
	.holds_comparison = true,
	.has_threads = true,
	.has_lines = true,
	.has_addresses = true,
	.write = NOT_IN_PAGE(pprof_write),
	.detect = pprof_detect,
	.read = pprof_read,
};
