/*
 * The two readers of zones, text and binary: they take an input chunk by chunk, so that it need not
 * be in memory as a whole. They take it twice, because declarations may follow their use. After the
 * first pass it may be read any number of times.
 *
 *	reader = zones_reader_new(import, data, size);
 *	zones_reader_scan(reader, &chunk, &used) …
 *	zones_reader_start(reader, builder);
 *	zones_reader_read(reader, &chunk, &used) …
 *	zones_builder_finish(builder);
 *
 * All functions return 0, -ENOMEM, or -EBADMSG with the reason in import->error.
 */
#ifndef FORMATS_ZONES_READ_LINES_H
#define FORMATS_ZONES_READ_LINES_H

#include "formats/import.h"
#include "formats/zones.h"

/* Unused bytes of a chunk, of an incomplete last record, are repeated before the next one. */
struct zones_chunk {
	const uint8_t *data;
	size_t size;
	uint64_t offset; /* in the input, in bytes */
	bool is_last;    /* all of it is used, then */
};

struct zones_reader;

/* Chosen by the first bytes. Data and size of the import are not used. NULL when out of memory. */
struct zones_reader *zones_reader_new(struct import *import, const uint8_t *data, size_t size);
void zones_reader_free(struct zones_reader *reader);

/* The first pass: declarations. */
_must_check_ int zones_reader_scan(struct zones_reader *reader, const struct zones_chunk *chunk,
				   size_t *ret_used);

/* The start of a later pass, which fills this builder. */
_must_check_ int zones_reader_start(struct zones_reader *reader, struct zones_builder *builder);
/* Calls import->advance(). */
_must_check_ int zones_reader_read(struct zones_reader *reader, const struct zones_chunk *chunk,
				   size_t *ret_used);

/* The interface of the two readers. */
struct zones_reader {
	int (*scan)(struct zones_reader *reader, const struct zones_chunk *chunk, size_t *ret_used);
	int (*start)(struct zones_reader *reader, struct zones_builder *builder);
	int (*read)(struct zones_reader *reader, const struct zones_chunk *chunk, size_t *ret_used);
	void (*free)(struct zones_reader *reader);
};

struct zones_reader *zones_text_reader_new(struct import *import);
struct zones_reader *zones_capture_reader_new(struct import *import);
struct zones_reader *zones_rings_reader_new(struct import *import);

/* How many bytes go by between two calls of advance(). */
#define ZONES_ADVANCE_BYTES (1u << 20)

#endif
