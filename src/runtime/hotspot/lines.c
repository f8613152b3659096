#include "runtime/hotspot/lines.h"

#include <stdbool.h>

#include "base/bytes.h"
#include "runtime/hotspot/unsigned5.h"

#define PAIR_OF_NUMBERS 0xff

struct line_pairs {
	struct bytes bytes;
	unsigned int major;
	/* The last pair that was read; sums of as many numbers of 32 bits as there are bytes. */
	int64_t bytecode;
	int64_t line;
};

/*
 * Returns false at the end, and if the bytes are not a table or too short; then bytes.failed is
 * set.
 */
static bool read_pair(struct line_pairs *pairs)
{
	uint8_t byte = bytes_u8(&pairs->bytes);

	if (byte == PAIR_OF_NUMBERS) {
		pairs->bytecode += unsigned5_read_signed(&pairs->bytes, pairs->major);
		pairs->line += unsigned5_read_signed(&pairs->bytes, pairs->major);
	} else {
		pairs->bytecode += byte >> 3;
		pairs->line += byte & 7;
	}
	return byte && !pairs->bytes.failed;
}

size_t hotspot_lines_measure(const uint8_t *bytes, size_t num_bytes, unsigned int major)
{
	struct line_pairs pairs = {.bytes = bytes_of(bytes, num_bytes), .major = major};

	while (read_pair(&pairs))
		;
	return pairs.bytes.failed ? 0 : pairs.bytes.offset;
}

/* Lines of class files have 16 bits. */
static uint32_t to_line(int64_t line)
{
	return line > 0 && line <= UINT16_MAX ? (uint32_t)line : 0;
}

uint32_t hotspot_lines_find(const uint8_t *bytes, size_t num_bytes, unsigned int major,
			    uint32_t bytecode)
{
	struct line_pairs pairs = {.bytes = bytes_of(bytes, num_bytes), .major = major};
	int64_t nearest = -1;
	int64_t last = -1;
	int64_t line = 0;
	bool is_ascending = true;

	while (read_pair(&pairs)) {
		if (pairs.bytecode == bytecode)
			return to_line(pairs.line);
		if (pairs.bytecode < bytecode && pairs.bytecode >= nearest) {
			nearest = pairs.bytecode;
			line = pairs.line;
		}
		is_ascending &= pairs.bytecode >= last;
		last = pairs.bytecode;
	}
	if (pairs.bytes.failed && (!is_ascending || last < bytecode))
		return 0;
	return to_line(line);
}
