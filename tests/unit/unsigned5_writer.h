/*
 * Numbers as HotSpot compresses them (UNSIGNED5), written for tests of what reads them.
 */
#ifndef UNSIGNED5_WRITER_H
#define UNSIGNED5_WRITER_H

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

struct unsigned5_writer {
	uint8_t bytes[8192];
	size_t length;
	unsigned int major; /* of the JDK's version */
};

static inline void unsigned5_put_byte(struct unsigned5_writer *writer, uint32_t byte)
{
	assert(writer->length < sizeof(writer->bytes) && byte <= UINT8_MAX);
	writer->bytes[writer->length++] = (uint8_t)byte;
}

static inline void unsigned5_put(struct unsigned5_writer *writer, uint32_t value)
{
	const uint32_t excluded = writer->major < 20 ? 0 : 1;
	const uint32_t low = 256 - 64 - excluded;

	for (int i = 0; i < 4 && value >= low; i++) {
		value -= low;
		unsigned5_put_byte(writer, excluded + low + value % 64);
		value /= 64;
	}
	unsigned5_put_byte(writer, excluded + value);
}

static inline void unsigned5_put_signed(struct unsigned5_writer *writer, int32_t value)
{
	unsigned5_put(writer, (uint32_t)value << 1 ^ (uint32_t)(value >> 31));
}

#endif
