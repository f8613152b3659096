#include "formats/utf8.h"

#include <string.h>

#include "base/utf8.h"

void utf8_append(struct text *text, const char *string, size_t length)
{
	size_t plain = 0; /* from here on nothing is written yet */

	for (size_t i = 0; i < length;) {
		uint32_t code_point;
		size_t size = utf8_decode(string + i, length - i, &code_point);

		if (utf8_is_broken(code_point, size)) {
			text_append(text, string + plain, i - plain);
			text_append_string(text, UTF8_REPLACEMENT);
			plain = i + size;
		}
		i += size;
	}
	text_append(text, string + plain, length - plain);
}

void utf8_append_name(struct text *text, const char *string, size_t length)
{
	const char *nul;

	while (length && (nul = memchr(string, '\0', length))) {
		size_t before = (size_t)(nul - string);

		utf8_append(text, string, before);
		text_append_string(text, UTF8_REPLACEMENT);
		string += before + 1;
		length -= before + 1;
	}
	utf8_append(text, string, length);
}
