/*
 * Reading our own format as text (native.h), as earlier versions wrote it: one pass, line by line.
 * A line may only refer to lines before it. So each kind has a table from its number in the file to
 * the id in import->profile. These differ, because the profile may hold other files already and
 * equal strings, frames and stacks are merged. Every number that refers to something is checked
 * against its table.
 *
 * The file ends in a line "end": a truncated copy is an error, unlike in the formats of others,
 * since nothing else would show that samples are missing. Letters that are not known are an error
 * as well.
 */
#include "formats/native.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "formats/native/read.h"
#include "formats/reader.h"
#include "formats/xml_scanner.h"

#define MAX_NUMBERS 6
#define NS_PER_MS   1000000ull

/* Missing numbers are 0, since zeros may be left out; `count` tells the two apart. */
struct native_line {
	size_t offset; /* in the file */
	struct xml_slice text;
	char letter;           /* '\0' if it does not start with one */
	struct xml_slice rest; /* after the letter */
	uint64_t numbers[MAX_NUMBERS];
	bool is_negative; /* the first number */
	size_t count;
};

struct loader {
	struct import *import;
	size_t offset; /* of the next line */
	size_t end;
	/* Ids in import->profile of the text's numbers. */
	ARRAY(uint32_t) names;
	ARRAY(uint32_t) metrics;
	ARRAY(uint32_t) sources;
	ARRAY(uint32_t) processes;
	ARRAY(uint32_t) threads;
	ARRAY(uint32_t) frames;
	ARRAY(uint32_t) stacks;
	ARRAY(uint64_t) starts_ns;      /* by source of the text: start of its times */
	ARRAY(uint32_t) thread_sources; /* by thread: index of that */
	uint32_t thread;                /* of the samples that follow */
	uint64_t start_ns;
	uint64_t stack;       /* of the sample before, as a number of the text */
	struct sample sample; /* the same in the profile */
	bool has_sample;      /* whose times may follow */
	uint64_t time_ms;     /* the first one of the times before */
	uint32_t num_tallies;
	bool is_in_stacks;
	bool is_in_samples;
	bool is_complete;
};

static int fail(struct loader *loader, const struct native_line *line, const char *expected)
{
	return import_fail_byte(loader->import, line->offset, "expected %s", expected);
}

/* ---- lines -------------------------------------------------------------------------------- */

static bool take_digits(struct xml_slice *rest, uint64_t *ret)
{
	uint64_t number = 0;
	size_t i = 0;

	for (; i < rest->length && rest->data[i] >= '0' && rest->data[i] <= '9'; i++)
		if (__builtin_mul_overflow(number, 10, &number) ||
		    __builtin_add_overflow(number, (uint64_t)(rest->data[i] - '0'), &number))
			return false;
	*rest = (struct xml_slice){rest->data + i, rest->length - i};
	*ret = number;
	return i > 0;
}

static bool take_blank(struct xml_slice *rest)
{
	bool is_there = rest->length && rest->data[0] == ' ';

	rest->data += is_there;
	rest->length -= is_there;
	return is_there;
}

/* Exactly one blank separates two numbers. */
static bool take_number(struct xml_slice *rest, uint64_t *ret)
{
	return take_digits(rest, ret) && (take_blank(rest) || !rest->length);
}

static bool take_numbers(struct native_line *line)
{
	struct xml_slice rest = line->rest;

	line->is_negative = rest.length && rest.data[0] == '-';
	rest.data += line->is_negative;
	rest.length -= line->is_negative;
	while (rest.length && line->count < MAX_NUMBERS)
		if (!take_number(&rest, &line->numbers[line->count++]))
			return false;
	return !rest.length;
}

/* The next line that is not empty; false at the end. */
static bool next_line(struct loader *loader, struct native_line *line)
{
	const char *data = (const char *)loader->import->data;

	while (loader->offset < loader->end) {
		const char *start = data + loader->offset;
		const char *stop = memchr(start, '\n', loader->end - loader->offset);
		size_t length = stop ? (size_t)(stop - start) : loader->end - loader->offset;

		*line = (struct native_line){.offset = loader->offset};
		loader->offset += length + (stop != NULL);
		if (length && start[length - 1] == '\r')
			length--;
		if (!length)
			continue;
		line->text = line->rest = (struct xml_slice){start, length};
		if (start[0] >= 'a' && start[0] <= 'z' && (length == 1 || start[1] == ' ')) {
			line->letter = start[0];
			line->rest.data += length > 1 ? 2 : 1;
			line->rest.length -= length > 1 ? 2 : 1;
		}
		return true;
	}
	return false;
}

/* ---- names -------------------------------------------------------------------------------- */

/* \xHH, in place. XML's own references, as &lt;, were replaced before. */
static bool unescape(struct text *text)
{
	static const char digits[] = "0123456789abcdef";
	size_t length = 0;

	for (size_t i = 0; i < text->length; i++) {
		const char *high;
		const char *low;

		if (text->data[i] != '\\') {
			text->data[length++] = text->data[i];
			continue;
		}
		if (text->length - i < 4 || text->data[i + 1] != 'x')
			return false;
		high = memchr(digits, text->data[i + 2], 16);
		low = memchr(digits, text->data[i + 3], 16);
		if (!high || !low)
			return false;
		text->data[length++] = (char)((high - digits) << 4 | (low - digits));
		i += 3;
	}
	text_truncate(text, length);
	return true;
}

/*
 * Names are foreign bytes. XML's references are replaced first, then \xHH, which encodes characters
 * that XML cannot hold and the backslash itself.
 */
static int read_name(struct loader *loader, const struct native_line *line)
{
	_cleanup_(text_release) struct text text = {0};
	uint32_t *added;

	text_append_string(&text, "");
	xml_decode(&text, line->rest);
	if (text.failed)
		return -ENOMEM;
	if (!unescape(&text))
		return fail(loader, line, "a backslash only in \\xHH");
	added = array_add(&loader->names);
	if (!added)
		return -ENOMEM;
	return string_table_add(profile_get_strings(loader->import->profile), text.data,
				text.length, added);
}

/* Number 0 is the empty name. */
static bool find_name(const struct loader *loader, uint64_t number, uint32_t *ret)
{
	if (number > loader->names.length)
		return false;
	*ret = number ? loader->names.items[number - 1] : STRING_EMPTY;
	return true;
}

/* ---- items with names --------------------------------------------------------------------- */

static int read_metric(struct loader *loader, const struct native_line *line)
{
	const struct profile *profile = loader->import->profile;
	uint32_t *added = array_add(&loader->metrics);
	uint32_t name;
	uint32_t unit;

	if (!added)
		return -ENOMEM;
	if (line->count != 2 || !find_name(loader, line->numbers[0], &name) ||
	    !find_name(loader, line->numbers[1], &unit))
		return fail(loader, line, "a metric: m NAME UNIT");
	return profile_add_metric(loader->import->profile, profile_get_string(profile, name),
				  profile_get_string(profile, unit), added);
}

static int read_source(struct loader *loader, const struct native_line *line)
{
	uint32_t *added = array_add(&loader->sources);
	uint32_t name;
	uint32_t label;
	int err;

	if (!added)
		return -ENOMEM;
	if (line->count < 1 || line->count > 2 || loader->sources.length > NATIVE_MAX_SOURCES ||
	    !find_name(loader, line->numbers[0], &name) ||
	    !find_name(loader, line->numbers[1] ? line->numbers[1] : line->numbers[0], &label))
		return fail(loader, line, "a source: o NAME LABEL");
	err = profile_add_source(loader->import->profile, name, added);
	if (err)
		return err;
	provenance_set_label(profile_get_provenance(loader->import->profile), *added, label);
	return 0;
}

/* The source that lines r, a and c are about: the last one declared, else the file itself. */
static uint32_t get_last_source(const struct loader *loader)
{
	size_t count = loader->sources.length;

	return count ? loader->sources.items[count - 1] : loader->import->source;
}

/* Numbers that are missing are 0, "not known". */
static int read_sampling(struct loader *loader, const struct native_line *line)
{
	struct sampling sampling = {
		.start_ns = line->numbers[0],
		.duration_ns = line->numbers[1],
		.period_ns = line->numbers[2],
		.complete_stacks = line->numbers[3],
		.truncated_stacks = line->numbers[4],
		.lost_samples = line->numbers[5],
	};

	provenance_add_sampling(profile_get_provenance(loader->import->profile),
				get_last_source(loader), &sampling);
	return 0;
}

/*
 * The zero of the last source's times, and the calendar's time of it if known. Differences of times
 * wrap around: a START above REAL is a clock whose zero is before 1970.
 */
static int read_clock(struct loader *loader, const struct native_line *line)
{
	size_t index = loader->sources.length ? loader->sources.length - 1 : 0;

	if (line->count < 1 || line->count > 2)
		return fail(loader, line, "a clock: c START REAL");
	/* The index is bounded by NATIVE_MAX_SOURCES, not by a number of the file. */
	while (loader->starts_ns.length <= index)
		if (!array_add(&loader->starts_ns))
			return -ENOMEM;
	loader->starts_ns.items[index] = line->numbers[0];
	if (!line->numbers[1])
		return 0;
	return profile_set_clock(loader->import->profile, get_last_source(loader),
				 line->numbers[1] - line->numbers[0]);
}

static int read_tally(struct loader *loader, const struct native_line *line)
{
	uint32_t name;

	if (line->count != 2 || !find_name(loader, line->numbers[1], &name) ||
	    ++loader->num_tallies > NATIVE_MAX_TALLIES)
		return fail(loader, line, "a count: a COUNT NAME");
	return provenance_add_tally(profile_get_provenance(loader->import->profile),
				    get_last_source(loader), name, line->numbers[0]);
}

static int read_process(struct loader *loader, const struct native_line *line)
{
	uint32_t *added = array_add(&loader->processes);
	uint32_t comm;

	if (!added)
		return -ENOMEM;
	if (line->count != 2 || line->numbers[0] > UINT32_MAX ||
	    !find_name(loader, line->numbers[1], &comm))
		return fail(loader, line, "a process: p PID COMM");
	return profile_add_process(loader->import->profile, (uint32_t)line->numbers[0], comm,
				   added);
}

static int read_thread(struct loader *loader, const struct native_line *line)
{
	uint32_t *added = array_add(&loader->threads);
	uint32_t *source = array_add(&loader->thread_sources);
	const uint64_t *numbers = line->numbers;
	struct thread thread = {.source = loader->import->source};

	if (!added || !source)
		return -ENOMEM;
	if (line->count != 4 || numbers[0] >= loader->processes.length || numbers[1] > UINT32_MAX ||
	    !find_name(loader, numbers[2], &thread.comm))
		return fail(loader, line, "a thread: t PROCESS TID COMM SOURCE");
	thread.process = loader->processes.items[numbers[0]];
	thread.tid = (uint32_t)numbers[1];
	if (loader->sources.length > 1 && numbers[3] < loader->sources.length) {
		*source = (uint32_t)numbers[3];
		thread.source = loader->sources.items[numbers[3]];
	}
	return profile_add_thread(loader->import->profile, &thread, added);
}

static int read_frame(struct loader *loader, const struct native_line *line)
{
	uint32_t *added = array_add(&loader->frames);
	const uint64_t *numbers = line->numbers;
	struct frame frame = {0};

	if (!added)
		return -ENOMEM;
	if (!line->count || !find_name(loader, numbers[0], &frame.name) ||
	    !find_name(loader, numbers[1] ? numbers[1] : numbers[0], &frame.full_name) ||
	    !find_name(loader, numbers[2], &frame.module) ||
	    !find_name(loader, numbers[3], &frame.file) || numbers[4] > UINT32_MAX ||
	    !native_unpack_kind(numbers[5], &frame.kind, &frame.is_inlined))
		return fail(loader, line, "a frame: f NAME FULL MODULE FILE LINE KIND");
	frame.line = (uint32_t)numbers[4];
	return profile_add_frame_location(loader->import->profile, &frame, added);
}

/* ---- stacks and samples ------------------------------------------------------------------- */

/* BACK leads to a stack that has been read, or to none: a file cannot make a cycle. */
static int read_stack(struct loader *loader, const struct native_line *line)
{
	uint32_t *added = array_add(&loader->stacks);
	uint64_t number = loader->stacks.length;
	uint64_t back = line->count > 1 ? line->numbers[1] : 1;
	uint32_t caller;

	if (!added)
		return -ENOMEM;
	if (line->is_negative || !line->count || line->count > 2 ||
	    line->numbers[0] >= loader->frames.length || !back || back > number)
		return fail(loader, line, "a stack: FRAME BACK");
	caller = back == number ? STACK_EMPTY : loader->stacks.items[number - back - 1];
	return profile_add_stack(loader->import->profile, caller,
				 loader->frames.items[line->numbers[0]], added);
}

static int read_sample(struct loader *loader, const struct native_line *line)
{
	uint64_t weight = line->count > 1 ? line->numbers[1] : 1;
	uint64_t metric = line->count > 2 ? line->numbers[2] : 0;
	uint64_t forth = line->numbers[0];

	if (!line->count || line->count > 3 || metric >= loader->metrics.length ||
	    (line->is_negative ? forth > loader->stack
			       : forth > loader->stacks.length - loader->stack))
		return fail(loader, line, "a sample: FORTH WEIGHT METRIC");
	loader->stack = line->is_negative ? loader->stack - forth : loader->stack + forth;
	loader->sample = (struct sample){
		.thread = loader->thread,
		.stack = loader->stack ? loader->stacks.items[loader->stack - 1] : STACK_EMPTY,
		.metric = loader->metrics.items[metric],
		.value = weight,
	};
	loader->has_sample = true;
	return reader_add_sample(loader->import, line->offset, loader->thread, loader->sample.stack,
				 loader->sample.metric, weight);
}

/* "20", "-3", "20*5": a time after the one before and, unless all are equal, its weight. */
static bool take_timestamp(struct loader *loader, struct xml_slice *rest, bool is_first,
			   uint64_t *time_ms, uint64_t *weight)
{
	bool is_negative = is_first && rest->length && rest->data[0] == '-';
	uint64_t delta_ms;

	rest->data += is_negative;
	rest->length -= is_negative;
	if (!take_digits(rest, &delta_ms))
		return false;
	/*
	 * May wrap around; the result is too large for nanoseconds, and refused by the caller, or
	 * just a wrong time.
	 */
	*time_ms = is_negative ? *time_ms - delta_ms : *time_ms + delta_ms;
	if (is_first)
		loader->time_ms = *time_ms;
	*weight = 0;
	if (rest->length && rest->data[0] == '*') {
		rest->data++;
		rest->length--;
		if (!take_digits(rest, weight) || !*weight)
			return false;
	}
	return take_blank(rest) || !rest->length;
}

/* The times of the sample before. */
static int read_timestamps(struct loader *loader, const struct native_line *line)
{
	const struct sample *sample = &loader->sample;
	struct xml_slice rest = line->rest;
	uint64_t time_ms = loader->time_ms;
	uint64_t left = sample->value;
	uint64_t count = 1;
	int err;

	/*
	 * Weights that are left out are even shares, for which the number of times must be known
	 * first.
	 */
	for (size_t i = 0; i < rest.length; i++)
		count += rest.data[i] == ' ';
	for (bool is_first = true; rest.length || is_first; is_first = false) {
		uint64_t weight;
		uint64_t time_ns;

		if (!loader->has_sample ||
		    !take_timestamp(loader, &rest, is_first, &time_ms, &weight) ||
		    __builtin_mul_overflow(time_ms, NS_PER_MS, &time_ns) ||
		    __builtin_add_overflow(time_ns, loader->start_ns, &time_ns))
			return fail(loader, line, "times of a sample: w TIME*WEIGHT");
		if (!weight)
			weight = sample->value / count;
		/* The weights of a sample's timestamps never exceed its value (timestamps.h). */
		if (__builtin_sub_overflow(left, weight, &left))
			return fail(loader, line, "times that weigh no more than their sample");
		err = profile_add_timestamp(loader->import->profile, sample->thread, sample->stack,
					    sample->metric, weight, time_ns);
		if (err)
			return err;
	}
	loader->has_sample = false;
	return 0;
}

static int choose_thread(struct loader *loader, const struct native_line *line)
{
	uint32_t source;

	if (line->count != 1 || line->numbers[0] >= loader->threads.length)
		return fail(loader, line, "samples of a thread: v THREAD");
	loader->thread = loader->threads.items[line->numbers[0]];
	source = loader->thread_sources.items[line->numbers[0]];
	loader->start_ns = source < loader->starts_ns.length ? loader->starts_ns.items[source] : 0;
	loader->has_sample = false;
	loader->is_in_stacks = false;
	loader->is_in_samples = true;
	return 0;
}

static int read_line(struct loader *loader, struct native_line *line)
{
	if (line->letter == 'n')
		return read_name(loader, line);
	if (xml_slice_equals(line->text, NATIVE_LAST)) {
		loader->is_complete = true;
		return 0;
	}
	if (line->letter == 'w')
		return read_timestamps(loader, line);
	if (!take_numbers(line))
		return fail(loader, line, "decimal numbers of at most 64 bits");
	if (line->is_negative && !loader->is_in_samples)
		return fail(loader, line, "a number that is not negative");
	switch (line->letter) {
	case 'm':
		return read_metric(loader, line);
	case 'o':
		return read_source(loader, line);
	case 'r':
		return read_sampling(loader, line);
	case 'a':
		return read_tally(loader, line);
	case 'c':
		return read_clock(loader, line);
	case 'p':
		return read_process(loader, line);
	case 't':
		return read_thread(loader, line);
	case 'f':
		return read_frame(loader, line);
	case 's':
		loader->is_in_stacks = true;
		return 0;
	case 'v':
		return choose_thread(loader, line);
	case '\0':
		if (loader->is_in_samples)
			return read_sample(loader, line);
		if (loader->is_in_stacks)
			return read_stack(loader, line);
		break;
	}
	return fail(loader, line, "one of the lines m, o, r, a, c, p, t, f, s, v, w");
}

static int read_lines(struct loader *loader)
{
	struct native_line line = {.offset = loader->offset};
	int err = 0;

	if (!next_line(loader, &line))
		return fail(loader, &line, "'" NATIVE_HEAD "'");
	while (!loader->is_complete && next_line(loader, &line)) {
		err = read_line(loader, &line);
		if (err)
			return err;
	}
	if (!loader->is_complete) {
		line.offset = loader->end;
		err = fail(loader, &line, "more of the profile: the file is truncated");
	}
	return err;
}

static void loader_release(struct loader *loader)
{
	array_release(&loader->starts_ns);
	array_release(&loader->thread_sources);
	array_release(&loader->names);
	array_release(&loader->metrics);
	array_release(&loader->sources);
	array_release(&loader->processes);
	array_release(&loader->threads);
	array_release(&loader->frames);
	array_release(&loader->stacks);
}

int native_read_lines(struct import *import, size_t begin, size_t end)
{
	_cleanup_(loader_release) struct loader loader = {
		.import = import, .offset = begin, .end = end};
	int err = read_lines(&loader);

	if (err)
		return err;
	return native_forget_single_source(import, loader.sources.items, loader.sources.length);
}
