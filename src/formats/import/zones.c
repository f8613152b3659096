/*
 * Zones as text: comma-separated values, one record a line. Superset of what profiling-lite reads.
 *
 *	STACK, begin, end, name             THREAD, tid, name
 *	LOCATION, id, name, function, file, line
 *	ZONE_START, pointer, tid, time, location      ZONE_END, pointer, time
 *	ZONE_NAME, pointer, name            ZONE_PARAM, pointer, name, value
 *	ZONE_FLOW, pointer, flow            ZONE_FLOW_T, pointer, flow
 *	ZONE_CATEGORY, pointer, name
 *	COUNTER_TRACK, id, name             COUNTER_VALUE, id, time, value
 *
 * A line that starts with `#` is a comment. One kind of comment means something to us: after
 * ZONES_PROCESS_MARK come a pid and a name, and what follows is from that process. Programs that
 * know no processes see a comment.
 */
#include <errno.h>
#include <string.h>

#include "formats/format.h"
#include "formats/zones_builder.h"
#include "formats/zones_text.h"

/* How many bytes go by between two calls of advance(). */
#define ADVANCE_BYTES (1u << 20)

struct reader {
	struct import *import;
	struct zones_builder *builder;
	struct zones_line line;
	size_t newline; /* the one that was found last; the input's size when there was none */
};

static int read_stack(struct reader *reader)
{
	uint64_t begin;
	uint64_t end;
	int err = zones_line_read_pointer(&reader->line, 1, &begin);

	if (!err)
		err = zones_line_read_pointer(&reader->line, 2, &end);
	return err ? err
		   : zones_builder_add_stack(reader->builder, begin, end, reader->line.fields[3]);
}

static int read_thread(struct reader *reader)
{
	uint64_t tid;
	int err = zones_line_read_id(&reader->line, 1, "a thread id", &tid);

	return err ? err : zones_builder_add_thread(reader->builder, tid, reader->line.fields[2]);
}

static int read_location(struct reader *reader)
{
	uint64_t id;
	uint32_t number;
	int err = zones_line_read_id(&reader->line, 1, "a location id", &id);

	if (!err)
		err = zones_line_read_u32(&reader->line, 5, "a line number", &number);
	return err ? err
		   : zones_builder_add_location(reader->builder, id, reader->line.fields[2],
						reader->line.fields[3], reader->line.fields[4],
						number);
}

static int read_zone_start(struct reader *reader)
{
	uint64_t pointer;
	uint64_t tid = 0;
	uint64_t time_ns = 0;
	uint64_t location;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (!err)
		err = zones_line_read_id(&reader->line, 2, "a thread id", &tid);
	if (!err)
		err = zones_line_read_unsigned(&reader->line, 3, "a time", &time_ns);
	if (!err)
		err = zones_line_read_id(&reader->line, 4, "a location id", &location);
	return err ? err : zones_builder_begin(reader->builder, pointer, tid, time_ns, location);
}

static int read_zone_end(struct reader *reader)
{
	uint64_t pointer;
	uint64_t time_ns;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (!err)
		err = zones_line_read_unsigned(&reader->line, 2, "a time", &time_ns);
	return err ? err : zones_builder_end(reader->builder, pointer, time_ns);
}

static int read_zone_name(struct reader *reader)
{
	uint64_t pointer;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	return err ? err : zones_builder_set_name(reader->builder, pointer, reader->line.fields[2]);
}

static int read_zone_parameter(struct reader *reader)
{
	uint64_t pointer;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	return err ? err
		   : zones_builder_add_string_parameter(reader->builder, pointer,
							reader->line.fields[2],
							reader->line.fields[3]);
}

static int read_any_flow(struct reader *reader, bool is_terminating)
{
	uint64_t pointer;
	uint64_t flow;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	if (!err)
		err = zones_line_read_unsigned(&reader->line, 2, "a flow id", &flow);
	return err ? err : zones_builder_add_flow(reader->builder, pointer, flow, is_terminating);
}

static int read_zone_flow(struct reader *reader)
{
	return read_any_flow(reader, false);
}

static int read_zone_last_flow(struct reader *reader)
{
	return read_any_flow(reader, true);
}

static int read_zone_category(struct reader *reader)
{
	uint64_t pointer;
	int err = zones_line_read_pointer(&reader->line, 1, &pointer);

	return err ? err
		   : zones_builder_add_category(reader->builder, pointer, reader->line.fields[2]);
}

static int read_counter_track(struct reader *reader)
{
	uint64_t id;
	int err = zones_line_read_id(&reader->line, 1, "a counter id", &id);

	return err ? err : zones_builder_add_counter(reader->builder, id, reader->line.fields[2]);
}

static int read_counter_value(struct reader *reader)
{
	struct counter_value value = {0};
	uint64_t id;
	int err = zones_line_read_id(&reader->line, 1, "a counter id", &id);

	if (!err)
		err = zones_line_read_unsigned(&reader->line, 2, "a time", &value.time_ns);
	if (!err)
		err = zones_line_read_value(&reader->line, 3, &value);
	return err ? err : zones_builder_add_counter_value(reader->builder, id, &value);
}

#define STACK_COMMAND 0

static const struct zones_command {
	const char *name;
	size_t num_arguments;
	int (*read)(struct reader *reader);
} commands[] = {
	[STACK_COMMAND] = {"STACK", 3, NULL}, /* read_stacks() reads it */
	/* Roughly by how often they come. */
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

/* What the builder found wrong: an error, or a warning where it went on. */
static int tell_problem(struct reader *reader, int err)
{
	const char *problem = zones_builder_get_problem(reader->builder);

	if (!problem[0])
		return err;
	if (err)
		return FAIL(reader, "%s", problem);
	import_skip_line(reader->import, reader->line.number, "%s", problem);
	return 0;
}

static int read_record(struct reader *reader)
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
	return command->read ? tell_problem(reader, command->read(reader)) : 0;
}

/* Whether the comment names a process; what does not look exactly so is a comment like any other.
 */
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
 * Lines end in LF, CR LF or CR. The next LF is looked for once, however many CRs come before it.
 *
 * ret_next  where the line after this one starts
 */
static struct zones_string find_line(struct reader *reader, size_t start, size_t *ret_next)
{
	const char *data = (const char *)reader->import->data;
	size_t size = reader->import->size;
	size_t end;
	const char *found;

	if (start > reader->newline || !start) {
		found = memchr(data + start, '\n', size - start);
		reader->newline = found ? (size_t)(found - data) : size;
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

/* A line that is a whole STACK record; what is wrong with another is told when it is read. */
static bool is_stack_record(struct reader *reader)
{
	struct zones_string line =
		zones_trim((struct zones_string){reader->line.data, reader->line.length});

	if (!line.length || (line.data[0] | 0x20) != 's')
		return false;
	reader->line.data = line.data;
	reader->line.length = line.length;
	return zones_line_split(&reader->line) == 0 && reader->line.num_fields == 4 &&
	       find_command(reader->line.fields[0]) == &commands[STACK_COMMAND];
}

/*
 * Declare all stacks of one process before its first zone, wherever their records are: a zone
 * below must not land in a region that was guessed.
 */
static int read_stacks(struct reader *outer, size_t start)
{
	struct reader reader = {
		.import = outer->import,
		.builder = outer->builder,
		.line = {.import = outer->import, .number = outer->line.number},
	};
	int err = 0;

	while (!err && start < reader.import->size) {
		struct zones_string line = find_line(&reader, start, &start);
		struct zones_string name;
		uint32_t pid;

		reader.line.number++;
		reader.line.data = line.data;
		reader.line.length = line.length;
		if (is_process_mark(zones_trim(line), &pid, &name))
			break;
		if (is_stack_record(&reader))
			err = tell_problem(&reader, read_stack(&reader));
	}
	text_release(&reader.line.unquoted);
	return err;
}

/* next  where the line after this one starts */
static int read_line(struct reader *reader, struct zones_string line, size_t next)
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
		err = zones_builder_start_process(reader->builder, pid, name);
		return err ? err : read_stacks(reader, next);
	}
	reader->line.data = line.data;
	reader->line.length = line.length;
	return read_record(reader);
}

static bool has_byte_order_mark(const uint8_t *data, size_t size)
{
	return size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0;
}

static int read_lines(struct reader *reader)
{
	struct import *import = reader->import;
	size_t start = has_byte_order_mark(import->data, import->size) ? 3 : 0;
	size_t told = 0;
	int err = read_stacks(reader, start);

	while (!err && start < import->size) {
		size_t next;
		struct zones_string line = find_line(reader, start, &next);

		reader->line.number++;
		err = read_line(reader, line, next);
		start = next;
		if (import->advance && start - told >= ADVANCE_BYTES) {
			import->advance(import->context, start);
			told = start;
		}
	}
	return err ? err : zones_builder_finish(reader->builder);
}

int zones_read(struct import *import)
{
	struct reader reader = {
		.import = import, .builder = zones_builder_new(import), .line = {.import = import}};
	int err;

	if (zones_is_capture(import->data, import->size)) {
		zones_builder_free(reader.builder);
		return zones_read_capture(import);
	}
	err = reader.builder ? read_lines(&reader) : -ENOMEM;

	text_release(&reader.line.unquoted);
	zones_builder_free(reader.builder);
	return err;
}

/*
 * Sure of a text whose first record is a known command with arguments. What might be a file with
 * an error in its first line is left to the extension.
 */
enum detection zones_detect(const uint8_t *data, size_t size)
{
	struct import import = {.data = data, .size = size};
	struct reader reader = {.import = &import};
	size_t start = has_byte_order_mark(data, size) ? 3 : 0;

	if (zones_is_capture(data, size))
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
