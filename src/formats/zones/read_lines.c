/*
 * Zones that are in memory as a whole are one chunk, the last one. perfetto/write/zones.c reads
 * larger inputs chunk by chunk, by the same passes.
 */
#include "formats/zones/read_lines.h"

#include <errno.h>

#include "formats/zones.h"

struct zones_reader *zones_reader_new(struct import *import, const uint8_t *data, size_t size)
{
	if (zones_is_rings(data, size))
		return zones_rings_reader_new(import);
	return zones_is_capture(data, size) ? zones_capture_reader_new(import)
					    : zones_text_reader_new(import);
}

void zones_reader_free(struct zones_reader *reader)
{
	if (reader)
		reader->free(reader);
}

int zones_reader_scan(struct zones_reader *reader, const struct zones_chunk *chunk,
		      size_t *ret_used)
{
	return reader->scan(reader, chunk, ret_used);
}

int zones_reader_start(struct zones_reader *reader, struct zones_builder *builder)
{
	return reader->start(reader, builder);
}

int zones_reader_read(struct zones_reader *reader, const struct zones_chunk *chunk,
		      size_t *ret_used)
{
	return reader->read(reader, chunk, ret_used);
}

static void reader_freep(struct zones_reader **reader)
{
	zones_reader_free(*reader);
}

int zones_read(struct import *import)
{
	struct zones_chunk whole = {.data = import->data, .size = import->size, .is_last = true};
	_cleanup_(reader_freep) struct zones_reader *reader =
		zones_reader_new(import, import->data, import->size);
	_cleanup_(zones_builder_freep) struct zones_builder *builder = zones_builder_new(import);
	size_t used;
	int err;

	if (!reader || !builder)
		return -ENOMEM;
	err = zones_reader_scan(reader, &whole, &used);
	if (err)
		return err;
	err = zones_reader_start(reader, builder);
	if (err)
		return err;
	err = zones_reader_read(reader, &whole, &used);
	if (err)
		return err;
	return zones_builder_finish(builder);
}
