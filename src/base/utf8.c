#include "base/utf8.h"

#include <string.h>

/*
 * Length in bytes of a character with this first byte; 0 if invalid. C0 and C1 could only start
 * overlong forms of ASCII, F5 and above only code points beyond U+10FFFF (RFC 3629, section 3).
 */
static size_t get_length(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	if (first >= 0xf0 && first < 0xf5)
		return 4;
	return 0;
}

/*
 * A broken sequence counts as one byte, so that the caller finds the next whole character. The
 * smallest code point of each length refuses overlong forms, which could bypass a check for a slash
 * or a quote; surrogates are no characters.
 */
size_t utf8_decode(const char *data, size_t size, uint32_t *ret)
{
	static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
	uint8_t first = (uint8_t)data[0];
	size_t length = get_length(first);
	uint32_t code_point = first & (0x7fu >> length);

	*ret = length == 1 ? first : UTF8_REPLACEMENT_CODE_POINT;
	if (length == 1)
		return 1;
	if (!length || length > size)
		return 1;
	for (size_t i = 1; i < length; i++) {
		uint8_t next = (uint8_t)data[i];

		if ((next & 0xc0) != 0x80)
			return 1;
		code_point = code_point << 6 | (next & 0x3f);
	}
	if (code_point < least[length] || code_point > 0x10ffff ||
	    (code_point >= 0xd800 && code_point < 0xe000))
		return 1;
	*ret = code_point;
	return length;
}

/*
 * C0, DEL and C1; then the marks and overrides of writing direction, and the separators of lines
 * and paragraphs: they would show a name in another order than its bytes, or break its line.
 */
bool utf8_is_control(uint32_t code_point)
{
	return code_point < 0x20 || (code_point >= 0x7f && code_point < 0xa0) ||
	       code_point == 0x61c || code_point == 0x200e || code_point == 0x200f ||
	       (code_point >= 0x2028 && code_point <= 0x202e) ||
	       (code_point >= 0x2066 && code_point <= 0x2069);
}

void utf8_append_code_point(struct text *text, uint32_t code_point)
{
	static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t length = code_point < 0x80      ? 1
			: code_point < 0x800   ? 2
			: code_point < 0x10000 ? 3
					       : 4;
	char bytes[4];

	for (size_t i = length; i-- > 1; code_point >>= 6)
		bytes[i] = (char)(0x80 | (code_point & 0x3f));
	bytes[0] = (char)(leads[length] | code_point);
	text_append(text, bytes, length);
}

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

/* NUL is valid UTF-8, but ends a C string: users of the name would see only a part of it. */
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
