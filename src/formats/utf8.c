#include "formats/utf8.h"

#include <stdint.h>

#define REPLACEMENT "\xef\xbf\xbd"

/* Length of the sequence that a lead byte begins, and the range of its second byte; 0: none. */
static size_t get_length(uint8_t lead, uint8_t *ret_low, uint8_t *ret_high)
{
	*ret_low = 0x80;
	*ret_high = 0xbf;
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	if (lead == 0xe0)
		*ret_low = 0xa0; /* else it would be longer than needed */
	if (lead == 0xed)
		*ret_high = 0x9f; /* else it would be half of a surrogate pair */
	if (lead == 0xf0)
		*ret_low = 0x90;
	if (lead == 0xf4)
		*ret_high = 0x8f; /* else it would be beyond U+10FFFF */
	return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

/* Length of the well-formed character at the beginning; 0: there is none. */
static size_t match(const uint8_t *bytes, size_t length)
{
	uint8_t low;
	uint8_t high;
	size_t wanted = get_length(bytes[0], &low, &high);

	if (!wanted || wanted > length)
		return 0;
	if (wanted > 1 && (bytes[1] < low || bytes[1] > high))
		return 0;
	for (size_t i = 2; i < wanted; i++)
		if ((bytes[i] & 0xc0) != 0x80)
			return 0;
	return wanted;
}

void utf8_append(struct text *text, const char *string, size_t length)
{
	const uint8_t *bytes = (const uint8_t *)string;
	size_t start = 0;

	for (size_t at = 0; at < length;) {
		size_t matched = match(bytes + at, length - at);

		if (!matched) {
			text_append(text, string + start, at - start);
			text_append_string(text, REPLACEMENT);
			start = at + 1;
		}
		at += matched ? matched : 1;
	}
	text_append(text, string + start, length - start);
}
