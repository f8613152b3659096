#include "runtime/characters.h"

#include <stdbool.h>
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

void characters_append_utf8(struct text *text, const uint8_t *bytes, size_t num_bytes)
{
	for (size_t i = 0; i < num_bytes;) {
		uint32_t code_point;

		i += utf8_decode((const char *)bytes + i, num_bytes - i, &code_point);
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

/* The surrogate at the start of modified UTF-8, which UTF-8 does not have; 0: another character. */
static uint32_t get_surrogate(const uint8_t *bytes, size_t num_bytes)
{
	if (num_bytes < 3 || bytes[0] != 0xed || bytes[1] < 0xa0 || bytes[1] > 0xbf ||
	    (bytes[2] & 0xc0) != 0x80)
		return 0;
	return 0xd000u | (bytes[1] & 0x3fu) << 6 | (bytes[2] & 0x3fu);
}

static bool is_high_surrogate(uint32_t unit)
{
	return (unit & 0xfc00) == 0xd800;
}

void characters_append_modified_utf8(struct text *text, const uint8_t *bytes, size_t num_bytes)
{
	for (size_t i = 0; i < num_bytes;) {
		size_t left = num_bytes - i;
		uint32_t unit = get_surrogate(bytes + i, left);
		uint32_t low = unit ? get_surrogate(bytes + i + 3, left - 3) : 0;
		uint32_t code_point;

		if (is_high_surrogate(unit) && low && !is_high_surrogate(low)) {
			characters_append(text, 0x10000u + ((unit & 0x3ff) << 10) + (low & 0x3ff));
			i += 6;
		} else if (unit) {
			characters_append(text, unit);
			i += 3;
		} else if (left >= 2 && bytes[i] == 0xc0 && bytes[i + 1] == 0x80) {
			characters_append(text, 0);
			i += 2;
		} else {
			i += utf8_decode((const char *)bytes + i, left, &code_point);
			characters_append(text, code_point);
		}
	}
}

size_t characters_trim_modified_utf8(const uint8_t *bytes, size_t num_bytes)
{
	size_t last = num_bytes;

	/* A character of three bytes may have two of them here. */
	for (size_t i = 1; i <= 2 && i <= num_bytes; i++) {
		uint8_t byte = bytes[num_bytes - i];

		if (byte >= (i == 1 ? 0xc0 : 0xe0)) {
			last = num_bytes - i;
			break;
		}
	}
	if (last >= 3 && is_high_surrogate(get_surrogate(bytes + last - 3, 3)))
		last -= 3;
	return last;
}
