/*
 * In memory and in the store a record is its key, its size and its bytes. A chunk is written when
 * memory is full; the last one stays in memory. Consecutive chunks whose keys are in order, as
 * those of an already sorted file, become one.
 */
#include "base/record_sorter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/heap.h"

/* Key and size in memory order: the store is read by the process that wrote it. */
#define HEAD_BYTES       12
#define WRITE_BYTES      65536
#define SMALLEST_READ    4096
#define READS_PER_MEMORY 16

void record_sorter_init(struct record_sorter *sorter, const struct record_store *store,
			size_t memory_bytes)
{
	*sorter = (struct record_sorter){.store = store, .memory_bytes = memory_bytes};
}

void record_sorter_release(struct record_sorter *sorter)
{
	array_for_each (&sorter->chunks, chunk)
		free(chunk->bytes);
	array_release(&sorter->chunks);
	array_release(&sorter->heap);
	array_release(&sorter->bytes);
	array_release(&sorter->positions);
}

static uint64_t get_key(const uint8_t *record)
{
	uint64_t key;

	memcpy(&key, record, sizeof(key));
	return key;
}

static size_t get_size(const uint8_t *record)
{
	uint32_t size;

	memcpy(&size, record + sizeof(uint64_t), sizeof(size));
	return size;
}

/* ---- writing ------------------------------------------------------------------------------ */

/* The offset decides between equal keys: qsort() alone would not keep their order. */
static int compare_positions(const void *left, const void *right)
{
	const struct record_position *a = left;
	const struct record_position *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static void sort_positions(struct record_sorter *sorter)
{
	if (sorter->is_unsorted)
		qsort(sorter->positions.items, sorter->positions.length,
		      sizeof(*sorter->positions.items), compare_positions);
	sorter->is_unsorted = false;
}

/* Extend the last chunk, if it continues there; else add a new one. */
static int add_stored(struct record_sorter *sorter, uint64_t offset, size_t size, bool is_new)
{
	size_t count = sorter->chunks.length;
	struct record_chunk *chunk = count ? &sorter->chunks.items[count - 1] : NULL;

	if (is_new || !chunk || chunk->offset + chunk->left != offset) {
		chunk = array_add(&sorter->chunks);
		if (!chunk)
			return -ENOMEM;
		chunk->offset = offset;
	}
	chunk->left += size;
	return 0;
}

/* is_new is true for the first piece of a chunk at most: the others follow it. */
static int write_chunk(struct record_sorter *sorter, const void *data, size_t size, bool *is_new)
{
	uint64_t offset;
	int err;

	if (!size)
		return 0;
	err = sorter->store->append(sorter->store->context, data, size, &offset);
	if (err)
		return err;
	err = add_stored(sorter, offset, size, *is_new);
	*is_new = false;
	return err;
}

/* Records are gathered in `chunk`; one that is too large for it goes by itself. */
static int write_positions(struct record_sorter *sorter, bool is_new, uint8_t *chunk)
{
	size_t length = 0;
	int err;

	for (size_t i = 0; i < sorter->positions.length; i++) {
		const uint8_t *record = sorter->bytes.items + sorter->positions.items[i].offset;
		size_t size = HEAD_BYTES + get_size(record);

		if (size > WRITE_BYTES - length) {
			err = write_chunk(sorter, chunk, length, &is_new);
			if (err)
				return err;
			length = 0;
		}
		if (size > WRITE_BYTES) {
			err = write_chunk(sorter, record, size, &is_new);
			if (err)
				return err;
			continue;
		}
		memcpy(chunk + length, record, size);
		length += size;
	}
	return write_chunk(sorter, chunk, length, &is_new);
}

/* Write the records in memory as a chunk. */
static int spill(struct record_sorter *sorter)
{
	_cleanup_free_ uint8_t *chunk = malloc(WRITE_BYTES);
	bool is_new;
	int err;

	if (!chunk)
		return -ENOMEM;
	sort_positions(sorter);
	/*
	 * If the first key is not below the last one of the previous chunk, continue that chunk.
	 * Equal keys stay in order, too: the earlier ones were written first.
	 */
	is_new = sorter->chunks.length && sorter->positions.items[0].key < sorter->last_key;
	sorter->last_key = sorter->positions.items[sorter->positions.length - 1].key;
	err = write_positions(sorter, is_new, chunk);
	sorter->bytes.length = 0;
	sorter->positions.length = 0;
	return err;
}

int record_sorter_add(struct record_sorter *sorter, uint64_t key, const void *data, size_t size)
{
	size_t start = sorter->bytes.length;
	size_t count = sorter->positions.length;
	struct record_position *position;
	uint32_t stored_size = (uint32_t)size;

	if (size > UINT32_MAX - HEAD_BYTES)
		return -EOVERFLOW;
	if (array_reserve(&sorter->bytes, start + HEAD_BYTES + size))
		return -ENOMEM;
	position = array_add(&sorter->positions);
	if (!position)
		return -ENOMEM;
	*position = (struct record_position){.key = key, .offset = start};
	if (count && key < position[-1].key)
		sorter->is_unsorted = true;
	memcpy(sorter->bytes.items + start, &key, sizeof(key));
	memcpy(sorter->bytes.items + start + sizeof(key), &stored_size, sizeof(stored_size));
	if (size)
		memcpy(sorter->bytes.items + start + HEAD_BYTES, data, size);
	sorter->bytes.length = start + HEAD_BYTES + size;
	if (!sorter->store || sorter->bytes.length < sorter->memory_bytes)
		return 0;
	return spill(sorter);
}

/* ---- reading ------------------------------------------------------------------------------ */

/* Have at least `wanted` bytes of the chunk in memory; it has that many. */
static int load(struct record_sorter *sorter, struct record_chunk *chunk, size_t wanted)
{
	size_t held = chunk->length - chunk->taken;
	size_t room = sorter->memory_bytes / READS_PER_MEMORY;
	size_t more;
	int err;

	if (held >= wanted)
		return 0;
	if (room < SMALLEST_READ)
		room = SMALLEST_READ;
	if (room < wanted)
		room = wanted;
	if (array_reserve_bytes(&chunk->bytes, &chunk->capacity, room, 1))
		return -ENOMEM;
	memmove(chunk->bytes, chunk->bytes + chunk->taken, held);
	more = chunk->left < room - held ? (size_t)chunk->left : room - held;
	err = sorter->store->read(sorter->store->context, chunk->offset, chunk->bytes + held, more);
	if (err)
		return err;
	chunk->taken = 0;
	chunk->length = held + more;
	chunk->offset += more;
	chunk->left -= more;
	return chunk->length < wanted ? -EIO : 0;
}

static bool has_more(const struct record_chunk *chunk)
{
	return chunk->taken < chunk->length || chunk->left;
}

/* For equal keys, the earlier chunk is first: that is the order of adding. */
static bool is_before(const void *owner, uint32_t a, uint32_t b)
{
	const struct record_sorter *sorter = owner;
	uint64_t left = sorter->chunks.items[a].key;
	uint64_t right = sorter->chunks.items[b].key;

	return left != right ? left < right : a < b;
}

static int load_head(struct record_sorter *sorter, struct record_chunk *chunk)
{
	int err = load(sorter, chunk, HEAD_BYTES);

	if (err)
		return err;
	chunk->key = get_key(chunk->bytes + chunk->taken);
	return 0;
}

int record_sorter_finish(struct record_sorter *sorter)
{
	int err;

	if (!sorter->chunks.length) {
		sort_positions(sorter);
		return 0;
	}
	/* Records still in memory are merged from the store like the rest. */
	if (sorter->positions.length) {
		err = spill(sorter);
		if (err)
			return err;
	}
	for (size_t i = 0; i < sorter->chunks.length; i++) {
		uint32_t *added = array_add(&sorter->heap);

		if (!added)
			return -ENOMEM;
		*added = (uint32_t)i;
		err = load_head(sorter, &sorter->chunks.items[i]);
		if (err)
			return err;
	}
	heap_heapify(sorter->heap.items, sorter->heap.length, is_before, sorter);
	array_release(&sorter->bytes);
	return 0;
}

static int next_in_memory(struct record_sorter *sorter, struct sorted_record *ret)
{
	const uint8_t *record;

	if (sorter->next_position >= sorter->positions.length)
		return 0;
	record = sorter->bytes.items + sorter->positions.items[sorter->next_position++].offset;
	*ret = (struct sorted_record){get_key(record), record + HEAD_BYTES, get_size(record)};
	return 1;
}

/* Only now: the caller may have used the record until this call. */
static int move_on(struct record_sorter *sorter)
{
	struct record_chunk *top = &sorter->chunks.items[sorter->heap.items[0]];
	int err = 0;

	top->taken += HEAD_BYTES + get_size(top->bytes + top->taken);
	if (has_more(top)) {
		err = load_head(sorter, top);
	} else {
		free(top->bytes);
		*top = (struct record_chunk){0};
		sorter->heap.items[0] = sorter->heap.items[--sorter->heap.length];
	}
	heap_sift_down(sorter->heap.items, sorter->heap.length, is_before, sorter);
	return err;
}

int record_sorter_next(struct record_sorter *sorter, struct sorted_record *ret)
{
	struct record_chunk *top;
	size_t size;
	int err = 0;

	if (!sorter->chunks.length)
		return next_in_memory(sorter, ret);
	if (sorter->has_taken)
		err = move_on(sorter);
	sorter->has_taken = false;
	if (err || !sorter->heap.length)
		return err;
	top = &sorter->chunks.items[sorter->heap.items[0]];
	size = get_size(top->bytes + top->taken);
	err = load(sorter, top, HEAD_BYTES + size);
	if (err)
		return err;
	/* Not before load(), which may move the bytes. */
	*ret = (struct sorted_record){top->key, top->bytes + top->taken + HEAD_BYTES, size};
	sorter->has_taken = true;
	return 1;
}
