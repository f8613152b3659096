/* Cells of tables for people: numbers with separators, and names from foreign programs. */
#ifndef BASE_TABLE_FORMAT_H
#define BASE_TABLE_FORMAT_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* No limit on the columns of a name. */
#define TABLE_UNLIMITED_WIDTH SIZE_MAX

/* 1234567 becomes 1,234,567; right-aligned in `width` columns. */
void table_append_count(struct text *text, uint64_t number, size_t width);

/*
 * "1 tick was late", "1,234 ticks were late": a number, a blank and a phrase, which has
 * "{one|several}" where the number decides: "{tick was|ticks were} late".
 */
void table_append_counted(struct text *text, uint64_t number, const char *phrase);
/* The number of columns that it takes. */
size_t table_get_count_width(uint64_t number);

/*
 * 0.123 becomes 12.3%, right-aligned in `width` columns. Rounding does not make a part the whole, or nothing: >99.9%, <0.1%.
 */
void table_append_share(struct text *text, double share, int num_decimals, size_t width);

/*
 * Append a name, safe for a terminal: a control character becomes a blank, an invalid UTF-8 byte a
 * question mark. A name longer than `max_columns` is truncated and ends in "…".
 *
 * Returns the number of columns; a character counts as one, even a wide one.
 */
size_t table_append_name(struct text *text, const char *name, size_t length, size_t max_columns);
/* The number of columns of the whole name. */
size_t table_get_name_width(const char *name, size_t length);

void table_append_blanks(struct text *text, size_t count);

/*
 * Append words that start in column `indent`, in lines of at most `num_columns`; further lines are
 * indented as well. A line breaks at blanks only. One line of any length if num_columns is 0, or
 * leaves room for only a few words beside the indent.
 */
void table_append_words(struct text *text, const char *words, size_t indent, size_t num_columns);

#endif
