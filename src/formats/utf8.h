/*
 * Text for formats that take UTF-8 only. Names come from foreign files and may hold any bytes.
 */
#ifndef FORMATS_UTF8_H
#define FORMATS_UTF8_H

#include <stddef.h>

#include "base/text.h"

/*
 * Append what is well-formed UTF-8 as it is; in place of every other byte, U+FFFD.
 *
 * Source: The Unicode Standard, table 3-7 (well-formed byte sequences).
 */
void utf8_append(struct text *text, const char *string, size_t length);

/* The same, where a NUL would end the text: U+FFFD comes in its place, too. */
void utf8_append_name(struct text *text, const char *string, size_t length);

#endif
