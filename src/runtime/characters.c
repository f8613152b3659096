#include "runtime/characters.h"

#include <string.h>

#include "base/utf8.h"

void characters_append(struct text *text, uint32_t code_point)
{
	if (code_point < 0x20 || code_point == 0x7f)
		code_point = ' ';
	if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point < 0xe000))
		code_point = UTF8_REPLACEMENT_CODE_POINT;
	utf8_append_code_point(text, code_point);
}

void characters_append_unicode(struct text *text, const uint8_t *bytes, size_t num_characters,
			       size_t bytes_of_character)
{
	for (size_t i = 0; i < num_characters; i++) {
		uint32_t code_point = 0;

		memcpy(&code_point, bytes + i * bytes_of_character, bytes_of_character);
		characters_append(text, code_point);
	}
}

void characters_append_utf16(struct text *text, const uint8_t *bytes, size_t num_units)
{
	for (size_t i = 0; i < num_units; i++) {
		uint16_t unit;
		uint16_t low = 0;

		memcpy(&unit, bytes + i * sizeof(unit), sizeof(unit));
		if (i + 1 < num_units)
			memcpy(&low, bytes + (i + 1) * sizeof(unit), sizeof(low));
		if ((unit & 0xfc00) == 0xd800 && (low & 0xfc00) == 0xdc00) {
			characters_append(text, 0x10000u + ((uint32_t)(unit & 0x3ff) << 10) +
							(low & 0x3ff));
			i++;
			continue;
		}
		characters_append(text, unit);
	}
}
