/*
 * Profiles in pprof's formats before profile.proto: of gperftools, tcmalloc and jemalloc, and Go's
 * text (debug=1).
 *
 *	heap profile:   3:  600 [  5: 1000] @ heap_v2/524288
 *	  1:  200 [  2:  400] @ 0x401234 0x405678
 *	MAPPED_LIBRARIES:
 *	00400000-00410000 r-xp 00000000 08:01 12 /usr/bin/x
 *
 * In use, and in brackets allocated: objects and bytes. jemalloc has the addresses before the numbers, and
 * numbers for each thread; t* is their sum:
 *
 *	heap_v2/524288
 *	  t*: 3: 600 [0: 0]
 *	@ 0x401234 0x405678
 *	  t*: 1: 200 [0: 0]
 *	  t0: 1: 200 [0: 0]
 *
 * A heap that is sampled once in N bytes is marked: heap_v2/N, in Go's files heap/2N. A block of
 * `size` bytes is met with the probability 1 - exp(-size/N): each stack is divided by that of its
 * average block, as pprof does.
 *
 * Other texts have one number for each stack ("goroutine profile: total 5" and "5 @ 0x…"), or delay and count
 * of contentions ("--- mutex:"), in cycles. CPU profiles are binary: read_cpu.c.
 *
 * Files of Go name frames in comments behind each stack. All others have only addresses, to be
 * looked up in the files.
 *
 * Sources: pprof's profile/legacy_profile.go, gperftools' documentation, jemalloc's prof_data.c.
 */
#include "formats/gperftools/read.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "formats/reader.h"

#define ADVANCE_BYTES (1u << 20)
#define MAX_VALUES    4

/* The kinds of text. */
enum gperftools_kind { KIND_HEAP, KIND_JEMALLOC, KIND_COUNT, KIND_CONTENTION };

struct heading {
	enum gperftools_kind kind;
	const char *start; /* of the first line */
	const char *metric;
};

static const struct heading headings[] = {
	{KIND_HEAP, "heap profile: ", NULL},
	{KIND_JEMALLOC, "heap_v2/", NULL},
	{KIND_COUNT, "goroutine profile: total ", "goroutines"},
	{KIND_COUNT, "threadcreate profile: total ", "threads"},
	{KIND_CONTENTION, "--- contention", NULL}, /* also "--- contentionz 1 ---" */
	{KIND_CONTENTION, "--- mutex:", NULL},
};

/* Lines that follow the stacks of a heap: of Go, and of the others. */
static const char go_heap_end[] = "# runtime.MemStats";
static const char heap_end[] = "MAPPED_LIBRARIES:";

struct text_reader {
	struct gperftools_reader base;
	struct lines lines;
	enum gperftools_kind kind;
	uint64_t rate;         /* bytes between two samples of the heap; 0: all are recorded */
	uint64_t cycles_per_s; /* of contentions */
	uint64_t period;       /* of contentions */
	bool has_allocated;    /* allocated objects and bytes beside those in use */
	uint32_t metrics[MAX_VALUES];
	size_t num_metrics;
	const char *end; /* line that follows the stacks; NULL: the kind has none */
	bool has_end;    /* the line, or another list of mappings, has been read */
	/* Sums of all stacks, in the file's order: by its head, and as read. All 0 where it has none. */
	uint64_t announced[MAX_VALUES];
	uint64_t sums[MAX_VALUES];
	/* The stack that has been read, and not added. */
	bool is_open;
	uint64_t line;
	uint64_t values[MAX_VALUES];
};

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* A number, after blanks and other characters of `skipped`. */
static bool take_number(struct slice *text, const char *skipped, uint64_t *ret)
{
	size_t start = 0;
	size_t length = 0;

	while (start < text->length &&
	       (is_blank_char(text->start[start]) || strchr(skipped, text->start[start])))
		start++;
	while (start + length < text->length && is_digit(text->start[start + length]))
		length++;
	if (!length || !parse_u64(text->start + start, length, ret))
		return false;
	*text = (struct slice){text->start + start + length, text->length - start - length};
	return true;
}

/* "3: 600 [5: 1000]": in use, then allocated. */
static bool take_heap_values(struct slice *text, uint64_t *values)
{
	return take_number(text, "", &values[0]) && take_number(text, ":", &values[1]) &&
	       take_number(text, "[", &values[2]) && take_number(text, ":", &values[3]);
}

/* Bytes that do not belong to the stacks start here. */
static bool is_mapping_heading(struct slice line)
{
	return slice_starts_with(line, "MAPPED_LIBRARIES:") ||
	       slice_starts_with(line, "--- Memory map: ---") ||
	       slice_starts_with(line, "Memory map:");
}

/* Addresses behind "@". False: something else is there. */
static int read_addresses(struct text_reader *reader, struct slice text)
{
	reader->base.addresses.length = 0;
	reader->base.names.length = 0;
	for (text = slice_trim(text); text.length; text = slice_trim(text)) {
		uint64_t *added;
		uint64_t address;
		size_t digits;

		if (!slice_starts_with(text, "0x"))
			return -EBADMSG;
		address = gperftools_take_hex(&text, &digits);
		if (!digits || (text.length && !is_blank_char(text.start[0])))
			return -EBADMSG;
		if (reader->base.addresses.length == GPERFTOOLS_MAX_FRAMES)
			return -EBADMSG;
		added = array_add(&reader->base.addresses);
		if (!added)
			return -ENOMEM;
		*added = address;
	}
	return 0;
}

/* Scale a stack of a sampled heap to the whole heap. */
static void scale_heap(const struct text_reader *reader, uint64_t *count, uint64_t *bytes)
{
	double factor;

	if (reader->rate <= 1 || !*count || !*bytes)
		return;
	factor = 1 / (1 - exp(-((double)*bytes / (double)*count) / (double)reader->rate));
	if ((double)*count * factor >= 0x1p63 || (double)*bytes * factor >= 0x1p63)
		return;
	*count = (uint64_t)((double)*count * factor);
	*bytes = (uint64_t)((double)*bytes * factor);
}

static int add_values(struct text_reader *reader, uint32_t stack)
{
	for (size_t i = 0; i < reader->num_metrics; i++) {
		struct import *import = reader->base.import;
		int err = profile_add_sample(import->profile, reader->base.thread, stack,
					     reader->metrics[i], reader->values[i]);

		if (err == -EOVERFLOW)
			return import_fail_line(
				import, reader->line,
				"the sum of the values of this stack exceeds 64 bits");
		if (err)
			return err;
	}
	return 0;
}

/* Add the open stack. Its names have been read. */
static int close_stack(struct text_reader *reader)
{
	uint32_t stack;
	int err;

	if (!reader->is_open)
		return 0;
	reader->is_open = false;
	err = gperftools_add_stack(&reader->base, false, &stack);
	if (err)
		return err;
	reader->base.import->counts.records++;
	return add_values(reader, stack);
}

/* Cycles of waiting for nanoseconds, both times the period. */
static bool set_contention(struct text_reader *reader, uint64_t cycles, uint64_t count)
{
	double delay_ns = (double)cycles * (double)reader->period;

	if (reader->cycles_per_s)
		delay_ns = delay_ns * 1e9 / (double)reader->cycles_per_s;
	if (!(delay_ns < 0x1p63))
		return false;
	reader->values[0] = (uint64_t)delay_ns;
	return !__builtin_mul_overflow(count, reader->period, &reader->values[1]);
}

static void set_heap(struct text_reader *reader, uint64_t *values)
{
	scale_heap(reader, &values[0], &values[1]);
	scale_heap(reader, &values[2], &values[3]);
	reader->values[0] = values[1];
	reader->values[1] = values[0];
	reader->values[2] = values[3];
	reader->values[3] = values[2];
}

/* The numbers before "@". */
static bool parse_values(struct text_reader *reader, struct slice text)
{
	uint64_t values[MAX_VALUES] = {0};

	switch (reader->kind) {
	case KIND_HEAP:
	case KIND_JEMALLOC:
		if (!take_heap_values(&text, values))
			return false;
		for (size_t i = 0; i < MAX_VALUES; i++)
			reader->sums[i] = add_saturated(reader->sums[i], values[i]);
		set_heap(reader, values);
		return slice_equals(slice_trim(text), "]");
	case KIND_COUNT:
		if (!take_number(&text, "", &reader->values[0]))
			return false;
		reader->sums[0] = add_saturated(reader->sums[0], reader->values[0]);
		return !slice_trim(text).length;
	case KIND_CONTENTION:
		return take_number(&text, "", &values[0]) && take_number(&text, "", &values[1]) &&
		       !slice_trim(text).length && set_contention(reader, values[0], values[1]);
	}
	return false;
}

static int skip(struct text_reader *reader)
{
	reader->is_open = false;
	return reader_skip_line(reader->base.import, reader->lines.number, "malformed");
}

/* "1: 200 [2: 400] @ 0x401234" */
static int read_stack_line(struct text_reader *reader, struct slice line, const char *at)
{
	struct slice values = {line.start, (size_t)(at - line.start)};
	struct slice addresses = {at + 1, line.length - values.length - 1};
	int err = read_addresses(reader, addresses);

	if (err == -EBADMSG || !parse_values(reader, values))
		return skip(reader);
	reader->is_open = !err;
	reader->line = reader->lines.number;
	return err;
}

/* jemalloc: "@ 0x401234" */
static int read_jemalloc_stack(struct text_reader *reader, struct slice line)
{
	int err = read_addresses(reader, (struct slice){line.start + 1, line.length - 1});

	memset(reader->values, 0, sizeof(reader->values));
	reader->line = 0; /* no numbers yet */
	if (err == -EBADMSG)
		return skip(reader);
	reader->is_open = !err;
	return err;
}

/* jemalloc: "  t*: 1: 200 [0: 0]"; numbers of single threads are in the sum. */
static int read_jemalloc_values(struct text_reader *reader, struct slice text)
{
	if (!slice_starts_with(text, "t*:") || !reader->is_open)
		return 0;
	if (!parse_values(reader, (struct slice){text.start + 3, text.length - 3}))
		return skip(reader);
	reader->line = reader->lines.number;
	return 0;
}

static struct slice take_field(struct slice *text)
{
	struct slice field = {text->start, 0};

	while (field.length < text->length && text->start[field.length] != '\t')
		field.length++;
	*text = (struct slice){text->start + field.length, text->length - field.length};
	/* Columns are aligned: several tabs may follow. */
	while (text->length && text->start[0] == '\t')
		*text = (struct slice){text->start + 1, text->length - 1};
	return slice_trim(field);
}

/* "main.f+0x14" without the offset */
static struct slice strip_offset(struct slice function)
{
	for (size_t i = function.length; i-- > 1;)
		if (function.start[i] == '+')
			return (struct slice){function.start, i};
	return function;
}

/* "#	0x401234	main.f+0x14	/src/a.go:12" */
static int read_name(struct text_reader *reader, struct slice line)
{
	struct slice rest = {line.start + 1, line.length - 1};
	struct gperftools_name name = {0};
	struct gperftools_name *added;
	struct slice address, place;
	uint64_t number;
	size_t digits;

	if (!rest.length || rest.start[0] != '\t')
		return 0;
	rest = (struct slice){rest.start + 1, rest.length - 1};
	address = take_field(&rest);
	name.function = strip_offset(take_field(&rest));
	place = take_field(&rest);
	name.address = gperftools_take_hex(&address, &digits);
	if (!digits || address.length || !name.function.length)
		return 0;
	for (size_t i = place.length; i-- > 0;)
		if (place.start[i] == ':' &&
		    parse_u64(place.start + i + 1, place.length - i - 1, &number) &&
		    number <= UINT32_MAX) {
			name.file = (struct slice){place.start, i};
			name.line = (uint32_t)number;
			break;
		}
	added = array_add(&reader->base.names);
	if (!added)
		return -ENOMEM;
	*added = name;
	return 0;
}

/* "cycles/second=3201000000", "sampling period = 100" */
static void read_setting(struct text_reader *reader, struct slice line)
{
	static const char cycles[] = "cycles/second";
	static const char period[] = "sampling period";
	bool is_cycles = slice_starts_with(line, cycles);
	struct slice rest;
	uint64_t number;

	if (!is_cycles && !slice_starts_with(line, period))
		return;
	rest = (struct slice){line.start + strlen(is_cycles ? cycles : period),
			      line.length - strlen(is_cycles ? cycles : period)};
	if (!take_number(&rest, "=", &number))
		return;
	if (is_cycles)
		reader->cycles_per_s = number;
	else
		reader->period = number ? number : 1;
}

static int read_line(struct text_reader *reader, struct slice line)
{
	struct slice text = slice_trim(line);
	const char *at = text.length ? memchr(text.start, '@', text.length) : NULL;
	int err;

	if (!text.length)
		return 0;
	if (text.start[0] == '#')
		return reader->is_open ? read_name(reader, text) : 0;
	if (reader->kind == KIND_JEMALLOC && at != text.start)
		return read_jemalloc_values(reader, text);
	err = close_stack(reader);
	if (err)
		return err;
	if (reader->kind == KIND_JEMALLOC)
		return read_jemalloc_stack(reader, text);
	if (at)
		return read_stack_line(reader, text, at);
	if (reader->kind != KIND_CONTENTION)
		return skip(reader);
	read_setting(reader, text);
	return 0;
}

static int read_stacks(struct text_reader *reader)
{
	struct import *import = reader->base.import;
	size_t reported = 0;
	struct slice line;
	int err;

	while (lines_take(&reader->lines, &line)) {
		size_t done = (size_t)(line.start - (const char *)import->data);

		if (is_mapping_heading(line)) {
			reader->has_end = true;
			break;
		}
		reader->has_end |= slice_starts_with(line, go_heap_end);
		err = read_line(reader, line);
		if (err)
			return err;
		/* Names of the open stack are borrowed from the lines before. */
		if (import->advance && !reader->is_open && done - reported >= ADVANCE_BYTES) {
			import->advance(import->context, done);
			reported = done;
		}
	}
	return close_stack(reader);
}

static int add_metrics(struct text_reader *reader, const char *const (*metrics)[2], size_t count)
{
	reader->num_metrics = count;
	for (size_t i = 0; i < count; i++) {
		int err = profile_add_metric(reader->base.import->profile, metrics[i][0],
					     metrics[i][1], &reader->metrics[i]);

		if (err)
			return err;
	}
	return 0;
}

static int add_heap_metrics(struct text_reader *reader)
{
	static const char *const metrics[][2] = {{"inuse_space", "bytes"},
						 {"inuse_objects", "count"},
						 {"alloc_space", "bytes"},
						 {"alloc_objects", "count"}};

	return add_metrics(reader, metrics, reader->has_allocated ? 4 : 2);
}

/* "@ heap_v2/524288": sampled. "@ heap/1048576", of Go: twice the rate. "@ heapprofile": all of it. */
static void read_rate(struct text_reader *reader, struct slice line)
{
	struct slice rest = line;
	const char *slash = line.length ? memchr(line.start, '/', line.length) : NULL;

	if (!slash)
		return;
	rest = (struct slice){slash + 1, line.length - (size_t)(slash - line.start) - 1};
	if (!take_number(&rest, "", &reader->rate))
		reader->rate = 0;
	if (slice_contains(line, "@ heap/"))
		reader->rate /= 2;
}

static int read_heap_heading(struct text_reader *reader, struct slice line)
{
	struct slice numbers = {line.start + strlen("heap profile:"),
				line.length - strlen("heap profile:")};

	read_rate(reader, line);
	if (!take_heap_values(&numbers, reader->announced))
		return import_fail_line(reader->base.import, 1,
					"expected 'heap profile: N: BYTES [N: BYTES] @ KIND'");
	reader->has_allocated = reader->announced[2] || reader->announced[3];
	return add_heap_metrics(reader);
}

/* The sum of all is in the second line. */
static int read_jemalloc_heading(struct text_reader *reader, struct slice line)
{
	struct lines lines = reader->lines;
	struct slice text;

	read_rate(reader, line);
	if (lines_take(&lines, &text)) {
		text = slice_trim(text);
		if (slice_starts_with(text, "t*:")) {
			text = (struct slice){text.start + 3, text.length - 3};
			if (!take_heap_values(&text, reader->announced))
				memset(reader->announced, 0, sizeof(reader->announced));
		}
	}
	reader->has_allocated = reader->announced[2] || reader->announced[3];
	return add_heap_metrics(reader);
}

/* "goroutine profile: total 5" */
static int read_count_heading(struct text_reader *reader, const struct heading *heading,
			      struct slice line)
{
	const char *const metrics[][2] = {{heading->metric, "count"}};
	size_t length = strlen(heading->start);
	struct slice total = {line.start + length, line.length - length};

	if (!take_number(&total, "", &reader->announced[0]))
		reader->announced[0] = 0;
	return add_metrics(reader, metrics, 1);
}

static int read_heading(struct text_reader *reader, const struct heading *heading,
			struct slice line)
{
	static const char *const contention[][2] = {{"delay", "nanoseconds"},
						    {"contentions", "count"}};

	reader->kind = heading->kind;
	if (heading->kind == KIND_HEAP || heading->kind == KIND_JEMALLOC)
		reader->end = slice_contains(line, "@ heap/") ? go_heap_end : heap_end;
	switch (heading->kind) {
	case KIND_HEAP:
		return read_heap_heading(reader, line);
	case KIND_JEMALLOC:
		return read_jemalloc_heading(reader, line);
	case KIND_COUNT:
		return read_count_heading(reader, heading, line);
	case KIND_CONTENTION:
		return add_metrics(reader, contention, 2);
	}
	return -EINVAL;
}

static const struct heading *find_heading(const uint8_t *data, size_t size)
{
	struct slice text = {(const char *)data, size};

	for (size_t i = 0; i < ARRAY_LENGTH(headings); i++)
		if (slice_starts_with(text, headings[i].start))
			return &headings[i];
	return NULL;
}

/* Stacks are missing where the file is truncated, or lines are malformed. */
static void report_missing(struct text_reader *reader)
{
	struct slice line;

	while (lines_take(&reader->lines, &line))
		; /* mappings, which have been read */
	reader_report_damage(reader->base.import, &reader->lines);
	for (size_t i = 0; i < MAX_VALUES; i++) {
		if (reader->sums[i] >= reader->announced[i])
			continue;
		import_warn(reader->base.import,
			    "the stacks add up to %llu, but the head of the file says %llu: it may "
			    "be truncated",
			    (unsigned long long)reader->sums[i],
			    (unsigned long long)reader->announced[i]);
		return;
	}
	if (reader->end && !reader->has_end)
		import_warn(reader->base.import,
			    "no line '%s' follows the stacks: the file may be truncated",
			    reader->end);
}

static int read_text(struct text_reader *reader)
{
	struct import *import = reader->base.import;
	const struct heading *heading = find_heading(import->data, import->size);
	struct slice line;
	int err;

	if (!heading || !lines_take(&reader->lines, &line))
		return import_fail_line(import, 1,
					"expected a profile of gperftools, jemalloc or Go");
	err = gperftools_read_mappings(&reader->base,
				       (struct slice){(const char *)import->data, import->size});
	if (err)
		return err;
	err = read_heading(reader, heading, line);
	if (err)
		return err;
	err = read_stacks(reader);
	if (err)
		return err;
	report_missing(reader);
	return 0;
}

static void release_reader(struct text_reader *reader)
{
	array_release(&reader->base.mappings);
	array_release(&reader->base.addresses);
	array_release(&reader->base.names);
	hash_index_release(&reader->base.modules);
}

static int read_gperftools(struct import *import)
{
	_cleanup_(release_reader) struct text_reader reader = {
		.base.import = import,
		.lines = lines_of(import->data, import->size),
		.period = 1,
	};
	int err = reader_add_anonymous_thread(import, &reader.base.thread);

	if (err)
		return err;
	err = gperftools_is_cpu_profile(import->data, import->size)
		      ? gperftools_read_cpu_profile(&reader.base)
		      : read_text(&reader);
	if (err || import->will_name_code)
		return err;
	return unsymbolized_code_name(import, false, UNNAMED_NO_SYMBOL);
}

static enum detection detect(const uint8_t *data, size_t size)
{
	return find_heading(data, size) || gperftools_is_cpu_profile(data, size) ? DETECTED_SURE
										 : DETECTED_NOT;
}

const struct format format_gperftools = {
	.name = "gperftools",
	.extension = "",
	.summary = "profiles of gperftools, jemalloc and Go in the formats of pprof "
		   "before .pb.gz",
	.detect = detect,
	.read = read_gperftools,
};
