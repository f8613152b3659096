/*
 * Profiles of callgrind, of cachegrind, and of other writers of the format, such as Xdebug:
 * functions, the events that they caused, and the calls between two of them. There are no stacks in
 * such a file; read_stacks.c estimates them.
 *
 *	events: Ir Dr                 meaning of the numbers
 *	fl=(1) main.c                 the file of the lines below; (1) means it from now on
 *	fn=(1) main                   the function
 *	16 400 20                     line 16: 400 Ir and 20 Dr of its own
 *	cfn=(2) f
 *	calls=3 50                    main calls f three times; f starts in line 50
 *	+1 900                        the call is in line 17; all three together cost 900 Ir
 *
 * Name compression: "(1) main" defines number 1 as main, a later "(1)" is main again. Objects, files
 * and functions have numbers of their own; cfn= uses those of fn=, and so on (read_names.c).
 * Position compression: a line's number may be relative to the one before, or "*" for the same.
 *
 * A line "calls=" changes the meaning of the next one: its costs are those of the calls, including
 * everything that the callee called, and must not be added to the caller's own.
 *
 * A file may consist of parts, one for each thread or each dump. Parts have their own headers and
 * may count other events, but share the numbers of names. So all lines "events:" are read before
 * the first cost. "totals:" at the end is the sum of a part's costs, and "summary:" in the header of
 * callgrind's own files, too: a difference means that a line was misread or is missing, and is
 * reported.
 *
 * A function is distinguished by its name, file and object. Code that was inlined into it (fi=,
 * fe=) counts as its own: the format has no name of the function that it came from.
 *
 * Source: the manual of Valgrind, "Callgrind Format Specification".
 */
#include <errno.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "formats/callgrind/read.h"
#include "formats/reader.h"
#include "formats/signed_sums.h"
#include "formats/slice.h"

#define FORMAT_MARK     "# callgrind format"
#define MAX_EVENTS      64
#define MAX_POSITIONS   3
#define DETECTION_LINES 100

/* A hostile file must not have more functions and calls, times events, than its size allows. */
#define FREE_COSTS     1000000u
#define BYTES_PER_COST 3u

struct callgrind_event {
	struct slice name;
	uint64_t sum;       /* of costs that are not negative */
	uint64_t reported;  /* by the file itself, at the end of parts */
	uint64_t announced; /* likewise, in headers */
	bool has_negative;  /* costs, which `sum` lacks */
	uint64_t num_below; /* functions whose costs stay below 0 */
	uint64_t below;     /* sum of what these lack to reach 0, saturated */
};

struct callgrind_reader {
	struct import *import;
	struct callgrind_graph graph;
	struct callgrind_names names;
	struct callgrind_event events[MAX_EVENTS];
	uint32_t metrics[MAX_EVENTS];

	/* State of the part. */
	size_t columns[MAX_EVENTS]; /* the event that each number of a cost line counts */
	size_t num_columns;
	size_t num_positions;
	unsigned int num_parts;
	unsigned int num_totals;
	unsigned int num_summaries;
	bool is_callgrind; /* it has summaries in headers */

	/* The owner of the next cost line: strings of the profile, functions of the graph. */
	uint32_t object;
	uint32_t file;
	uint32_t called_object; /* STRING_NONE: the same */
	uint32_t called_file;
	uint32_t function; /* HASH_INDEX_NONE: none yet */
	uint32_t called;
	bool is_call; /* the next cost line is that of a calls= line */
	/* Memory that was freed: thread 1 has functions, 0 calls; their numbers are stacks. */
	struct signed_sums negative_costs;
};

/* ---- slices of a line ---- */

static struct slice skip_bytes(struct slice slice, size_t count)
{
	return slice_trim((struct slice){slice.start + count, slice.length - count});
}

/* Take the next word off the front; empty if none is left. */
static struct slice take_word(struct slice *rest)
{
	struct slice word = slice_trim(*rest);
	size_t length = 0;

	while (length < word.length && !is_blank_char(word.start[length]))
		length++;
	*rest = skip_bytes(word, length);
	word.length = length;
	return word;
}

/* Decimal, or 0x1f. */
static bool get_number(struct slice word, uint64_t *ret)
{
	if (!slice_starts_with(word, "0x"))
		return parse_u64(word.start, word.length, ret);
	word = skip_bytes(word, 2);
	return word.length && hex_read(word.start, word.length, ret) == word.length;
}

/* 15, +3, -0x10, * */
static bool is_position(struct slice word)
{
	uint64_t ignored;

	if (word.length == 1 && word.start[0] == '*')
		return true;
	if (word.length && (word.start[0] == '+' || word.start[0] == '-'))
		word = (struct slice){word.start + 1, word.length - 1};
	return get_number(word, &ignored);
}

/* ---- the header ---- */

static size_t find_event(const struct callgrind_reader *reader, struct slice name)
{
	size_t event = 0;

	while (event < reader->graph.num_events &&
	       (reader->events[event].name.length != name.length ||
		memcmp(reader->events[event].name.start, name.start, name.length) != 0))
		event++;
	return event;
}

/* Arrays of costs have a fixed width, so the events of all parts are collected first. */
static int find_events(struct callgrind_reader *reader)
{
	struct lines lines = lines_of(reader->import->data, reader->import->size);
	struct slice line;

	while (lines_take(&lines, &line)) {
		struct slice name;

		line = slice_trim(line);
		if (!slice_starts_with(line, "events:"))
			continue;
		line = skip_bytes(line, strlen("events:"));
		while ((name = take_word(&line)).length) {
			size_t event = find_event(reader, name);

			if (event == MAX_EVENTS)
				return import_fail_line(reader->import, lines.number,
							"more than %d events", MAX_EVENTS);
			reader->events[event].name = name;
			reader->graph.num_events += event == reader->graph.num_events;
		}
	}
	if (!reader->graph.num_events)
		return import_fail_byte(reader->import, 0, "expected a line 'events:'");
	return 0;
}

static int add_metrics(struct callgrind_reader *reader)
{
	struct profile *profile = reader->import->profile;
	uint32_t name;
	int err;

	for (size_t i = 0; i < reader->graph.num_events; i++) {
		err = callgrind_add_string(&reader->names, reader->events[i].name, &name);
		if (err)
			return err;
		err = profile_add_metric(profile, profile_get_string(profile, name), "count",
					 &reader->metrics[i]);
		if (err)
			return err;
	}
	return 0;
}

static void read_events(struct callgrind_reader *reader, struct slice text)
{
	struct slice name;

	reader->num_columns = 0;
	reader->num_parts++;
	while (reader->num_columns < MAX_EVENTS && (name = take_word(&text)).length)
		reader->columns[reader->num_columns++] = find_event(reader, name);
}

static void read_positions(struct callgrind_reader *reader, struct slice text)
{
	reader->num_positions = 0;
	while (reader->num_positions < MAX_POSITIONS && take_word(&text).length)
		reader->num_positions++;
}

/* Add the sums of all costs of a part. */
static void read_sums(struct callgrind_reader *reader, struct slice text, bool is_summary)
{
	for (size_t i = 0; i < reader->num_columns; i++) {
		struct callgrind_event *event = &reader->events[reader->columns[i]];
		uint64_t *sum = is_summary ? &event->announced : &event->reported;
		uint64_t value;

		if (get_number(take_word(&text), &value))
			*sum = add_saturated(*sum, value);
	}
}

/* "cmd: /usr/bin/work 7": the comm is the base name of the program. */
static int read_command(struct callgrind_reader *reader, struct slice text)
{
	struct slice word = take_word(&text);

	for (size_t i = word.length; i-- > 0;) {
		if (word.start[i] == '/') {
			word = skip_bytes(word, i + 1);
			break;
		}
	}
	reader->names.has_thread = false;
	return word.length ? callgrind_add_string(&reader->names, word, &reader->names.comm) : 0;
}

static int read_header(struct callgrind_reader *reader, struct slice line)
{
	const char *colon = memchr(line.start, ':', line.length);
	struct slice key = {line.start, colon ? (size_t)(colon - line.start) : 0};
	struct slice value;

	if (!colon)
		return reader_skip_line(reader->import, reader->names.line, "malformed");
	value = skip_bytes(line, key.length + 1);
	if (slice_starts_with(line, "events:")) {
		read_events(reader, value);
	} else if (slice_starts_with(line, "positions:")) {
		read_positions(reader, value);
	} else if (slice_starts_with(line, "totals:")) {
		reader->num_totals++;
		read_sums(reader, value, false);
	} else if (slice_starts_with(line, "summary:")) {
		reader->num_summaries++;
		read_sums(reader, value, true);
	} else if (slice_starts_with(line, "creator:")) {
		reader->is_callgrind = slice_starts_with(value, "callgrind");
	} else if (slice_starts_with(line, "cmd:")) {
		return read_command(reader, value);
	} else if (slice_starts_with(line, "pid:")) {
		reader->names.has_thread = false;
		if (!parse_u64(value.start, value.length, &reader->names.pid))
			reader->names.pid = 0;
	} else if (slice_starts_with(line, "thread:")) {
		reader->names.has_thread = false;
		if (!parse_u64(value.start, value.length, &reader->names.tid))
			reader->names.tid = 0;
	}
	return 0;
}

/* ---- the body ---- */

/* "fn=(7) a" is 9 bytes but needs num_events costs of 8 bytes: a hostile file declares 64 events. */
static bool has_room(const struct callgrind_reader *reader)
{
	const struct callgrind_graph *graph = &reader->graph;

	return graph->self_costs.length + graph->call_costs.length <
	       FREE_COSTS + reader->import->size / BYTES_PER_COST;
}

static int fail_too_large(const struct callgrind_reader *reader)
{
	return import_fail_line(reader->import, reader->names.line, "the costs exceed 64 bits");
}

/* number  of the function or call */
static int add_cost(struct callgrind_reader *reader, struct slice word, bool is_self,
		    uint32_t number, size_t event)
{
	struct callgrind_graph *graph = &reader->graph;
	uint64_t *costs = is_self ? graph->self_costs.items : graph->call_costs.items;
	uint64_t *cost = &costs[number * graph->num_events + event];
	uint64_t *sum = &reader->events[event].sum;
	uint64_t value;
	int err;

	if (word.length > 1 && word.start[0] == '-' &&
	    parse_u64(word.start + 1, word.length - 1, &value)) {
		err = signed_sums_subtract(&reader->negative_costs, is_self, number,
					   (uint32_t)event, value);
		return err == -EOVERFLOW ? fail_too_large(reader) : err;
	}
	if (!get_number(word, &value))
		return reader_skip_line(reader->import, reader->names.line, "malformed");
	if (__builtin_add_overflow(*cost, value, cost) ||
	    (is_self && __builtin_add_overflow(*sum, value, sum)))
		return fail_too_large(reader);
	return 0;
}

/* "16 400 20": positions, which are not used, then costs; the last columns may be left out if 0. */
static int read_costs(struct callgrind_reader *reader, struct slice text)
{
	struct callgrind_graph *graph = &reader->graph;
	bool is_self = !reader->is_call;
	uint32_t call = 0;
	struct slice word;
	int err;

	if (!reader->num_columns)
		return import_fail_line(reader->import, reader->names.line,
					"expected a line 'events:' before");
	for (size_t i = 0; i < reader->num_positions; i++)
		if (!is_position(take_word(&text)))
			return reader_skip_line(reader->import, reader->names.line, "malformed");
	if (reader->function == HASH_INDEX_NONE) {
		err = callgrind_find_named(&reader->names, reader->object, reader->file,
					   STRING_EMPTY, &reader->function);
		if (err)
			return err;
	}
	if (reader->is_call) {
		err = callgrind_find_call(graph, reader->function, reader->called, &call);
		if (err)
			return err;
	}
	reader->is_call = false;
	for (size_t i = 0; i < reader->num_columns && (word = take_word(&text)).length; i++) {
		err = add_cost(reader, word, is_self, is_self ? reader->function : call,
			       reader->columns[i]);
		if (err)
			return err;
	}
	reader->import->counts.records++;
	return 0;
}

static int read_function(struct callgrind_reader *reader, struct slice text)
{
	uint32_t name;
	int err = callgrind_read_name(&reader->names, text, CALLGRIND_FUNCTION, &name);

	if (err)
		return err;
	return callgrind_find_named(&reader->names, reader->object, reader->file, name,
				    &reader->function);
}

/* cob= and cfi= precede cfn= and count for one call; without them it is the caller's file. */
static int read_called(struct callgrind_reader *reader, struct slice text)
{
	uint32_t object = reader->called_object;
	uint32_t file = reader->called_file;
	uint32_t name;
	int err = callgrind_read_name(&reader->names, text, CALLGRIND_FUNCTION, &name);

	reader->called_object = reader->called_file = STRING_NONE;
	if (err)
		return err;
	return callgrind_find_named(&reader->names, object == STRING_NONE ? reader->object : object,
				    file == STRING_NONE ? reader->file : file, name,
				    &reader->called);
}

static int read_calls(struct callgrind_reader *reader)
{
	if (reader->called == HASH_INDEX_NONE)
		return reader_skip_line(reader->import, reader->names.line, "a call of nothing");
	reader->is_call = true;
	return 0;
}

/* Jumps (jump=, jcnd=) are skipped, but jfi= and jfn= may define names that are used later. */
static int read_specification(struct callgrind_reader *reader, struct slice line, size_t length)
{
	struct slice value = skip_bytes(line, length + 1);
	uint32_t ignored;

	if (slice_starts_with(line, "fn="))
		return read_function(reader, value);
	if (slice_starts_with(line, "cfn="))
		return read_called(reader, value);
	if (slice_starts_with(line, "calls="))
		return read_calls(reader);
	if (slice_starts_with(line, "fl=") || slice_starts_with(line, "fi=") ||
	    slice_starts_with(line, "fe="))
		return callgrind_read_name(&reader->names, value, CALLGRIND_FILE, &reader->file);
	if (slice_starts_with(line, "cfi=") || slice_starts_with(line, "cfl="))
		return callgrind_read_name(&reader->names, value, CALLGRIND_FILE,
					   &reader->called_file);
	if (slice_starts_with(line, "ob="))
		return callgrind_read_name(&reader->names, value, CALLGRIND_OBJECT,
					   &reader->object);
	if (slice_starts_with(line, "jfi=") || slice_starts_with(line, "jfl="))
		return callgrind_read_name(&reader->names, value, CALLGRIND_FILE, &ignored);
	if (slice_starts_with(line, "jfn="))
		return callgrind_read_name(&reader->names, value, CALLGRIND_FUNCTION, &ignored);
	if (slice_starts_with(line, "cob="))
		return callgrind_read_name(&reader->names, value, CALLGRIND_OBJECT,
					   &reader->called_object);
	return 0;
}

/* "fn" of "fn=main"; 0 for any other line. */
static size_t get_specification(struct slice line)
{
	size_t length = 0;

	while (length < line.length && line.start[length] >= 'a' && line.start[length] <= 'z')
		length++;
	return length < line.length && line.start[length] == '=' ? length : 0;
}

static int read_line(struct callgrind_reader *reader, struct slice line)
{
	size_t length;

	if (!line.length || line.start[0] == '#')
		return 0;
	if (!has_room(reader))
		return import_fail_line(
			reader->import, reader->names.line,
			"more functions and calls than a genuine file of this size can hold");
	if ((line.start[0] >= '0' && line.start[0] <= '9') || line.start[0] == '+' ||
	    line.start[0] == '-' || line.start[0] == '*')
		return read_costs(reader, line);
	length = get_specification(line);
	return length ? read_specification(reader, line, length) : read_header(reader, line);
}

static int read_lines(struct callgrind_reader *reader)
{
	struct lines lines = lines_of(reader->import->data, reader->import->size);
	struct slice line;
	int err;

	while (lines_take(&lines, &line)) {
		reader->names.line = lines.number;
		err = read_line(reader, slice_trim(line));
		if (err)
			return err;
	}
	reader_report_damage(reader->import, &lines);
	return 0;
}

/* ---- all of it ---- */

/* Costs below 0 that stay after all have been added: they count as 0. */
static int subtract_negative_costs(struct callgrind_reader *reader)
{
	struct callgrind_graph *graph = &reader->graph;
	uint64_t num_left = 0;

	if (!reader->negative_costs.sums.length)
		return 0;
	array_for_each (&reader->negative_costs.sums, sum) {
		bool is_self = sum->thread;
		uint64_t *costs = is_self ? graph->self_costs.items : graph->call_costs.items;
		uint64_t *cost = &costs[sum->stack * graph->num_events + sum->metric];
		struct callgrind_event *event = &reader->events[sum->metric];
		uint64_t part = sum->amount < *cost ? sum->amount : *cost;

		*cost -= part;
		if (!is_self)
			continue;
		event->has_negative = true;
		event->num_below += part < sum->amount;
		event->below = add_saturated(event->below, sum->amount - part);
	}
	array_for_each (&graph->self_costs, cost)
		num_left += *cost != 0;
	for (size_t i = 0; i < graph->num_events; i++) {
		const struct callgrind_event *event = &reader->events[i];

		reader->import->counts.skipped += event->num_below;
		if (event->num_below)
			import_warn(reader->import,
				    "%llu %s negative costs of %.*s (%llu in all), skipping",
				    (unsigned long long)event->num_below,
				    event->num_below == 1 ? "function has" : "functions have",
				    (int)(event->name.length < 40 ? event->name.length : 40),
				    event->name.start, (unsigned long long)event->below);
	}
	return num_left ? 0
			: import_fail_byte(reader->import, 0,
					   "expected costs above 0: all sums are negative or 0");
}

static void report_oddities(const struct callgrind_reader *reader)
{
	bool has_totals = reader->num_totals && reader->num_totals == reader->num_parts;
	/* A truncated file lacks totals. */
	bool has_summaries = reader->is_callgrind && reader->num_summaries &&
			     reader->num_summaries == reader->num_parts;

	for (size_t i = 0; i < reader->graph.num_events; i++) {
		const struct callgrind_event *event = &reader->events[i];
		uint64_t wanted = has_totals ? event->reported : event->announced;

		if ((!has_totals && !has_summaries) || event->has_negative || event->sum == wanted)
			continue;
		import_warn(reader->import,
			    "the costs add up to %llu %.*s, but the summary of the file is %llu",
			    (unsigned long long)event->sum,
			    (int)(event->name.length < 40 ? event->name.length : 40),
			    event->name.start, (unsigned long long)wanted);
		return;
	}
}

static void callgrind_reader_release(struct callgrind_reader *reader)
{
	callgrind_graph_release(&reader->graph);
	callgrind_names_release(&reader->names);
	signed_sums_release(&reader->negative_costs);
}

static int read_callgrind(struct import *import)
{
	_cleanup_(callgrind_reader_release) struct callgrind_reader reader = {
		.import = import,
		.graph = {.import = import},
		.names = {.import = import, .graph = &reader.graph},
		.num_positions = 1,
		.called_object = STRING_NONE,
		.called_file = STRING_NONE,
		.function = HASH_INDEX_NONE,
		.called = HASH_INDEX_NONE,
	};
	int err = find_events(&reader);

	if (err)
		return err;
	err = add_metrics(&reader);
	if (err)
		return err;
	err = read_lines(&reader);
	if (err)
		return err;
	err = subtract_negative_costs(&reader);
	if (err)
		return err;
	report_oddities(&reader);
	return callgrind_add_stacks(&reader.graph, reader.metrics);
}

static bool is_header(struct slice line)
{
	static const char *const keys[] = {
		"version:", "creator:", "pid:",    "cmd:",       "part:",   "thread:",
		"desc:",    "event:",   "events:", "positions:", "summary:"};

	if (!line.length || line.start[0] == '#')
		return true;
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		if (slice_starts_with(line, keys[i]))
			return true;
	return false;
}

/* The mark, or nothing but lines of a header up to the one with the events. */
static enum detection detect(const uint8_t *data, size_t size)
{
	struct lines lines = lines_of(data, size);
	struct slice line;

	for (int i = 0; i < DETECTION_LINES && lines_take(&lines, &line); i++) {
		line = slice_trim(line);
		if (i == 0 && slice_starts_with(line, FORMAT_MARK))
			return DETECTED_SURE;
		if (slice_starts_with(line, "events:"))
			return DETECTED_SURE;
		if (!is_header(line))
			return DETECTED_NOT;
	}
	return DETECTED_NOT;
}

const struct format format_callgrind = {
	.name = "callgrind",
	.extension = "",
	.summary = "profiles of callgrind, cachegrind and Xdebug",
	.producers = "Valgrind 3.19",
	.detect = detect,
	.read = read_callgrind,
};
