/*
 * Columns of numbers, as our own format has them (native.h): numbers of one kind are adjacent, so
 * that they compress well.
 *
 * A number is written as LEB128, but in planes: the first bytes of all numbers of a column, then
 * the second bytes of those that have one, and so on. Bytes of one plane are alike, too. The length
 * of a plane follows from the one before: every byte of it that has its highest bit set goes on.
 * The number of numbers is in front, as LEB128. Zeros at the end may be left out; a reader gets
 * them all the same.
 *
 * 	numbers 5, 300, 1, 0   ->   03   05 ac 01   02
 */
#ifndef FORMATS_NATIVE_COLUMN_H
#define FORMATS_NATIVE_COLUMN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/bytes.h"
#include "base/text.h"

/* 64 bits, seven to a byte. */
#define COLUMN_MAX_PLANES 10

/* A column that is being written; zeroed at first. */
struct column {
	struct text planes[COLUMN_MAX_PLANES];
};

void column_release(struct column *column);

/* For column_add(): any number. */
void column_append(struct column *column, uint64_t number);

/* Inline if the number is small and there is room, for it is called millions of times. */
static inline void column_add(struct column *column, uint64_t number)
{
	struct text *plane = &column->planes[0];

	if (number > 0x7f || plane->length + 1 >= plane->capacity) {
		column_append(column, number);
		return;
	}
	plane->data[plane->length++] = (char)number;
	plane->data[plane->length] = '\0';
}

/* Small numbers of either sign are small ones: 0, -1, 1, -2 become 0, 1, 2, 3. */
static inline void column_add_signed(struct column *column, int64_t number)
{
	column_add(column, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

/*
 * Append the column to a text, and empty it.
 *
 * is_whole  with the zeros at its end: a table's length is that of a whole column, so that it is
 *           never longer than the file
 */
void column_write(struct column *column, bool is_whole, struct text *ret);

/* A column that is being read; borrows the bytes. */
struct column_cursor {
	const uint8_t *at[COLUMN_MAX_PLANES]; /* the next byte of each plane */
	uint64_t left;                        /* numbers that are there */
};

/* Step over a column. False, with bytes->failed, when it is broken or longer than max_length. */
bool column_open(struct bytes *bytes, uint64_t max_length, struct column_cursor *ret);

static inline uint64_t column_next(struct column_cursor *cursor)
{
	uint8_t byte;
	uint64_t number;

	if (!cursor->left)
		return 0;
	cursor->left--;
	byte = *cursor->at[0]++;
	number = byte & 0x7f;
	for (unsigned int plane = 1; byte & 0x80; plane++) {
		byte = *cursor->at[plane]++;
		number |= (uint64_t)(byte & 0x7f) << (7 * plane);
	}
	return number;
}

static inline int64_t column_next_signed(struct column_cursor *cursor)
{
	uint64_t number = column_next(cursor);

	return (int64_t)(number >> 1 ^ (number & 1 ? UINT64_MAX : 0));
}

#endif
