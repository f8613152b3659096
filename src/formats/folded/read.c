/*
 * Folded stacks: one line a stack, and how many samples it has.
 *
 * Stacks mostly come sorted, so that a line begins as the one before it: what the two have in
 * common need not be looked at again. And in text that is sorted all the way, a stack that goes on
 * where the line before ends or differs was never there before, with one exception:
 *
 *     a 1
 *     a b 2
 *     a;x 3
 *
 * The frame a is on top of a line of its own, and other lines came between. Lines that the present
 * one begins with are therefore remembered (`outer`); none but these can hold a frame that comes
 * back. What is new needs no search, but for the stacks of files that were read before; these are
 * settled, and come by in their own order if those files were sorted too.
 *
 * Text that is not sorted is read the same way with a search for every frame.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "formats/folded/line.h"
#include "formats/folded/write.h"
#include "formats/reader.h"

#define ADVANCE_BYTES (1u << 20)
/* So many lines of a file tell whether it is folded text. */
#define DETECT_LINES 8

#define NOT_MADE UINT32_MAX
/* A frame is of one of three kinds, or inlined. */
#define INLINED_KIND (FRAME_JIT + 1)
#define NUM_KINDS    (INLINED_KIND + 1)

/* The frames of a line up to some place, as a stack of the profile. */
struct outline {
	size_t length; /* in bytes of the line, without the `;` */
	uint32_t stack;
};

struct folded_reader {
	struct import *import;
	size_t num_counts;
	uint32_t metrics[FOLDED_MAX_COUNTS];
	uint32_t thread;
	uint64_t line;           /* number of the present line, from 1 */
	uint64_t first_bad_line; /* 0: there was none */
	/* The last stack that was read: its bytes, and what they are by frame. */
	const uint8_t *stack;
	size_t length;
	ARRAY(struct outline) frames;
	bool is_repeated;            /* it is the same as the one before it */
	uint32_t first_own;          /* stacks from here on are of this file */
	bool is_sorted;              /* every stack came after all before it */
	ARRAY(struct outline) outer; /* stacks before it that it begins with; while is_sorted */
	ARRAY(uint32_t) locations[NUM_KINDS]; /* by name; NOT_MADE */
};

static size_t get_common_length(const uint8_t *a, const uint8_t *b, size_t length)
{
	size_t common = 0;
	uint64_t word_a;
	uint64_t word_b;

	for (; length - common >= sizeof(word_a); common += sizeof(word_a)) {
		memcpy(&word_a, a + common, sizeof(word_a));
		memcpy(&word_b, b + common, sizeof(word_b));
		if (word_a != word_b)
			return common + (size_t)__builtin_ctzll(word_a ^ word_b) / 8;
	}
	while (common < length && a[common] == b[common])
		common++;
	return common;
}

static int add_location(struct folded_reader *reader, const uint8_t *label, size_t length,
			uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	const char *name = (const char *)label;
	struct frame frame = {0};
	int err = reader_strip_annotation(profile, name, &length, &frame);
	size_t kind = frame.is_inlined ? INLINED_KIND : frame.kind;
	uint32_t *location;

	if (!err)
		err = string_table_add(profile_get_strings(profile), name, length, &frame.name);
	while (!err && reader->locations[kind].length <= frame.name) {
		location = array_add(&reader->locations[kind]);
		if (location)
			*location = NOT_MADE;
		else
			err = -ENOMEM;
	}
	if (err)
		return err;
	location = &reader->locations[kind].items[frame.name];
	frame.full_name = frame.name;
	if (*location == NOT_MADE)
		err = profile_add_frame_location(profile, &frame, location);
	*ret = *location;
	return err;
}

/* The stack of an earlier line that is the present one's first `length` bytes. */
static uint32_t find_outer(const struct folded_reader *reader, size_t length)
{
	for (size_t i = reader->outer.length; i-- > 0 && reader->outer.items[i].length >= length;)
		if (reader->outer.items[i].length == length)
			return reader->outer.items[i].stack;
	return STACK_EMPTY;
}

/* In sorted text a level that comes after others was in no line before; in other files, maybe. */
static int add_level(struct folded_reader *reader, uint32_t parent, uint32_t location,
		     uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	uint32_t found = STACK_EMPTY;

	if (!reader->is_sorted)
		return profile_add_stack(profile, parent, location, ret);
	if (parent < reader->first_own)
		found = profile_find_stack(profile, parent, location);
	if (found == STACK_EMPTY)
		return profile_add_new_stack(profile, parent, location, ret);
	*ret = found;
	return 0;
}

/* The frames from byte `start` on, which the last stack does not have. */
static int add_frames(struct folded_reader *reader, const uint8_t *stack, size_t length,
		      size_t start)
{
	uint32_t id = STACK_EMPTY;
	struct outline *frame;
	uint32_t location;
	bool is_first = true;
	int err = 0;

	if (reader->frames.length)
		id = reader->frames.items[reader->frames.length - 1].stack;
	while (!err && start <= length) {
		const uint8_t *next = memchr(stack + start, ';', length - start);
		size_t end = next ? (size_t)(next - stack) : length;
		uint32_t known = is_first && next ? find_outer(reader, end) : STACK_EMPTY;

		is_first = false;
		if (known != STACK_EMPTY) {
			id = known;
		} else {
			err = add_location(reader, stack + start, end - start, &location);
			if (!err)
				err = add_level(reader, id, location, &id);
		}
		frame = err ? NULL : array_add(&reader->frames);
		if (!err && !frame)
			err = -ENOMEM;
		else if (!err)
			*frame = (struct outline){end, id};
		start = end + 1;
	}
	return err;
}

/* Keep what the last stack has in common with one whose first `common` bytes are its own. */
static void keep_common(struct folded_reader *reader, const uint8_t *stack, size_t length,
			size_t common)
{
	const struct outline *frames = reader->frames.items;

	while (reader->frames.length && frames[reader->frames.length - 1].length > common)
		reader->frames.length--;
	if (reader->frames.length && frames[reader->frames.length - 1].length == common &&
	    common < length && stack[common] != ';')
		reader->frames.length--;
	while (reader->outer.length &&
	       reader->outer.items[reader->outer.length - 1].length > common)
		reader->outer.length--;
}

static int add_stack(struct folded_reader *reader, const uint8_t *stack, size_t length,
		     uint32_t *ret)
{
	size_t common = get_common_length(reader->stack, stack,
					  length < reader->length ? length : reader->length);
	struct outline *outer;
	size_t start = 0;
	int err;

	if (common < reader->length &&
	    (common == length || stack[common] < reader->stack[common])) {
		reader->is_sorted = false;
		reader->outer.length = 0;
	}
	reader->is_repeated = common == length && common == reader->length;
	keep_common(reader, stack, length, common);
	if (reader->frames.length)
		start = reader->frames.items[reader->frames.length - 1].length + 1;
	reader->stack = stack;
	reader->length = length;
	err = add_frames(reader, stack, length, start);
	if (err)
		return err;
	*ret = reader->frames.items[reader->frames.length - 1].stack;
	if (!reader->is_sorted || reader->is_repeated)
		return 0;
	outer = array_add(&reader->outer);
	if (!outer)
		return -ENOMEM;
	*outer = (struct outline){length, *ret};
	return 0;
}

/* A side of a comparison that has no samples is not there, unless that holds for both. */
static int add_samples(struct folded_reader *reader, const struct folded_line *line, uint32_t stack)
{
	int (*add)(struct profile *, uint32_t, uint32_t, uint32_t, uint64_t) =
		reader->is_sorted && !reader->is_repeated ? profile_add_new_sample
							  : profile_add_sample;
	int err = 0;

	for (size_t i = 0; !err && i < reader->num_counts; i++) {
		bool is_last = i + 1 == reader->num_counts;

		if (line->counts[i] || (is_last && !line->counts[0]))
			err = add(reader->import->profile, reader->thread, stack,
				  reader->metrics[i], line->counts[i]);
	}
	if (err == -EOVERFLOW)
		return import_fail_line(reader->import, reader->line,
					"the counts of this stack exceed 64 bits in sum");
	return err;
}

static int skip_line(struct folded_reader *reader)
{
	if (!reader->first_bad_line)
		reader->first_bad_line = reader->line;
	return reader_skip_line(reader->import, reader->line, "malformed");
}

static int read_line(struct folded_reader *reader, const uint8_t *data, size_t size)
{
	struct folded_line line;
	uint32_t stack;
	int err = folded_line_parse(data, size, reader->num_counts, &line);

	if (err == -ENODATA)
		return 0;
	if (err == -EBADMSG)
		return skip_line(reader);
	if (err == -ERANGE)
		return import_fail_line(reader->import, reader->line, "a count exceeds 64 bits");
	err = add_stack(reader, line.stack, line.length, &stack);
	if (!err)
		err = add_samples(reader, &line, stack);
	if (!err)
		reader->import->counts.records++;
	return err;
}

/* The last stack's bytes are still needed; what lies before them is not. */
static void advance(const struct folded_reader *reader, size_t *told)
{
	const struct import *import = reader->import;
	size_t done = reader->length ? (size_t)(reader->stack - import->data) : 0;

	if (import->advance && done - *told >= ADVANCE_BYTES) {
		import->advance(import->context, done);
		*told = done;
	}
}

static int read_lines(struct folded_reader *reader)
{
	const struct import *import = reader->import;
	const size_t mark = strlen(BYTE_ORDER_MARK);
	size_t told = 0;
	size_t start = 0;
	int err = 0;

	if (import->size >= mark && !memcmp(import->data, BYTE_ORDER_MARK, mark))
		start = mark;
	while (!err && start < import->size) {
		const uint8_t *data = import->data + start;
		const uint8_t *newline = memchr(data, '\n', import->size - start);
		size_t size = newline ? (size_t)(newline - data) : import->size - start;

		reader->line++;
		err = read_line(reader, data, size);
		start += size + 1;
		advance(reader, &told);
	}
	if (!err && reader->first_bad_line && !import->counts.records)
		return import_fail_line(reader->import, reader->first_bad_line,
					"malformed, as every line: expected a stack and %s",
					reader->num_counts == 1 ? "a count" : "two counts");
	return err;
}

static int prepare(struct folded_reader *reader, const char *const *metrics)
{
	struct profile *profile = reader->import->profile;
	int err = reader_add_nameless_thread(reader->import, &reader->thread);

	for (size_t i = 0; !err && i < reader->num_counts; i++)
		err = profile_add_metric(profile, metrics[i], "count", &reader->metrics[i]);
	if (!err)
		err = profile_settle_stacks(profile);
	reader->first_own = profile_count_stacks(profile);
	reader->is_sorted = true;
	return err;
}

static int read_metrics(struct import *import, const char *const *metrics, size_t num_metrics)
{
	struct folded_reader reader = {.import = import, .num_counts = num_metrics};
	int err = prepare(&reader, metrics);

	if (!err)
		err = read_lines(&reader);
	array_release(&reader.frames);
	array_release(&reader.outer);
	for (size_t i = 0; i < NUM_KINDS; i++)
		array_release(&reader.locations[i]);
	return err;
}

int folded_read(struct import *import)
{
	static const char *const metrics[] = {"samples"};

	return read_metrics(import, metrics, ARRAY_LENGTH(metrics));
}

int diff_folded_read(struct import *import)
{
	static const char *const metrics[] = {METRIC_BEFORE, METRIC_AFTER};

	return read_metrics(import, metrics, ARRAY_LENGTH(metrics));
}

enum detection folded_detect(const uint8_t *data, size_t size)
{
	struct folded_line line;
	size_t start = 0;
	size_t num_lines = 0;

	while (start < size && num_lines < DETECT_LINES) {
		const uint8_t *newline = memchr(data + start, '\n', size - start);
		size_t end = newline ? (size_t)(newline - data) : size;
		int err = folded_line_parse(data + start, end - start, 1, &line);

		if (err && err != -ENODATA)
			return DETECTED_BY_NAME;
		num_lines += !err;
		start = end + 1;
	}
	return num_lines ? DETECTED_MAYBE : DETECTED_BY_NAME;
}
