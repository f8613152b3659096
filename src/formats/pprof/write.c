/*
 * Writing pprof's profile format.
 *
 * The parts of the message are written one after the other, each serialized alone, so that only the
 * tables are in memory. The order is that of need: samples first, which determine the needed
 * locations; their mappings; the locations, and with them the functions; then these, and the
 * strings, which all of them have added to.
 *
 * A sample of pprof has a value for each metric, ours are one a metric: those of one thread and
 * stack are put together (list_samples).
 *
 * A location of pprof is a code address with the calls inlined there. Ours are the same when a
 * recorder made them; an importer of folded text has every inlined call as a location of its own.
 * Here it is joined with the function it is inlined into. Such a chain of our locations is a
 * stack of the table `chains`, and its number is the id.
 */
#include "formats/pprof/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <pprof.pb-c.h>

#include "formats/format.h"
#include "formats/known_samples.h"
#include "formats/pprof/write.h"
#include "formats/protobuf_writer.h"

/* Locations that are inlined into one another and become one. */
#define MAX_CHAIN 64

static int write_sample_types(struct pprof_writer *writer)
{
	for (uint32_t i = 0; i < profile_count_metrics(writer->profile); i++) {
		const struct metric *metric = profile_get_metric(writer->profile, i);
		Pprof__ValueType type = PPROF__VALUE_TYPE__INIT;
		uint32_t name;
		uint32_t unit;
		int err = pprof_writer_copy_string(writer, metric->name, &name);

		if (err)
			return err;
		err = pprof_writer_copy_string(writer, metric->unit, &unit);
		if (err)
			return err;
		type.type = name;
		type.unit = unit;
		err = pprof_writer_put(writer, PPROF_FIELD_SAMPLE_TYPE, &type.base);
		if (err)
			return err;
	}
	return 0;
}

/* Whether the next location is the caller that inlined the location's last frame, its outermost. */
static bool ends_inlined(const struct profile *profile, uint32_t id)
{
	const struct location *location = profile_get_location(profile, id);
	uint32_t last = location->first_frame + location->num_frames - 1;

	return location->num_frames && profile_get_frame(profile, last)->is_inlined;
}

static int mark_location(struct pprof_writer *writer, uint32_t chain)
{
	while (writer->is_location.length <= chain)
		if (!array_add(&writer->is_location))
			return -ENOMEM;
	writer->is_location.items[chain] = true;
	return 0;
}

/*
 * The ids of a sample's locations, innermost first. MAX_CHAIN bounds the size of a location, and
 * the recursion for it, if all frames of a deep stack are marked as inlined.
 */
static int list_locations(struct pprof_writer *writer, uint32_t stack)
{
	const struct profile *profile = writer->profile;

	writer->location_ids.length = 0;
	while (stack != STACK_EMPTY) {
		uint32_t chain = STACK_EMPTY;
		bool goes_on = true;
		uint64_t *added;
		int err;

		for (int i = 0; goes_on && i < MAX_CHAIN && stack != STACK_EMPTY; i++) {
			uint32_t location = profile_get_stack_location(profile, stack);

			err = stack_table_add(writer->chains, chain, location, &chain);
			if (err)
				return err;
			goes_on = ends_inlined(profile, location);
			stack = profile_get_stack_parent(profile, stack);
		}
		err = mark_location(writer, chain);
		if (err)
			return err;
		added = array_add(&writer->location_ids);
		if (!added)
			return -ENOMEM;
		*added = chain;
	}
	return 0;
}

/* The samples of one thread's stack, one for each metric that has any. */
struct pprof_group {
	uint32_t thread;
	uint32_t stack;
	uint32_t sample;
	uint32_t first; /* smallest sample number of the group: its place */
};

/* A label has a number or a string; 0 and the empty string mean nothing and are not written. */
static int add_label(struct pprof_writer *writer, const char *key, uint32_t number,
		     const char *string, size_t length)
{
	uint32_t key_id;
	uint32_t id = 0;
	size_t mark;
	int err;

	if (!number && !length)
		return 0;
	err = pprof_writer_add_string(writer, key, strlen(key), &key_id);
	if (!err && length)
		err = pprof_writer_add_string(writer, string, length, &id);
	if (err)
		return err;
	mark = protobuf_start(&writer->output, PPROF_SAMPLE_LABEL);
	protobuf_put_nonzero(&writer->output, PPROF_LABEL_KEY, key_id);
	protobuf_put_nonzero(&writer->output, PPROF_LABEL_STR, id);
	protobuf_put_nonzero(&writer->output, PPROF_LABEL_NUM, number);
	protobuf_end(&writer->output, mark);
	return 0;
}

/* string  of the profile */
static int add_name(struct pprof_writer *writer, const char *key, uint32_t string)
{
	return add_label(writer, key, 0, profile_get_string(writer->profile, string),
			 profile_get_string_length(writer->profile, string));
}

static int add_thread(struct pprof_writer *writer, uint32_t thread_id)
{
	const struct thread *thread = profile_get_thread(writer->profile, thread_id);
	const struct process_info *process = profile_get_process(writer->profile, thread->process);
	int err = add_label(writer, "pid", process->pid, NULL, 0);

	if (err)
		return err;
	err = add_label(writer, "tid", thread->tid, NULL, 0);
	if (err)
		return err;
	err = add_name(writer, "thread", thread->comm);
	if (err)
		return err;
	err = add_name(writer, "process", process->comm);
	return err ? err : add_name(writer, "script", process->script);
}

/* The innermost frame's. */
static const char *get_innermost_name(const struct profile *profile, uint32_t stack)
{
	const struct location *location =
		profile_get_location(profile, profile_get_stack_location(profile, stack));

	if (!location->num_frames)
		return "";
	return profile_get_string(profile, profile_get_frame(profile, location->first_frame)->name);
}

static bool is_one_of(const char *name, const char *const *names)
{
	while (*names && !string_equals(name, *names))
		names++;
	return *names;
}

/* In an expression, as pprof's -tagfocus takes them, brackets would be a class of characters. */
static int add_without_brackets(struct pprof_writer *writer, const char *key, const char *name)
{
	size_t length = strlen(name);

	if (name[0] == '[' && name[length - 1] == ']')
		return add_label(writer, key, 0, name + 1, length - 2);
	return add_label(writer, key, 0, name, length);
}

/*
 * The state of a wait's thread, and its waker: they are also in names of frames, which are read
 * back.
 */
static int add_wait(struct pprof_writer *writer, const struct pprof_group *group)
{
	static const char *const states[] = {BLOCKED_FRAME_NAME, UNINTERRUPTIBLE_FRAME_NAME,
					     RUN_QUEUE_FRAME_NAME, PREEMPTED_FRAME_NAME, NULL};
	static const char *const unknown_wakers[] = {WAKER_UNKNOWN_NAME, WAKER_NOBODY_NAME, NULL};
	const struct profile *profile = writer->profile;
	uint32_t metric = profile_get_sample(profile, group->sample)->metric;
	bool has_waker = string_equals(
		profile_get_string(profile, profile_get_metric(profile, metric)->name),
		METRIC_OFFWAKE);
	uint32_t stack = group->stack;
	const char *name;

	if (stack == STACK_EMPTY)
		return 0;
	name = get_innermost_name(profile, stack);
	if (has_waker && !is_one_of(name, unknown_wakers)) {
		int err = add_without_brackets(writer, "waker", name);

		if (err)
			return err;
	}
	/* The wait is behind its waker. */
	while (has_waker && stack != STACK_EMPTY && !is_one_of(name, states)) {
		stack = profile_get_stack_parent(profile, stack);
		name = stack == STACK_EMPTY ? "" : get_innermost_name(profile, stack);
	}
	return is_one_of(name, states) ? add_without_brackets(writer, "state", name) : 0;
}

static int compare_by_stack(const void *left, const void *right)
{
	const struct pprof_group *a = left;
	const struct pprof_group *b = right;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

static int compare_by_place(const void *left, const void *right)
{
	const struct pprof_group *a = left;
	const struct pprof_group *b = right;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return (a->sample > b->sample) - (a->sample < b->sample);
}

/*
 * All samples, those of one group next to each other, and the groups in the order of their first
 * samples: a profile that is read and written again keeps its order. NULL when out of memory.
 */
static struct pprof_group *list_samples(const struct profile *profile)
{
	uint32_t count = profile_count_samples(profile);
	struct pprof_group *groups = calloc((size_t)count + 1, sizeof(*groups));

	if (!groups)
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		groups[i] = (struct pprof_group){sample->thread, sample->stack, i, i};
	}
	if (profile_count_metrics(profile) < 2)
		return groups;
	qsort(groups, count, sizeof(*groups), compare_by_stack);
	for (uint32_t i = 1; i < count; i++)
		if (groups[i].thread == groups[i - 1].thread &&
		    groups[i].stack == groups[i - 1].stack)
			groups[i].first = groups[i - 1].first;
	qsort(groups, count, sizeof(*groups), compare_by_place);
	return groups;
}

static int write_sample(struct pprof_writer *writer, const struct pprof_group *group,
			const int64_t *values)
{
	struct text *output = &writer->output;
	uint32_t num_values = profile_count_metrics(writer->profile);
	size_t sample;
	size_t list;
	int err = list_locations(writer, group->stack);

	if (err)
		return err;
	sample = protobuf_start(output, PPROF_FIELD_SAMPLE);
	if (writer->location_ids.length) {
		list = protobuf_start(output, PPROF_SAMPLE_LOCATION);
		array_for_each (&writer->location_ids, id)
			protobuf_put_packed(output, *id);
		protobuf_end(output, list);
	}
	if (num_values) {
		list = protobuf_start(output, PPROF_SAMPLE_VALUE);
		for (uint32_t i = 0; i < num_values; i++)
			protobuf_put_packed(output, (uint64_t)values[i]);
		protobuf_end(output, list);
	}
	err = add_thread(writer, group->thread);
	if (err)
		return err;
	err = add_wait(writer, group);
	if (err)
		return err;
	protobuf_end(output, sample);
	return sink_drain(writer->sink, output);
}

static int write_samples(struct pprof_writer *writer)
{
	const struct profile *profile = writer->profile;
	uint32_t count = profile_count_samples(profile);
	uint32_t num_values = profile_count_metrics(profile);
	_cleanup_free_ struct pprof_group *groups = list_samples(profile);
	_cleanup_free_ int64_t *values = calloc((size_t)num_values + 1, sizeof(*values));

	if (!groups || !values)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++) {
		const struct sample *sample = profile_get_sample(profile, groups[i].sample);
		int err;

		/* The format's values are signed. */
		if (sample->value > INT64_MAX)
			return -EOVERFLOW;
		values[sample->metric] = (int64_t)sample->value;
		if (i + 1 < count && groups[i + 1].first == groups[i].first)
			continue;
		err = write_sample(writer, &groups[i], values);
		if (err)
			return err;
		memset(values, 0, num_values * sizeof(*values));
	}
	return 0;
}

static _printf_(3, 4) int add_comment(struct pprof_writer *writer, struct text *tail,
				      const char *format, ...)
{
	char comment[128];
	va_list arguments;
	uint32_t id;
	int err;

	va_start(arguments, format);
	vsnprintf(comment, sizeof(comment), format, arguments);
	va_end(arguments);
	err = pprof_writer_add_string(writer, comment, strlen(comment), &id);
	if (err)
		return err;
	protobuf_put_number(tail, PPROF_FIELD_COMMENT, id);
	return 0;
}

/* Append a count that is known, as a comment. */
static int add_count(struct pprof_writer *writer, struct text *tail, const char *name,
		     uint64_t count)
{
	return count ? add_comment(writer, tail, "%s%" PRIu64, name, count) : 0;
}

/*
 * Results of reading a file are not written to the next one. The number of CPUs of several
 * recordings is not a sum.
 */
static bool is_written(const struct profile *profile, const struct tally *tally)
{
	const char *name = profile_get_string(profile, tally->name);

	return !string_starts_with(name, "import.") &&
	       (profile_count_sources(profile) < 2 || !string_equals(name, "cpus"));
}

/* The tallies, those of one name summed up, in order of each name's first occurrence. */
static int add_account(struct pprof_writer *writer, struct text *tail)
{
	const struct profile *profile = writer->profile;
	const struct provenance *provenance = profile_get_provenance(profile);
	uint32_t num_tallies = provenance_count_tallies(provenance);
	_cleanup_free_ uint64_t *sums =
		calloc(profile_count_strings(profile), sizeof(*sums)); /* by name */

	if (!sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_tallies; i++) {
		const struct tally *tally = provenance_get_tally(provenance, i);
		uint64_t *sum = &sums[tally->name];

		if (is_written(profile, tally) && __builtin_add_overflow(*sum, tally->count, sum))
			*sum = UINT64_MAX;
	}
	for (uint32_t i = 0; i < num_tallies; i++) {
		uint32_t name = provenance_get_tally(provenance, i)->name;
		int err;

		if (!sums[name])
			continue;
		err = add_comment(writer, tail, PPROF_ACCOUNT "%s=%" PRIu64,
				  profile_get_string(profile, name), sums[name]);
		if (err)
			return err;
		sums[name] = 0;
	}
	return 0;
}

/* The number of samples of each sample type's values; see pprof.h. */
static int add_sample_counts(struct pprof_writer *writer, struct text *tail)
{
	const struct profile *profile = writer->profile;
	uint32_t num_metrics = profile_count_metrics(profile);
	_cleanup_free_ uint64_t *sums = calloc((size_t)num_metrics + 1, sizeof(*sums));
	_cleanup_(text_release) struct text comment = {0};

	if (!sums)
		return -ENOMEM;
	/* They may exceed 64 bits, as those of the reader do. */
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		sums[sample->metric] += sample->value;
	}
	for (uint32_t i = 0; i < num_metrics; i++) {
		const struct metric *metric = profile_get_metric(profile, i);
		uint64_t num_samples = known_samples_get(profile, i);
		uint32_t id;
		int err;

		if (!num_samples)
			continue;
		text_truncate(&comment, 0);
		text_printf(&comment, PPROF_SAMPLES "%" PRIu64 " of %" PRIu64 " %s/%s", num_samples,
			    sums[i], profile_get_string(profile, metric->name),
			    profile_get_string(profile, metric->unit));
		if (comment.failed)
			return -ENOMEM;
		err = pprof_writer_add_string(writer, comment.data, comment.length, &id);
		if (err)
			return err;
		protobuf_put_number(tail, PPROF_FIELD_COMMENT, id);
	}
	return 0;
}

/* Readers would show the last sample type; ours is the first. */
static int add_default_type(struct pprof_writer *writer, struct text *tail)
{
	uint32_t name;
	int err;

	if (profile_count_metrics(writer->profile) < 2)
		return 0;
	err = pprof_writer_copy_string(writer, profile_get_metric(writer->profile, 0)->name, &name);
	if (err)
		return err;
	protobuf_put_number(tail, PPROF_FIELD_DEFAULT_TYPE, name);
	return 0;
}

/*
 * The fields behind the string table; their strings must be in it. Single numbers are last, since
 * all strings must be in the table before it is written. In protobuf the order of fields means
 * nothing.
 */
static int make_tail(struct pprof_writer *writer, struct text *tail)
{
	const struct sampling *sampling = profile_get_sampling(writer->profile);
	_cleanup_(text_release) struct text type = {0};
	uint32_t cpu;
	uint32_t unit;
	int err = add_comment(writer, tail, PPROF_COMMENT STACKWIDE_VERSION);

	if (err)
		return err;
	err = add_count(writer, tail, PPROF_COMPLETE_STACKS, sampling->complete_stacks);
	if (err)
		return err;
	err = add_count(writer, tail, PPROF_TRUNCATED_STACKS, sampling->truncated_stacks);
	if (err)
		return err;
	err = add_count(writer, tail, PPROF_LOST_SAMPLES, sampling->lost_samples);
	if (err)
		return err;
	err = add_account(writer, tail);
	if (err)
		return err;
	err = add_sample_counts(writer, tail);
	if (err)
		return err;
	err = add_default_type(writer, tail);
	if (err)
		return err;
	if (sampling->start_ns)
		protobuf_put_number(tail, PPROF_FIELD_TIME, sampling->start_ns);
	if (sampling->duration_ns)
		protobuf_put_number(tail, PPROF_FIELD_DURATION, sampling->duration_ns);
	if (!sampling->period_ns)
		return 0;
	err = pprof_writer_add_string(writer, "cpu", strlen("cpu"), &cpu);
	if (err)
		return err;
	err = pprof_writer_add_string(writer, "nanoseconds", strlen("nanoseconds"), &unit);
	if (err)
		return err;
	protobuf_put_number(&type, 1, cpu);
	protobuf_put_number(&type, 2, unit);
	protobuf_put_bytes(tail, PPROF_FIELD_PERIOD_TYPE, type.data, type.length);
	protobuf_put_number(tail, PPROF_FIELD_PERIOD, sampling->period_ns);
	tail->failed |= type.failed;
	return 0;
}

static int write_strings(struct pprof_writer *writer)
{
	uint32_t count = string_table_get_count(writer->strings);
	int err;

	for (uint32_t id = 0; id < count; id++) {
		protobuf_put_bytes(&writer->output, PPROF_FIELD_STRING,
				   string_table_get(writer->strings, id),
				   string_table_get_length(writer->strings, id));
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	return 0;
}

static int write_message(struct pprof_writer *writer)
{
	_cleanup_(text_release) struct text tail = {0};
	int err = write_sample_types(writer);

	if (err)
		return err;
	err = write_samples(writer);
	if (err)
		return err;
	err = pprof_writer_put_code(writer);
	if (err)
		return err;
	err = make_tail(writer, &tail);
	if (err)
		return err;
	err = write_strings(writer);
	if (err)
		return err;
	text_append(&writer->output, tail.data, tail.length);
	writer->output.failed |= tail.failed;
	return sink_flush(writer->sink, &writer->output);
}

static void release_writer(struct pprof_writer *writer)
{
	string_table_free(writer->strings);
	stack_table_free(writer->chains);
	array_release(&writer->is_location);
	pprof_mappings_release(&writer->mappings);
	pprof_functions_release(&writer->functions);
	array_release(&writer->location_ids);
	text_release(&writer->output);
	text_release(&writer->scratch);
}

int pprof_write(const struct profile *profile, const struct format_opts *opts _unused_,
		const struct sink *sink)
{
	_cleanup_(gzip_sink_freep) struct gzip_sink *gzip = gzip_sink_new(sink);
	_cleanup_(release_writer) struct pprof_writer writer = {
		.profile = profile,
		.sink = gzip ? gzip_sink_get(gzip) : NULL,
		.strings = string_table_new(),
		.chains = stack_table_new(),
	};
	int err;

	if (!gzip || !writer.strings || !writer.chains)
		return -ENOMEM;
	err = write_message(&writer);
	if (err)
		return err;
	return gzip_sink_finish(gzip);
}
