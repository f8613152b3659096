/*
 * Zones in memory as a source that gives a few bytes at a time, and a store in memory.
 */
#ifndef ZONES_PIECES_H
#define ZONES_PIECES_H

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "formats/perfetto_zones.h"

struct pieces {
	const char *data;
	size_t size;
	size_t offset;
	size_t piece_bytes; /* at most so many are given at once */
	size_t last_size;   /* in the last pass, which writes */
	unsigned num_passes;
	struct text stored;
};

static inline int pieces_rewind(void *context)
{
	struct pieces *pieces = context;

	if (++pieces->num_passes == 3)
		pieces->size = pieces->last_size;
	pieces->offset = 0;
	return 0;
}

static inline int pieces_read(void *context, void *data, size_t size, size_t *ret_size)
{
	struct pieces *pieces = context;

	if (size > pieces->piece_bytes)
		size = pieces->piece_bytes;
	if (size > pieces->size - pieces->offset)
		size = pieces->size - pieces->offset;
	if (size)
		memcpy(data, pieces->data + pieces->offset, size);
	pieces->offset += size;
	*ret_size = size;
	return 0;
}

static inline int pieces_append(void *context, const void *data, size_t size, uint64_t *ret_offset)
{
	struct pieces *pieces = context;

	*ret_offset = pieces->stored.length;
	text_append(&pieces->stored, data, size);
	return pieces->stored.failed ? -ENOMEM : 0;
}

static inline int pieces_read_back(void *context, uint64_t offset, void *data, size_t size)
{
	struct pieces *pieces = context;

	if (offset > pieces->stored.length || size > pieces->stored.length - offset)
		return -EIO;
	memcpy(data, pieces->stored.data + offset, size);
	return 0;
}

/* What is stored is the caller's to release. */
static inline int pieces_convert(struct pieces *pieces, struct import *import,
				 const struct sink *sink)
{
	struct zones_source source = {pieces_rewind, pieces_read, pieces};
	struct record_store store = {pieces_append, pieces_read_back, pieces};

	return perfetto_write_zones(import, &source, &store, false, sink);
}

#endif
