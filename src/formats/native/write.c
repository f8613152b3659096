/*
 * Writing our own format (native.h): all that a profile holds once its addresses have names.
 *
 * Names are numbered in the order of the profile's string table, but only those that something
 * written here refers to: a profile that was filtered holds many more. Stacks come in the order of
 * their ids, in which callers precede callees, so most are "the stack before plus a frame", and
 * take a few bytes; gzip does the rest.
 *
 * A profile whose locations have several frames (inlined calls), or none, is copied first, so that
 * each location has exactly one (named_profile.h). Addresses and build IDs get lost by that.
 */
#include "formats/native.h"

#include <errno.h>

#include "base/array.h"
#include "formats/named_profile.h"
#include "formats/xml_text.h"

#define NS_PER_MS 1000000ull
#define NO_START  UINT64_MAX

struct native_writer {
	const struct profile *profile;
	const struct sink *sink;
	ARRAY(uint32_t) numbers; /* by string: its number in the file; 0: it is not written */
	uint32_t num_names;
	ARRAY(uint32_t) sources; /* by source: its number in the file, from 1; 0: no thread's */
	struct timestamps *timestamps; /* NULL: there are none, or they are not wanted */
	ARRAY(uint64_t) starts_ns;     /* by source: the first of its timestamps; NO_START */
	size_t next_timestamp;         /* that is not written yet */
	uint64_t time_ms;              /* the first of the line before */
	struct text output;
};

/* ---- numbers ------------------------------------------------------------------------------ */

/* Negated as unsigned: INT64_MIN has no positive counterpart. */
static void append_signed(struct text *text, int64_t number)
{
	if (number < 0)
		text_append_char(text, '-');
	text_append_number(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* A line of numbers, without the zeros at its end. The first `min` numbers are always written. */
static void append_line(struct text *text, char letter, const uint64_t *numbers, size_t count,
			size_t min)
{
	while (count > min && !numbers[count - 1])
		count--;
	text_append_char(text, letter);
	for (size_t i = 0; i < count; i++) {
		text_append_char(text, ' ');
		text_append_number(text, numbers[i]);
	}
	text_append_char(text, '\n');
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
 * Sources of which no thread is left, because they were filtered out, get no number: whoever opens
 * the file shall not see inputs without samples.
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
 * The same walks as the writing below: what is written must be required here, or its number would
 * be 0, the empty name. The first line makes room, so that get_number() may be asked about
 * STRING_EMPTY in a profile without names.
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

/* The output may be large and is drained as it grows, here and below. */
static int write_names(struct native_writer *writer)
{
	int err;

	for (uint32_t i = 1; i < writer->numbers.length; i++) {
		if (!writer->numbers.items[i])
			continue;
		writer->numbers.items[i] = ++writer->num_names;
		text_append_string(&writer->output, "n ");
		xml_append_exact(&writer->output, profile_get_string(writer->profile, i),
				 profile_get_string_length(writer->profile, i));
		text_append_char(&writer->output, '\n');
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	return 0;
}

/* ---- what has names ----------------------------------------------------------------------- */

static void write_metrics(struct native_writer *writer)
{
	for (uint32_t i = 0; i < profile_count_metrics(writer->profile); i++) {
		const struct metric *metric = profile_get_metric(writer->profile, i);
		uint64_t numbers[] = {get_number(writer, metric->name),
				      get_number(writer, metric->unit)};

		append_line(&writer->output, 'm', numbers, 2, 2);
	}
}

static void write_sampling(struct native_writer *writer, const struct sampling *sampling)
{
	uint64_t numbers[] = {sampling->start_ns,         sampling->duration_ns,
			      sampling->period_ns,        sampling->complete_stacks,
			      sampling->truncated_stacks, sampling->lost_samples};

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		if (!numbers[i])
			continue;
		append_line(&writer->output, 'r', numbers, ARRAY_LENGTH(numbers), 1);
		return;
	}
}

/*
 * REAL is the time of the calendar at START, and not at the clock's zero: it is a date that a
 * person can check, also where the clock counts from the boot.
 */
static void write_clock(struct native_writer *writer, uint32_t source)
{
	uint64_t numbers[2] = {0, 0};

	if (!writer->timestamps || source >= writer->starts_ns.length ||
	    writer->starts_ns.items[source] == NO_START)
		return;
	numbers[0] = writer->starts_ns.items[source];
	if (timestamps_find_clock(writer->timestamps, source, &numbers[1]))
		numbers[1] += numbers[0];
	append_line(&writer->output, 'c', numbers, 2, 1);
}

/* How a source was sampled, its counts and its clock; without sources, those of the profile. */
static void write_account(struct native_writer *writer, uint32_t source)
{
	const struct provenance *provenance = profile_get_provenance(writer->profile);
	const struct sampling *sampling = provenance_find_sampling(provenance, source);

	if (sampling)
		write_sampling(writer, sampling);
	for (uint32_t i = 0; i < provenance_count_tallies(provenance); i++) {
		const struct tally *tally = provenance_get_tally(provenance, i);
		uint64_t numbers[] = {tally->count, get_number(writer, tally->name)};

		if (tally->source == source)
			append_line(&writer->output, 'a', numbers, 2, 2);
	}
	write_clock(writer, source);
}

static void write_sources(struct native_writer *writer)
{
	const struct provenance *provenance = profile_get_provenance(writer->profile);
	uint32_t count = profile_count_sources(writer->profile);

	if (!count)
		write_account(writer, 0);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t name = profile_get_source(writer->profile, i);
		uint32_t label = provenance_get_label(provenance, i);
		uint64_t numbers[] = {get_number(writer, name),
				      label == name ? 0 : get_number(writer, label)};

		if (!writer->sources.items[i])
			continue;
		append_line(&writer->output, 'o', numbers, 2, 1);
		write_account(writer, i);
	}
}

static int write_threads(struct native_writer *writer)
{
	int err;

	for (uint32_t i = 0; i < profile_count_processes(writer->profile); i++) {
		const struct process_info *process = profile_get_process(writer->profile, i);
		uint64_t numbers[] = {process->pid, get_number(writer, process->comm)};

		append_line(&writer->output, 'p', numbers, 2, 2);
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < profile_count_threads(writer->profile); i++) {
		const struct thread *thread = profile_get_thread(writer->profile, i);
		uint32_t source = thread->source < writer->sources.length
					  ? writer->sources.items[thread->source]
					  : 0;
		uint64_t numbers[] = {thread->process, thread->tid,
				      get_number(writer, thread->comm), source ? source - 1 : 0};

		append_line(&writer->output, 't', numbers, 4, 4);
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	return 0;
}

/* Every location has one frame, and its number is the frame's. */
static int write_frames(struct native_writer *writer)
{
	int err;

	for (uint32_t i = 0; i < profile_count_locations(writer->profile); i++) {
		const struct location *location = profile_get_location(writer->profile, i);
		const struct frame *frame =
			profile_get_frame(writer->profile, location->first_frame);
		uint64_t numbers[] = {
			get_number(writer, frame->name),
			frame->full_name == frame->name ? 0 : get_number(writer, frame->full_name),
			get_number(writer, frame->module),
			get_number(writer, frame->file),
			frame->line,
			frame->kind | (frame->is_inlined ? NATIVE_INLINED : 0u),
		};

		append_line(&writer->output, 'f', numbers, ARRAY_LENGTH(numbers), 1);
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	return 0;
}

static int write_stacks(struct native_writer *writer)
{
	int err;

	text_append_string(&writer->output, "s\n");
	for (uint32_t i = 1; i < profile_count_stacks(writer->profile); i++) {
		uint32_t back = i - profile_get_stack_parent(writer->profile, i);

		text_append_number(&writer->output, profile_get_stack_location(writer->profile, i));
		if (back != 1) {
			text_append_char(&writer->output, ' ');
			text_append_number(&writer->output, back);
		}
		text_append_char(&writer->output, '\n');
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	return 0;
}

/* Whether the reader gets these weights by dividing the sample's value evenly. */
static bool are_equal_shares(const struct native_writer *writer, size_t end, uint64_t value)
{
	uint64_t count = end - writer->next_timestamp;

	for (size_t i = writer->next_timestamp; i < end; i++)
		if (timestamps_get(writer->timestamps, i)->weight != value / count)
			return false;
	return value % count == 0;
}

/*
 * The timestamps of a sample, which are sorted by sample and time. Weights are left out if all are
 * equal: a profile at a fixed frequency has the same weight everywhere.
 */
static void write_timestamps(struct native_writer *writer, uint32_t id)
{
	const struct sample *sample = profile_get_sample(writer->profile, id);
	uint32_t source = profile_get_thread(writer->profile, sample->thread)->source;
	size_t count = writer->timestamps ? timestamps_count(writer->timestamps) : 0;
	size_t end = writer->next_timestamp;
	uint64_t before_ms = writer->time_ms;
	bool is_equal;

	while (end < count && timestamps_get(writer->timestamps, end)->sample == id)
		end++;
	if (end == writer->next_timestamp)
		return;
	is_equal = are_equal_shares(writer, end, sample->value);
	text_append_char(&writer->output, 'w');
	for (size_t i = writer->next_timestamp; i < end; i++) {
		const struct timestamp *timestamp = timestamps_get(writer->timestamps, i);
		uint64_t start_ns = writer->starts_ns.items[source];
		uint64_t time_ms = (timestamp->time_ns - start_ns) / NS_PER_MS;

		text_append_char(&writer->output, ' ');
		append_signed(&writer->output, (int64_t)(time_ms - before_ms));
		if (!is_equal && timestamp->weight) {
			text_append_char(&writer->output, '*');
			text_append_number(&writer->output, timestamp->weight);
		}
		if (i == writer->next_timestamp)
			writer->time_ms = time_ms;
		before_ms = time_ms;
	}
	text_append_char(&writer->output, '\n');
	writer->next_timestamp = end;
}

/*
 * Samples are in the order of the profile, in which neighbours are often of the same thread and of
 * neighbouring stacks: the thread is written when it changes, the stack as a difference.
 */
static int write_samples(struct native_writer *writer)
{
	uint32_t thread = UINT32_MAX;
	int64_t stack = 0;
	int err;

	for (uint32_t i = 0; i < profile_count_samples(writer->profile); i++) {
		const struct sample *sample = profile_get_sample(writer->profile, i);

		if (sample->thread != thread) {
			uint64_t number = sample->thread;

			append_line(&writer->output, 'v', &number, 1, 1);
		}
		append_signed(&writer->output, (int64_t)sample->stack - stack);
		if (sample->value != 1 || sample->metric) {
			text_append_char(&writer->output, ' ');
			text_append_number(&writer->output, sample->value);
		}
		if (sample->metric) {
			text_append_char(&writer->output, ' ');
			text_append_number(&writer->output, sample->metric);
		}
		text_append_char(&writer->output, '\n');
		write_timestamps(writer, i);
		thread = sample->thread;
		stack = sample->stack;
		err = sink_drain(writer->sink, &writer->output);
		if (err)
			return err;
	}
	return 0;
}

/* The first timestamp of each source, from which its times count: small numbers are short. */
static int find_starts(struct native_writer *writer)
{
	size_t count = timestamps_count(writer->timestamps);

	/* One more than there are: in a recording, which has none, threads are of source 0. */
	for (uint32_t i = 0; i <= profile_count_sources(writer->profile); i++) {
		uint64_t *added = array_add(&writer->starts_ns);

		if (!added)
			return -ENOMEM;
		*added = NO_START;
	}
	for (size_t i = 0; i < count; i++) {
		const struct timestamp *timestamp = timestamps_get(writer->timestamps, i);
		uint32_t thread = profile_get_sample(writer->profile, timestamp->sample)->thread;
		uint64_t *start_ns =
			&writer->starts_ns
				 .items[profile_get_thread(writer->profile, thread)->source];

		if (timestamp->time_ns < *start_ns)
			*start_ns = timestamp->time_ns;
	}
	timestamps_sort(writer->timestamps);
	return 0;
}

static int write_all(struct native_writer *writer)
{
	const char *head = NATIVE_BEGIN "\n" NATIVE_HEAD "\n";
	int err = number_sources(writer);

	if (err)
		return err;
	if (writer->timestamps && !timestamps_count(writer->timestamps))
		writer->timestamps = NULL;
	if (writer->timestamps)
		head = NATIVE_BEGIN "\n" NATIVE_HEAD_TIMES "\n";
	if (writer->timestamps) {
		err = find_starts(writer);
		if (err)
			return err;
	}
	err = require_names(writer);
	if (err)
		return err;
	text_append_string(&writer->output, head);
	err = write_names(writer);
	if (err)
		return err;
	write_metrics(writer);
	write_sources(writer);
	err = write_threads(writer);
	if (err)
		return err;
	err = write_frames(writer);
	if (err)
		return err;
	err = write_stacks(writer);
	if (err)
		return err;
	err = write_samples(writer);
	text_append_string(&writer->output, NATIVE_LAST "\n" NATIVE_END "\n");
	if (err)
		return err;
	return sink_flush(writer->sink, &writer->output);
}

static void native_writer_release(struct native_writer *writer)
{
	array_release(&writer->numbers);
	array_release(&writer->starts_ns);
	array_release(&writer->sources);
	text_release(&writer->output);
}

static int write_profile(const struct profile *profile, const uint8_t *is_left_out, bool has_times,
			 const struct sink *sink)
{
	_cleanup_(profile_freep) struct profile *named = NULL;
	_cleanup_(native_writer_release) struct native_writer writer = {.profile = profile,
									.sink = sink};
	int err;

	if (is_left_out || !named_profile_is_needless(profile)) {
		err = named_profile_copy_without(profile, is_left_out, &named);
		if (err)
			return err;
		writer.profile = named;
	}
	if (has_times)
		writer.timestamps = profile_get_timestamps(writer.profile);
	return write_all(&writer);
}

int native_write(const struct profile *profile, const struct sink *sink)
{
	return write_profile(profile, NULL, false, sink);
}

int native_write_times(const struct profile *profile, const uint8_t *is_left_out,
		       const struct sink *sink)
{
	return write_profile(profile, is_left_out, true, sink);
}
