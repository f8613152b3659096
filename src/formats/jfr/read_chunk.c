/*
 * A chunk is a header of 68 bytes, then events. Two kinds of events are not samples but serve the
 * others: the metadata (class 0), and checkpoints (class 1), which hold constant pools. The header
 * has the offset of the metadata and of the last checkpoint; every checkpoint has the distance to
 * the one before it:
 *
 *	header ──────────────────────────────────────┐
 *	          checkpoint ◄── checkpoint ◄── checkpoint
 *
 * A key may be defined again, as by a recorder that flushes its data every second: the newest
 * definition counts, so the chain is followed backwards and known keys are kept.
 *
 * Reading a pool means walking over all its values, as a constant does not contain its length. Only
 * key and offset are kept of each: most constants of a large recording are methods and symbols that
 * no sample needs. The others are decoded when a sample names them (read_names.c).
 *
 * While the JVM runs, the last chunk is unfinished: its header has 0 for size and offsets.
 */
#include <errno.h>
#include <string.h>

#include "formats/jfr/read_chunk.h"
#include "formats/jfr/read_value.h"

struct jfr_constant *jfr_chunk_find_constant(const struct jfr_chunk *chunk, uint32_t class,
					     uint64_t key)
{
	struct jfr_constant wanted = {.class = class, .key = key};
	uint32_t found = jfr_constant_table_find(&chunk->constants, &wanted);

	return found == HASH_INDEX_NONE ? NULL : &chunk->constants.items[found];
}

static uint32_t find_string_class(const struct jfr_chunk *chunk)
{
	for (uint32_t i = 0; i < chunk->schema.classes.length; i++)
		if (chunk->schema.classes.items[i].kind == JFR_TEXT)
			return i;
	return JFR_NONE;
}

void jfr_chunk_read_string(const struct jfr_chunk *chunk, struct jfr_cursor *input,
			   struct text *text)
{
	uint64_t key = jfr_read_plain_string(input, text);
	const struct jfr_constant *constant;
	struct jfr_cursor pool = chunk->input;

	if (!key)
		return;
	constant = jfr_chunk_find_constant(chunk, find_string_class(chunk), key);
	if (!constant)
		return;
	pool.offset = constant->offset;
	(void)jfr_read_plain_string(&pool, text); /* a constant that names another one is empty */
}

static int add_constant(struct jfr_chunk *chunk, uint32_t class, uint64_t key, size_t offset)
{
	struct jfr_constant constant = {
		.key = key, .class = class, .offset = (uint32_t)offset, .made = JFR_NONE};
	uint32_t ignored;

	if (!chunk->schema.classes.items[class].is_pool_used)
		return 0;
	/* Checkpoints are read from the last to the first: existing constants are newer. */
	return jfr_constant_table_intern(&chunk->constants, &constant, &ignored);
}

static int read_pool(struct jfr_chunk *chunk, struct jfr_cursor *input)
{
	size_t start = input->offset;
	uint32_t class = jfr_schema_find_class_index(&chunk->schema, jfr_read_long(input));
	uint64_t count = jfr_read_int(input);
	struct jfr_field value = {.class = class};
	int err;

	if (input->failed || class == HASH_INDEX_NONE)
		return jfr_fail(&chunk->fault, start, "a pool of constants of an unknown class");
	for (uint64_t i = 0; i < count; i++) {
		uint64_t key = jfr_read_long(input);
		size_t offset = input->offset;

		(void)jfr_read_field(&chunk->schema, input, &value); /* skipped */
		if (input->failed)
			return jfr_fail(&chunk->fault, offset, "a constant is damaged");
		err = add_constant(chunk, class, key, offset);
		if (err)
			return err;
	}
	return 0;
}

/* ret_delta: to the checkpoint before it, in bytes, negative; 0: this is the first */
static int read_checkpoint(struct jfr_chunk *chunk, size_t offset, int64_t *ret_delta)
{
	struct jfr_cursor input = chunk->input;
	uint64_t size;
	uint64_t num_pools;
	int err;

	input.offset = offset;
	size = jfr_read_int(&input);
	if (input.failed || size > chunk->input.size - offset)
		return jfr_fail(&chunk->fault, offset, "a checkpoint is damaged");
	input.size = offset + size;
	if (jfr_read_long(&input) != 1)
		return jfr_fail(&chunk->fault, offset, "expected a checkpoint");
	(void)jfr_read_long(&input); /* start and duration */
	(void)jfr_read_long(&input);
	*ret_delta = (int64_t)jfr_read_long(&input);
	(void)jfr_read_byte(&input); /* flush, header, statics or thread: all hold pools */
	num_pools = jfr_read_int(&input);
	for (uint64_t i = 0; i < num_pools; i++) {
		err = read_pool(chunk, &input);
		if (err)
			return err;
	}
	return 0;
}

static int read_checkpoints(struct jfr_chunk *chunk)
{
	size_t offset = chunk->checkpoint_offset;
	int64_t delta = 0;
	int err = read_checkpoint(chunk, offset, &delta);

	if (err)
		return err;
	while (delta) {
		uint64_t distance = 0 - (uint64_t)delta; /* the smallest delta has no negative */

		if (delta > 0 || distance > offset - JFR_HEADER_BYTES)
			return jfr_fail(&chunk->fault, offset,
					"a checkpoint does not lead to one before it");
		offset -= distance;
		err = read_checkpoint(chunk, offset, &delta);
		if (err)
			return err;
	}
	return 0;
}

/* Offsets as in OpenJDK's ChunkHeader; big-endian, whether or not the events are compressed. */
static int read_header(struct jfr_chunk *chunk, const uint8_t *data, size_t size)
{
	struct jfr_cursor header = {.data = data, .size = size, .offset = 4};
	uint64_t major = jfr_read_big_endian(&header, 2);
	uint64_t chunk_size;
	uint64_t checkpoint;
	uint64_t metadata;

	header.offset = 8;
	chunk_size = jfr_read_big_endian(&header, 8);
	checkpoint = jfr_read_big_endian(&header, 8);
	metadata = jfr_read_big_endian(&header, 8);
	header.offset = 32;
	chunk->start_ns = jfr_read_big_endian(&header, 8);
	header.offset = 48;
	chunk->start_ticks = jfr_read_big_endian(&header, 8);
	chunk->ticks_per_second = jfr_read_big_endian(&header, 8);
	header.offset = 64;
	chunk->input = (struct jfr_cursor){.data = data,
					   .size = size,
					   .offset = JFR_HEADER_BYTES,
					   .is_compressed = jfr_read_big_endian(&header, 4) & 1};
	if (size < 4 || memcmp(data, "FLR\0", 4) != 0)
		return jfr_fail(&chunk->fault, 0, "expected a chunk of a flight recording");
	if (header.failed)
		return -ENODATA;
	if (major != 2)
		return jfr_fail(&chunk->fault, 4,
				major < 2 ? "recordings of Java 8 and older are not supported"
					  : "unsupported version of the recording");
	if (!chunk_size || !checkpoint || !metadata || chunk_size > size)
		return -ENODATA;
	if (chunk_size < JFR_HEADER_BYTES || chunk_size > UINT32_MAX)
		return jfr_fail(&chunk->fault, 8, "impossible size of the chunk");
	if (checkpoint < JFR_HEADER_BYTES || checkpoint >= chunk_size)
		return jfr_fail(&chunk->fault, 16, "the checkpoint is outside the chunk");
	if (metadata < JFR_HEADER_BYTES || metadata >= chunk_size)
		return jfr_fail(&chunk->fault, 24, "the metadata is outside the chunk");
	chunk->input.size = chunk_size;
	chunk->checkpoint_offset = checkpoint;
	chunk->metadata_offset = metadata;
	return 0;
}

bool jfr_chunk_find_time(const struct jfr_chunk *chunk, uint64_t ticks, uint64_t *ret_ns)
{
	/* A long event belongs to the chunk that it ended in, and may have started before it. */
	__int128 passed = (int64_t)(ticks - chunk->start_ticks);
	__int128 time_ns;

	if (!chunk->ticks_per_second)
		return false;
	time_ns = chunk->start_ns + passed * 1000000000 / (__int128)chunk->ticks_per_second;
	*ret_ns = (uint64_t)time_ns;
	return time_ns >= 0 && time_ns <= UINT64_MAX;
}

int jfr_chunk_init(struct jfr_chunk *chunk, const uint8_t *data, size_t size)
{
	int err;

	*chunk = (struct jfr_chunk){0};
	err = read_header(chunk, data, size);
	if (err)
		return err;
	err = jfr_schema_init(&chunk->schema, &chunk->input, chunk->metadata_offset, &chunk->fault);
	if (err)
		return err;
	return read_checkpoints(chunk);
}

void jfr_chunk_release(struct jfr_chunk *chunk)
{
	jfr_schema_release(&chunk->schema);
	jfr_constant_table_release(&chunk->constants);
}
