#include "formats/xml_text.h"

#include <stdbool.h>

#define REPLACEMENT "\xef\xbf\xbd" /* U+FFFD */

/* Length by the first byte, and the lowest code point that may be written at that length. */
static size_t read_head(unsigned char first, uint32_t *ret_bits, uint32_t *ret_lowest)
{
	if (first >= 0xc0 && first < 0xe0) {
		*ret_bits = first & 0x1f;
		*ret_lowest = 0x80;
		return 2;
	}
	if (first >= 0xe0 && first < 0xf0) {
		*ret_bits = first & 0x0f;
		*ret_lowest = 0x800;
		return 3;
	}
	if (first >= 0xf0 && first < 0xf8) {
		*ret_bits = first & 0x07;
		*ret_lowest = 0x10000;
		return 4;
	}
	return 0;
}

size_t xml_measure_character(const char *data, size_t size)
{
	const unsigned char *bytes = (const unsigned char *)data;
	uint32_t lowest;
	uint32_t code;
	size_t length;

	if (bytes[0] < 0x80)
		return bytes[0] >= ' ' || bytes[0] == '\t' || bytes[0] == '\n';
	length = read_head(bytes[0], &code, &lowest);
	if (!length || length > size)
		return 0;
	for (size_t i = 1; i < length; i++) {
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
		code = code << 6 | (bytes[i] & 0x3f);
	}
	if (code < lowest || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) ||
	    code == 0xfffe || code == 0xffff)
		return 0;
	return length;
}

/* Letters, digits and most signs: what stands for itself wherever it comes. */
static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '&' && c != '<' && c != '>' && c != '"' && c != '\\';
}

static size_t measure_plain(const char *data, size_t length)
{
	size_t plain = 0;

	while (plain < length && is_plain((unsigned char)data[plain]))
		plain++;
	return plain;
}

/* Whether the character has a name of its own in XML, which then is appended. */
static bool append_entity(struct text *text, char c)
{
	switch (c) {
	case '&':
		text_append_string(text, "&amp;");
		return true;
	case '<':
		text_append_string(text, "&lt;");
		return true;
	case '>':
		text_append_string(text, "&gt;");
		return true;
	case '"':
		text_append_string(text, "&quot;");
		return true;
	}
	return false;
}

void xml_append(struct text *text, const char *data, size_t length)
{
	while (length) {
		size_t taken = measure_plain(data, length);

		text_append(text, data, taken);
		data += taken;
		length -= taken;
		if (!length)
			return;
		taken = xml_measure_character(data, length);
		if (data[0] == '\t' || data[0] == '\n' || data[0] == '\r')
			text_append_char(text, ' ');
		else if (!taken || data[0] == 0x7f)
			text_append_string(text, REPLACEMENT);
		else if (!append_entity(text, data[0]))
			text_append(text, data, taken);
		data += taken ? taken : 1;
		length -= taken ? taken : 1;
	}
}

static void append_byte(struct text *text, unsigned char byte)
{
	static const char digits[] = "0123456789abcdef";
	const char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};

	text_append(text, escaped, sizeof(escaped));
}

void xml_append_exact(struct text *text, const char *data, size_t length)
{
	while (length) {
		size_t taken = measure_plain(data, length);

		text_append(text, data, taken);
		data += taken;
		length -= taken;
		if (!length)
			return;
		taken = xml_measure_character(data, length);
		if (taken > 1) {
			text_append(text, data, taken);
		} else {
			if (!append_entity(text, data[0]))
				append_byte(text, (unsigned char)data[0]);
			taken = 1;
		}
		data += taken;
		length -= taken;
	}
}
