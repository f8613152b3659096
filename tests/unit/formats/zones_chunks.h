/*
 * Zones in memory as a source that gives a few bytes at a time, and a store in memory.
 */
#ifndef ZONES_CHUNKS_H
#define ZONES_CHUNKS_H

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "formats/perfetto.h"

struct chunks {
	const char *data;
	size_t size;
	size_t offset;
	size_t chunk_bytes; /* at most so many are given at once */
	size_t last_size;   /* in the last pass, which writes */
	unsigned num_passes;
	struct text stored;
};

static inline int chunks_rewind(void *context)
{
	struct chunks *chunks = context;

	if (++chunks->num_passes == 3)
		chunks->size = chunks->last_size;
	chunks->offset = 0;
	return 0;
}

static inline int chunks_read(void *context, void *data, size_t size, size_t *ret_size)
{
	struct chunks *chunks = context;

	if (size > chunks->chunk_bytes)
		size = chunks->chunk_bytes;
	if (size > chunks->size - chunks->offset)
		size = chunks->size - chunks->offset;
	if (size)
		memcpy(data, chunks->data + chunks->offset, size);
	chunks->offset += size;
	*ret_size = size;
	return 0;
}

static inline int chunks_append(void *context, const void *data, size_t size, uint64_t *ret_offset)
{
	struct chunks *chunks = context;

	*ret_offset = chunks->stored.length;
	text_append(&chunks->stored, data, size);
	return chunks->stored.failed ? -ENOMEM : 0;
}

static inline int chunks_read_back(void *context, uint64_t offset, void *data, size_t size)
{
	struct chunks *chunks = context;

	if (offset > chunks->stored.length || size > chunks->stored.length - offset)
		return -EIO;
	memcpy(data, chunks->stored.data + offset, size);
	return 0;
}

/* What is stored is the caller's to release. */
static inline int chunks_convert(struct chunks *chunks, struct import *import,
				 const struct sink *sink)
{
	struct zones_source source = {chunks_rewind, chunks_read, chunks};
	struct record_store store = {chunks_append, chunks_read_back, chunks};

	return perfetto_write_zones(import, &source, &store, false, sink);
}

#endif
