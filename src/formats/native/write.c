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
	ARRAY(uint32_t) numbers; /* by string; of names, 0 when it is not used */
	uint32_t num_names;
	ARRAY(uint32_t) sources;   /* by source; of those that threads have, else 0 */
	struct moments *moments;   /* NULL: there are none, or they are not wanted */
	ARRAY(uint64_t) starts_ns; /* by source: the first of its moments; NO_START */
	size_t next_moment;        /* that is not written yet */
	uint64_t time_ms;          /* the first of the line before */
	struct text output;
};

/* ---- numbers ------------------------------------------------------------------------------ */

static void append_signed(struct text *text, int64_t number)
{
	if (number < 0)
		text_append_char(text, '-');
	text_append_number(text, number < 0 ? -(uint64_t)number : (uint64_t)number);
}

/* A line of numbers, without the zeros at its end but for the first `min` numbers. */
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

static int want_name(struct native_writer *writer, uint32_t string)
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

static int want_frame_names(struct native_writer *writer, const struct frame *frame)
{
	int err = want_name(writer, frame->name);

	if (!err)
		err = want_name(writer, frame->full_name);
	if (!err)
		err = want_name(writer, frame->module);
	return err ? err : want_name(writer, frame->file);
}

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

static int want_source_names(struct native_writer *writer, uint32_t source)
{
	int err = want_name(writer, profile_get_source(writer->profile, source));

	return err ? err
		   : want_name(writer, provenance_get_label(profile_get_provenance(writer->profile),
							    source));
}

static int want_names(struct native_writer *writer)
{
	const struct profile *profile = writer->profile;
	const struct provenance *provenance = profile_get_provenance(profile);
	int err = want_name(writer, STRING_EMPTY);

	for (uint32_t i = 0; !err && i < profile_count_metrics(profile); i++) {
		err = want_name(writer, profile_get_metric(profile, i)->name);
		if (!err)
			err = want_name(writer, profile_get_metric(profile, i)->unit);
	}
	for (uint32_t i = 0; !err && i < profile_count_sources(profile); i++)
		if (writer->sources.items[i])
			err = want_source_names(writer, i);
	for (uint32_t i = 0; !err && i < provenance_count_tallies(provenance); i++)
		err = want_name(writer, provenance_get_tally(provenance, i)->name);
	for (uint32_t i = 0; !err && i < profile_count_processes(profile); i++)
		err = want_name(writer, profile_get_process(profile, i)->comm);
	for (uint32_t i = 0; !err && i < profile_count_threads(profile); i++)
		err = want_name(writer, profile_get_thread(profile, i)->comm);
	for (uint32_t i = 0; !err && i < profile_count_locations(profile); i++) {
		const struct location *location = profile_get_location(profile, i);

		err = want_frame_names(writer, profile_get_frame(profile, location->first_frame));
	}
	return err;
}

static int write_names(struct native_writer *writer)
{
	int err = 0;

	for (uint32_t i = 1; !err && i < writer->numbers.length; i++) {
		if (!writer->numbers.items[i])
			continue;
		writer->numbers.items[i] = ++writer->num_names;
		text_append_string(&writer->output, "n ");
		xml_append_exact(&writer->output, profile_get_string(writer->profile, i),
				 profile_get_string_length(writer->profile, i));
		text_append_char(&writer->output, '\n');
		err = sink_drain(writer->sink, &writer->output);
	}
	return err;
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

static void write_clock(struct native_writer *writer, uint32_t source)
{
	uint64_t numbers[2] = {0, 0};

	if (!writer->moments || source >= writer->starts_ns.length ||
	    writer->starts_ns.items[source] == NO_START)
		return;
	numbers[0] = writer->starts_ns.items[source];
	if (moments_find_clock(writer->moments, source, &numbers[1]))
		numbers[1] += numbers[0];
	append_line(&writer->output, 'c', numbers, 2, 1);
}

/* What is known of a source, or of a profile that has none. */
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
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_processes(writer->profile); i++) {
		const struct process_info *process = profile_get_process(writer->profile, i);
		uint64_t numbers[] = {process->pid, get_number(writer, process->comm)};

		append_line(&writer->output, 'p', numbers, 2, 2);
		err = sink_drain(writer->sink, &writer->output);
	}
	for (uint32_t i = 0; !err && i < profile_count_threads(writer->profile); i++) {
		const struct thread *thread = profile_get_thread(writer->profile, i);
		uint32_t source = thread->source < writer->sources.length
					  ? writer->sources.items[thread->source]
					  : 0;
		uint64_t numbers[] = {thread->process, thread->tid,
				      get_number(writer, thread->comm), source ? source - 1 : 0};

		append_line(&writer->output, 't', numbers, 4, 4);
		err = sink_drain(writer->sink, &writer->output);
	}
	return err;
}

/* Every location has one frame, and its number is the frame's. */
static int write_frames(struct native_writer *writer)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_locations(writer->profile); i++) {
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
	}
	return err;
}

static int write_stacks(struct native_writer *writer)
{
	int err = 0;

	text_append_string(&writer->output, "s\n");
	for (uint32_t i = 1; !err && i < profile_count_stacks(writer->profile); i++) {
		uint32_t back = i - profile_get_stack_parent(writer->profile, i);

		text_append_number(&writer->output, profile_get_stack_location(writer->profile, i));
		if (back != 1) {
			text_append_char(&writer->output, ' ');
			text_append_number(&writer->output, back);
		}
		text_append_char(&writer->output, '\n');
		err = sink_drain(writer->sink, &writer->output);
	}
	return err;
}

static bool are_equal_shares(const struct native_writer *writer, size_t end, uint64_t value)
{
	uint64_t count = end - writer->next_moment;

	for (size_t i = writer->next_moment; i < end; i++)
		if (moments_get(writer->moments, i)->weight != value / count)
			return false;
	return value % count == 0;
}

/* Moments are sorted by sample and time. */
static void write_moments(struct native_writer *writer, uint32_t id)
{
	const struct sample *sample = profile_get_sample(writer->profile, id);
	uint32_t source = profile_get_thread(writer->profile, sample->thread)->source;
	size_t count = writer->moments ? moments_count(writer->moments) : 0;
	size_t end = writer->next_moment;
	uint64_t before_ms = writer->time_ms;
	bool is_equal;

	while (end < count && moments_get(writer->moments, end)->sample == id)
		end++;
	if (end == writer->next_moment)
		return;
	is_equal = are_equal_shares(writer, end, sample->value);
	text_append_char(&writer->output, 'w');
	for (size_t i = writer->next_moment; i < end; i++) {
		const struct moment *moment = moments_get(writer->moments, i);
		uint64_t start_ns = writer->starts_ns.items[source];
		uint64_t time_ms = (moment->time_ns - start_ns) / NS_PER_MS;

		text_append_char(&writer->output, ' ');
		append_signed(&writer->output, (int64_t)(time_ms - before_ms));
		if (!is_equal && moment->weight) {
			text_append_char(&writer->output, '*');
			text_append_number(&writer->output, moment->weight);
		}
		if (i == writer->next_moment)
			writer->time_ms = time_ms;
		before_ms = time_ms;
	}
	text_append_char(&writer->output, '\n');
	writer->next_moment = end;
}

static int write_samples(struct native_writer *writer)
{
	uint32_t thread = UINT32_MAX;
	int64_t stack = 0;
	int err = 0;

	for (uint32_t i = 0; !err && i < profile_count_samples(writer->profile); i++) {
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
		write_moments(writer, i);
		thread = sample->thread;
		stack = sample->stack;
		err = sink_drain(writer->sink, &writer->output);
	}
	return err;
}

/* What the times of each source count from. */
static int find_starts(struct native_writer *writer)
{
	size_t count = moments_count(writer->moments);

	for (uint32_t i = 0; i <= profile_count_sources(writer->profile); i++) {
		uint64_t *added = array_add(&writer->starts_ns);

		if (!added)
			return -ENOMEM;
		*added = NO_START;
	}
	for (size_t i = 0; i < count; i++) {
		const struct moment *moment = moments_get(writer->moments, i);
		uint32_t thread = profile_get_sample(writer->profile, moment->sample)->thread;
		uint64_t *start_ns =
			&writer->starts_ns
				 .items[profile_get_thread(writer->profile, thread)->source];

		if (moment->time_ns < *start_ns)
			*start_ns = moment->time_ns;
	}
	moments_sort(writer->moments);
	return 0;
}

static int write_all(struct native_writer *writer)
{
	const char *head = NATIVE_BEGIN "\n" NATIVE_HEAD "\n";
	int err = number_sources(writer);

	if (writer->moments && !moments_count(writer->moments))
		writer->moments = NULL;
	if (writer->moments)
		head = NATIVE_BEGIN "\n" NATIVE_HEAD_TIMES "\n";
	if (!err && writer->moments)
		err = find_starts(writer);
	if (!err)
		err = want_names(writer);
	text_append_string(&writer->output, head);
	if (!err)
		err = write_names(writer);
	if (!err) {
		write_metrics(writer);
		write_sources(writer);
	}
	if (!err)
		err = write_threads(writer);
	if (!err)
		err = write_frames(writer);
	if (!err)
		err = write_stacks(writer);
	if (!err)
		err = write_samples(writer);
	text_append_string(&writer->output, NATIVE_LAST "\n" NATIVE_END "\n");
	return err ? err : sink_flush(writer->sink, &writer->output);
}

static int write_profile(const struct profile *profile, const uint8_t *is_left_out, bool has_times,
			 const struct sink *sink)
{
	_cleanup_(profile_freep) struct profile *named = NULL;
	struct native_writer writer = {.profile = profile, .sink = sink};
	int err = 0;

	if (is_left_out || !named_profile_is_needless(profile)) {
		err = named_profile_copy_without(profile, is_left_out, &named);
		writer.profile = named;
	}
	if (!err && has_times)
		writer.moments = profile_get_moments(writer.profile);
	if (!err)
		err = write_all(&writer);
	array_release(&writer.numbers);
	array_release(&writer.starts_ns);
	array_release(&writer.sources);
	text_release(&writer.output);
	return err;
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
