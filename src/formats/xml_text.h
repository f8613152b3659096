/*
 * Putting any bytes into XML 1.0, which holds neither most control characters nor bytes that are
 * not UTF-8.
 */
#ifndef FORMATS_XML_TEXT_H
#define FORMATS_XML_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

/*
 * For people to read, in text and in attribute values: bytes that XML cannot hold become U+FFFD
 * each; tab and line ends become a space.
 */
void xml_append(struct text *text, const char *data, size_t length);
static inline void xml_append_string(struct text *text, const char *string)
{
	xml_append(text, string, strlen(string));
}

/*
 * The length in bytes of the character at the start of `data`, if XML can hold it; else 0. size: in
 * bytes, at least 1.
 */
size_t xml_measure_character(const char *data, size_t size);

#endif
