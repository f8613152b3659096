/*
 * What tables for people are made of: numbers with separators, and names from foreign programs.
 */
#ifndef BASE_CELLS_H
#define BASE_CELLS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* No limit on the columns of a name. */
#define CELL_UNLIMITED SIZE_MAX

/* 1234567 becomes 1,234,567; right-aligned in `width` columns. */
void cell_append_count(struct text *text, uint64_t number, size_t width);
/* How many columns that takes. */
size_t cell_get_count_width(uint64_t number);

/*
 * Append a name so that a terminal shows it and obeys nothing in it: a control character becomes a
 * blank, and a byte that is no UTF-8 a question mark. What is longer than `max_columns` is cut, and
 * ends in "…" then.
 *
 * Returns how many columns it takes; a character counts as one.
 */
size_t cell_append_name(struct text *text, const char *name, size_t length, size_t max_columns);
/* How many columns that would take, uncut. */
size_t cell_get_name_width(const char *name, size_t length);

void cell_append_blanks(struct text *text, size_t count);

#endif
