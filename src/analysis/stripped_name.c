/* Addresses within names (see normalize.h): "0x" and digits. */
#include "analysis/normalize.h"

#include <stdbool.h>

#include "base/text.h"

void stripped_name_append(struct text *text, const char *name, size_t length)
{
	for (size_t i = 0; i < length;) {
		size_t end = i + 2;

		if (name[i] != '0' || i + 2 >= length || name[i + 1] != 'x' ||
		    !is_hex_digit(name[i + 2])) {
			text_append_char(text, name[i++]);
			continue;
		}
		while (end < length && is_hex_digit(name[end]))
			end++;
		text_append_string(text, "0x...");
		i = end;
	}
}
