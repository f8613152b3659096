/*
 * Profiles of the Firefox Profiler, as JSON: processed ones, which its page saves and samply and
 * other converters write, of all versions that have columns; and raw ones ("gecko"), as the
 * browser gives them. The columns of the table of frames tell one kind from the other, because the
 * first processed ones have no version.
 *
 * A thread has samples, each the number of a stack, perhaps with a weight: a number of samples,
 * milliseconds, or bytes. Memory that was allocated has tables of its own. The version determines
 * where the tables of stacks, frames and functions are: in each thread or shared.
 *
 * Members may be in any order, and those that are needed first are often last, so that the text is
 * gone through three times: for the members of a process, whose offsets are noted; for those of
 * each thread, likewise; and for the tables, in the order in which they need each other
 * (read_code.c). No part of the text is copied, and tables become arrays of numbers.
 *
 * Sources: docs-developer/CHANGELOG-formats.md and src/types/ of the profiler's repository.
 */
#include <errno.h>
#include <string.h>

#include "formats/firefox/read.h"
#include "formats/known_samples.h"
#include "formats/signed_sums.h"
#include "formats/thread_note.h"

#define MAX_DEPTH 4 /* of processes inside processes; the browser writes two */

struct thread_positions {
	size_t samples;
	size_t js_allocations;
	size_t native_allocations;
	size_t libs; /* of versions before 41 */
};

struct firefox_reader {
	struct import *import;
	struct firefox_code code;
	struct processes processes;
	uint64_t num_threads;
	bool has_tables; /* any thread */

	/* The process that is being read. */
	size_t libs;
	size_t threads;
	size_t subprocesses;
	uint64_t start_ns; /* CLOCK_REALTIME; 0: not known */
	struct firefox_positions shared;
	bool is_shared_read;

	/* The thread that is being read. */
	struct firefox_positions own;
	struct thread_positions positions;
	struct text name;
	struct text process_name;
	uint64_t pid;
	uint64_t tid;
	struct thread_note note; /* counts for more */
	struct known_samples known_samples;
	struct signed_sums signed_sums;
	uint32_t thread;
};

static struct json open_json(const struct firefox_reader *reader, size_t position)
{
	return json_of(reader->import->data + position, reader->import->size - position);
}

/* ---- samples ---- */

/*
 * How to read the weights of a table. A metric has whole numbers: milliseconds with decimals are
 * shifted to become nanoseconds.
 */
struct firefox_weights {
	uint32_t metric;
	uint32_t opposite;     /* of weights below 0; METRIC_NONE: they are subtracted */
	unsigned int decimals; /* number of decimals that they are shifted by */
	uint64_t time_ns;      /* of the row, if a table has the time since the one before */
};

/*
 * The time of a sample: since 1970, or since the start of the process if the file has no start
 * time.
 */
static bool find_time(const struct firefox_reader *reader, const struct json_table *table,
		      struct firefox_weights *weights, uint64_t *ret_ns)
{
	enum { TIME = 3, TIME_DELTA = 4 };
	uint64_t time_ns;

	if (reader->note.is_given) /* ours, whose times only place the samples in a row */
		return false;
	if (json_table_has(table, TIME_DELTA)) {
		if (json_cell_get_scaled(&table->cells[TIME_DELTA], 6, &time_ns))
			weights->time_ns += time_ns;
		time_ns = weights->time_ns;
	} else if (!json_cell_get_scaled(&table->cells[TIME], 6, &time_ns)) {
		return false;
	}
	return !__builtin_add_overflow(reader->start_ns, time_ns, ret_ns);
}

static int add_sample(struct firefox_reader *reader, const struct json_table *table,
		      struct firefox_weights *weights)
{
	enum { STACK, WEIGHT };
	const struct firefox_code *code = &reader->code;
	const struct json_cell *stack_cell = &table->cells[STACK];
	struct json_cell cell = table->cells[WEIGHT];
	struct negative_sum sample = {.thread = reader->thread,
				      .stack = STACK_EMPTY,
				      .metric = weights->metric,
				      .amount = 1};
	bool is_negative = cell.token == JSON_NUMBER && cell.text[0] == '-';
	uint64_t index;
	uint64_t time_ns = 0;
	bool has_time = find_time(reader, table, weights, &time_ns);
	int err;

	if (stack_cell->token == JSON_NULL) {
		if (!reader->note.is_given) /* the profiler leaves it out as well */
			return 0;
	} else if (!json_cell_get_u64(stack_cell, &index) || index >= code->stacks.length ||
		   code->stacks.items[index] == FIREFOX_NONE) {
		return reader_skip_byte(reader->import, stack_cell->offset,
					"a sample of a missing stack");
	} else {
		sample.stack = code->stacks.items[index];
	}
	if (is_negative) {
		cell.text++;
		cell.length--;
	}
	if (is_negative && weights->opposite != METRIC_NONE) {
		sample.metric = weights->opposite;
		is_negative = false;
	}
	if (json_table_has(table, WEIGHT) &&
	    !json_cell_get_scaled(&cell, weights->decimals, &sample.amount))
		return reader_skip_byte(reader->import, stack_cell->offset,
					"a sample without a weight");
	err = signed_sums_add(&reader->signed_sums, reader->import, stack_cell->offset, &sample,
			      is_negative);
	if (err || !has_time || is_negative)
		return err;
	return profile_add_timestamp(reader->import->profile, sample.thread, sample.stack,
				     sample.metric, sample.amount, time_ns);
}

static int add_metric(struct firefox_reader *reader, const char *name, const char *unit,
		      uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	int err = profile_add_metric(profile, name, unit, ret);

	if (err)
		return err;
	return known_samples_add(&reader->known_samples, profile, *ret, reader->note.num_samples);
}

static int get_weights(struct firefox_reader *reader, const struct json_table *table,
		       struct firefox_weights *weights)
{
	enum { WEIGHT_TYPE = 2 };
	bool is_time = json_table_says(table, WEIGHT_TYPE, "tracing-ms");

	weights->opposite = METRIC_NONE;
	weights->decimals = 0;
	if (reader->note.is_given) {
		if (is_time && string_equals(reader->note.unit.data, "nanoseconds"))
			weights->decimals = 6;
		else if (is_time && string_equals(reader->note.unit.data, "microseconds"))
			weights->decimals = 3;
		return add_metric(reader, reader->note.metric.data, reader->note.unit.data,
				  &weights->metric);
	}
	if (is_time) {
		weights->decimals = 6;
		return add_metric(reader, "time", "nanoseconds", &weights->metric);
	}
	if (json_table_says(table, WEIGHT_TYPE, "bytes"))
		return add_metric(reader, "bytes", "bytes", &weights->metric);
	return add_metric(reader, "samples", "count", &weights->metric);
}

/* A native deallocation is a sample with the same stack and a weight below 0. */
static int get_allocation_weights(struct firefox_reader *reader, bool is_native,
				  struct firefox_weights *weights)
{
	int err = add_metric(reader, is_native ? "native-allocations" : "js-allocations", "bytes",
			     &weights->metric);

	if (err)
		return err;
	weights->opposite = METRIC_NONE;
	weights->decimals = 0;
	if (!is_native)
		return 0;
	return add_metric(reader, "native-deallocations", "bytes", &weights->opposite);
}

static int read_samples(struct firefox_reader *reader, size_t position, bool is_allocations,
			bool is_native)
{
	static const char *const names[] = {"stack", "weight",     "weightType",
					    "time",  "timeDeltas", NULL};
	struct firefox_weights weights = {0};
	_cleanup_(json_table_close) struct json_table table = {0};
	int err;

	if (position == JSON_TABLE_NOWHERE)
		return 0;
	if (!is_allocations && firefox_samples_are_listed(reader->import, position)) {
		err = add_metric(reader, "samples", "count", &weights.metric);
		return err ? err
			   : firefox_read_listed_samples(&reader->code, position, reader->thread,
							 weights.metric);
	}
	json_table_open(&table, reader->import->data, reader->import->size, position, names);
	err = is_allocations ? get_allocation_weights(reader, is_native, &weights)
			     : get_weights(reader, &table, &weights);
	if (err)
		return err;
	while (json_table_next(&table)) {
		err = add_sample(reader, &table, &weights);
		if (err)
			return err;
	}
	return 0;
}

/* ---- threads ---- */

/* A number, or a text that starts with one: "812", "812.1". */
static uint64_t take_id(struct json *json)
{
	enum json_token token = json_next(json);
	uint64_t id = 0;
	size_t length = 0;

	json_skip(json, token);
	if (token != JSON_NUMBER && token != JSON_STRING)
		return 0;
	while (length < json->length && json->text[length] >= '0' && json->text[length] <= '9')
		length++;
	return parse_u64(json->text, length, &id) && id <= UINT32_MAX ? id : 0;
}

static bool take_table(struct firefox_positions *positions, struct json *json, size_t base)
{
	const struct {
		const char *key;
		size_t *position;
	} tables[] = {
		{"stringArray", &positions->strings}, {"stringTable", &positions->strings},
		{"sources", &positions->sources},     {"resourceTable", &positions->resources},
		{"funcTable", &positions->funcs},     {"frameTable", &positions->frames},
		{"stackTable", &positions->stacks},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(tables); i++) {
		if (json_is(json, tables[i].key)) {
			json_take_position(json, base, tables[i].position);
			return true;
		}
	}
	return false;
}

static bool take_samples(struct firefox_reader *reader, struct json *json, size_t base)
{
	size_t *position = json_is(json, "samples")         ? &reader->positions.samples
			   : json_is(json, "jsAllocations") ? &reader->positions.js_allocations
			   : json_is(json, "nativeAllocations")
				   ? &reader->positions.native_allocations
				   : NULL;

	if (position)
		json_take_position(json, base, position);
	return position;
}

static void read_member(struct firefox_reader *reader, struct json *json, size_t base)
{
	if (take_table(&reader->own, json, base) || take_samples(reader, json, base)) {
		reader->has_tables = true;
		return;
	}
	if (json_is(json, "name"))
		json_take_string(json, &reader->name);
	else if (json_is(json, "processName"))
		json_take_string(json, &reader->process_name);
	else if (json_is(json, "libs"))
		json_take_position(json, base, &reader->positions.libs);
	else if (json_is(json, "pid"))
		reader->pid = take_id(json);
	else if (json_is(json, "tid"))
		reader->tid = take_id(json);
	else if (json_is(json, THREAD_NOTE_KEY))
		thread_note_take(&reader->note, json);
	else
		json_skip_value(json);
}

static int add_thread(struct firefox_reader *reader)
{
	struct profile *profile = reader->import->profile;
	struct string_table *strings = profile_get_strings(profile);
	const struct thread_note *note = &reader->note;
	const struct text *comm = note->is_given ? &note->comm : &reader->name;
	const struct text *process = reader->process_name.length ? &reader->process_name : comm;
	struct thread thread = {
		.source = reader->import->source,
		.tid = (uint32_t)(note->is_given ? note->tid : reader->tid),
	};
	uint64_t pid = note->is_given ? note->pid : reader->pid;
	uint32_t process_name;
	int err = string_table_add(strings, comm->data, comm->length, &thread.comm);

	if (note->is_given)
		process = &note->process;
	if (err)
		return err;
	err = string_table_add(strings, process->data, process->length, &process_name);
	if (err)
		return err;
	err = reader_find_process(&reader->processes, profile, (uint32_t)pid, process_name,
				  &thread.process);
	if (err)
		return err;
	return profile_add_thread(profile, &thread, &reader->thread);
}

/*
 * The tables of the thread, or the shared ones, which are read once. Versions in between share only
 * strings and sources.
 */
static int read_code(struct firefox_reader *reader)
{
	struct firefox_positions positions = reader->own;
	int err;

	if (reader->libs == JSON_TABLE_NOWHERE) {
		err = firefox_code_read_libs(&reader->code, reader->positions.libs);
		if (err)
			return err;
	}
	if (reader->shared.stacks != JSON_TABLE_NOWHERE) {
		if (reader->is_shared_read)
			return 0;
		reader->is_shared_read = true;
		return firefox_code_read(&reader->code, &reader->shared);
	}
	positions.sources = reader->shared.sources;
	if (reader->shared.strings != JSON_TABLE_NOWHERE)
		positions.strings = reader->shared.strings;
	return firefox_code_read(&reader->code, &positions);
}

static void forget_thread(struct firefox_reader *reader)
{
	text_truncate(&reader->name, 0);
	text_append_string(&reader->name, "");
	text_truncate(&reader->process_name, 0);
	text_append_string(&reader->process_name, "");
	thread_note_clear(&reader->note);
	reader->own = FIREFOX_NO_POSITIONS;
	reader->positions = (struct thread_positions){JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE,
						      JSON_TABLE_NOWHERE, JSON_TABLE_NOWHERE};
	reader->pid = reader->tid = 0;
}

static int read_thread(struct firefox_reader *reader, struct json *json, size_t base,
		       int depth _unused_)
{
	int err;

	forget_thread(reader);
	while (json_next(json) == JSON_KEY)
		read_member(reader, json, base);
	if (reader->name.failed || reader->process_name.failed ||
	    thread_note_has_failed(&reader->note))
		return -ENOMEM;
	reader->num_threads++;
	err = add_thread(reader);
	if (err)
		return err;
	err = read_code(reader);
	if (err)
		return err;
	err = read_samples(reader, reader->positions.samples, false, false);
	if (err)
		return err;
	err = read_samples(reader, reader->positions.js_allocations, true, false);
	if (err)
		return err;
	return read_samples(reader, reader->positions.native_allocations, true, true);
}

/* Read the members of the object that the tokenizer is in; `base` is the tokenizer's start. */
typedef int read_object(struct firefox_reader *reader, struct json *json, size_t base, int depth);

/* Every object of the array at `base`; its other items are skipped. */
static int read_objects(struct firefox_reader *reader, size_t base, int depth, read_object *read)
{
	_cleanup_(json_release) struct json json = {0};
	enum json_token token;

	if (base == JSON_TABLE_NOWHERE)
		return 0;
	json = open_json(reader, base);
	if (json_next(&json) != JSON_ARRAY)
		return 0;
	while ((token = json_next(&json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		int err;

		if (token != JSON_OBJECT) {
			json_skip(&json, token);
			continue;
		}
		err = read(reader, &json, base, depth);
		if (err)
			return err;
	}
	return 0;
}

/* ---- processes ---- */

/* Milliseconds since 1970 as nanoseconds; 0 if invalid. */
static uint64_t take_start(struct json *json)
{
	enum json_token token = json_next(json);
	double start_ms = token == JSON_NUMBER ? json_get_double(json) : 0;

	json_skip(json, token);
	return start_ms > 0 && start_ms < (double)UINT64_MAX / 2e6 ? (uint64_t)(start_ms * 1e6) : 0;
}

static int read_meta(struct firefox_reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (json_next(json) == JSON_KEY) {
		if (json_is(json, "categories")) {
			int err = firefox_code_read_categories(&reader->code, json);

			if (err)
				return err;
			continue;
		}
		if (json_is(json, "startTime"))
			reader->start_ns = take_start(json);
		else
			json_skip_value(json);
	}
	return 0;
}

static int read_process_member(struct firefox_reader *reader, struct json *json, size_t base)
{
	enum json_token token;

	if (json_is(json, "meta"))
		return read_meta(reader, json);
	if (json_is(json, "libs")) {
		json_take_position(json, base, &reader->libs);
	} else if (json_is(json, "threads")) {
		json_take_position(json, base, &reader->threads);
	} else if (json_is(json, "processes")) {
		json_take_position(json, base, &reader->subprocesses);
	} else if (json_is(json, "shared")) {
		token = json_next(json);
		if (token != JSON_OBJECT)
			json_skip(json, token);
		else
			while (json_next(json) == JSON_KEY)
				if (!take_table(&reader->shared, json, base))
					json_skip_value(json);
	} else {
		json_skip_value(json);
	}
	return 0;
}

/*
 * Note the offsets of the members of the object that the tokenizer is in, for the caller to read.
 * One set of them is enough: a process is finished before the next one.
 */
static int read_process(struct firefox_reader *reader, struct json *json, size_t base)
{
	reader->libs = reader->threads = reader->subprocesses = JSON_TABLE_NOWHERE;
	reader->start_ns = 0;
	reader->shared = FIREFOX_NO_POSITIONS;
	reader->is_shared_read = false;
	while (json_next(json) == JSON_KEY) {
		int err = read_process_member(reader, json, base);

		if (err)
			return err;
	}
	return 0;
}

static int read_subprocess(struct firefox_reader *reader, struct json *json, size_t base, int depth)
{
	int err = read_process(reader, json, base);

	if (err)
		return err;
	err = firefox_code_read_libs(&reader->code, reader->libs);
	if (err)
		return err;
	err = read_objects(reader, reader->threads, depth, read_thread);
	if (err || depth == MAX_DEPTH)
		return err;
	return read_objects(reader, reader->subprocesses, depth + 1, read_subprocess);
}

/* The first pass, over all of the text, also checks that it is valid: the others need not. */
static int read_text(struct firefox_reader *reader)
{
	_cleanup_(json_release) struct json json = open_json(reader, 0);
	enum json_token token = json_next(&json);

	if (token == JSON_OBJECT) {
		int err = read_process(reader, &json, 0);

		if (err)
			return err;
	} else if (token != JSON_FAILED) {
		return import_fail_byte(reader->import, json.offset,
					"expected an object with threads");
	}
	if (json_next(&json) != JSON_END)
		return reader_fail_json(reader->import, &json, 0);
	if (reader->threads == JSON_TABLE_NOWHERE || reader->import->data[reader->threads] != '[')
		return import_fail_byte(reader->import, 0, "expected an object with threads");
	return 0;
}

static int read_all(struct firefox_reader *reader)
{
	int err;

	err = read_text(reader);
	if (err)
		return err;
	err = firefox_code_read_libs(&reader->code, reader->libs);
	if (err)
		return err;
	if (reader->start_ns) {
		err = profile_set_clock(reader->import->profile, reader->import->source, 0);
		if (err)
			return err;
	}
	err = read_objects(reader, reader->threads, 0, read_thread);
	if (err)
		return err;
	err = read_objects(reader, reader->subprocesses, 1, read_subprocess);
	if (err)
		return err;
	if (reader->num_threads && !reader->has_tables)
		return import_fail_byte(reader->import, 0, "expected threads with samples");
	err = signed_sums_apply(&reader->signed_sums, reader->import);
	if (err)
		return err;
	known_samples_apply(&reader->known_samples, reader->import->profile);
	return 0;
}

static void release_reader(struct firefox_reader *reader)
{
	firefox_code_release(&reader->code);
	processes_release(&reader->processes);
	text_release(&reader->name);
	text_release(&reader->process_name);
	thread_note_release(&reader->note);
	known_samples_release(&reader->known_samples);
	signed_sums_release(&reader->signed_sums);
}

int firefox_read(struct import *import)
{
	_cleanup_(release_reader) struct firefox_reader reader = {.import = import};

	firefox_code_init(&reader.code, import);
	return read_all(&reader);
}

/* ---- detection ---- */

/* Members that may precede `meta`; after any other, this is another format. */
static bool may_come_first(const struct json *json)
{
	static const char *const keys[] = {"counters",     "libs",      "pages",
					   "pausedRanges", "processes", "profilerOverhead",
					   "shared"};

	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		if (json_is(json, keys[i]))
			return true;
	return false;
}

/* Inside `meta`: the version of a processed profile, or the browser's description of itself. */
static bool is_meta_ours(struct json *json)
{
	bool has_version = false;
	bool has_stackwalk = false;

	while (json_next(json) == JSON_KEY) {
		bool is_version = json_is(json, "version");
		enum json_token token;

		if (json_is(json, "preprocessedProfileVersion"))
			return true;
		has_stackwalk |= json_is(json, "stackwalk");
		token = json_next(json);
		has_version |= is_version && token == JSON_NUMBER;
		json_skip(json, token);
	}
	return has_version && has_stackwalk;
}

enum detection firefox_detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);

	if (json_next(&json) != JSON_OBJECT)
		return DETECTED_NOT;
	while (json_next(&json) == JSON_KEY) {
		if (json_is(&json, "meta"))
			return json_next(&json) == JSON_OBJECT && is_meta_ours(&json)
				       ? DETECTED_SURE
				       : DETECTED_NOT;
		if (!may_come_first(&json))
			return DETECTED_NOT;
		json_skip_value(&json);
	}
	return DETECTED_NOT;
}
