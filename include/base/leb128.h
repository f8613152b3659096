/*
 * Numbers of variable length, as DWARF writes them. Bits beyond 64 are dropped.
 *
 * Source: DWARF 5, section 7.6.
 */
#ifndef BASE_LEB128_H
#define BASE_LEB128_H

#include <stdint.h>

#include "base/bytes.h"

static inline uint64_t leb128_read_unsigned(struct bytes *bytes)
{
	uint8_t byte = bytes_u8(bytes);
	uint64_t value = byte & 0x7f;

	for (unsigned int shift = 7; byte & 0x80; shift += 7) {
		byte = bytes_u8(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
	}
	return value;
}

static inline int64_t leb128_read_signed(struct bytes *bytes)
{
	uint8_t byte = bytes_u8(bytes);
	uint64_t value = byte & 0x7f;
	unsigned int shift = 7;

	for (; byte & 0x80; shift += 7) {
		byte = bytes_u8(bytes);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
	}
	if (shift < 64 && (byte & 0x40))
		value |= ~0ull << shift;
	return (int64_t)value;
}

#endif
