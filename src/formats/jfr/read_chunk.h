/* A chunk of a Java Flight Recorder file: its header, its schema and its constant pools. */
#ifndef FORMATS_JFR_READ_CHUNK_H
#define FORMATS_JFR_READ_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/intern.h"
#include "base/text.h"
#include "formats/jfr/read_cursor.h"
#include "formats/jfr/read_schema.h"

#define JFR_HEADER_BYTES 68

/* An entry of a constant pool, not decoded. */
struct jfr_constant {
	uint64_t key;
	uint32_t class;
	uint32_t offset;  /* of its value in the chunk */
	uint32_t made;    /* id of the thread, method or stack decoded from it; JFR_NONE: not yet */
	uint8_t made_for; /* the role it was decoded as; a damaged file may use several */
};
INTERN_TABLE(jfr_constant_table, struct jfr_constant, class, key);

struct jfr_chunk {
	struct jfr_cursor input; /* over the whole chunk */
	uint64_t start_ns;       /* CLOCK_REALTIME */
	uint64_t start_ticks;    /* the same moment */
	uint64_t ticks_per_second;
	size_t metadata_offset;
	size_t checkpoint_offset;
	struct jfr_schema schema;
	struct jfr_constant_table constants;
	struct jfr_fault fault; /* of a failure */
};

/*
 * Read header, metadata and pools of the chunk at the start of the data, which is borrowed.
 *
 * Returns 0, -ENOMEM, -ENODATA (the chunk is unfinished), or -EBADMSG with chunk->fault. Release in
 * any case.
 */
_must_check_ int jfr_chunk_init(struct jfr_chunk *chunk, const uint8_t *data, size_t size);
void jfr_chunk_release(struct jfr_chunk *chunk);

/* A time in ticks, on CLOCK_REALTIME. False if the chunk's header has no rate for them. */
bool jfr_chunk_find_time(const struct jfr_chunk *chunk, uint64_t ticks, uint64_t *ret_ns);

/* The constant, or NULL. */
struct jfr_constant *jfr_chunk_find_constant(const struct jfr_chunk *chunk, uint32_t class,
					     uint64_t key);
/* Append a string as UTF-8; if only the key of a constant is there, that one's text. */
void jfr_chunk_read_string(const struct jfr_chunk *chunk, struct jfr_cursor *input,
			   struct text *text);

#endif
