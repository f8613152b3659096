/*
 * SamplingProf: the call graph as four tables, with an empty line between them.
 *
 *	1567                         milliseconds that threads were under observation
 *
 *	lib/a.rb:12:run,0            element, id
 *
 *	0,3,15                       id, self, total
 *
 *	-1,0,15                      caller (-1: none), callee, count
 *
 * A sample counts once in the total of each of its elements and once for each of its pairs of
 * caller and callee. Recursion does not count again. Threads are no elements.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/intern.h"
#include "formats/format.h"
#include "formats/reader.h"

/* The tool's default interval between two samples; used if the time is not known otherwise. */
#define DEFAULT_INTERVAL_MS 100

#define NS_PER_MS 1000000u
#define NOT_MADE  UINT32_MAX
#define NO_CALLER UINT32_MAX

struct sampling_prof_open_element {
	uint64_t self;
	uint64_t total;
	uint32_t seen_in; /* the last sample it was counted for, from 1 */
};

struct edge {
	uint32_t from;
	uint32_t to;
	uint32_t seen_in;
	uint64_t count;
};
INTERN_TABLE(edge_table, struct edge, from, to);

/* A thread that was sampled; under other names it is another thread of the profile. */
struct sampled_thread {
	uint32_t source;
	uint32_t pid;
	uint32_t tid;
	uint32_t unknown; /* the profile's thread from 1 if its tid is not known; else 0 */
};
INTERN_TABLE(sampled_thread_table, struct sampled_thread, source, pid, tid, unknown);

/*
 * Names are interned as text, since several frames (addresses, full names, kinds) may be one
 * element; frame_elements keeps that from being done for each sample.
 */
struct sampling_prof_writer {
	const struct profile *profile;
	uint32_t metric;
	struct string_table *names; /* an element's id is its name's minus 1 */
	ARRAY(struct sampling_prof_open_element) elements;
	struct edge_table edges;
	ARRAY(uint32_t) frame_elements; /* by frame; NOT_MADE */
	ARRAY(uint32_t) path;           /* stacks, innermost first */
	uint64_t samples;               /* summed weight */
	struct text text;
};

/* Whether a name is an element already: FILE:LINE:FUNCTION. */
static bool is_element(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++) {
		size_t digits = i + 1;

		if (name[i] != ':')
			continue;
		while (digits < length && name[digits] >= '0' && name[digits] <= '9')
			digits++;
		if (digits > i + 1 && digits + 1 < length && name[digits] == ':')
			return true;
	}
	return false;
}

/*
 * A line break would end the element's line; a comma does no harm, because the id is behind the
 * last one.
 */
static void append_name(struct sampling_prof_writer *writer, uint32_t string)
{
	size_t start = writer->text.length;

	text_append(&writer->text, profile_get_string(writer->profile, string),
		    profile_get_string_length(writer->profile, string));
	for (size_t i = start; !writer->text.failed && i < writer->text.length; i++)
		if (writer->text.data[i] == '\n' || writer->text.data[i] == '\r')
			writer->text.data[i] = ' ';
}

/*
 * A name that already has the form, because it was read from such a file, gets no other place in
 * front. Without a line, the module takes the place of the file.
 */
static void make_element_name(struct sampling_prof_writer *writer, const struct frame *frame)
{
	const char *name = profile_get_string(writer->profile, frame->name);
	uint32_t container = frame->line ? frame->file : frame->module;

	text_truncate(&writer->text, 0);
	if (container == STRING_EMPTY)
		container = frame->file;
	append_name(writer, container);
	text_printf(&writer->text, ":%u:", container == frame->file ? frame->line : 0);
	if (writer->text.failed)
		return;
	if (container == STRING_EMPTY
		    ? is_element(name, profile_get_string_length(writer->profile, frame->name))
		    : string_starts_with(name, writer->text.data))
		text_truncate(&writer->text, 0);
	append_name(writer, frame->name);
}

static int find_element(struct sampling_prof_writer *writer, uint32_t frame, uint32_t *ret)
{
	uint32_t *known;
	uint32_t id;

	while (writer->frame_elements.length <= frame) {
		known = array_add(&writer->frame_elements);
		if (!known)
			return -ENOMEM;
		*known = NOT_MADE;
	}
	known = &writer->frame_elements.items[frame];
	if (*known == NOT_MADE) {
		make_element_name(writer, profile_get_frame(writer->profile, frame));
		if (writer->text.failed ||
		    string_table_add(writer->names, writer->text.data, writer->text.length, &id))
			return -ENOMEM;
		if (id > writer->elements.length && !array_add(&writer->elements))
			return -ENOMEM;
		*known = id - 1;
	}
	*ret = *known;
	return 0;
}

static int find_edge(struct sampling_prof_writer *writer, uint32_t from, uint32_t to,
		     struct edge **ret)
{
	struct edge wanted = {.from = from, .to = to};
	uint32_t id;
	int err = edge_table_intern(&writer->edges, &wanted, &id);

	if (err)
		return err;
	*ret = &writer->edges.items[id];
	return 0;
}

/* Sums of counts below that of all samples cannot overflow. */
static int add_level(struct sampling_prof_writer *writer, uint32_t frame, uint32_t sample,
		     uint64_t weight, uint32_t *caller)
{
	struct sampling_prof_open_element *element;
	struct edge *edge;
	uint32_t id;
	int err = find_element(writer, frame, &id);

	if (err)
		return err;
	err = find_edge(writer, *caller, id, &edge);
	if (err)
		return err;
	element = &writer->elements.items[id];
	if (element->seen_in != sample)
		element->total += weight;
	if (edge->seen_in != sample)
		edge->count += weight;
	element->seen_in = edge->seen_in = sample;
	*caller = id;
	return 0;
}

static int add_sample(struct sampling_prof_writer *writer, const struct sample *sample,
		      uint32_t number)
{
	uint32_t caller = NO_CALLER;
	int err = 0;

	if (__builtin_add_overflow(writer->samples, sample->value, &writer->samples))
		return -EOVERFLOW;
	writer->path.length = 0;
	for (uint32_t stack = sample->stack; stack != STACK_EMPTY;
	     stack = profile_get_stack_parent(writer->profile, stack)) {
		uint32_t *level = array_add(&writer->path);

		if (!level)
			return -ENOMEM;
		*level = stack;
	}
	while (writer->path.length) {
		uint32_t stack = writer->path.items[--writer->path.length];
		const struct location *location = profile_get_location(
			writer->profile, profile_get_stack_location(writer->profile, stack));

		for (uint32_t i = location->num_frames; i-- > 0;) {
			err = add_level(writer, location->first_frame + i, number, sample->value,
					&caller);
			if (err)
				return err;
		}
	}
	if (caller != NO_CALLER)
		writer->elements.items[caller].self += sample->value;
	return 0;
}

static int add_samples(struct sampling_prof_writer *writer)
{
	uint32_t count = profile_count_samples(writer->profile);
	int err;

	for (uint32_t i = 0; i < count; i++) {
		const struct sample *sample = profile_get_sample(writer->profile, i);

		if (sample->metric == writer->metric && sample->value) {
			err = add_sample(writer, sample, i + 1);
			if (err)
				return err;
		}
	}
	return 0;
}

/*
 * The recordings' durations, each multiplied by the number of its threads with samples. This is too
 * much if some threads started later or ended earlier; only the recorder knows the time of each. 0:
 * not known.
 */
static int sum_durations(const struct sampling_prof_writer *writer, uint64_t *ret_ns)
{
	const struct profile *profile = writer->profile;
	_cleanup_(sampled_thread_table_release) struct sampled_thread_table threads = {0};
	uint32_t id;

	*ret_ns = 0;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		const struct thread *thread = profile_get_thread(profile, sample->thread);
		struct sampled_thread sampled = {
			.source = thread->source,
			.pid = profile_get_process(profile, thread->process)->pid,
			.tid = thread->tid,
			.unknown = thread->tid ? 0 : sample->thread + 1,
		};

		if (sample->metric == writer->metric && sample->value &&
		    sampled_thread_table_intern(&threads, &sampled, &id))
			return -ENOMEM;
	}
	array_for_each (&threads, thread) {
		const struct sampling *sampling =
			provenance_find_sampling(profile_get_provenance(profile), thread->source);

		if (sampling && __builtin_add_overflow(*ret_ns, sampling->duration_ns, ret_ns))
			*ret_ns = UINT64_MAX;
	}
	return 0;
}

/*
 * From the most certain source to the least: the caller's time, the recordings' duration, CPU time,
 * the tool's own interval.
 */
static int find_runtime_ms(const struct sampling_prof_writer *writer,
			   const struct format_opts *opts, uint64_t *ret)
{
	const struct sampling *sampling = profile_get_sampling(writer->profile);
	const char *unit = format_get_metric_unit(writer->profile, writer->metric);
	uint64_t samples = writer->samples;
	uint64_t duration_ns;
	int err;

	*ret = opts->observed_ms;
	if (*ret)
		return 0;
	err = sum_durations(writer, &duration_ns);
	if (err)
		return err;
	if (!duration_ns) /* an empty profile may have one */
		duration_ns = sampling->duration_ns;
	*ret = duration_ns / NS_PER_MS;
	if (duration_ns || !samples)
		return 0;
	for (uint8_t i = profile_get_metric(writer->profile, writer->metric)->decimals; i; i--)
		samples /= 10;
	if (string_equals(unit, "nanoseconds"))
		*ret = samples / NS_PER_MS;
	else if (__builtin_mul_overflow(samples, DEFAULT_INTERVAL_MS, ret))
		*ret = UINT64_MAX;
	return 0;
}

static int write_tables(struct sampling_prof_writer *writer, const struct format_opts *opts,
			const struct sink *sink)
{
	struct text *text = &writer->text;
	uint64_t runtime_ms;
	int err = find_runtime_ms(writer, opts, &runtime_ms);

	if (err)
		return err;
	text_truncate(text, 0);
	text_printf(text, "%" PRIu64 "\n\n", runtime_ms);
	for (uint32_t id = 0; id < writer->elements.length; id++) {
		text_append(text, string_table_get(writer->names, id + 1),
			    string_table_get_length(writer->names, id + 1));
		text_printf(text, ",%u\n", id);
		err = sink_drain(sink, text);
		if (err)
			return err;
	}
	text_append_char(text, '\n');
	for (uint32_t id = 0; id < writer->elements.length; id++) {
		text_printf(text, "%u,%" PRIu64 ",%" PRIu64 "\n", id,
			    writer->elements.items[id].self, writer->elements.items[id].total);
		err = sink_drain(sink, text);
		if (err)
			return err;
	}
	text_append_char(text, '\n');
	for (size_t i = 0; i < writer->edges.length; i++) {
		const struct edge *edge = &writer->edges.items[i];

		text_printf(text, "%" PRId64 ",%u,%" PRIu64 "\n",
			    edge->from == NO_CALLER ? -1 : (int64_t)edge->from, edge->to,
			    edge->count);
		err = sink_drain(sink, text);
		if (err)
			return err;
	}
	return sink_flush(sink, text);
}

static void sampling_prof_writer_release(struct sampling_prof_writer *writer)
{
	string_table_free(writer->names);
	array_release(&writer->elements);
	edge_table_release(&writer->edges);
	array_release(&writer->frame_elements);
	array_release(&writer->path);
	text_release(&writer->text);
}

static int sampling_prof_write(const struct profile *profile, const struct format_opts *opts,
			       const struct sink *sink)
{
	_cleanup_(sampling_prof_writer_release) struct sampling_prof_writer writer = {
		.profile = profile, .metric = opts->tree.metric, .names = string_table_new()};
	int err;

	if (!writer.names)
		return -ENOMEM;
	err = add_samples(&writer);
	if (err)
		return err;
	return write_tables(&writer, opts, sink);
}

const struct format format_sampling_prof = {
	.name = "sampling-prof",
	.extension = ".sprof",
	.summary = "tables of SamplingProf: self and total counts, calls",
	.write = sampling_prof_write,
	.detect = sampling_prof_detect,
	.read = sampling_prof_read,
};
