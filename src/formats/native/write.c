/*
 * Writing our own format (native.h): the whole profile, once its addresses have names.
 *
 * It is made to be small after gzip, by columns (column.h) of small and predictable numbers.
 * Strings and frames are sorted, so that one differs little from the one before. A frame of a stack
 * is named by its place among the callees of its caller, in the whole profile. The number of
 * callees of a stack is stored with those of similar stacks (stack_order.h).
 *
 * A profile whose locations have several frames (inlined calls), or none, is copied first, so that
 * each location has exactly one (named_profile.h). Addresses and build IDs get lost by that.
 */
#include "formats/native.h"

#include <errno.h>

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/script_name.h"
#include "formats/base64.h"
#include "formats/named_profile.h"
#include "formats/native/column.h"
#include "formats/native/write.h"

#define NO_START          UINT64_MAX
#define MAX_TABLE_COLUMNS 7

/* A table's columns; the first one is written whole. */
struct table {
	struct column columns[MAX_TABLE_COLUMNS];
};

/* ---- columns ------------------------------------------------------------------------------ */

static int write_table(struct native_writer *writer, struct table *table, size_t num_columns)
{
	for (size_t i = 0; i < num_columns; i++) {
		int err = native_writer_put_column(writer, &table->columns[i], i == 0);

		if (err)
			return err;
	}
	return 0;
}

static void table_add(struct table *table, const uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		column_add(&table->columns[i], numbers[i]);
}

static void table_release(struct table *table)
{
	for (size_t i = 0; i < MAX_TABLE_COLUMNS; i++)
		column_release(&table->columns[i]);
}

/* ---- names -------------------------------------------------------------------------------- */

/* Mark a name as used: 1 until write_names() replaces it by its number. */
static int require_name(struct native_writer *writer, uint32_t string)
{
	while (writer->numbers.length <= string)
		if (!array_add(&writer->numbers))
			return -ENOMEM;
	if (string != STRING_EMPTY)
		writer->numbers.items[string] = 1;
	return 0;
}

static uint32_t get_number(const struct native_writer *writer, uint32_t string)
{
	return writer->numbers.items[string];
}

static int require_frame_names(struct native_writer *writer, const struct frame *frame)
{
	int err = require_name(writer, frame->name);

	if (err)
		return err;
	err = require_name(writer, frame->full_name);
	if (err)
		return err;
	err = require_name(writer, frame->module);
	if (err)
		return err;
	return require_name(writer, frame->file);
}

/*
 * Sources without remaining threads, because they were filtered out, get no number: readers of the
 * file shall not see inputs without samples.
 */
static int number_sources(struct native_writer *writer)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < profile_count_sources(writer->profile); i++)
		if (!array_add(&writer->sources))
			return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_threads(writer->profile); i++) {
		uint32_t source = profile_get_thread(writer->profile, i)->source;

		if (source < writer->sources.length)
			writer->sources.items[source] = 1;
	}
	for (size_t i = 0; i < writer->sources.length; i++)
		if (writer->sources.items[i])
			writer->sources.items[i] = ++number;
	return 0;
}

static int require_source_names(struct native_writer *writer, uint32_t source)
{
	int err = require_name(writer, profile_get_source(writer->profile, source));

	if (err)
		return err;
	return require_name(writer,
			    provenance_get_label(profile_get_provenance(writer->profile), source));
}

/*
 * The same walks as the writing below: every name that is written must be required here, or its
 * number would be 0, the empty name. The first line makes room, so that get_number() may be asked
 * about STRING_EMPTY in a profile without names.
 */
static int require_names(struct native_writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct provenance *provenance = profile_get_provenance(profile);
	int err = require_name(writer, STRING_EMPTY);

	if (err)
		return err;
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++) {
		err = require_name(writer, profile_get_metric(profile, i)->name);
		if (err)
			return err;
		err = require_name(writer, profile_get_metric(profile, i)->unit);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_sources(profile); i++) {
		if (!writer->sources.items[i])
			continue;
		err = require_source_names(writer, i);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < provenance_count_tallies(provenance); i++) {
		err = require_name(writer, provenance_get_tally(provenance, i)->name);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_processes(profile); i++) {
		err = require_name(writer, profile_get_process(profile, i)->comm);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_threads(profile); i++) {
		err = require_name(writer, profile_get_thread(profile, i)->comm);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		err = require_frame_names(writer,
					  profile_get_frame(profile, location->first_frame));
		if (err)
			return err;
	}
	return 0;
}

static int compare_strings(const void *left, const void *right, void *context)
{
	const struct profile *profile = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	size_t length_a = profile_get_string_length(profile, a);
	size_t length_b = profile_get_string_length(profile, b);
	int order = memcmp(profile_get_string(profile, a), profile_get_string(profile, b),
			   length_a < length_b ? length_a : length_b);

	return order ? order : (length_a > length_b) - (length_a < length_b);
}

static size_t get_common_length(const char *a, size_t length_a, const char *b, size_t length_b)
{
	size_t common = 0;

	while (common < length_a && common < length_b && a[common] == b[common])
		common++;
	return common;
}

/* Sorted, each as its difference from the one before. */
static int write_sorted_names(struct native_writer *writer, const uint32_t *ids, size_t count)
{
	const struct profile *profile = writer->profile;
	_cleanup_(table_release) struct table table = {0};
	_cleanup_(text_release) struct text rests = {0};
	const char *last = "";
	size_t last_length = 0;
	int err;

	for (size_t i = 0; i < count; i++) {
		const char *name = profile_get_string(profile, ids[i]);
		size_t length = profile_get_string_length(profile, ids[i]);
		size_t common = get_common_length(last, last_length, name, length);

		writer->numbers.items[ids[i]] = (uint32_t)i + 1;
		column_add(&table.columns[0], length - common);
		column_add(&table.columns[1], common);
		text_append(&rests, name + common, length - common);
		last = name;
		last_length = length;
	}
	err = write_table(writer, &table, 2);
	if (err)
		return err;
	err = native_writer_set_repetitive(writer, true);
	if (err)
		return err;
	return sink_flush(writer->sink, &rests);
}

static int write_names(struct native_writer *writer)
{
	_cleanup_free_ uint32_t *ids = calloc(writer->numbers.length + 1, sizeof(*ids));
	size_t count = 0;

	if (!ids)
		return -ENOMEM;
	for (uint32_t i = 1; i < writer->numbers.length; i++)
		if (writer->numbers.items[i])
			ids[count++] = i;
	qsort_r(ids, count, sizeof(*ids), compare_strings, (void *)(uintptr_t)writer->profile);
	return write_sorted_names(writer, ids, count);
}

/* ---- items with names --------------------------------------------------------------------- */

/* Find the common divisor of all weights of a metric: the period of a recording, if it has one. */
static int find_steps(struct native_writer *writer)
{
	const struct profile *profile = writer->profile;
	size_t num_timestamps = writer->timestamps ? timestamps_count(writer->timestamps) : 0;
	uint64_t *steps = calloc((size_t)profile_count_metrics(profile) + 1, sizeof(*steps));

	writer->steps = steps;
	if (!steps)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		if (steps[sample->metric] != 1)
			steps[sample->metric] =
				find_common_divisor(sample->value, steps[sample->metric]);
	}
	for (size_t i = 0; i < num_timestamps; i++) {
		const struct timestamp *timestamp = timestamps_get(writer->timestamps, i);
		uint64_t *step = &steps[profile_get_sample(profile, timestamp->sample)->metric];

		if (*step != 1)
			*step = find_common_divisor(timestamp->weight, *step);
	}
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++)
		if (!steps[i])
			steps[i] = 1;
	return 0;
}

static int write_metrics(struct native_writer *writer)
{
	_cleanup_(table_release) struct table table = {0};

	for (uint32_t i = 0; i < profile_count_metrics(writer->profile); i++) {
		const struct metric *metric = profile_get_metric(writer->profile, i);
		uint64_t numbers[] = {get_number(writer, metric->name),
				      get_number(writer, metric->unit), writer->steps[i],
				      metric->num_samples};

		table_add(&table, numbers, ARRAY_LENGTH(numbers));
	}
	return write_table(writer, &table, 4);
}

static int write_sources(struct native_writer *writer)
{
	const struct provenance *provenance = profile_get_provenance(writer->profile);
	_cleanup_(table_release) struct table table = {0};

	for (uint32_t i = 0; i < profile_count_sources(writer->profile); i++) {
		uint64_t numbers[] = {get_number(writer, profile_get_source(writer->profile, i)),
				      get_number(writer, provenance_get_label(provenance, i))};

		if (writer->sources.items[i])
			table_add(&table, numbers, ARRAY_LENGTH(numbers));
	}
	return write_table(writer, &table, 2);
}

/*
 * Whether the data of a source is written, and under which number: 0 is that of a profile without
 * sources, a recording.
 */
static bool find_source(const struct native_writer *writer, uint32_t source, uint64_t *ret)
{
	*ret = source < writer->sources.length ? writer->sources.items[source] : 0;
	return *ret || !writer->sources.length;
}

static bool is_known(const struct sampling *sampling)
{
	return sampling->start_ns || sampling->duration_ns || sampling->period_ns ||
	       sampling->complete_stacks || sampling->truncated_stacks || sampling->lost_samples;
}

static int write_samplings(struct native_writer *writer)
{
	const struct provenance *provenance = profile_get_provenance(writer->profile);
	_cleanup_(table_release) struct table table = {0};

	for (uint32_t i = 0; i < writer->sources.length || i == 0; i++) {
		const struct sampling *sampling = provenance_find_sampling(provenance, i);
		uint64_t source;

		if (!sampling || !is_known(sampling) || !find_source(writer, i, &source))
			continue;
		table_add(&table,
			  (uint64_t[]){source, sampling->start_ns, sampling->duration_ns,
				       sampling->period_ns, sampling->complete_stacks,
				       sampling->truncated_stacks, sampling->lost_samples},
			  7);
	}
	return write_table(writer, &table, 7);
}

static int write_tallies(struct native_writer *writer)
{
	const struct provenance *provenance = profile_get_provenance(writer->profile);
	_cleanup_(table_release) struct table table = {0};

	for (uint32_t i = 0; i < provenance_count_tallies(provenance); i++) {
		const struct tally *tally = provenance_get_tally(provenance, i);
		uint64_t source;

		if (!find_source(writer, tally->source, &source))
			continue;
		table_add(&table,
			  (uint64_t[]){source, get_number(writer, tally->name), tally->count}, 3);
	}
	return write_table(writer, &table, 3);
}

/*
 * The time of the calendar is that at the first timestamp, and not at the clock's zero: it is a
 * date that a person can check, even if the clock counts from the boot.
 */
static int write_clocks(struct native_writer *writer)
{
	_cleanup_(table_release) struct table table = {0};

	for (uint32_t i = 0; i < writer->starts.length; i++) {
		uint64_t start_ns = writer->starts.items[i];
		uint64_t real_ns = 0;
		uint64_t source;

		if (start_ns == NO_START || !find_source(writer, i, &source))
			continue;
		if (timestamps_find_clock(writer->timestamps, i, &real_ns))
			real_ns += start_ns;
		table_add(&table, (uint64_t[]){source, start_ns, real_ns}, 3);
	}
	return write_table(writer, &table, 3);
}

static int write_processes(struct native_writer *writer)
{
	_cleanup_(table_release) struct table table = {0};

	for (uint32_t i = 0; i < profile_count_processes(writer->profile); i++) {
		const struct process_info *process = profile_get_process(writer->profile, i);

		table_add(&table, (uint64_t[]){process->pid, get_number(writer, process->comm)}, 2);
	}
	return write_table(writer, &table, 2);
}

static int write_threads(struct native_writer *writer)
{
	_cleanup_(table_release) struct table table = {0};

	for (uint32_t i = 0; i < profile_count_threads(writer->profile); i++) {
		const struct thread *thread = profile_get_thread(writer->profile, i);
		uint64_t source;

		(void)find_source(writer, thread->source, &source); /* else it is 0 */
		table_add(&table,
			  (uint64_t[]){thread->tid, thread->process,
				       get_number(writer, thread->comm), source},
			  4);
	}
	return write_table(writer, &table, 4);
}

/* ---- frames ------------------------------------------------------------------------------- */

static const struct frame *get_frame(const struct native_writer *writer, uint32_t location)
{
	return profile_get_frame(writer->profile,
				 profile_get_location(writer->profile, location)->first_frame);
}

static int compare_frames(const void *left, const void *right, void *context)
{
	const struct native_writer *writer = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;
	uint32_t name_a = get_number(writer, get_frame(writer, a)->name);
	uint32_t name_b = get_number(writer, get_frame(writer, b)->name);

	if (name_a != name_b)
		return name_a < name_b ? -1 : 1;
	return (a > b) - (a < b);
}

/* Number them by name; each location has one frame. */
static int number_frames(struct native_writer *writer)
{
	uint32_t count = profile_count_locations(writer->profile);

	writer->frames = calloc((size_t)count + 1, sizeof(*writer->frames));
	writer->frame_locations = calloc((size_t)count + 1, sizeof(*writer->frame_locations));
	if (!writer->frames || !writer->frame_locations)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		writer->frame_locations[i] = i;
	qsort_r(writer->frame_locations, count, sizeof(*writer->frame_locations), compare_frames,
		writer);
	for (uint32_t i = 0; i < count; i++)
		writer->frames[writer->frame_locations[i]] = i;
	return 0;
}

/* Full names are sorted in near the names, and neighbours are often of the same file. */
static int write_frames(struct native_writer *writer)
{
	_cleanup_(table_release) struct table table = {0};
	uint32_t last_name = 0;
	uint32_t last_file = 0;
	int err = number_frames(writer);

	if (err)
		return err;
	for (uint32_t i = 0; i < profile_count_locations(writer->profile); i++) {
		const struct frame *frame = get_frame(writer, writer->frame_locations[i]);
		uint32_t name = get_number(writer, frame->name);
		uint32_t file = get_number(writer, frame->file);

		column_add(&table.columns[0], name - last_name);
		column_add_signed(&table.columns[1],
				  (int64_t)get_number(writer, frame->full_name) - name);
		column_add(&table.columns[2], get_number(writer, frame->module));
		column_add_signed(&table.columns[3], (int64_t)file - last_file);
		column_add(&table.columns[4], frame->line);
		column_add(&table.columns[5], native_pack_kind(frame->kind, frame->is_inlined));
		last_name = name;
		last_file = file;
	}
	return write_table(writer, &table, 6);
}

/* ---- stacks ------------------------------------------------------------------------------- */

/*
 * Write the callees of each frame. A list's numbers go up for a while and start anew: that is a
 * step, too.
 */
static int write_callees(struct native_writer *writer)
{
	const struct stack_order *order = &writer->order;
	uint32_t num_frames = profile_count_locations(writer->profile);
	_cleanup_(table_release) struct table table = {0};
	int err = stack_order_make(writer->profile, writer->frames, num_frames, &writer->order);

	if (err)
		return err;
	for (uint32_t i = 0; i <= num_frames; i++) {
		uint32_t next = 0;

		for (uint32_t k = order->first_callee[i]; k < order->first_callee[i + 1]; k++) {
			uint32_t frame = order->callees[k];

			column_add(&table.columns[0],
				   frame >= next ? frame - next : frame + num_frames - next);
			next = frame + 1 < num_frames ? frame + 1 : 0;
		}
		column_add(&table.columns[1], order->first_callee[i + 1] - order->first_callee[i]);
	}
	return write_table(writer, &table, 2);
}

/* ---- the whole ---------------------------------------------------------------------------- */

static int write_string(const struct sink *sink, const char *string)
{
	return sink->write(sink->context, string, strlen(string));
}

static int write_parts(struct native_writer *writer)
{
	static int (*const parts[])(struct native_writer *) = {
		write_names,   write_metrics, write_sources,       write_samplings,
		write_tallies, write_clocks,  write_processes,     write_threads,
		write_frames,  write_callees, native_write_stacks,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
		int err = parts[i](writer);

		if (err)
			return err;
	}
	return 0;
}

/* The first timestamp of each source, the start of its times: small numbers are short. */
static int find_starts(struct native_writer *writer)
{
	uint32_t num_samples = profile_count_samples(writer->profile);
	size_t count = timestamps_count(writer->timestamps);
	size_t at = 0;

	/*
	 * One more than the number of sources: in a recording, which has none, threads are of
	 * source 0.
	 */
	for (uint32_t i = 0; i <= profile_count_sources(writer->profile); i++) {
		uint64_t *added = array_add(&writer->starts);

		if (!added)
			return -ENOMEM;
		*added = NO_START;
	}
	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(writer->timestamps, i);
		uint32_t thread = profile_get_sample(writer->profile, timestamp->sample)->thread;
		uint64_t *start_ns =
			&writer->starts.items[profile_get_thread(writer->profile, thread)->source];

		if (timestamp->time_ns < *start_ns)
			*start_ns = timestamp->time_ns;
		writer->has_intervals |= timestamp->duration;
	}
	timestamps_sort(writer->timestamps);
	writer->first_timestamps =
		calloc((size_t)num_samples + 1, sizeof(*writer->first_timestamps));
	if (!writer->first_timestamps)
		return -ENOMEM;
	for (uint32_t i = 0; i <= num_samples; i++) {
		while (at < count && timestamps_get(writer->timestamps, at)->sample < i)
			at++;
		writer->first_timestamps[i] = at;
	}
	return 0;
}

static int write_all(struct native_writer *writer)
{
	int err = number_sources(writer);

	if (err)
		return err;
	if (writer->timestamps && !timestamps_count(writer->timestamps))
		writer->timestamps = NULL;
	if (writer->timestamps) {
		err = find_starts(writer);
		if (err)
			return err;
	}
	err = find_steps(writer);
	if (err)
		return err;
	err = require_names(writer);
	if (err)
		return err;
	err = write_string(writer->sink, NATIVE_HEAD "\n");
	if (err)
		return err;
	return write_parts(writer);
}

static void native_writer_release(struct native_writer *writer)
{
	array_release(&writer->numbers);
	array_release(&writer->starts);
	array_release(&writer->sources);
	free(writer->frames);
	free(writer->frame_locations);
	stack_order_release(&writer->order);
	free(writer->steps);
	free(writer->first_timestamps);
}

/* A profile of ours, whose comms may become the text that is written. */
static int add_scripts_to_comms(struct profile *profile)
{
	_cleanup_(text_release) struct text label = {0};

	for (uint32_t i = 0; i < profile_count_processes(profile); i++) {
		const struct process_info *process = profile_get_process(profile, i);
		uint32_t comm;
		int err;

		if (process->script == STRING_EMPTY ||
		    !script_name_is_for(profile_get_string(profile, process->comm)))
			continue;
		text_truncate(&label, 0);
		text_append(&label, profile_get_string(profile, process->comm),
			    profile_get_string_length(profile, process->comm));
		script_name_append_label(&label, profile_get_string(profile, process->script),
					 profile_get_string_length(profile, process->script));
		if (label.failed)
			return -ENOMEM;
		err = string_table_add(profile_get_strings(profile), label.data, label.length,
				       &comm);
		if (err)
			return err;
		profile_set_process_comm(profile, i, comm);
	}
	return 0;
}

static int write_packed(const struct profile *profile, const struct native_opts *opts,
			const struct sink *sink, struct gzip_sink *gzip)
{
	_cleanup_(profile_freep) struct profile *named = NULL;
	_cleanup_(native_writer_release) struct native_writer writer = {
		.profile = profile,
		.sink = sink,
		.gzip = gzip,
	};
	int err;

	if (opts->is_left_out || !named_profile_is_needless(profile) ||
	    profile_has_scripts(profile)) {
		err = named_profile_copy_without(profile, opts->is_left_out, &named);
		if (err)
			return err;
		err = add_scripts_to_comms(named);
		if (err)
			return err;
		writer.profile = named;
	}
	if (opts->has_times)
		writer.timestamps = profile_get_timestamps(writer.profile);
	return write_all(&writer);
}

int native_write(const struct profile *profile, const struct native_opts *opts,
		 const struct sink *sink)
{
	return write_packed(profile, opts, sink, NULL);
}

/* ---- as text ------------------------------------------------------------------------------ */

struct base64_sink {
	const struct sink *target;
	struct base64_encoder encoder;
	struct text text;
};

static void base64_sink_release(struct base64_sink *sink)
{
	text_release(&sink->text);
}

static int write_base64(void *context, const void *data, size_t size)
{
	struct base64_sink *sink = context;

	base64_encode(&sink->encoder, data, size, &sink->text);
	return sink_drain(sink->target, &sink->text);
}

/* From the outside in: packed, gzip, base64; nothing of it is in memory as a whole. */
int native_write_text(const struct profile *profile, const struct native_opts *opts,
		      const struct sink *sink)
{
	_cleanup_(base64_sink_release) struct base64_sink base64 = {.target = sink};
	struct sink target = {.write = write_base64, .context = &base64};
	_cleanup_(gzip_sink_freep) struct gzip_sink *gzip = gzip_sink_new(&target);
	int err;

	if (!gzip)
		return -ENOMEM;
	err = write_packed(profile, opts, gzip_sink_get(gzip), gzip);
	if (err)
		return err;
	err = gzip_sink_finish(gzip);
	if (err)
		return err;
	base64_finish(&base64.encoder, &base64.text);
	return sink_flush(sink, &base64.text);
}

int native_write_element(const struct profile *profile, const struct sink *sink)
{
	int err = write_string(sink, NATIVE_START "\n" NATIVE_HEAD "\n");

	if (err)
		return err;
	err = native_write_text(profile, &(struct native_opts){0}, sink);
	return err ? err : write_string(sink, "\n" NATIVE_END "\n");
}
