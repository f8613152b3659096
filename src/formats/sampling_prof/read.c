/*
 * Reading SamplingProf's tables: elements, their self and total counts, and the counts of calls,
 * each once for a sample. Self counts are always exact; a warning is printed if totals or calls are
 * not.
 *
 * The oldest writers omit calls from the root: if an element's total exceeds the sum of the calls
 * to it, it was outermost in the difference.
 */
#include "formats/sampling_prof/read.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define NS_PER_MS 1000000u

/* Milliseconds, perhaps with decimals, which are dropped. */
static bool parse_runtime(struct slice line, uint64_t *ret)
{
	const char *dot = memchr(line.start, '.', line.length);
	size_t whole = dot ? (size_t)(dot - line.start) : line.length;
	uint64_t decimals;
	size_t num_decimals = dot ? line.length - whole - 1 : 0;

	return parse_u64(line.start, whole, ret) &&
	       (!dot || num_decimals > 18 || parse_u64(dot + 1, num_decimals, &decimals));
}

/* Numbers with commas between them, exactly so many. */
static bool parse_numbers(struct slice line, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		const char *comma = memchr(line.start, ',', line.length);
		size_t length = comma ? (size_t)(comma - line.start) : line.length;

		if (!comma != (i + 1 == count) || !parse_u64(line.start, length, &numbers[i]))
			return false;
		line.start += length + (comma != NULL);
		line.length -= length + (comma != NULL);
	}
	return true;
}

static uint32_t find_element(const struct sampling_prof_reader *reader, uint64_t id)
{
	struct sampling_prof_element wanted = {.id = id};

	return sampling_prof_element_table_find(&reader->elements, &wanted);
}

/*
 * The position of ":LINE:" in FILE:LINE:FUNCTION; the whole length if not found. The first position
 * that fits wins, since a function may have colons and digits, too (C++), but hardly the path
 * before it.
 */
static size_t find_line(struct slice name, size_t *ret_end, uint64_t *ret_line)
{
	for (size_t i = 0; i < name.length; i++) {
		size_t end = i + 1;

		if (name.start[i] != ':')
			continue;
		while (end < name.length && name.start[end] >= '0' && name.start[end] <= '9')
			end++;
		if (end + 1 < name.length && name.start[end] == ':' &&
		    parse_u64(name.start + i + 1, end - i - 1, ret_line) &&
		    *ret_line <= UINT32_MAX) {
			*ret_end = end + 1;
			return i;
		}
	}
	return name.length;
}

static int add_location(struct sampling_prof_reader *reader, struct slice name, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {0};
	uint64_t line = 0;
	size_t function = 0;
	size_t position = find_line(name, &function, &line);
	int err;

	/* An element that is not FILE:LINE:FUNCTION is a function's name as a whole. */
	if (!function)
		position = 0;
	frame.line = (uint32_t)line;
	if (position) {
		err = string_table_add(profile_get_strings(profile), name.start, position,
				       line ? &frame.file : &frame.module);
		if (err)
			return err;
	}
	/* Two lines of a function are two elements: a name with its line keeps them apart. */
	if (line && position)
		function = 0;
	err = profile_add_frame_name(profile, name.start + function, name.length - function,
				     &frame.name);
	frame.full_name = frame.name;
	if (err)
		return err;
	return profile_add_frame_location(profile, &frame, ret);
}

/* The name may hold commas: the id is after the last one. */
static int read_element(struct sampling_prof_reader *reader, struct slice line)
{
	const char *comma = memrchr(line.start, ',', line.length);
	struct slice name = {line.start, comma ? (size_t)(comma - line.start) : 0};
	struct sampling_prof_element element = {.caller = NO_CALLER};
	uint32_t ignored;
	int err;

	if (!comma || !parse_u64(comma + 1, line.length - name.length - 1, &element.id) ||
	    find_element(reader, element.id) != HASH_INDEX_NONE)
		return reader_skip_line(reader->import, reader->lines.number,
					"expected an element and its own id");
	err = add_location(reader, name, &element.location);
	if (err)
		return err;
	return sampling_prof_element_table_add(&reader->elements, &element, &ignored);
}

/* A sample that counts for an element itself counts for its total, too. */
static int read_counts(struct sampling_prof_reader *reader, struct slice line)
{
	uint64_t numbers[3];
	struct sampling_prof_element *element;
	uint32_t found = NOT_FOUND;

	if (parse_numbers(line, numbers, 3))
		found = find_element(reader, numbers[0]);
	if (found == NOT_FOUND || reader->elements.items[found].has_counts ||
	    numbers[1] > numbers[2])
		return reader_skip_line(reader->import, reader->lines.number,
					"expected the id of an element, its self and its total");
	element = &reader->elements.items[found];
	element->has_counts = true;
	element->self = numbers[1];
	element->total = numbers[2];
	return 0;
}

/* A call to itself is no edge of a tree; its count is the number of samples with such a call. */
static int read_call(struct sampling_prof_reader *reader, struct slice line)
{
	bool is_root = line.length > 3 && memcmp(line.start, "-1,", 3) == 0;
	struct slice rest = {line.start + 3 * is_root, line.length - 3 * is_root};
	uint64_t numbers[3];
	uint32_t from = NO_CALLER;
	uint32_t to = NOT_FOUND;
	struct call *added;

	if (is_root ? parse_numbers(rest, numbers + 1, 2) : parse_numbers(rest, numbers, 3)) {
		from = is_root ? NO_CALLER : find_element(reader, numbers[0]);
		to = find_element(reader, numbers[1]);
	}
	if (to == NOT_FOUND || (!is_root && from == NOT_FOUND))
		return reader_skip_line(reader->import, reader->lines.number,
					"expected the ids of caller and callee and a count");
	if (from == to) {
		reader->elements.items[to].recursions = numbers[2];
		return 0;
	}
	added = array_add(&reader->calls);
	if (!added)
		return -ENOMEM;
	*added = (struct call){from, to, numbers[2]};
	return 0;
}

static int read_line(struct sampling_prof_reader *reader, struct slice line)
{
	switch (reader->table) {
	case TABLE_RUNTIME:
		if (!parse_runtime(line, &reader->runtime_ms))
			return import_fail_line(reader->import, reader->lines.number,
						"expected the runtime in milliseconds");
		return 0;
	case TABLE_ELEMENTS:
		return read_element(reader, line);
	case TABLE_COUNTS:
		return read_counts(reader, line);
	case TABLE_CALLS:
		return read_call(reader, line);
	case NUM_TABLES:
		break;
	}
	return reader_skip_line(reader->import, reader->lines.number, "text after the last table");
}

static bool has_counts(const struct sampling_prof_reader *reader)
{
	for (size_t i = 0; i < reader->elements.length; i++)
		if (reader->elements.items[i].has_counts)
			return true;
	return false;
}

/*
 * The tables of a profile without samples: the runtime, and three lines between nothing. The lines
 * are a copy: they are counted without being taken from the reader.
 */
static bool is_empty_profile(struct lines lines, uint64_t *ret_runtime_ms)
{
	struct slice line;
	bool is_empty = lines_take(&lines, &line) && parse_runtime(line, ret_runtime_ms);

	while (is_empty && lines_take(&lines, &line))
		is_empty = !line.length;
	return is_empty && lines.number >= NUM_TABLES;
}

/* A table ends at an empty line; several of them are one end, and those before it are ignored. */
static int read_tables(struct sampling_prof_reader *reader)
{
	bool is_in_table = false;
	struct slice line;
	int err = 0;

	while (lines_take(&reader->lines, &line)) {
		if (line.length) {
			is_in_table = true;
			err = read_line(reader, line);
		} else if (is_in_table && reader->table < NUM_TABLES) {
			is_in_table = false;
			reader->table++;
		}
		if (err)
			return err;
	}
	if (reader->table < TABLE_CALLS || !reader->elements.length)
		err = import_fail_line(reader->import,
				       reader->lines.number ? reader->lines.number : 1,
				       "the file ends before its last table");
	if (err)
		return err;
	if (!has_counts(reader))
		err = import_fail_line(reader->import, reader->lines.number,
				       "no element has both self and total");
	if (err)
		return err;
	reader_report_damage(reader->import, &reader->lines);
	return 0;
}

/* ---- calls ---- */

static int compare_calls(const void *left, const void *right)
{
	const struct call *a = left;
	const struct call *b = right;

	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	return (a->to > b->to) - (a->to < b->to);
}

/* Compute the root's calls if the file has none. */
static int add_root_calls(struct sampling_prof_reader *reader)
{
	array_for_each (&reader->calls, call) {
		uint64_t *called = &reader->elements.items[call->to].called;

		if (call->from == NO_CALLER)
			return 0;
		if (__builtin_add_overflow(*called, call->count, called))
			*called = UINT64_MAX;
	}
	for (uint32_t id = 0; id < reader->elements.length; id++) {
		const struct sampling_prof_element *element = &reader->elements.items[id];
		struct call *added;

		if (element->called >= element->total)
			continue;
		added = array_add(&reader->calls);
		if (!added)
			return -ENOMEM;
		*added = (struct call){NO_CALLER, id, element->total - element->called};
	}
	return 0;
}

/*
 * Calls are sorted by caller, so that those of one element are neighbours from first_call on.
 * NO_CALLER is the greatest number: calls from the root are at the end.
 */
static int sort_calls(struct sampling_prof_reader *reader)
{
	int err = add_root_calls(reader);

	if (err)
		return err;
	if (reader->calls.length)
		qsort(reader->calls.items, reader->calls.length, sizeof(struct call),
		      compare_calls);
	reader->first_root = (uint32_t)reader->calls.length;
	array_for_each (&reader->elements, element)
		element->first_call = (uint32_t)reader->calls.length;
	for (uint32_t i = (uint32_t)reader->calls.length; i-- > 0;) {
		uint32_t from = reader->calls.items[i].from;

		*(from == NO_CALLER ? &reader->first_root
				    : &reader->elements.items[from].first_call) = i;
	}
	return 0;
}

static void add_duration(struct sampling_prof_reader *reader)
{
	struct sampling sampling = {0};

	if (__builtin_mul_overflow(reader->runtime_ms, NS_PER_MS, &sampling.duration_ns))
		sampling.duration_ns = UINT64_MAX;
	profile_add_sampling(reader->import->profile, &sampling);
}

/* An exact tree leaves no choice; otherwise several stacks fit, or none. */
static int add_stacks(struct sampling_prof_reader *reader)
{
	bool is_exact;
	bool is_done = false;
	int err = sampling_prof_grow_tree(reader, &is_exact);

	if (err)
		return err;
	if (!is_exact) {
		err = sampling_prof_add_paths(reader, &is_done);
		if (err)
			return err;
		import_warn(
			reader->import,
			is_done ? "the file has no stacks: they are reconstructed from counts and calls, "
				  "which are exact; stacks may not be"
				: "the file has no stacks: they are reconstructed from calls; self "
				  "counts are exact, totals and callers may not be");
	}
	return is_done ? 0 : sampling_prof_add_tree(reader);
}

static int read_profile(struct sampling_prof_reader *reader)
{
	struct import *import = reader->import;
	int err = reader_add_anonymous_thread(import, &reader->thread);

	if (err)
		return err;
	err = profile_add_metric(import->profile, "samples", "count", &reader->metric);
	if (err)
		return err;
	if (!is_empty_profile(reader->lines, &reader->runtime_ms)) {
		err = read_tables(reader);
		if (err)
			return err;
		err = sort_calls(reader);
		if (err)
			return err;
		err = add_stacks(reader);
		if (err)
			return err;
	}
	add_duration(reader);
	return 0;
}

int sampling_prof_read(struct import *import)
{
	struct sampling_prof_reader reader = {.import = import,
					      .lines = lines_of(import->data, import->size)};
	int err = read_profile(&reader);

	sampling_prof_element_table_release(&reader.elements);
	array_release(&reader.calls);
	array_release(&reader.heap);
	array_release(&reader.order);
	return err;
}

/* A number, an empty line, and a name with an id; or, in an empty file, a number alone. */
enum detection sampling_prof_detect(const uint8_t *data, size_t size)
{
	struct lines lines = lines_of(data, size);
	struct slice first[3];
	const char *comma;
	uint64_t number;

	if (is_empty_profile(lines, &number))
		return DETECTED_MAYBE;
	for (int i = 0; i < 3; i++)
		if (!lines_take(&lines, &first[i]))
			return DETECTED_NOT;
	comma = memrchr(first[2].start, ',', first[2].length);
	if (!parse_runtime(first[0], &number) || first[1].length || !comma ||
	    !parse_u64(comma + 1, (size_t)(first[2].start + first[2].length - comma) - 1, &number))
		return DETECTED_NOT;
	return DETECTED_SURE;
}
