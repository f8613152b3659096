/*
 * Files in gzip format, without zlib: the data is stored without compression. A flame graph that
 * the page saves is larger than one of the program, and read alike.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/format.h"

#define STORED_BYTES 65535 /* RFC 1951, section 3.2.4 */

struct gzip_sink {
	struct sink sink;
	const struct sink *target;
	struct text block; /* data not written yet */
	uint32_t sum;      /* CRC-32 of all, inverted */
	uint32_t size;
	bool has_header;
};

/* The polynomial of RFC 1952, section 8, four bits at a time. */
static uint32_t add_to_sum(uint32_t sum, const uint8_t *bytes, size_t size)
{
	static const uint32_t steps[16] = {
		0x00000000, 0x1db71064, 0x3b6e20c8, 0x26d930ac, 0x76dc4190, 0x6b6b51f4,
		0x4db26158, 0x5005713c, 0xedb88320, 0xf00f9344, 0xd6d6a3e8, 0xcb61b38c,
		0x9b64c2b0, 0x86d3d2d4, 0xa00ae278, 0xbdbdf21c,
	};

	for (size_t i = 0; i < size; i++) {
		sum ^= bytes[i];
		sum = sum >> 4 ^ steps[sum & 15];
		sum = sum >> 4 ^ steps[sum & 15];
	}
	return sum;
}

static int write_block(struct gzip_sink *gzip, bool is_last)
{
	static const uint8_t header[10] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255};
	uint16_t length = (uint16_t)gzip->block.length;
	uint8_t head[5] = {is_last, (uint8_t)length, (uint8_t)(length >> 8), (uint8_t)~length,
			   (uint8_t)(~length >> 8)};
	int err = 0;

	if (!gzip->has_header)
		err = gzip->target->write(gzip->target->context, header, sizeof(header));
	if (err)
		return err;
	gzip->has_header = true;
	err = gzip->target->write(gzip->target->context, head, sizeof(head));
	if (err)
		return err;
	return sink_flush(gzip->target, &gzip->block);
}

static int store(void *context, const void *data, size_t size)
{
	struct gzip_sink *gzip = context;
	const uint8_t *bytes = data;

	gzip->sum = add_to_sum(gzip->sum, bytes, size);
	gzip->size += (uint32_t)size;
	while (size) {
		size_t room = STORED_BYTES - gzip->block.length;
		size_t part = size < room ? size : room;
		int err;

		text_append(&gzip->block, bytes, part);
		bytes += part;
		size -= part;
		if (gzip->block.failed)
			return -ENOMEM;
		if (gzip->block.length < STORED_BYTES)
			return 0;
		err = write_block(gzip, false);
		if (err)
			return err;
	}
	return 0;
}

struct gzip_sink *gzip_sink_new(const struct sink *target)
{
	struct gzip_sink *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	gzip->sink = (struct sink){.write = store, .context = gzip};
	gzip->target = target;
	gzip->sum = UINT32_MAX;
	return gzip;
}

void gzip_sink_free(struct gzip_sink *gzip)
{
	if (!gzip)
		return;
	text_release(&gzip->block);
	free(gzip);
}

const struct sink *gzip_sink_get(const struct gzip_sink *gzip)
{
	return &gzip->sink;
}

int gzip_sink_set_repetitive(struct gzip_sink *gzip, bool is_repetitive)
{
	(void)gzip;
	(void)is_repetitive;
	return 0;
}

int gzip_sink_finish(struct gzip_sink *gzip)
{
	uint32_t trailer[2] = {~gzip->sum, gzip->size};
	int err = write_block(gzip, true);

	return err ? err : gzip->target->write(gzip->target->context, trailer, sizeof(trailer));
}
