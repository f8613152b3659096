/* Characters of foreign strings, from their form in a process's memory to UTF-8. */
#ifndef RUNTIME_CHARACTERS_H
#define RUNTIME_CHARACTERS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/*
 * Append a character. C0 and DEL become blanks, as in all names of frames
 * (profile_add_frame_name()), and invalid ones the replacement character.
 */
void characters_append(struct text *text, uint32_t code_point);

/*
 * Strings with one byte for each character are Latin-1, others Unicode: surrogates are never joined
 * to a pair.
 */
void characters_append_unicode(struct text *text, const uint8_t *bytes, size_t num_characters,
			       size_t bytes_of_character);

/* UTF-8: each byte that is part of no character becomes the replacement character. */
void characters_append_utf8(struct text *text, const uint8_t *bytes, size_t num_bytes);

/* UTF-16, of the byte order here. */
void characters_append_utf16(struct text *text, const uint8_t *bytes, size_t num_units);

/*
 * Modified UTF-8, as in Java's class files: NUL is written in two bytes, and characters beyond
 * U+FFFF as two surrogates of three bytes each. Each byte outside a character, and half a pair,
 * becomes the replacement character.
 */
void characters_append_modified_utf8(struct text *text, const uint8_t *bytes, size_t num_bytes);

/*
 * Number of leading bytes of a longer string that are whole characters: the last character may
 * continue behind them.
 */
size_t characters_trim_modified_utf8(const uint8_t *bytes, size_t num_bytes);

#endif
