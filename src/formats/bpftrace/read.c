/*
 * The text that bpftrace prints of its maps, as far as their keys have stacks:
 *
 *	Attaching 1 probe...
 *
 *	@[
 *	    finish_task_switch+167
 *	    entry_SYSCALL_64_after_hwframe+110
 *	,
 *	    __poll+79
 *	, sshd, 812]: 4
 *
 * A key is a list joined by ", ". A stack in it has a line for each frame, innermost first. All others, as
 * comm and pid, are texts, and become the name of the thread: which is which the text does not have.
 *
 * Each map is a metric. stats() has a total; min(), max() and avg() look like counts, and nothing tells them
 * from these. hist() and lhist() have no sum and are skipped.
 *
 * A map that is printed in intervals adds up, as clear() follows print() in such programs.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "formats/listed_stack.h"
#include "formats/reader.h"
#include "formats/slice.h"

#define DETECTION_BYTES (256u << 10)
#define ADVANCE_BYTES   (1u << 20)

struct bpftrace_reader {
	struct import *import;
	struct lines lines;
	uint32_t process;
	size_t num_entries;        /* with a stack */
	struct string_table *maps; /* names of those that have stacks */
	/* State of the current entry. */
	uint64_t first_line;
	struct slice map; /* "@" or "@name" */
	struct listed_stack stack;
	struct text label; /* texts of the key, joined by ", " */
	struct slice value;
};

/* Length of "@name" at the start of a line; 0: it does not start with a map. */
static size_t measure_map(struct slice line)
{
	size_t length = 1;

	if (!line.length || line.start[0] != '@')
		return 0;
	while (length < line.length &&
	       (line.start[length] == '_' ||
		(line.start[length] >= '0' && line.start[length] <= '9') ||
		((line.start[length] | 0x20) >= 'a' && (line.start[length] | 0x20) <= 'z')))
		length++;
	return length;
}

/* Whether the line starts an entry whose key goes on in the next line: "@[", "@[(" of a tuple, "@x[comm, ". */
static bool starts_long_entry(struct slice line)
{
	size_t length = measure_map(line);
	struct slice rest = {line.start + length, line.length - length};

	return length && slice_starts_with(rest, "[") &&
	       (rest.length == 1 || slice_equals(rest, "[(") || slice_ends_with(rest, ", ") ||
		slice_ends_with(rest, ","));
}

/* Split "comm, 12]: 4" at the last "]: ". False: the key does not end in this line. */
static bool split_value(struct slice line, struct slice *ret_key, struct slice *ret_value)
{
	for (size_t i = line.length; i-- > 0;) {
		if (line.start[i] != ']' || i + 1 >= line.length || line.start[i + 1] != ':')
			continue;
		*ret_key = (struct slice){line.start, i};
		*ret_value = slice_trim((struct slice){line.start + i + 2, line.length - i - 2});
		return true;
	}
	return false;
}

/* Texts of the key, with the commas and the brackets of a tuple around them. */
static void add_label(struct text *label, struct slice texts)
{
	texts = slice_trim(texts);
	if (texts.length && texts.start[0] == '(' && !slice_contains(texts, ")"))
		texts = (struct slice){texts.start + 1, texts.length - 1};
	if (texts.length && texts.start[texts.length - 1] == ')' && !slice_contains(texts, "("))
		texts = (struct slice){texts.start, texts.length - 1};
	while (texts.length && texts.start[0] == ',')
		texts = slice_trim((struct slice){texts.start + 1, texts.length - 1});
	while (texts.length && texts.start[texts.length - 1] == ',')
		texts = slice_trim((struct slice){texts.start, texts.length - 1});
	if (!texts.length)
		return;
	if (label->length)
		text_append_string(label, ", ");
	text_append(label, texts.start, texts.length);
}

/* "4", "-4", or "count 2, average 3, total 6". */
static bool parse_value(struct slice value, uint64_t *ret)
{
	static const char total[] = "total ";
	const char *found = memmem(value.start, value.length, total, strlen(total));

	if (found && slice_starts_with(value, "count "))
		value = (struct slice){found + strlen(total),
				       value.length - (size_t)(found - value.start) -
					       strlen(total)};
	return parse_u64(value.start, value.length, ret);
}

static int find_metric(struct bpftrace_reader *reader, uint32_t *ret)
{
	_cleanup_(text_release) struct text name = {0};

	if (reader->map.length > 1)
		text_append(&name, reader->map.start + 1, reader->map.length - 1);
	else
		text_append_string(&name, "samples");
	text_append_string(&name, "");
	return name.failed ? -ENOMEM
			   : profile_add_metric(reader->import->profile, name.data, "count", ret);
}

static int find_thread(struct bpftrace_reader *reader, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct thread thread = {.process = reader->process, .source = reader->import->source};
	int err = reader->label.length ? profile_add_frame_name(profile, reader->label.data,
								reader->label.length, &thread.comm)
				       : 0;

	return err ? err : profile_add_thread(profile, &thread, ret);
}

static int add_entry(struct bpftrace_reader *reader)
{
	struct import *import = reader->import;
	uint32_t metric, thread, stack;
	uint64_t value;
	int err;

	if (reader->label.failed)
		return -ENOMEM;
	if (!reader->value.length)
		return reader_skip_line(import, reader->first_line, "a histogram has no sum");
	if (!parse_value(reader->value, &value))
		return reader_skip_line(import, reader->first_line, "expected a count");
	err = find_metric(reader, &metric);
	if (err)
		return err;
	err = find_thread(reader, &thread);
	if (err)
		return err;
	/* Without a stack and a text nothing would be left to show. */
	if (!reader->stack.frames.length && !reader->label.length) {
		err = listed_stack_add_frame(&reader->stack,
					     (struct slice){UNKNOWN_NAME, strlen(UNKNOWN_NAME)});
		if (err)
			return err;
	}
	err = listed_stack_add(&reader->stack, import->profile, &stack);
	if (err)
		return err;
	err = profile_add_sample(import->profile, thread, stack, metric, value);
	if (err == -EOVERFLOW)
		return import_fail_line(import, reader->first_line,
					"the sum of the counts of this stack exceeds 64 bits");
	if (err)
		return err;
	import->counts.records++;
	reader->num_entries++;
	return 0;
}

static void start_entry(struct bpftrace_reader *reader, struct slice line)
{
	reader->first_line = reader->lines.number;
	reader->map = (struct slice){line.start, measure_map(line)};
	listed_stack_clear(&reader->stack);
	text_truncate(&reader->label, 0);
}

/* Read one more line of a key. *ret_ends: it is the last. */
static int take_key_line(struct bpftrace_reader *reader, struct slice line, bool *ret_ends)
{
	struct slice key = line;

	*ret_ends = split_value(line, &key, &reader->value);
	if (!*ret_ends && line.length && is_blank_char(line.start[0]))
		return slice_trim(line).length ? listed_stack_add_frame(&reader->stack, line) : 0;
	add_label(&reader->label, key);
	return listed_stack_end_part(&reader->stack);
}

/* The lines of an entry behind its first. */
static int read_entry(struct bpftrace_reader *reader, struct slice first)
{
	struct slice line;
	bool ends = false;

	start_entry(reader, first);
	add_label(&reader->label, (struct slice){first.start + reader->map.length + 1,
						 first.length - reader->map.length - 1});
	while (!ends) {
		struct lines before = reader->lines;
		int err;

		if (!lines_take(&reader->lines, &line) || starts_long_entry(line)) {
			reader->lines = before;
			return reader_skip_line(reader->import, reader->first_line,
						"unterminated key of a map");
		}
		err = take_key_line(reader, line, &ends);
		if (err)
			return err;
	}
	return add_entry(reader);
}

/* Collect the names of maps with stacks. Names are copied, because lines are released while they are read. */
static int find_maps(struct bpftrace_reader *reader)
{
	struct lines lines = reader->lines;
	struct slice line;

	reader->maps = string_table_new();
	if (!reader->maps)
		return -ENOMEM;
	while (lines_take(&lines, &line)) {
		uint32_t id;
		int err = starts_long_entry(line) ? string_table_add(reader->maps, line.start,
								     measure_map(line), &id)
						  : 0;

		if (err)
			return err;
	}
	return 0;
}

static bool has_stacks(const struct bpftrace_reader *reader, struct slice name)
{
	return string_table_find(reader->maps, name.start, name.length) != STRING_NONE;
}

/*
 * An entry of one line, "@[]: 4" or "@[, bash]: 4", of a map that has stacks elsewhere or by its comma: here the
 * stack is empty. Other maps have no stacks.
 */
static int read_short_entry(struct bpftrace_reader *reader, struct slice line)
{
	size_t length = measure_map(line);
	struct slice key;

	if (!length || line.length < length + 2 || line.start[length] != '[' ||
	    (line.start[length + 1] != ',' &&
	     !has_stacks(reader, (struct slice){line.start, length})) ||
	    !split_value(line, &key, &reader->value))
		return 0;
	start_entry(reader, line);
	add_label(&reader->label, (struct slice){key.start + length + 1, key.length - length - 1});
	return add_entry(reader);
}

static int read_lines(struct bpftrace_reader *reader)
{
	struct import *import = reader->import;
	size_t reported = 0;
	struct slice line;

	while (lines_take(&reader->lines, &line)) {
		size_t done = (size_t)(line.start - (const char *)import->data);
		int err;

		if (import->advance && done - reported >= ADVANCE_BYTES) {
			import->advance(import->context, done);
			reported = done;
		}
		err = starts_long_entry(line) ? read_entry(reader, line)
					      : read_short_entry(reader, line);
		if (err)
			return err;
	}
	reader_report_damage(import, &reader->lines);
	return reader->num_entries || import->counts.skipped
		       ? 0
		       : import_fail_line(import, 1,
					  "expected a map with stacks, as bpftrace prints them");
}

static void release_reader(struct bpftrace_reader *reader)
{
	string_table_free(reader->maps);
	listed_stack_release(&reader->stack);
	text_release(&reader->label);
}

static int read_bpftrace(struct import *import)
{
	_cleanup_(release_reader) struct bpftrace_reader reader = {
		.import = import, .lines = lines_of(import->data, import->size)};
	int err = profile_add_process(import->profile, 0, STRING_EMPTY, &reader.process);

	if (err)
		return err;
	err = find_maps(&reader);
	return err ? err : read_lines(&reader);
}

/* The start of an entry, and a frame in the next line. */
static enum detection detect(const uint8_t *data, size_t size)
{
	struct lines lines = lines_of(data, size < DETECTION_BYTES ? size : DETECTION_BYTES);
	struct slice line;
	bool is_key = false;

	while (lines_take(&lines, &line)) {
		if (is_key && line.length > 1 && is_blank_char(line.start[0]) &&
		    slice_trim(line).length)
			return DETECTED_SURE;
		is_key = starts_long_entry(line);
	}
	return DETECTED_NOT;
}

const struct format format_bpftrace = {
	.name = "bpftrace",
	.extension = "",
	.summary = "text output of bpftrace: maps with stacks",
	.detect = detect,
	.read = read_bpftrace,
};
