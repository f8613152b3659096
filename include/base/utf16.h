/*
 * UTF-16 with a byte order mark, as Windows programs write text, to UTF-8.
 */
#ifndef BASE_UTF16_H
#define BASE_UTF16_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the bytes start with a byte order mark of UTF-16. */
bool utf16_has_mark(const uint8_t *data, size_t size, bool *ret_is_big_endian);

/* Upper bound of the output of utf16_to_utf8() for `size` bytes. */
size_t utf16_get_max_utf8_bytes(size_t size);

/*
 * Convert to UTF-8, without the mark. A surrogate without its other half, and a last byte without its
 * other half, become U+FFFD.
 *
 * ret  room for utf16_get_max_utf8_bytes(size)
 *
 * Returns the number of bytes written.
 */
size_t utf16_to_utf8(const uint8_t *data, size_t size, bool is_big_endian, uint8_t *ret);

#endif
