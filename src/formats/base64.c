#include "formats/base64.h"

#include <errno.h>
#include <stdbool.h>

#define LINE_CHARACTERS 960
#define IS_BLANK        64 /* `=`, too: there is nothing behind it */
#define IS_BAD          65

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* Three bytes are four digits of six bits. */
static void encode_group(const uint8_t *bytes, char *four)
{
	four[0] = digits[bytes[0] >> 2];
	four[1] = digits[(bytes[0] & 3) << 4 | bytes[1] >> 4];
	four[2] = digits[(bytes[1] & 15) << 2 | bytes[2] >> 6];
	four[3] = digits[bytes[2] & 63];
}

static void append_group(struct base64_encoder *encoder, const char *four, struct text *ret)
{
	text_append(ret, four, 4);
	encoder->column += 4;
	if (encoder->column < LINE_CHARACTERS)
		return;
	text_append_char(ret, '\n');
	encoder->column = 0;
}

void base64_encode(struct base64_encoder *encoder, const void *data, size_t size, struct text *ret)
{
	const uint8_t *bytes = data;
	char four[4];

	while (size) {
		if (!encoder->num_held && size >= sizeof(encoder->held)) {
			encode_group(bytes, four);
			append_group(encoder, four, ret);
			bytes += sizeof(encoder->held);
			size -= sizeof(encoder->held);
			continue;
		}
		encoder->held[encoder->num_held++] = *bytes++;
		size--;
		if (encoder->num_held < sizeof(encoder->held))
			continue;
		encode_group(encoder->held, four);
		append_group(encoder, four, ret);
		memset(encoder->held, 0, sizeof(encoder->held));
		encoder->num_held = 0;
	}
}

void base64_finish(struct base64_encoder *encoder, struct text *ret)
{
	char four[4];

	if (encoder->num_held) {
		encode_group(encoder->held, four);
		memset(four + encoder->num_held + 1, '=', 3 - encoder->num_held);
		text_append(ret, four, sizeof(four));
	}
	*encoder = (struct base64_encoder){0};
}

static uint8_t get_value(char c)
{
	if (c >= 'A' && c <= 'Z')
		return (uint8_t)(c - 'A');
	if (c >= 'a' && c <= 'z')
		return (uint8_t)(c - 'a' + 26);
	if (c >= '0' && c <= '9')
		return (uint8_t)(c - '0' + 52);
	if (c == '+' || c == '/')
		return c == '+' ? 62 : 63;
	return c && strchr(" \t\r\n=", c) ? IS_BLANK : IS_BAD;
}

int base64_decode(const char *data, size_t size, struct text *ret, size_t *ret_offset)
{
	uint8_t values[256];
	uint32_t bits = 0;
	unsigned int num_bits = 0;

	for (size_t i = 0; i < sizeof(values); i++)
		values[i] = get_value((char)i);
	for (size_t i = 0; i < size; i++) {
		uint8_t value = values[(uint8_t)data[i]];

		if (value == IS_BLANK)
			continue;
		if (value == IS_BAD) {
			if (ret_offset)
				*ret_offset = i;
			return -EBADMSG;
		}
		bits = bits << 6 | value;
		num_bits += 6;
		if (num_bits < 8)
			continue;
		num_bits -= 8;
		text_append_char(ret, (char)(bits >> num_bits));
	}
	return ret->failed ? -ENOMEM : 0;
}
