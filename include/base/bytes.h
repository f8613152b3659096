/*
 * A cursor over foreign bytes. Every read is checked against the end; the first read beyond
 * it makes the reader fail for good (`failed`), and every later read gives 0. A parser may
 * therefore read a whole record and check once.
 *
 * Numbers need no alignment. They are little-endian, as is every machine that we run on; readers
 * of big-endian formats have functions of their own.
 */
#ifndef BASE_BYTES_H
#define BASE_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct bytes {
	const uint8_t *data; /* borrowed */
	size_t size;
	size_t offset; /* of the next byte to read; never above size */
	bool failed;
};

static inline struct bytes bytes_of(const void *data, size_t size)
{
	return (struct bytes){.data = data, .size = size};
}

static inline size_t bytes_left(const struct bytes *bytes)
{
	return bytes->failed ? 0 : bytes->size - bytes->offset;
}

/* Borrow the next `size` bytes and step over them; NULL (and failed) if there are fewer. */
static inline const void *bytes_take(struct bytes *bytes, size_t size)
{
	const uint8_t *taken;

	if (bytes->failed || size > bytes->size - bytes->offset) {
		bytes->failed = true;
		return NULL;
	}
	taken = bytes->data + bytes->offset;
	bytes->offset += size;
	return taken;
}

static inline void bytes_skip(struct bytes *bytes, size_t size)
{
	(void)bytes_take(bytes, size); /* a failure stays in bytes->failed */
}

#define BYTES_READER(type, name)                                       \
	static inline type name(struct bytes *bytes)                   \
	{                                                              \
		type value = 0;                                        \
		const void *source = bytes_take(bytes, sizeof(value)); \
                                                                       \
		if (source)                                            \
			memcpy(&value, source, sizeof(value));         \
		return value;                                          \
	}

BYTES_READER(uint8_t, bytes_u8)
BYTES_READER(uint16_t, bytes_u16)
BYTES_READER(uint32_t, bytes_u32)
BYTES_READER(uint64_t, bytes_u64)

#undef BYTES_READER

/*
 * Borrow a NUL-terminated string and step over its NUL. NULL (and failed) if there is no NUL before
 * the end.
 */
static inline const char *bytes_string(struct bytes *bytes)
{
	size_t left = bytes_left(bytes);
	const uint8_t *start = left ? bytes->data + bytes->offset : NULL;
	const uint8_t *end = left ? memchr(start, '\0', left) : NULL;

	if (!end) {
		bytes->failed = true;
		return NULL;
	}
	return bytes_take(bytes, (size_t)(end - start) + 1);
}

/*
 * Numbers of variable length, as DWARF writes them. Bits beyond 64 are dropped.
 *
 * Source: DWARF 5, section 7.6.
 */

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

/* Also of none. */
static inline bool bytes_are_zero(const uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (bytes[i])
			return false;
	return true;
}

#endif
