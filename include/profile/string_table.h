/*
 * Interned strings: equal strings have equal ids, and live as long as the table.
 */
#ifndef PROFILE_STRING_TABLE_H
#define PROFILE_STRING_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* The empty string is in every table. */
#define STRING_EMPTY 0u

struct string_table;

struct string_table *string_table_new(void); /* NULL when out of memory */
void string_table_free(struct string_table *table);

/*
 * length  in bytes; any byte may occur, NUL too
 * ret     the string's id
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int string_table_add(struct string_table *table, const char *string, size_t length,
				  uint32_t *ret);

/* The same for a string of another table, or of this one. */
_must_check_ int string_table_copy(const struct string_table *from, uint32_t id,
				   struct string_table *to, uint32_t *ret);

/* No string has this id. */
#define STRING_NONE UINT32_MAX

/* The id of an equal string, or STRING_NONE. */
uint32_t string_table_find(const struct string_table *table, const char *string, size_t length);

/* NUL-terminated, borrowed until string_table_free(). */
const char *string_table_get(const struct string_table *table, uint32_t id);
size_t string_table_get_length(const struct string_table *table, uint32_t id);

/* Ids run from 0 to this number minus 1. */
uint32_t string_table_get_count(const struct string_table *table);

#endif
