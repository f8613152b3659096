#include "formats/xml_text.h"

#include <stdbool.h>

#include "base/utf8.h"

/*
 * XML 1.0, section 2.2: of the control characters only tab, line feed and carriage return; neither
 * surrogates (which utf8_decode() refuses) nor U+FFFE and U+FFFF. Carriage return is left out,
 * because XML readers turn it into a line feed.
 */
size_t xml_measure_character(const char *data, size_t size)
{
	uint32_t code_point;
	size_t length = utf8_decode(data, size, &code_point);

	if (utf8_is_broken(code_point, length) || code_point == 0xfffe || code_point == 0xffff ||
	    (code_point < ' ' && code_point != '\t' && code_point != '\n'))
		return 0;
	return length;
}

/* Characters that need no escape in text or attributes. */
static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '&' && c != '<' && c != '>' && c != '"';
}

static size_t measure_plain(const char *data, size_t length)
{
	size_t plain = 0;

	while (plain < length && is_plain((unsigned char)data[plain]))
		plain++;
	return plain;
}

/* Append XML's reference for a character; false when it needs none. */
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

/* A line break becomes a blank; bytes that XML cannot hold become U+FFFD. */
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
			text_append_string(text, UTF8_REPLACEMENT);
		else if (!append_entity(text, data[0]))
			text_append(text, data, taken);
		data += taken ? taken : 1;
		length -= taken ? taken : 1;
	}
}
