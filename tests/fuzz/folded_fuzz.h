/*
 * Folded text of either kind: what was read and written is the same when it is read and written
 * again, is sorted, and depends neither on the order of its lines nor on how many files they are
 * in.
 */
#ifndef FOLDED_FUZZ_H
#define FOLDED_FUZZ_H

#include "base/array.h"
#include "formats/folded/write.h"
#include "import_fuzz.h"

struct fuzz_line {
	const char *data;
	size_t length; /* with its line end */
};

static inline int fuzz_append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* Returns what the reader returned. */
static inline int fuzz_add(const struct format *format, const void *data, size_t size,
			   struct profile *profile)
{
	struct import import = {.name = "FILE", .data = data, .size = size, .profile = profile};

	require(profile && profile_add_source(profile, STRING_EMPTY, &import.source) == 0);
	return format->read(&import);
}

static inline void fuzz_write_text(const struct format *format, const struct profile *profile,
				   struct text *ret)
{
	struct sink sink = {.write = fuzz_append, .context = ret};
	struct format_opts opts = {0};

	text_append_string(ret, "");
	require(format->write(profile, &opts, &sink) == 0);
	require(!ret->failed);
}

/* Returns what the reader returned. */
static inline int fuzz_convert(const struct format *format, const void *data, size_t size,
			       struct text *ret)
{
	struct profile *profile = profile_new();
	int err = fuzz_add(format, data, size, profile);

	if (!err)
		fuzz_write_text(format, profile, ret);
	profile_free(profile);
	return err;
}

/* Two texts into one profile. */
static inline void fuzz_convert_two(const struct format *format, const struct text *a,
				    const struct text *b, struct text *ret)
{
	struct profile *profile = profile_new();

	require(fuzz_add(format, a->data, a->length, profile) == 0);
	require(fuzz_add(format, b->data, b->length, profile) == 0);
	fuzz_write_text(format, profile, ret);
	profile_free(profile);
}

static inline void require_same_text(const struct text *a, const struct text *b)
{
	require(a->length == b->length && memcmp(a->data, b->data, a->length) == 0);
}

/* Where the stack ends: before `num_counts` numbers, each with its blank. */
static inline size_t find_stack_end(const struct fuzz_line *line, size_t num_counts)
{
	size_t end = line->length - 1;

	for (; num_counts; num_counts--)
		while (line->data[--end] != ' ')
			require(line->data[end] >= '0' && line->data[end] <= '9');
	return end;
}

static inline void require_ascending(const struct fuzz_line *a, const struct fuzz_line *b,
				     size_t num_counts)
{
	size_t length_a = find_stack_end(a, num_counts);
	size_t length_b = find_stack_end(b, num_counts);
	int order = memcmp(a->data, b->data, length_a < length_b ? length_a : length_b);

	require(order ? order < 0 : length_a < length_b);
}

/* Check the order; put the lines together in another one, and every second into a half. */
static inline void fuzz_reorder(const struct text *text, size_t num_counts, struct text *ret,
				struct text *halves)
{
	ARRAY(struct fuzz_line) lines = {0};

	/* Where a frame starts with a mark there is one more, which is no part of the line. */
	for (size_t start = string_starts_with(text->data, BYTE_ORDER_MARK) ? 3 : 0;
	     start < text->length;) {
		const char *end = memchr(text->data + start, '\n', text->length - start);
		struct fuzz_line *line = array_add(&lines);

		require(end && line);
		*line = (struct fuzz_line){text->data + start,
					   (size_t)(end - text->data) + 1 - start};
		start += line->length;
		if (lines.length > 1)
			require_ascending(line - 1, line, num_counts);
	}
	text_append_string(ret, BYTE_ORDER_MARK);
	for (size_t i = 0; i < 2; i++)
		text_append_string(&halves[i], BYTE_ORDER_MARK);
	for (size_t i = 0; i < lines.length; i++)
		text_append(&halves[i % 2], lines.items[i].data, lines.items[i].length);
	for (size_t step = 0; step < 3; step++)
		for (size_t i = lines.length; i-- > 0;)
			if (i % 3 == step)
				text_append(ret, lines.items[i].data, lines.items[i].length);
	array_release(&lines);
}

static inline int fuzz_folded(const struct format *format, size_t num_counts, const uint8_t *data,
			      size_t size)
{
	struct text first = {0};
	struct text second = {0};
	struct text reordered = {0};
	struct text halves[2] = {0};
	struct text third = {0};
	struct text fourth = {0};

	if (fuzz_convert(format, data, size, &first) == 0) {
		require(fuzz_convert(format, first.data, first.length, &second) == 0);
		require_same_text(&first, &second);
		fuzz_reorder(&first, num_counts, &reordered, halves);
		require(fuzz_convert(format, reordered.data, reordered.length, &third) == 0);
		require_same_text(&first, &third);
		fuzz_convert_two(format, &halves[0], &halves[1], &fourth);
		require_same_text(&first, &fourth);
	}
	text_release(&first);
	text_release(&second);
	text_release(&reordered);
	text_release(&third);
	text_release(&halves[0]);
	text_release(&halves[1]);
	text_release(&fourth);
	return fuzz_import(format, data, size);
}

#endif
