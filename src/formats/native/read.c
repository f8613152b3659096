/*
 * Reading our own format (native.h): the packed profile, and its containers.
 *
 * Columns are read in place, several side by side; each kind has a table from its number in the
 * file to the id in import->profile. These differ, because the profile may hold other files already
 * and equal strings, frames and stacks are merged.
 *
 * Every number that refers to something is checked against its table. A table is no longer than the
 * file, as one of its columns is whole; names, which share their prefixes, have a limit of their
 * own. Damage is seen by gzip's checksum, and data that is too short or too long has no end here.
 */
#include "formats/native.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/script_name.h"
#include "formats/base64.h"
#include "formats/inflate.h"
#include "formats/known_samples.h"
#include "formats/native/column.h"
#include "formats/native/stack_order.h"
#include "formats/reader.h"
#include "formats/xml_scanner.h"

#define MAX_TABLE_COLUMNS 7
/* Bounds for hostile files: more than any user opens together. */
#define MAX_SOURCES 65536
#define MAX_METRICS 65536
#define MAX_TALLIES 20000
/* A profile is about 3 times as large as its gzip; a hostile one would be of any size. */
#define DECOMPRESS_RATIO      50
#define DECOMPRESS_FREE_BYTES (64u << 20)
/* The same for names, which are about 3 times as long as their rests; those of C++ maybe 10. */
#define NAMES_RATIO      16
#define NAMES_FREE_BYTES (64u << 20)
#define PACKED_MAGIC     "stackwide profile "

struct packed_reader {
	struct import *import;
	struct bytes bytes;
	struct column_cursor columns[MAX_TABLE_COLUMNS]; /* of the present table */
	size_t table_offset;
	uint64_t num_rows;
	/* Ids in import->profile of the file's numbers. */
	ARRAY(uint32_t) names; /* the empty one is the first */
	ARRAY(uint32_t) metrics;
	ARRAY(uint64_t) steps; /* by metric */
	struct known_samples known_samples;
	ARRAY(uint32_t) sources; /* the file itself is the first, and then those that it names */
	ARRAY(uint64_t) starts;  /* by source, the same */
	ARRAY(uint32_t) processes;
	ARRAY(uint32_t) threads;
	ARRAY(uint32_t) thread_sources; /* as the file has them */
	ARRAY(uint32_t) frames;         /* locations */
	bool are_frames_new;            /* none was there before, and all differ */
	uint32_t *first_callee;         /* by frame, and one list more; in callees */
	ARRAY(uint32_t) callees;
	ARRAY(uint32_t) stacks;
	ARRAY(uint8_t) has_samples; /* by stack */
	/* Samples. */
	struct column_cursor more;
	struct column_cursor sample_metrics;
	struct column_cursor sample_threads;
	ARRAY(struct column_cursor) values; /* by metric */
	uint64_t thread;                    /* of the sample before */
	/* Times. */
	uint64_t resolution_ns; /* 0: no times */
	struct column_cursor first_times;
	struct column_cursor next_times;
	struct column_cursor num_times;
	bool has_durations;
	struct column_cursor durations;
	struct column_cursor has_weights;
	struct column_cursor weights;
	uint64_t time; /* the first of the sample before */
};

/* ---- tables ------------------------------------------------------------------------------- */

static int fail(struct packed_reader *reader, const char *expected)
{
	return import_fail_byte(reader->import, reader->table_offset, "expected %s", expected);
}

static int open_column(struct packed_reader *reader, uint64_t max_length, struct column_cursor *ret)
{
	size_t offset = reader->bytes.offset;

	if (column_open(&reader->bytes, max_length, ret))
		return 0;
	return import_fail_byte(reader->import, offset,
				"expected more of the profile: it is damaged");
}

/* Open the columns of the next table; the length of the first one is the number of rows. */
static int open_table(struct packed_reader *reader, size_t num_columns)
{
	reader->table_offset = reader->bytes.offset;
	reader->num_rows = UINT32_MAX - 1;
	for (size_t i = 0; i < num_columns; i++) {
		int err = open_column(reader, reader->num_rows, &reader->columns[i]);

		if (err)
			return err;
		if (i == 0)
			reader->num_rows = reader->columns[0].left;
	}
	return 0;
}

static void take_row(struct packed_reader *reader, uint64_t *numbers, size_t count)
{
	for (size_t i = 0; i < count; i++)
		numbers[i] = column_next(&reader->columns[i]);
}

/* Add a number to a table. Returns 0 or -ENOMEM. */
#define ADD(array, value)                                             \
	({                                                            \
		__typeof__((array)->items) added_ = array_add(array); \
                                                                      \
		if (added_)                                           \
			*added_ = (value);                            \
		added_ ? 0 : -ENOMEM;                                 \
	})

/* ---- names -------------------------------------------------------------------------------- */

static int read_names(struct packed_reader *reader)
{
	struct string_table *strings = profile_get_strings(reader->import->profile);
	_cleanup_(text_release) struct text name = {0};
	uint64_t limit = (uint64_t)reader->import->size * NAMES_RATIO + NAMES_FREE_BYTES;
	int err = ADD(&reader->names, STRING_EMPTY);

	if (err)
		return err;
	err = open_table(reader, 2);
	if (err)
		return err;
	text_append_string(&name, "");
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		uint64_t own = column_next(&reader->columns[0]);
		uint64_t common = column_next(&reader->columns[1]);
		const char *rest;
		uint32_t id;

		if (common > name.length || own > bytes_left(&reader->bytes))
			return fail(reader, "names: bytes, and how many of the one before");
		if (common + own > limit)
			return fail(reader, "shorter names");
		limit -= common + own;
		rest = bytes_take(&reader->bytes, (size_t)own);
		text_truncate(&name, (size_t)common);
		text_append(&name, rest, (size_t)own);
		if (name.failed)
			return -ENOMEM;
		err = string_table_add(strings, name.data, name.length, &id);
		if (err)
			return err;
		err = ADD(&reader->names, id);
		if (err)
			return err;
	}
	return 0;
}

static bool find_name(const struct packed_reader *reader, uint64_t number, uint32_t *ret)
{
	if (number >= reader->names.length)
		return false;
	*ret = reader->names.items[number];
	return true;
}

/* ---- items with names --------------------------------------------------------------------- */

static int read_metrics(struct packed_reader *reader)
{
	struct profile *profile = reader->import->profile;
	uint64_t numbers[4];
	int err = open_table(reader, ARRAY_LENGTH(numbers));

	if (err)
		return err;
	if (reader->num_rows > MAX_METRICS)
		return fail(reader, "fewer metrics");
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		uint32_t name;
		uint32_t unit;
		uint32_t metric;

		take_row(reader, numbers, ARRAY_LENGTH(numbers));
		if (!find_name(reader, numbers[0], &name) || !find_name(reader, numbers[1], &unit))
			return fail(reader, "metrics: name, unit, step, samples");
		err = profile_add_metric(profile, profile_get_string(profile, name),
					 profile_get_string(profile, unit), &metric);
		if (err)
			return err;
		err = ADD(&reader->metrics, metric);
		if (err)
			return err;
		err = ADD(&reader->steps, numbers[2]);
		if (err)
			return err;
		err = known_samples_add(&reader->known_samples, profile, metric, numbers[3]);
		if (err)
			return err;
	}
	return 0;
}

/* Number 0 is the file. */
static int read_sources(struct packed_reader *reader)
{
	struct profile *profile = reader->import->profile;
	uint64_t numbers[2];
	int err = ADD(&reader->sources, reader->import->source);

	if (err)
		return err;
	err = open_table(reader, 2);
	if (err)
		return err;
	if (reader->num_rows > MAX_SOURCES)
		return fail(reader, "fewer sources");
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		uint32_t name;
		uint32_t label;
		uint32_t source;

		take_row(reader, numbers, ARRAY_LENGTH(numbers));
		if (!find_name(reader, numbers[0], &name) || !find_name(reader, numbers[1], &label))
			return fail(reader, "sources: name, label");
		err = profile_add_source(profile, name, &source);
		if (err)
			return err;
		provenance_set_label(profile_get_provenance(profile), source, label);
		err = ADD(&reader->sources, source);
		if (err)
			return err;
	}
	return 0;
}

static int read_samplings(struct packed_reader *reader)
{
	uint64_t numbers[7];
	int err = open_table(reader, ARRAY_LENGTH(numbers));

	if (err)
		return err;
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		struct sampling sampling;

		take_row(reader, numbers, ARRAY_LENGTH(numbers));
		if (numbers[0] >= reader->sources.length)
			return fail(reader, "recordings: source, start, duration, period, stacks");
		sampling = (struct sampling){
			.start_ns = numbers[1],
			.duration_ns = numbers[2],
			.period_ns = numbers[3],
			.complete_stacks = numbers[4],
			.truncated_stacks = numbers[5],
			.lost_samples = numbers[6],
		};
		provenance_add_sampling(profile_get_provenance(reader->import->profile),
					reader->sources.items[numbers[0]], &sampling);
	}
	return 0;
}

static int read_tallies(struct packed_reader *reader)
{
	uint64_t numbers[3];
	int err = open_table(reader, ARRAY_LENGTH(numbers));

	if (err)
		return err;
	if (reader->num_rows > MAX_TALLIES)
		return fail(reader, "fewer counts");
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		uint32_t name;

		take_row(reader, numbers, ARRAY_LENGTH(numbers));
		if (numbers[0] >= reader->sources.length || !find_name(reader, numbers[1], &name))
			return fail(reader, "counts: source, name, count");
		err = provenance_add_tally(profile_get_provenance(reader->import->profile),
					   reader->sources.items[numbers[0]], name, numbers[2]);
		if (err)
			return err;
	}
	return 0;
}

/*
 * The zero of a source's times, and the calendar's time of it if known. Differences of times wrap
 * around: a start above the real time is a clock whose zero is before 1970.
 */
static int read_clocks(struct packed_reader *reader)
{
	uint64_t numbers[3];
	int err = open_table(reader, ARRAY_LENGTH(numbers));

	if (err)
		return err;
	while (reader->starts.length < reader->sources.length) {
		err = ADD(&reader->starts, 0);
		if (err)
			return err;
	}
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		take_row(reader, numbers, ARRAY_LENGTH(numbers));
		if (numbers[0] >= reader->sources.length)
			return fail(reader, "clocks: source, start, real");
		reader->starts.items[numbers[0]] = numbers[1];
		if (!numbers[2])
			continue;
		err = profile_set_clock(reader->import->profile, reader->sources.items[numbers[0]],
					numbers[2] - numbers[1]);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Strip the script of an interpreter, which is behind its comm. *ret_script: STRING_EMPTY if there
 * is no script.
 */
static int take_script(struct profile *profile, uint32_t *comm, uint32_t *ret_script)
{
	const char *label = profile_get_string(profile, *comm);
	const char *script;
	size_t comm_length;
	size_t script_length;
	int err;

	*ret_script = STRING_EMPTY;
	if (!script_name_find_in_label(label, profile_get_string_length(profile, *comm),
				       &comm_length, &script, &script_length))
		return 0;
	err = profile_add_frame_name(profile, script, script_length, ret_script);
	return err ? err : string_table_add(profile_get_strings(profile), label, comm_length, comm);
}

static int read_processes(struct packed_reader *reader)
{
	struct profile *profile = reader->import->profile;
	uint64_t numbers[2];
	int err = open_table(reader, ARRAY_LENGTH(numbers));

	if (err)
		return err;
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		uint32_t comm;
		uint32_t script;
		uint32_t process;

		take_row(reader, numbers, ARRAY_LENGTH(numbers));
		if (numbers[0] > UINT32_MAX || !find_name(reader, numbers[1], &comm))
			return fail(reader, "processes: pid, comm");
		err = take_script(profile, &comm, &script);
		if (err)
			return err;
		err = profile_add_process(profile, (uint32_t)numbers[0], comm, &process);
		if (err)
			return err;
		profile_set_process_script(profile, process, script);
		err = ADD(&reader->processes, process);
		if (err)
			return err;
	}
	return 0;
}

static int read_threads(struct packed_reader *reader)
{
	uint64_t numbers[4];
	int err = open_table(reader, ARRAY_LENGTH(numbers));

	if (err)
		return err;
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		struct thread thread = {.source = reader->import->source};
		uint32_t id;

		take_row(reader, numbers, ARRAY_LENGTH(numbers));
		if (numbers[0] > UINT32_MAX || numbers[1] >= reader->processes.length ||
		    !find_name(reader, numbers[2], &thread.comm) ||
		    numbers[3] >= reader->sources.length)
			return fail(reader, "threads: tid, process, comm, source");
		thread.tid = (uint32_t)numbers[0];
		thread.process = reader->processes.items[numbers[1]];
		/* A single source becomes the file: forget_single_source(). */
		if (reader->sources.length > 2)
			thread.source = reader->sources.items[numbers[3]];
		err = profile_add_thread(reader->import->profile, &thread, &id);
		if (err)
			return err;
		err = ADD(&reader->threads, id);
		if (err)
			return err;
		err = ADD(&reader->thread_sources, (uint32_t)numbers[3]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- frames ------------------------------------------------------------------------------- */

/* Names and files as they are counted from one frame to the next; sums may wrap around. */
static bool take_frame(struct packed_reader *reader, uint64_t *name, uint64_t *file,
		       struct frame *ret)
{
	uint64_t full_name;
	uint64_t line;
	uint64_t kind;

	*name += column_next(&reader->columns[0]);
	full_name = *name + (uint64_t)column_next_signed(&reader->columns[1]);
	*ret = (struct frame){0};
	if (!find_name(reader, *name, &ret->name) ||
	    !find_name(reader, full_name, &ret->full_name) ||
	    !find_name(reader, column_next(&reader->columns[2]), &ret->module))
		return false;
	*file += (uint64_t)column_next_signed(&reader->columns[3]);
	line = column_next(&reader->columns[4]);
	kind = column_next(&reader->columns[5]);
	if (!find_name(reader, *file, &ret->file) || line > UINT32_MAX ||
	    !native_unpack_kind(kind, &ret->kind, &ret->is_inlined))
		return false;
	ret->line = (uint32_t)line;
	return true;
}

static int read_frames(struct packed_reader *reader)
{
	struct profile *profile = reader->import->profile;
	uint64_t name = 0;
	uint64_t file = 0;
	int err = open_table(reader, 6);

	if (err)
		return err;
	reader->are_frames_new = true;
	for (uint64_t i = 0; i < reader->num_rows; i++) {
		uint32_t num_locations = profile_count_locations(profile);
		struct frame frame;
		uint32_t location;

		if (!take_frame(reader, &name, &file, &frame))
			return fail(reader, "frames: name, full name, module, file, line, kind");
		err = profile_add_frame_location(profile, &frame, &location);
		if (err)
			return err;
		reader->are_frames_new &= location == num_locations;
		err = ADD(&reader->frames, location);
		if (err)
			return err;
	}
	return 0;
}

/* ---- stacks ------------------------------------------------------------------------------- */

/*
 * Read the list of one frame.
 *
 * seen  by frame: the list that had it last; twice in one list would be two equal stacks of one
 *       caller
 */
static int read_callee_list(struct packed_reader *reader, uint32_t list, uint32_t *seen)
{
	uint64_t num_frames = reader->frames.length;
	uint64_t count = column_next(&reader->columns[1]);
	uint64_t next = 0;

	if (count > num_frames || count > reader->columns[0].left)
		return fail(reader, "lists of callees that are not longer than all");
	for (; count; count--) {
		uint64_t step = column_next(&reader->columns[0]);
		uint64_t frame = next + step;

		if (frame >= num_frames)
			frame -= num_frames;
		if (step >= num_frames || frame >= num_frames || seen[frame] == list + 1)
			return fail(reader, "callees, which are frames that differ");
		seen[frame] = list + 1;
		next = frame + 1;
		if (ADD(&reader->callees, (uint32_t)frame))
			return -ENOMEM;
	}
	return 0;
}

static int read_callees(struct packed_reader *reader)
{
	uint32_t num_lists = (uint32_t)reader->frames.length + 1;
	_cleanup_free_ uint32_t *seen = calloc(num_lists, sizeof(*seen));
	size_t offset;
	int err;

	reader->first_callee = calloc((size_t)num_lists + 1, sizeof(*reader->first_callee));
	if (!seen || !reader->first_callee)
		return -ENOMEM;
	reader->table_offset = reader->bytes.offset;
	err = open_column(reader, UINT32_MAX - 1, &reader->columns[0]);
	if (err)
		return err;
	offset = reader->table_offset;
	err = open_column(reader, num_lists, &reader->columns[1]);
	if (err)
		return err;
	reader->table_offset = offset;
	for (uint32_t i = 0; i < num_lists; i++) {
		err = read_callee_list(reader, i, seen);
		if (err)
			return err;
		reader->first_callee[i + 1] = (uint32_t)reader->callees.length;
	}
	return 0;
}

/* Data of a stack for when its caller's turn is reached. */
struct packed_stack {
	uint32_t frame; /* in the file */
	uint8_t class;
};

struct read_columns {
	struct column_cursor ranks;
	struct column_cursor classes[NUM_STACK_CLASSES];
	uint32_t num_stacks;
	bool are_new; /* no stack of the file is in the profile yet */
	ARRAY(struct packed_stack) stacks;
};

static void stack_columns_release(struct read_columns *columns)
{
	array_release(&columns->stacks);
}

static int add_stack(struct packed_reader *reader, const struct read_columns *columns,
		     uint32_t caller, uint32_t frame)
{
	struct profile *profile = reader->import->profile;
	uint32_t location = reader->frames.items[frame];
	uint32_t *added = array_add(&reader->stacks);

	if (!added)
		return -ENOMEM;
	return columns->are_new ? profile_add_new_stack(profile, caller, location, added)
				: profile_add_stack(profile, caller, location, added);
}

static int read_children(struct packed_reader *reader, struct read_columns *columns, size_t stack,
			 uint32_t count)
{
	uint32_t list = columns->stacks.items[stack].frame;
	uint32_t first = reader->first_callee[list];
	uint64_t num_callees = reader->first_callee[list + 1] - first;
	uint64_t next = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t step = column_next(&columns->ranks);
		uint64_t rank = next + step;
		struct packed_stack child;
		int err;

		if (step >= num_callees || rank >= num_callees)
			return fail(reader, "stacks, of callees that their callers have");
		next = rank + 1;
		child.frame = reader->callees.items[first + rank];
		child.class = (uint8_t)stack_order_classify((uint32_t)rank, count);
		err = add_stack(reader, columns, reader->stacks.items[stack], child.frame);
		if (err)
			return err;
		err = ADD(&columns->stacks, child);
		if (err)
			return err;
	}
	return 0;
}

/* The stacks that one calls, and whether it has samples. */
static int read_stack(struct packed_reader *reader, struct read_columns *columns, size_t stack)
{
	uint8_t class = columns->stacks.items[stack].class;
	uint64_t number = column_next(&columns->classes[class]);
	uint64_t num_children = number / 2 + number % 2;
	int err = ADD(&reader->has_samples, !number || number % 2 == 0);

	if (err)
		return err;
	if (num_children > columns->num_stacks - reader->stacks.length)
		return fail(reader, "no more callees than there are stacks");
	return read_children(reader, columns, stack, (uint32_t)num_children);
}

static int read_all_stacks(struct packed_reader *reader, struct read_columns *columns)
{
	struct packed_stack outermost = {.frame = (uint32_t)reader->frames.length};
	size_t offset = reader->bytes.offset;
	int err = open_column(reader, UINT32_MAX - 2, &columns->ranks);

	if (err)
		return err;
	columns->num_stacks = (uint32_t)columns->ranks.left + 1;
	for (size_t i = 0; i < NUM_STACK_CLASSES; i++) {
		err = open_column(reader, columns->num_stacks, &columns->classes[i]);
		if (err)
			return err;
	}
	reader->table_offset = offset;
	if (ADD(&reader->stacks, STACK_EMPTY) || ADD(&columns->stacks, outermost))
		return -ENOMEM;
	for (size_t i = 0; i < reader->stacks.length; i++) {
		err = read_stack(reader, columns, i);
		if (err)
			return err;
	}
	if (reader->stacks.length != columns->num_stacks)
		return fail(reader, "as many callees as there are stacks");
	return 0;
}

/*
 * Stacks of one caller differ, as its callees do; so they need no search in a profile without
 * stacks.
 */
static int read_stacks(struct packed_reader *reader)
{
	_cleanup_(stack_columns_release) struct read_columns columns = {
		.are_new = reader->are_frames_new &&
			   profile_count_stacks(reader->import->profile) == 1,
	};

	return read_all_stacks(reader, &columns);
}

/* ---- samples and times -------------------------------------------------------------------- */

/* Columns are opened one after the other, and then read side by side. */
static int open_samples(struct packed_reader *reader)
{
	int err = open_column(reader, reader->stacks.length, &reader->more);

	if (err)
		return err;
	err = open_column(reader, UINT64_MAX, &reader->sample_metrics);
	if (err)
		return err;
	err = open_column(reader, UINT64_MAX, &reader->sample_threads);
	for (size_t i = 0; !err && i < reader->metrics.length; i++) {
		struct column_cursor *values = array_add(&reader->values);

		if (!values)
			return -ENOMEM;
		err = open_column(reader, UINT32_MAX - 1, values);
	}
	return err;
}

static int open_times(struct packed_reader *reader)
{
	struct column_cursor resolution;
	int err = open_column(reader, 2, &resolution);

	if (err || !resolution.left)
		return err;
	reader->has_durations = resolution.left > 1;
	reader->resolution_ns = column_next(&resolution);
	if (!reader->resolution_ns)
		return fail(reader, "times in units that are not 0");
	err = open_column(reader, UINT64_MAX, &reader->first_times);
	if (err)
		return err;
	err = open_column(reader, UINT64_MAX, &reader->next_times);
	if (err)
		return err;
	err = open_column(reader, UINT64_MAX, &reader->num_times);
	if (err)
		return err;
	err = open_column(reader, UINT64_MAX, &reader->has_weights);
	if (err)
		return err;
	err = open_column(reader, UINT64_MAX, &reader->weights);
	return err || !reader->has_durations ? err
					     : open_column(reader, UINT64_MAX, &reader->durations);
}

/* The next weight of a metric, from its column or from that of the times' weights. */
static bool take_weight(struct packed_reader *reader, struct column_cursor *column, uint64_t metric,
			uint64_t *ret)
{
	return !__builtin_mul_overflow(column_next(column), reader->steps.items[metric], ret);
}

static bool take_time(struct packed_reader *reader, bool is_first, uint64_t start_ns,
		      uint64_t *time, uint64_t *ret_ns)
{
	struct column_cursor *column = is_first ? &reader->first_times : &reader->next_times;

	if (!column->left)
		return false;
	/* May wrap around; the result is too large for nanoseconds, or just a wrong time. */
	*time += is_first ? (uint64_t)column_next_signed(column) : column_next(column);
	if (is_first)
		reader->time = *time;
	return !__builtin_mul_overflow(*time, reader->resolution_ns, ret_ns) &&
	       !__builtin_add_overflow(*ret_ns, start_ns, ret_ns);
}

/* The duration of the next time is 0 if the file has none, or no more. */
static bool take_end(struct packed_reader *reader, uint64_t start_ns, uint64_t *ret_ns)
{
	uint64_t duration_ns;

	*ret_ns = start_ns;
	if (!reader->has_durations)
		return true;
	return !__builtin_mul_overflow(column_next(&reader->durations), reader->resolution_ns,
				       &duration_ns) &&
	       !__builtin_add_overflow(start_ns, duration_ns, ret_ns);
}

/* metric, source  as the file has them */
static int read_times(struct packed_reader *reader, const struct sample *sample, uint64_t metric,
		      uint32_t source)
{
	uint64_t count = column_next(&reader->num_times);
	bool has_weights = count && column_next(&reader->has_weights);
	uint64_t time = reader->time;
	uint64_t left = sample->value;

	for (uint64_t i = 0; i < count; i++) {
		uint64_t weight = sample->value / count;
		uint64_t time_ns;
		uint64_t end_ns;
		int err;

		if (!take_time(reader, i == 0, reader->starts.items[source], &time, &time_ns) ||
		    !take_end(reader, time_ns, &end_ns) ||
		    (has_weights && !take_weight(reader, &reader->weights, metric, &weight)))
			return fail(reader, "times of samples");
		/* The weights of a sample's timestamps never exceed its value (timestamps.h). */
		if (__builtin_sub_overflow(left, weight, &left))
			return fail(reader, "times that weigh no more than their sample");
		err = profile_add_interval(reader->import->profile, sample->thread, sample->stack,
					   sample->metric, weight, time_ns, end_ns);
		if (err)
			return err;
	}
	return 0;
}

static int read_sample(struct packed_reader *reader, uint32_t stack)
{
	uint64_t metric = column_next(&reader->sample_metrics);
	struct sample sample;
	int err;

	reader->thread += (uint64_t)column_next_signed(&reader->sample_threads);
	if (metric >= reader->metrics.length || reader->thread >= reader->threads.length ||
	    !reader->values.items[metric].left)
		return fail(reader, "samples: metric, thread, weight");
	sample = (struct sample){
		.thread = reader->threads.items[reader->thread],
		.stack = stack,
		.metric = reader->metrics.items[metric],
	};
	if (!take_weight(reader, &reader->values.items[metric], metric, &sample.value))
		return fail(reader, "weights that 64 bits hold");
	err = reader_add_sample(reader->import, reader->table_offset, sample.thread, stack,
				sample.metric, sample.value);
	if (err || !reader->resolution_ns)
		return err;
	return read_times(reader, &sample, metric, reader->thread_sources.items[reader->thread]);
}

static bool has_values(const struct packed_reader *reader)
{
	array_for_each (&reader->values, values)
		if (values->left)
			return true;
	return false;
}

static int read_samples(struct packed_reader *reader)
{
	int err;

	reader->table_offset = reader->bytes.offset;
	err = open_samples(reader);
	if (err)
		return err;
	err = open_times(reader);
	if (err)
		return err;
	/* The empty stack of a profile without stacks: has it samples? */
	if (reader->stacks.length == 1)
		reader->has_samples.items[0] = has_values(reader);
	for (size_t i = 0; i < reader->stacks.length; i++) {
		uint64_t more = reader->has_samples.items[i] ? column_next(&reader->more) : 0;

		if (!reader->has_samples.items[i])
			continue;
		for (uint64_t k = 0; k <= more; k++) {
			err = read_sample(reader, reader->stacks.items[i]);
			if (err)
				return err;
		}
	}
	if (has_values(reader) || reader->first_times.left || reader->next_times.left ||
	    reader->durations.left)
		return fail(reader, "as many weights and times as there are samples");
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

/*
 * A file with one source shall look as if that source had been read itself, and not as a file with
 * one file in it: the data of the source is handed over to the file, which keeps its own name.
 */
static int forget_single_source(struct packed_reader *reader)
{
	struct profile *profile = reader->import->profile;
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	uint32_t file = reader->import->source;
	uint32_t source;
	uint64_t zero_ns;
	int err;

	if (reader->sources.length != 2)
		return 0;
	source = reader->sources.items[1];
	err = provenance_hand_over(profile_get_provenance(profile), source, file);
	if (err || !timestamps || !timestamps_find_clock(timestamps, source, &zero_ns))
		return err;
	return profile_set_clock(profile, file, zero_ns);
}

static int read_parts(struct packed_reader *reader)
{
	static int (*const parts[])(struct packed_reader *) = {
		read_names,   read_metrics, read_sources,   read_samplings,
		read_tallies, read_clocks,  read_processes, read_threads,
		read_frames,  read_callees, read_stacks,    read_samples,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(parts); i++) {
		int err = parts[i](reader);

		if (err)
			return err;
	}
	if (bytes_left(&reader->bytes))
		return import_fail_byte(reader->import, reader->bytes.offset,
					"expected the end of the profile");
	known_samples_apply(&reader->known_samples, reader->import->profile);
	return forget_single_source(reader);
}

static void packed_reader_release(struct packed_reader *reader)
{
	array_release(&reader->names);
	array_release(&reader->metrics);
	array_release(&reader->steps);
	known_samples_release(&reader->known_samples);
	array_release(&reader->sources);
	array_release(&reader->starts);
	array_release(&reader->processes);
	array_release(&reader->threads);
	array_release(&reader->thread_sources);
	array_release(&reader->frames);
	free(reader->first_callee);
	array_release(&reader->callees);
	array_release(&reader->stacks);
	array_release(&reader->has_samples);
	array_release(&reader->values);
}

bool native_is_packed(const uint8_t *data, size_t size)
{
	return size > strlen(PACKED_MAGIC) && !memcmp(data, PACKED_MAGIC, strlen(PACKED_MAGIC));
}

static int fail_version(struct import *import, size_t offset)
{
	return import_fail_byte(import, offset,
				"expected '" NATIVE_HEAD "'; was it written by another version?");
}

int native_read_packed(struct import *import)
{
	_cleanup_(packed_reader_release) struct packed_reader reader = {
		.import = import, .bytes = bytes_of(import->data, import->size)};
	const char *head = bytes_take(&reader.bytes, strlen(NATIVE_HEAD "\n"));

	if (!head || memcmp(head, NATIVE_HEAD "\n", strlen(NATIVE_HEAD "\n")) != 0)
		return fail_version(import, 0);
	return read_parts(&reader);
}

/* ---- containers --------------------------------------------------------------------------- */

/* ret  replaced; the caller releases it */
static int decode(struct import *import, size_t start, size_t end, struct text *ret)
{
	_cleanup_(text_release) struct text compressed = {0};
	struct bytes bytes;
	size_t limit;
	size_t offset;
	int err = base64_decode((const char *)import->data + start, end - start, &compressed,
				&offset);

	if (err == -EBADMSG)
		return import_fail_byte(import, start + offset, "expected base64");
	if (err)
		return err;
	bytes = bytes_of(compressed.data, compressed.length);
	limit = compressed.length > SIZE_MAX / DECOMPRESS_RATIO - DECOMPRESS_FREE_BYTES
			? SIZE_MAX
			: compressed.length * DECOMPRESS_RATIO + DECOMPRESS_FREE_BYTES;
	err = inflate_decompress(&bytes, INFLATE_GZIP, limit, ret);
	if (err == -EFBIG)
		return import_fail_byte(import, start,
					"the profile in it expands to over %d times its size",
					DECOMPRESS_RATIO);
	if (err == -EBADMSG)
		return import_fail_byte(import, start, "the profile in it is damaged or truncated");
	return err;
}

/* Offsets in the decoded data are not those of the file: its messages have a name of its own. */
int native_read_text(struct import *import, size_t start, size_t end)
{
	_cleanup_(text_release) struct text packed = {0};
	_cleanup_(text_release) struct text name = {0};
	struct import inner = *import;
	int err = decode(import, start, end, &packed);

	if (err)
		return err;
	text_printf(&name, "%.200s (profile)", import->name);
	if (name.failed)
		return -ENOMEM;
	inner.name = name.data;
	inner.data = (const uint8_t *)packed.data;
	inner.size = packed.length;
	inner.advance = NULL;
	err = native_read_packed(&inner);
	import->counts = inner.counts;
	import->error = inner.error;
	return err;
}

/* The first line that is not empty has the version of the data after it. */
int native_read(struct import *import, size_t start, size_t end)
{
	const char *data = (const char *)import->data;
	struct xml_slice line;
	size_t stop;

	while (start < end && strchr(" \t\r\n", data[start]) && data[start])
		start++;
	for (stop = start; stop < end && data[stop] != '\n' && data[stop] != '\r';)
		stop++;
	line = (struct xml_slice){data + start, stop - start};
	if (!xml_slice_equals(line, NATIVE_HEAD))
		return fail_version(import, start);
	return native_read_text(import, stop, end);
}
