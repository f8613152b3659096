/*
 * A packet starts with its size and type, 2 bytes each. Each CPU appends to a block of its own, so
 * that collecting needs no lock; a block that was not filled ends in a packet of type EMPTY or
 * CLOSED, which spans the rest.
 */
#include "formats/gprofng/read_packets.h"

#include <errno.h>

/* Blocks are a multiple of this: after damage, reading goes on at the next one. */
#define BLOCK_BYTES 16384

enum { EMPTY = 0, CLOSED = 65535 };

uint64_t gprofng_record_get(const struct gprofng_record *record, size_t offset, unsigned int width)
{
	uint64_t value = 0;

	if (width > record->size || offset > record->size - width)
		return 0;
	for (unsigned int i = 0; i < width; i++)
		value = value << 8 |
			record->data[offset + (record->is_big_endian ? i : width - 1 - i)];
	return value;
}

static void skip_block(struct gprofng_packets *packets)
{
	size_t next = (packets->offset / BLOCK_BYTES + 1) * BLOCK_BYTES;

	packets->offset = next < packets->file->size ? next : packets->file->size;
}

static int report_damage(struct gprofng_packets *packets)
{
	const char *fault = "impossible size of a packet";

	if (packets->import->is_strict)
		return import_fail_member(packets->import, packets->file->path, packets->offset,
					  "%s", fault);
	import_skip_member(packets->import, packets->file->path, packets->offset,
			   "%s, skipping the rest of its block", fault);
	return 0;
}

int gprofng_packets_next(struct gprofng_packets *packets, struct gprofng_record *ret)
{
	const struct gprofng_file *file = packets->file;

	while (file->size - packets->offset >= GPROFNG_PACKET_HEADER_BYTES) {
		size_t left = file->size - packets->offset;
		int err;

		*ret = (struct gprofng_record){
			.offset = packets->offset,
			.data = file->data + packets->offset,
			.size = left,
			.is_big_endian = packets->is_big_endian,
		};
		ret->type = (uint32_t)gprofng_record_get(ret, 2, 2);
		ret->size = (size_t)gprofng_record_get(ret, 0, 2);
		/* A filler of 65536 bytes: its size does not fit 16 bits. */
		if (!ret->size) {
			skip_block(packets);
			continue;
		}
		if (ret->size < GPROFNG_PACKET_HEADER_BYTES || ret->size > left) {
			err = report_damage(packets);
			if (err)
				return err;
			skip_block(packets);
			continue;
		}
		packets->offset += ret->size;
		if (ret->type != EMPTY && ret->type != CLOSED)
			return 1;
	}
	packets->offset = file->size;
	return 0;
}
