/*
 * In memory and in the store a record is its key, its size and its bytes. A piece is written when
 * memory is full; the last one stays in memory. Pieces that follow one another in order, as those
 * of a file that is sorted already, are one.
 */
#include "base/record_sorter.h"

#include <errno.h>
#include <stdlib.h>

#include "base/heap.h"

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
	array_for_each (&sorter->pieces, piece)
		free(piece->bytes);
	array_release(&sorter->pieces);
	array_release(&sorter->heap);
	array_release(&sorter->bytes);
	array_release(&sorter->places);
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

static int compare_places(const void *left, const void *right)
{
	const struct record_place *a = left;
	const struct record_place *b = right;

	if (a->key != b->key)
		return a->key < b->key ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static void sort_places(struct record_sorter *sorter)
{
	if (sorter->is_unsorted)
		qsort(sorter->places.items, sorter->places.length, sizeof(*sorter->places.items),
		      compare_places);
	sorter->is_unsorted = false;
}

/* Behind the last piece, if it goes on there; else as a new one. */
static int add_stored(struct record_sorter *sorter, uint64_t offset, size_t size, bool is_new)
{
	size_t count = sorter->pieces.length;
	struct record_piece *piece = count ? &sorter->pieces.items[count - 1] : NULL;

	if (is_new || !piece || piece->offset + piece->left != offset) {
		piece = array_add(&sorter->pieces);
		if (!piece)
			return -ENOMEM;
		piece->offset = offset;
	}
	piece->left += size;
	return 0;
}

static int write_chunk(struct record_sorter *sorter, const void *data, size_t size, bool *is_new)
{
	uint64_t offset;
	int err = size ? sorter->store->append(sorter->store->context, data, size, &offset) : 0;

	if (!err && size)
		err = add_stored(sorter, offset, size, *is_new);
	*is_new &= !size;
	return err;
}

/* Records are gathered in `chunk`; one that is too large for it goes by itself. */
static int write_places(struct record_sorter *sorter, bool is_new, uint8_t *chunk)
{
	size_t length = 0;
	int err = 0;

	for (size_t i = 0; !err && i < sorter->places.length; i++) {
		const uint8_t *record = sorter->bytes.items + sorter->places.items[i].offset;
		size_t size = HEAD_BYTES + get_size(record);

		if (size > WRITE_BYTES - length) {
			err = write_chunk(sorter, chunk, length, &is_new);
			length = 0;
		}
		if (!err && size > WRITE_BYTES) {
			err = write_chunk(sorter, record, size, &is_new);
			continue;
		}
		memcpy(chunk + length, record, size);
		length += size;
	}
	return err ? err : write_chunk(sorter, chunk, length, &is_new);
}

/* Write what is in memory as a piece. */
static int spill(struct record_sorter *sorter)
{
	uint8_t *chunk = malloc(WRITE_BYTES);
	bool is_new;
	int err;

	if (!chunk)
		return -ENOMEM;
	sort_places(sorter);
	is_new = sorter->pieces.length && sorter->places.items[0].key < sorter->last_key;
	sorter->last_key = sorter->places.items[sorter->places.length - 1].key;
	err = write_places(sorter, is_new, chunk);
	free(chunk);
	sorter->bytes.length = 0;
	sorter->places.length = 0;
	return err;
}

int record_sorter_add(struct record_sorter *sorter, uint64_t key, const void *data, size_t size)
{
	size_t start = sorter->bytes.length;
	size_t count = sorter->places.length;
	struct record_place *place;
	uint32_t stored_size = (uint32_t)size;

	if (size > UINT32_MAX - HEAD_BYTES)
		return -EOVERFLOW;
	if (array_reserve(&sorter->bytes, start + HEAD_BYTES + size))
		return -ENOMEM;
	place = array_add(&sorter->places);
	if (!place)
		return -ENOMEM;
	*place = (struct record_place){.key = key, .offset = start};
	if (count && key < place[-1].key)
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

/* Have at least `wanted` bytes of the piece in memory; there are so many. */
static int load(struct record_sorter *sorter, struct record_piece *piece, size_t wanted)
{
	size_t held = piece->length - piece->taken;
	size_t room = sorter->memory_bytes / READS_PER_MEMORY;
	size_t more;
	int err;

	if (held >= wanted)
		return 0;
	if (room < SMALLEST_READ)
		room = SMALLEST_READ;
	if (room < wanted)
		room = wanted;
	if (array_reserve_bytes(&piece->bytes, &piece->capacity, room, 1))
		return -ENOMEM;
	memmove(piece->bytes, piece->bytes + piece->taken, held);
	more = piece->left < room - held ? (size_t)piece->left : room - held;
	err = sorter->store->read(sorter->store->context, piece->offset, piece->bytes + held, more);
	if (err)
		return err;
	piece->taken = 0;
	piece->length = held + more;
	piece->offset += more;
	piece->left -= more;
	return piece->length < wanted ? -EIO : 0;
}

static bool has_more(const struct record_piece *piece)
{
	return piece->taken < piece->length || piece->left;
}

static bool is_before(const void *owner, uint32_t a, uint32_t b)
{
	const struct record_sorter *sorter = owner;
	uint64_t left = sorter->pieces.items[a].key;
	uint64_t right = sorter->pieces.items[b].key;

	return left != right ? left < right : a < b;
}

static int load_head(struct record_sorter *sorter, struct record_piece *piece)
{
	int err = load(sorter, piece, HEAD_BYTES);

	if (!err)
		piece->key = get_key(piece->bytes + piece->taken);
	return err;
}

int record_sorter_finish(struct record_sorter *sorter)
{
	int err = 0;

	/* What is left in memory is merged from the store like the rest. */
	if (sorter->pieces.length && sorter->places.length)
		err = spill(sorter);
	sort_places(sorter);
	for (size_t i = 0; !err && i < sorter->pieces.length; i++) {
		uint32_t *added = array_add(&sorter->heap);

		if (!added)
			return -ENOMEM;
		*added = (uint32_t)i;
		err = load_head(sorter, &sorter->pieces.items[i]);
	}
	if (err || !sorter->pieces.length)
		return err;
	heap_make(sorter->heap.items, sorter->heap.length, is_before, sorter);
	array_release(&sorter->bytes);
	return 0;
}

static int next_in_memory(struct record_sorter *sorter, struct sorted_record *ret)
{
	const uint8_t *record;

	if (sorter->next_place >= sorter->places.length)
		return 0;
	record = sorter->bytes.items + sorter->places.items[sorter->next_place++].offset;
	*ret = (struct sorted_record){get_key(record), record + HEAD_BYTES, get_size(record)};
	return 1;
}

/* Only now: the caller may have looked at the record until this call. */
static int move_on(struct record_sorter *sorter)
{
	struct record_piece *top = &sorter->pieces.items[sorter->heap.items[0]];
	int err = 0;

	top->taken += HEAD_BYTES + get_size(top->bytes + top->taken);
	if (has_more(top)) {
		err = load_head(sorter, top);
	} else {
		free(top->bytes);
		*top = (struct record_piece){0};
		sorter->heap.items[0] = sorter->heap.items[--sorter->heap.length];
	}
	heap_mend(sorter->heap.items, sorter->heap.length, is_before, sorter);
	return err;
}

int record_sorter_next(struct record_sorter *sorter, struct sorted_record *ret)
{
	struct record_piece *top;
	size_t size;
	int err = 0;

	if (!sorter->pieces.length)
		return next_in_memory(sorter, ret);
	if (sorter->has_taken)
		err = move_on(sorter);
	sorter->has_taken = false;
	if (err || !sorter->heap.length)
		return err;
	top = &sorter->pieces.items[sorter->heap.items[0]];
	size = get_size(top->bytes + top->taken);
	err = load(sorter, top, HEAD_BYTES + size);
	if (err)
		return err;
	*ret = (struct sorted_record){top->key, top->bytes + top->taken + HEAD_BYTES, size};
	sorter->has_taken = true;
	return 1;
}
