/* UTF-8: possibly broken, as in foreign data, and clean, for formats that require it. */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/* U+FFFD replaces broken bytes. */
#define UTF8_REPLACEMENT            "\xef\xbf\xbd"
#define UTF8_REPLACEMENT_CODE_POINT 0xfffdu

/*
 * Decode the character at the start of `size` bytes, at least one.
 *
 * ret  its code point; UTF8_REPLACEMENT_CODE_POINT for a byte that starts no character, a truncated
 *      one, an overlong form, a surrogate, or a value beyond U+10FFFF
 *
 * Returns its length in bytes: 1 for a broken one, so that decoding resumes at the next byte.
 *
 * Source: The Unicode Standard, table 3-7 (well-formed byte sequences).
 */
size_t utf8_decode(const char *data, size_t size, uint32_t *ret);

/* Whether utf8_decode() has met a broken byte: a real U+FFFD has three bytes. */
static inline bool utf8_is_broken(uint32_t code_point, size_t size)
{
	return code_point == UTF8_REPLACEMENT_CODE_POINT && size == 1;
}

/*
 * Whether a terminal would obey the character instead of showing it: C0 and C1 controls, DEL, line
 * and paragraph separators, and the marks that change the direction of writing.
 */
bool utf8_is_control(uint32_t code_point);

/* Append a character by its code point, at most U+10FFFF. */
void utf8_append_code_point(struct text *text, uint32_t code_point);

/* Append a string; every byte that is not part of well-formed UTF-8 becomes U+FFFD. */
void utf8_append(struct text *text, const char *string, size_t length);

/* The same for formats that use NUL as a terminator: a NUL becomes U+FFFD, too. */
void utf8_append_name(struct text *text, const char *string, size_t length);

#endif
