/*
 * The stacks that BCC's profile, offcputime, stackcount and others print, unless with -f:
 *
 *	Sampling at 49 Hertz of all threads by user + kernel stack... Hit Ctrl-C to end.
 *	    __clear_user
 *	    entry_SYSCALL_64_fastpath
 *	    --
 *	    read
 *	    -                dd (25036)
 *	        4
 *
 * A block has a line for each frame, innermost first, perhaps with "--" between kernel and user.
 * Then follow the thread in one of three forms ("-    dd (25036)", "dd [25036]", of old versions
 * "dd") and a count, which is indented more. A blank line ends it.
 *
 * profile counts samples, stackcount calls; offcputime and its like sum microseconds, as their first lines
 * have it.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "formats/listed_stack.h"
#include "formats/reader.h"
#include "formats/slice.h"

#define DETECTION_BYTES (256u << 10)
#define ADVANCE_BYTES   (1u << 20)

struct bcc_reader {
	struct import *import;
	struct lines lines;
	struct processes processes;
	uint32_t metric;
	bool names_threads; /* the last frame of a block is the name of the thread (old offcputime) */
	/* The block that is being read. */
	struct listed_stack stack;
	struct slice comm;
	uint32_t pid;
	bool has_thread;
	uint64_t first_line;
};

static size_t get_indent(struct slice line)
{
	size_t indent = 0;

	while (indent < line.length && is_blank_char(line.start[indent]))
		indent++;
	return indent;
}

/* "dd (25036)" with these brackets. */
static bool split_thread(struct slice text, char open, char close, struct slice *ret_comm,
			 uint32_t *ret_pid)
{
	uint64_t pid;

	if (text.length < 4 || text.start[text.length - 1] != close)
		return false;
	for (size_t i = text.length - 1; i-- > 1;) {
		if (text.start[i] != open || text.start[i - 1] != ' ')
			continue;
		if (!parse_u64(text.start + i + 1, text.length - i - 2, &pid) || pid > UINT32_MAX)
			return false;
		*ret_comm = slice_trim((struct slice){text.start, i - 1});
		*ret_pid = (uint32_t)pid;
		return true;
	}
	return false;
}

/* "b'dd'", of versions that print bytes of Python. */
static struct slice strip_bytes(struct slice text)
{
	if (text.length > 2 && slice_starts_with(text, "b'") && text.start[text.length - 1] == '\'')
		return (struct slice){text.start + 2, text.length - 3};
	return text;
}

/* Whether a line names the thread of the block. */
static bool take_thread(struct bcc_reader *reader, struct slice text)
{
	bool is_found =
		slice_starts_with(text, "- ")
			? split_thread(slice_trim((struct slice){text.start + 1, text.length - 1}),
				       '(', ')', &reader->comm, &reader->pid)
			: split_thread(text, '[', ']', &reader->comm, &reader->pid);

	if (!is_found)
		return false;
	reader->comm = strip_bytes(reader->comm);
	reader->has_thread = true;
	return true;
}

static void clear_block(struct bcc_reader *reader)
{
	listed_stack_clear(&reader->stack);
	reader->comm = (struct slice){"", 0};
	reader->pid = 0;
	reader->has_thread = false;
}

static int add_thread(struct bcc_reader *reader, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct thread thread = {.tid = reader->pid, .source = reader->import->source};
	int err = 0;

	if (reader->comm.length)
		err = profile_add_frame_name(profile, reader->comm.start, reader->comm.length,
					     &thread.comm);
	if (err)
		return err;
	err = reader_find_process(&reader->processes, profile, reader->pid, thread.comm,
				  &thread.process);
	return err ? err : profile_add_thread(profile, &thread, ret);
}

/* The oldest versions print the thread's name as the outermost frame. */
static void take_last_frame_as_thread(struct bcc_reader *reader)
{
	struct listed_stack *stack = &reader->stack;

	if (!reader->names_threads || reader->has_thread || stack->frames.length < 2)
		return;
	reader->comm = stack->frames.items[--stack->frames.length];
}

static int add_block(struct bcc_reader *reader, uint64_t count)
{
	struct import *import = reader->import;
	uint32_t thread, stack;
	int err;

	take_last_frame_as_thread(reader);
	err = add_thread(reader, &thread);
	if (err)
		return err;
	err = listed_stack_add(&reader->stack, import->profile, &stack);
	if (err)
		return err;
	err = profile_add_sample(import->profile, thread, stack, reader->metric, count);
	if (err == -EOVERFLOW)
		return import_fail_line(import, reader->lines.number,
					"the sum of the counts of this stack exceeds 64 bits");
	if (err)
		return err;
	import->counts.records++;
	return 0;
}

/* Whether a line with an indent is the count of the block: digits, behind more than the frames have. */
static bool is_count(const struct bcc_reader *reader, struct slice line, size_t frame_indent,
		     uint64_t *ret)
{
	struct slice text = slice_trim(line);

	return (reader->stack.frames.length || reader->has_thread) &&
	       get_indent(line) > frame_indent && parse_u64(text.start, text.length, ret);
}

/* "WARNING: 7 stack traces could not be displayed." */
static void count_lost(struct import *import, struct slice line)
{
	static const char start[] = "WARNING: ";
	struct slice rest = {line.start + strlen(start), 0};
	uint64_t count;

	if (!slice_starts_with(line, start) || !slice_contains(line, " stack traces "))
		return;
	while (strlen(start) + rest.length < line.length && !is_blank_char(rest.start[rest.length]))
		rest.length++;
	if (!parse_u64(rest.start, rest.length, &count))
		return;
	import->counts.lost_samples += count;
	import_warn_counted(import, count,
			    "{stack is|stacks are} missing: the tool could not display {it|them}");
}

static int read_blocks(struct bcc_reader *reader)
{
	size_t frame_indent = 0; /* of the present block */
	size_t reported = 0;
	struct slice line;

	while (lines_take(&reader->lines, &line)) {
		struct import *import = reader->import;
		size_t done = (size_t)(line.start - (const char *)import->data);
		struct slice text = slice_trim(line);
		uint64_t count;
		int err = 0;

		/* The frames of an open block are borrowed from the lines before. */
		if (import->advance && !reader->stack.frames.length && !reader->has_thread &&
		    done - reported >= ADVANCE_BYTES) {
			import->advance(import->context, done);
			reported = done;
		}
		if (!get_indent(line) || !text.length) {
			if (reader->stack.frames.length)
				err = reader_skip_line(import, reader->first_line,
						       "a stack without a count");
			clear_block(reader);
			count_lost(import, line);
		} else if (is_count(reader, line, frame_indent, &count)) {
			err = add_block(reader, count);
			clear_block(reader);
		} else if (slice_equals(text, "--")) {
			reader->stack.has_kernel_first |= !reader->stack.ends.length;
			err = listed_stack_end_part(&reader->stack);
		} else if (!take_thread(reader, text)) {
			if (!reader->stack.frames.length) {
				frame_indent = get_indent(line);
				reader->first_line = reader->lines.number;
			}
			err = listed_stack_add_frame(&reader->stack, strip_bytes(text));
		}
		if (err)
			return err;
	}
	if (reader->stack.frames.length)
		return reader_skip_line(reader->import, reader->first_line,
					"a stack without a count");
	return 0;
}

/* The first line of each tool, and its metric. */
static const struct {
	const char *start;
	const char *contains;
	const char *metric;
	const char *unit;
} headings[] = {
	{"Sampling at ", "stack", "samples", "count"},
	{"Sampling every ", "stack", "samples", "count"},
	{"Tracing off-CPU time (us)", "stack", "off-cpu", "microseconds"},
	{"Tracing ", " functions for \"", "calls", "count"}, /* stackcount */
};

static bool is_heading(struct slice line, size_t *ret)
{
	for (size_t i = 0; i < ARRAY_LENGTH(headings); i++)
		if (slice_starts_with(line, headings[i].start) &&
		    slice_contains(line, headings[i].contains)) {
			*ret = i;
			return true;
		}
	return false;
}

/* The next line that is neither blank nor the echo of Ctrl-C is one of a block. */
static bool is_block_next(struct lines lines)
{
	struct slice line;

	while (lines_take(&lines, &line))
		if (slice_trim(line).length && !slice_equals(line, "^C"))
			return get_indent(line);
	return false;
}

/* The first line of a tool, with blocks behind it: other programs may print such a line. */
static bool find_heading(const uint8_t *data, size_t size, size_t *ret)
{
	struct lines lines = lines_of(data, size < DETECTION_BYTES ? size : DETECTION_BYTES);
	struct slice line;

	while (lines_take(&lines, &line))
		if (is_heading(line, ret) && is_block_next(lines))
			return true;
	return false;
}

/* Old versions of offcputime have no line for the thread, but its name behind the frames. */
static bool has_thread_lines(const struct import *import)
{
	struct lines lines = lines_of(import->data, import->size);
	struct slice line;

	while (lines_take(&lines, &line)) {
		struct slice text = slice_trim(line);
		struct slice comm;
		uint32_t pid;

		if (get_indent(line) &&
		    (slice_starts_with(text, "- ") || split_thread(text, '[', ']', &comm, &pid)))
			return true;
	}
	return false;
}

static void release_reader(struct bcc_reader *reader)
{
	listed_stack_release(&reader->stack);
	processes_release(&reader->processes);
}

static int read_bcc(struct import *import)
{
	_cleanup_(release_reader) struct bcc_reader reader = {
		.import = import, .lines = lines_of(import->data, import->size)};
	size_t heading = 0;
	bool is_known = find_heading(import->data, import->size, &heading);
	int err = profile_add_metric(import->profile, headings[heading].metric,
				     headings[heading].unit, &reader.metric);

	if (err)
		return err;
	reader.names_threads = is_known && string_equals(headings[heading].metric, "off-cpu") &&
			       !has_thread_lines(import);
	clear_block(&reader);
	err = read_blocks(&reader);
	if (err)
		return err;
	reader_report_damage(import, &reader.lines);
	if (import->counts.records || import->counts.skipped)
		return 0;
	return import_fail_line(import, 1,
				"expected stacks with counts, as tools of BCC print them");
}

/* A count that ends a block: behind frames or a thread, and indented more than these. */
static bool has_count(struct lines lines)
{
	size_t before = 0;
	struct slice line;

	while (lines_take(&lines, &line)) {
		struct slice text = slice_trim(line);
		uint64_t count;

		if (before && get_indent(line) > before &&
		    parse_u64(text.start, text.length, &count))
			return true;
		before = text.length ? get_indent(line) : 0;
	}
	return false;
}

/* The heading and a count, or a thread and a count behind it. */
static enum detection detect(const uint8_t *data, size_t size)
{
	struct lines lines = lines_of(data, size < DETECTION_BYTES ? size : DETECTION_BYTES);
	bool is_thread = false;
	struct slice line;
	size_t heading;

	if (find_heading(data, size, &heading) && has_count(lines))
		return DETECTED_SURE;
	while (lines_take(&lines, &line)) {
		struct slice text = slice_trim(line);
		struct slice comm;
		uint32_t pid;
		uint64_t count;

		if (is_thread && get_indent(line) && parse_u64(text.start, text.length, &count))
			return DETECTED_SURE;
		is_thread = get_indent(line) && slice_starts_with(text, "- ") &&
			    split_thread(text, '(', ')', &comm, &pid);
	}
	return DETECTED_NOT;
}

const struct format format_bcc = {
	.name = "bcc",
	.extension = "",
	.summary = "output of BCC's profile, offcputime and stackcount",
	.detect = detect,
	.read = read_bcc,
};
