/*
 * Zones as text: comma-separated values, one record a line. A superset of the format that
 * profiling-lite reads.
 *
 *	STACK, start, end, name             THREAD, tid, name
 *	LOCATION, id, name, function, file, line
 *	ZONE_START, pointer, tid, time, location      ZONE_END, pointer, time
 *	ZONE_NAME, pointer, name            ZONE_PARAM, pointer, name, value
 *	ZONE_FLOW, pointer, flow            ZONE_FLOW_T, pointer, flow
 *	ZONE_CATEGORY, pointer, name
 *	COUNTER_TRACK, id, name             COUNTER_VALUE, id, time, value
 *
 * A line that starts with `#` is a comment. One kind of comment has a meaning for us: after
 * ZONES_PROCESS_MARK it has a pid and a name, and the records after it are of that process.
 * Programs that know no processes see a comment.
 *
 * A program that is killed, or runs out of disk, may leave its last line truncated: that is a warning,
 * unless reading is strict.
 *
 * There are two passes (read_lines.h): the first one reads only STACK records, because all regions
 * of a process must be known before its first zone. It runs over every byte of files of gigabytes,
 * so scan_line() decides by a line's first byte whether to look closer.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "formats/format.h"
#include "formats/zones.h"
#include "formats/zones/read_lines.h"

/* A STACK record; its numbers. */
struct declared_stack {
	uint64_t start;
	uint64_t end;
	uint64_t line;
	size_t name; /* offset in reader->stack_names */
	size_t name_length;
	uint64_t section;
};

/*
 * A section is the output of one process: up to the first comment that names one, or from one such
 * to the next.
 */
struct zones_file_reader {
	struct zones_reader base;
	struct import *import;
	struct zones_builder *builder;
	struct zones_line line;
	/* State of the chunk. */
	const char *data;
	size_t size;
	size_t newline; /* the one found last, or size */
	bool has_newline;
	uint64_t section;
	bool has_records; /* something was read without error */
	/* State of the first pass. */
	ARRAY(struct declared_stack) stacks;
	struct text stack_names;
	uint64_t bad_section; /* of a STACK that cannot be read, the last one then */
	struct error bad_stack;
	size_t next_stack;
};

static int read_stack(struct zones_file_reader *reader)
{
	struct declared_stack stack = {.line = reader->line.number,
				       .section = reader->section,
				       .name = reader->stack_names.length,
				       .name_length = reader->line.fields[3].length};
	struct declared_stack *added;
	int err = zones_line_read_pointer(&reader->line, 1, &stack.start);

	if (err)
		return err;
	err = zones_line_read_pointer(&reader->line, 2, &stack.end);
	if (err)
		return err;
	added = array_add(&reader->stacks);
	if (!added)
		return -ENOMEM;
	*added = stack;
	text_append(&reader->stack_names, reader->line.fields[3].data, stack.name_length);
	return reader->stack_names.failed ? -ENOMEM : 0;
}

static int read_thread(struct zones_file_reader *reader)
{
	uint64_t tid;
	int err = zones_line_read_id(&reader->line, 1, "a thread id", &tid);

	if (err)
		return err;
	return zones_builder_add_thread(reader->builder, tid, reader->line.fields[2]);
}

static int read_location(struct zones_file_reader *reader)
{
	uint64_t id;
	uint32_t number;
	int err = zones_line_read_id(&reader->line, 1, "a location id", &id);

	if (err)
		return err;
	err = zones_line_read_u32(&reader->line, 5, "a line number", &number);
	if (err)
		return err;
	return zones_builder_add_location(reader->builder, id, reader->line.fields[2],
					  reader->line.fields[3], reader->line.fields[4], number);
}

static int read_zone_start(struct zones_file_reader *reader)
{
	uint64_t pointer;
	uint64_t tid = 0;
	uint64_t time_ns = 0;
	uint64_t location;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (err)
		return err;
	err = zones_line_read_id(&reader->line, 2, "a thread id", &tid);
	if (err)
		return err;
	err = zones_line_read_unsigned(&reader->line, 3, "a time", &time_ns);
	if (err)
		return err;
	err = zones_line_read_id(&reader->line, 4, "a location id", &location);
	if (err)
		return err;
	return zones_builder_start(reader->builder, pointer, tid, time_ns, location);
}

static int read_zone_end(struct zones_file_reader *reader)
{
	uint64_t pointer;
	uint64_t time_ns;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (err)
		return err;
	err = zones_line_read_unsigned(&reader->line, 2, "a time", &time_ns);
	if (err)
		return err;
	return zones_builder_end(reader->builder, pointer, time_ns);
}

static int read_zone_name(struct zones_file_reader *reader)
{
	uint64_t pointer;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (err)
		return err;
	return zones_builder_set_name(reader->builder, pointer, reader->line.fields[2]);
}

static int read_zone_parameter(struct zones_file_reader *reader)
{
	uint64_t pointer;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (err)
		return err;
	return zones_builder_add_string_parameter(reader->builder, pointer, reader->line.fields[2],
						  reader->line.fields[3]);
}

static int read_any_flow(struct zones_file_reader *reader, bool is_terminating)
{
	uint64_t pointer;
	uint64_t flow;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (err)
		return err;
	err = zones_line_read_unsigned(&reader->line, 2, "a flow id", &flow);
	if (err)
		return err;
	return zones_builder_add_flow(reader->builder, pointer, flow, is_terminating);
}

static int read_zone_flow(struct zones_file_reader *reader)
{
	return read_any_flow(reader, false);
}

static int read_zone_last_flow(struct zones_file_reader *reader)
{
	return read_any_flow(reader, true);
}

static int read_zone_category(struct zones_file_reader *reader)
{
	uint64_t pointer;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (err)
		return err;
	return zones_builder_add_category(reader->builder, pointer, reader->line.fields[2]);
}

static int read_counter_track(struct zones_file_reader *reader)
{
	uint64_t id;
	int err = zones_line_read_id(&reader->line, 1, "a counter id", &id);

	if (err)
		return err;
	return zones_builder_add_counter(reader->builder, id, reader->line.fields[2]);
}

static int read_counter_value(struct zones_file_reader *reader)
{
	struct counter_value value = {0};
	uint64_t id;
	int err = zones_line_read_id(&reader->line, 1, "a counter id", &id);

	if (err)
		return err;
	err = zones_line_read_unsigned(&reader->line, 2, "a time", &value.time_ns);
	if (err)
		return err;
	err = zones_line_read_value(&reader->line, 3, &value);
	if (err)
		return err;
	return zones_builder_add_counter_value(reader->builder, id, &value);
}

#define STACK_COMMAND 0

static const struct zones_command {
	const char *name;
	size_t num_arguments;
	int (*read)(struct zones_file_reader *reader);
} commands[] = {
	[STACK_COMMAND] = {"STACK", 3, NULL}, /* the first pass reads it */
	/* In rough order of frequency. */
	{"ZONE_START", 4, read_zone_start},
	{"ZONE_END", 2, read_zone_end},
	{"ZONE_PARAM", 3, read_zone_parameter},
	{"COUNTER_VALUE", 3, read_counter_value},
	{"ZONE_FLOW", 2, read_zone_flow},
	{"ZONE_FLOW_T", 2, read_zone_last_flow},
	{"ZONE_CATEGORY", 2, read_zone_category},
	{"ZONE_NAME", 2, read_zone_name},
	{"LOCATION", 5, read_location},
	{"THREAD", 2, read_thread},
	{"COUNTER_TRACK", 2, read_counter_track},
};

static const struct zones_command *find_command(struct zones_string name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(commands); i++)
		if (strlen(commands[i].name) == name.length &&
		    strncasecmp(commands[i].name, name.data, name.length) == 0)
			return &commands[i];
	return NULL;
}

#define FAIL(reader, ...) import_fail_line((reader)->import, (reader)->line.number, __VA_ARGS__)

/* Report a problem of the builder: an error, or a warning if it went on. */
static int report_problem(struct zones_file_reader *reader, int err)
{
	const char *problem = zones_builder_get_problem(reader->builder);

	if (!problem[0])
		return err;
	if (err)
		return FAIL(reader, "%s", problem);
	import_skip_line(reader->import, reader->line.number, "%s", problem);
	return 0;
}

static int read_record(struct zones_file_reader *reader)
{
	const struct zones_command *command;
	struct zones_shown shown;
	int err = zones_line_split(&reader->line);

	if (err)
		return err;
	command = find_command(reader->line.fields[0]);
	if (!command) {
		shown = zones_show(reader->line.fields[0]);
		return FAIL(reader, "unknown command '%s'", shown.text);
	}
	if (reader->line.num_fields != command->num_arguments + 1)
		return FAIL(reader, "%s takes %zu arguments, not %zu", command->name,
			    command->num_arguments, reader->line.num_fields - 1);
	return command->read ? report_problem(reader, command->read(reader)) : 0;
}

/* Whether the comment names a process; a comment in any other form is just a comment. */
static bool is_process_mark(struct zones_string comment, uint32_t *ret_pid,
			    struct zones_string *ret_name)
{
	size_t mark_length = strlen(ZONES_PROCESS_MARK);
	struct zones_string pid = {comment.data + mark_length, 0};
	uint64_t value;
	bool overflows;

	if (comment.length < mark_length ||
	    memcmp(comment.data, ZONES_PROCESS_MARK, mark_length) != 0)
		return false;
	while (mark_length + pid.length < comment.length && !zones_is_blank(pid.data[pid.length]))
		pid.length++;
	if (!zones_read_digits(pid, &value, &overflows) || overflows || value > INT32_MAX)
		return false;
	*ret_pid = (uint32_t)value;
	ret_name->data = pid.data + pid.length;
	ret_name->length = comment.length - mark_length - pid.length;
	*ret_name = zones_trim(*ret_name);
	return true;
}

/*
 * Lines end in LF, CR LF or CR. The next LF is searched for only once, however many CRs precede it.
 *
 * ret_next  start of the next line
 */
static struct zones_string find_line(struct zones_file_reader *reader, size_t start,
				     size_t *ret_next)
{
	const char *data = reader->data;
	size_t size = reader->size;
	size_t end;
	const char *found;

	if (start > reader->newline || !reader->has_newline) {
		found = memchr(data + start, '\n', size - start);
		reader->newline = found ? (size_t)(found - data) : size;
		reader->has_newline = true;
	}
	end = reader->newline;
	*ret_next = end < size ? end + 1 : size;
	found = memchr(data + start, '\r', end - start);
	if (found) {
		end = (size_t)(found - data);
		if (end + 1 != reader->newline)
			*ret_next = end + 1;
	}
	return (struct zones_string){data + start, end - start};
}

/* How much of the chunk is whole lines. A CR at its end may be the first half of a line's end. */
static size_t find_whole_lines(const struct zones_chunk *chunk)
{
	const uint8_t *end = NULL;

	if (chunk->is_last || !chunk->size)
		return chunk->size;
	end = memrchr(chunk->data, '\n', chunk->size);
	if (!end)
		end = memrchr(chunk->data, '\r', chunk->size - 1);
	return end ? (size_t)(end - chunk->data) + 1 : 0;
}

static bool has_byte_order_mark(const uint8_t *data, size_t size)
{
	return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;
}

/* Returns the start of the first line. */
static size_t start_chunk(struct zones_file_reader *reader, const struct zones_chunk *chunk,
			  size_t used)
{
	reader->data = (const char *)chunk->data;
	reader->size = used;
	reader->has_newline = false;
	if (chunk->offset)
		return 0;
	reader->line.number = reader->import->lines_before;
	reader->section = 0;
	return has_byte_order_mark(chunk->data, used) ? 3 : 0;
}

/* The last mark at the start of a line, at or before `offset`. */
static const char *find_mark(const char *data, size_t size, size_t offset)
{
	size_t mark_length = strlen(ZONES_PROCESS_MARK);
	size_t place = offset;

	if (!data || size < mark_length)
		return NULL;
	if (place > size - mark_length)
		place = size - mark_length;
	for (;;) {
		const char *newline = place ? memrchr(data, '\n', place) : NULL;
		const char *line = newline ? newline + 1 : data;

		if (memcmp(line, ZONES_PROCESS_MARK, mark_length) == 0)
			return line;
		if (!newline)
			return NULL;
		place = (size_t)(newline - data);
	}
}

size_t zones_find_section(const uint8_t *data, size_t size, uint64_t offset)
{
	const char *mark =
		offset <= size && !zones_is_capture(data, size) && !zones_is_rings(data, size)
			? find_mark((const char *)data, size, (size_t)offset)
			: NULL;

	return mark ? (size_t)(mark - (const char *)data) : 0;
}

/* ---- the first pass: stacks --------------------------------------------------------------- */

/*
 * All stacks of one process are declared before its first zone, wherever their records are: a zone
 * below must not land in a region that was guessed.
 */

/* A line that is a whole STACK record; errors in others are reported when they are read. */
static bool is_stack_record(struct zones_file_reader *reader, struct zones_string line)
{
	reader->line.data = line.data;
	reader->line.length = line.length;
	return zones_line_split(&reader->line) == 0 && reader->line.num_fields == 4 &&
	       find_command(reader->line.fields[0]) == &commands[STACK_COMMAND];
}

static int scan_line(struct zones_file_reader *reader, struct zones_string line)
{
	struct zones_string name;
	uint32_t pid;

	reader->line.number++;
	if (!line.length || (line.data[0] > '#' && (line.data[0] | 0x20) != 's'))
		return 0;
	line = zones_trim(line);
	if (is_process_mark(line, &pid, &name))
		reader->section++;
	if (!line.length || (line.data[0] | 0x20) != 's' || !is_stack_record(reader, line))
		return 0;
	return read_stack(reader);
}

/* Errors in a stack are reported when its section starts. */
static int scan_lines(struct zones_reader *base, const struct zones_chunk *chunk, size_t *ret_used)
{
	struct zones_file_reader *reader = (struct zones_file_reader *)base;
	size_t used = find_whole_lines(chunk);
	size_t start = start_chunk(reader, chunk, used);

	*ret_used = used;
	while (start < used && !reader->bad_stack.message[0]) {
		int err = scan_line(reader, find_line(reader, start, &start));

		if (err == -EBADMSG) {
			reader->bad_stack = reader->import->error;
			reader->bad_section = reader->section;
		} else if (err) {
			return err;
		}
	}
	return 0;
}

static int declare_stacks(struct zones_file_reader *reader)
{
	uint64_t number = reader->line.number;

	for (; reader->next_stack < reader->stacks.length; reader->next_stack++) {
		const struct declared_stack *stack = &reader->stacks.items[reader->next_stack];
		struct zones_string name = {"", 0};
		int err;

		if (stack->section != reader->section)
			break;
		if (stack->name_length)
			name = (struct zones_string){reader->stack_names.data + stack->name,
						     stack->name_length};
		/* Its errors are reported for its own line. */
		reader->line.number = stack->line;
		err = report_problem(reader, zones_builder_add_stack(reader->builder, stack->start,
								     stack->end, name));
		if (err)
			return err;
	}
	reader->line.number = number;
	if (reader->bad_stack.message[0] && reader->bad_section == reader->section) {
		reader->import->error = reader->bad_stack;
		return -EBADMSG;
	}
	return 0;
}

/* ---- the second pass ---------------------------------------------------------------------- */

static int start_lines(struct zones_reader *base, struct zones_builder *builder)
{
	struct zones_file_reader *reader = (struct zones_file_reader *)base;

	reader->builder = builder;
	reader->next_stack = 0;
	reader->section = 0;
	reader->has_records = false;
	return declare_stacks(reader);
}

static int read_line(struct zones_file_reader *reader, struct zones_string line)
{
	struct zones_string name;
	uint32_t pid;
	int err;

	line = zones_trim(line);
	if (!line.length)
		return 0;
	if (line.data[0] == '#') {
		if (!is_process_mark(line, &pid, &name))
			return 0;
		reader->section++;
		err = zones_builder_start_process(reader->builder, pid, name);
		if (err)
			return err;
		reader->has_records = true;
		return declare_stacks(reader);
	}
	reader->line.data = line.data;
	reader->line.length = line.length;
	err = read_record(reader);
	if (err)
		return err;
	reader->has_records = true;
	return 0;
}

/*
 * A last line without an end. Writers of process marks end every line, so such a line is truncated
 * even if it can be read: a number may lack digits. In other files it may be intended, and counts
 * if it can be read.
 */
static int read_unended_line(struct zones_file_reader *reader, struct zones_string line)
{
	struct zones_string text = zones_trim(line);
	bool is_truncated = reader->section && text.length && text.data[0] != '#';
	int err =
		is_truncated ? FAIL(reader, "the last line is truncated") : read_line(reader, line);

	if (err != -EBADMSG || !reader->has_records || reader->import->is_strict)
		return err;
	reader->import->error.message[0] = '\0';
	import_skip_line(reader->import, reader->line.number,
			 "the last line is truncated, skipping");
	return 0;
}

static int read_lines(struct zones_reader *base, const struct zones_chunk *chunk, size_t *ret_used)
{
	struct zones_file_reader *reader = (struct zones_file_reader *)base;
	struct import *import = reader->import;
	size_t used = find_whole_lines(chunk);
	size_t start = start_chunk(reader, chunk, used);
	size_t reported = 0;

	*ret_used = used;
	while (start < used) {
		struct zones_string line = find_line(reader, start, &start);
		bool is_ended = !chunk->is_last || line.data + line.length < reader->data + used;
		int err;

		reader->line.number++;
		err = is_ended ? read_line(reader, line) : read_unended_line(reader, line);
		if (err)
			return err;
		if (import->advance && start - reported >= ZONES_ADVANCE_BYTES) {
			import->advance(import->context, chunk->offset + start);
			reported = start;
		}
	}
	return 0;
}

static void free_reader(struct zones_reader *base)
{
	struct zones_file_reader *reader = (struct zones_file_reader *)base;

	text_release(&reader->line.unquoted);
	text_release(&reader->stack_names);
	array_release(&reader->stacks);
	free(reader);
}

struct zones_reader *zones_text_reader_new(struct import *import)
{
	struct zones_file_reader *reader = calloc(1, sizeof(*reader));

	if (!reader)
		return NULL;
	reader->base = (struct zones_reader){scan_lines, start_lines, read_lines, free_reader};
	reader->import = import;
	reader->line.import = import;
	return &reader->base;
}

/*
 * Sure of a text whose first record is a known command with arguments. Files that may have an error
 * in their first line are left to the extension.
 */
enum detection zones_detect(const uint8_t *data, size_t size)
{
	struct zones_file_reader reader = {.data = (const char *)data, .size = size};
	size_t start = has_byte_order_mark(data, size) ? 3 : 0;

	if (zones_is_capture(data, size) || zones_is_rings(data, size))
		return DETECTED_SURE;
	while (start < size) {
		struct zones_string line = zones_trim(find_line(&reader, start, &start));
		const char *comma = line.length ? memchr(line.data, ',', line.length) : NULL;

		if (!line.length || line.data[0] == '#')
			continue;
		line.length = comma ? (size_t)(comma - line.data) : line.length;
		return comma && find_command(zones_trim(line)) ? DETECTED_SURE : DETECTED_BY_NAME;
	}
	return DETECTED_BY_NAME;
}
