/*
 * UNSIGNED5, HotSpot's compression of 32-bit numbers into one to five bytes: each byte adds six
 * bits, and a byte below the last 64 values ends the number. From JDK 20 on no byte is 0, and each
 * is one more than it was.
 *
 * Sources: src/hotspot/share/utilities/unsigned5.hpp (JDK 20 and newer), src/hotspot/share/code/compressedStream.hpp (older).
 */
#ifndef RUNTIME_HOTSPOT_UNSIGNED5_H
#define RUNTIME_HOTSPOT_UNSIGNED5_H

#include <stdint.h>

#include "base/bytes.h"

#define UNSIGNED5_MAX_BYTES 5

/* major: of the JDK's version. A byte that cannot be makes the reader fail. */
static inline uint32_t unsigned5_read(struct bytes *bytes, unsigned int major)
{
	const uint8_t least = major >= 20;
	uint32_t value = 0;

	for (unsigned int i = 0; i < UNSIGNED5_MAX_BYTES; i++) {
		uint8_t byte = bytes_u8(bytes);

		if (byte < least)
			bytes->failed = true;
		if (bytes->failed)
			return 0;
		value += (uint32_t)(byte - least) << (6 * i);
		if (byte < 0x100 - 64)
			break;
	}
	return value;
}

/* The sign is the lowest bit. */
static inline int32_t unsigned5_read_signed(struct bytes *bytes, unsigned int major)
{
	uint32_t value = unsigned5_read(bytes, major);

	return (int32_t)(value >> 1 ^ -(value & 1));
}

#endif
