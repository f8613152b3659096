/*
 * Growing text, and small helpers for C strings.
 *
 * A failed allocation makes the text fail for good (`failed`): append a whole document and
 * check once.
 */
#ifndef BASE_TEXT_H
#define BASE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "base/attributes.h"

struct text {
	char *data; /* always NUL-terminated when not NULL; may contain further NUL bytes */
	size_t length;
	size_t capacity;
	bool failed;
};

void text_release(struct text *text);

void text_append(struct text *text, const void *data, size_t length);
/*
 * Room for `size` more bytes at the end, for text that is made of many small pieces: the caller
 * writes up to so many there and calls text_end_at() with the end of them. NULL if that fails.
 */
char *text_extend(struct text *text, size_t size);
void text_end_at(struct text *text, char *end);
void text_append_string(struct text *text, const char *string);
void text_append_char(struct text *text, char c);
void text_append_number(struct text *text, uint64_t number); /* decimal */
#define NUMBER_MAX_DIGITS 20                                 /* of UINT64_MAX */
/* Write the digits, without a NUL. Returns their end. */
char *number_print(char *target, uint64_t number);
/* The same output as printf's %.*f, but faster. */
void text_append_decimal(struct text *text, double number, unsigned decimals);
void text_printf(struct text *text, const char *format, ...) _printf_(2, 3);

/* Shorten to `length` bytes, at most the present length. The memory is kept for reuse. */
void text_truncate(struct text *text, size_t length);

static inline bool string_equals(const char *a, const char *b)
{
	return strcmp(a, b) == 0;
}

static inline bool string_starts_with(const char *string, const char *prefix)
{
	return strncmp(string, prefix, strlen(prefix)) == 0;
}

static inline bool string_ends_with(const char *string, const char *suffix)
{
	size_t length = strlen(string);
	size_t suffix_length = strlen(suffix);

	return length >= suffix_length && string_equals(string + length - suffix_length, suffix);
}

/* The value of a hexadecimal digit of either case; UINT32_MAX for any other character. */
static inline uint32_t hex_digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return (uint32_t)(c - '0');
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a') + 10 : UINT32_MAX;
}

static inline bool is_hex_digit(char c)
{
	return hex_digit_value(c) != UINT32_MAX;
}

/*
 * Read the hexadecimal digits at the start of a text. Returns their number. Returns 0, with `ret`
 * unset, if there are no digits or the value does not fit 64 bits.
 */
size_t hex_read(const char *text, size_t length, uint64_t *ret);

/* Replace control characters, as in a name from another user, by '?'. */
void text_mask_controls(char *text);

/* The part after the last '/'; the whole string without one. */
const char *path_basename(const char *path);
/* Whether it starts with a scheme and is no path: `node:internal/timers`, `https://host/a.js`. */
bool path_has_scheme(const char *path, size_t length);
/* The name of a module: the last part of a path; the whole text if it starts with a scheme. */
const char *path_get_module(const char *path);

#endif
