#include "base/utf16.h"

#define REPLACEMENT 0xfffdu
#define MARK_BYTES  2

bool utf16_has_mark(const uint8_t *data, size_t size, bool *ret_is_big_endian)
{
	if (size < MARK_BYTES)
		return false;
	*ret_is_big_endian = data[0] == 0xfe;
	return (data[0] == 0xff && data[1] == 0xfe) || (data[0] == 0xfe && data[1] == 0xff);
}

/* 3 bytes for a unit of 2; a pair of units has 4. */
size_t utf16_get_max_utf8_bytes(size_t size)
{
	return size / 2 * 3 + 3;
}

static uint32_t get_unit(const uint8_t *data, bool is_big_endian)
{
	return is_big_endian ? (uint32_t)data[0] << 8 | data[1] : (uint32_t)data[1] << 8 | data[0];
}

static size_t write_code_point(uint32_t code_point, uint8_t *ret)
{
	static const uint8_t leads[] = {0, 0, 0xc0, 0xe0, 0xf0};
	size_t length = code_point < 0x80      ? 1
			: code_point < 0x800   ? 2
			: code_point < 0x10000 ? 3
					       : 4;

	for (size_t i = length; i-- > 1; code_point >>= 6)
		ret[i] = (uint8_t)(0x80 | (code_point & 0x3f));
	ret[0] = (uint8_t)(leads[length] | code_point);
	return length;
}

size_t utf16_to_utf8(const uint8_t *data, size_t size, bool is_big_endian, uint8_t *ret)
{
	size_t written = 0;
	size_t at = MARK_BYTES;

	while (at < size) {
		uint32_t code_point = REPLACEMENT;

		if (size - at >= 2)
			code_point = get_unit(data + at, is_big_endian);
		at += 2;
		if (code_point >= 0xd800 && code_point < 0xe000) {
			uint32_t low = code_point < 0xdc00 && at < size && size - at >= 2
					       ? get_unit(data + at, is_big_endian)
					       : 0;

			if (low >= 0xdc00 && low < 0xe000) {
				code_point =
					0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
				at += 2;
			} else {
				code_point = REPLACEMENT;
			}
		}
		written += write_code_point(code_point, ret + written);
	}
	return written;
}
