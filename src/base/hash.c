#include "base/hash.h"

#include <errno.h>
#include <string.h>

/*
 * The size is mixed in first: else a string and the same one followed by NUL bytes would collide.
 * The last bytes are the upper ones of the last whole word, if there is one: a copy of a length
 * that is not constant is a call.
 */
uint64_t hash_bytes(const void *data, size_t size)
{
	const uint8_t *bytes = data;
	uint64_t hash = hash_mix(0x2545f4914f6cdd1dull, size);
	uint64_t word;

	for (; size >= sizeof(word); size -= sizeof(word), bytes += sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = hash_mix(hash, word);
	}
	word = 0;
	if (size && bytes != data) {
		memcpy(&word, bytes + size - sizeof(word), sizeof(word));
		word >>= 8 * (sizeof(word) - size);
	} else if (size) {
		memcpy(&word, bytes, size);
	}
	return hash_mix(hash, word);
}

void hash_index_release(struct hash_index *index)
{
	free(index->slots);
	*index = (struct hash_index){0};
}

uint32_t hash_index_find(const struct hash_index *index, uint64_t hash,
			 bool (*is_item)(const void *owner, uint32_t item, const void *key),
			 const void *owner, const void *key)
{
	return hash_index_find_inline(index, hash, is_item, owner, key);
}

static void place(struct hash_slot *slots, size_t num_slots, struct hash_slot slot)
{
	size_t i = slot.hash & (num_slots - 1);

	while (slots[i].item != HASH_INDEX_NONE)
		i = (i + 1) & (num_slots - 1);
	slots[i] = slot;
}

/* The table doubles once it is three quarters full. */
int hash_index_reserve(struct hash_index *index, size_t num_items)
{
	size_t num_slots = index->num_slots ? index->num_slots : 64;
	struct hash_slot *slots;

	if (num_items <= index->num_slots / 4 * 3)
		return 0;
	while (num_items > num_slots / 4 * 3)
		num_slots *= 2;
	slots = calloc(num_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	memset(slots, 0xff, num_slots * sizeof(*slots)); /* HASH_INDEX_NONE */
	for (size_t i = 0; i < index->num_slots; i++)
		if (index->slots[i].item != HASH_INDEX_NONE)
			place(slots, num_slots, index->slots[i]);
	free(index->slots);
	index->slots = slots;
	index->num_slots = num_slots;
	return 0;
}

int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t item)
{
	int err = hash_index_reserve(index, index->num_items + 1);

	if (err)
		return err;
	place(index->slots, index->num_slots,
	      (struct hash_slot){.hash = hash_fold(hash), .item = item});
	index->num_items++;
	return 0;
}

/*
 * Close the gap at slot `gap`: move an item behind it there if its search passes the gap. This is
 * true if, going round, its home slot is no nearer to it than the gap.
 */
void hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t item)
{
	size_t mask = index->num_slots - 1;
	size_t gap = hash_fold(hash) & mask;

	while (index->slots[gap].item != item)
		gap = (gap + 1) & mask;
	for (size_t i = (gap + 1) & mask; index->slots[i].item != HASH_INDEX_NONE;
	     i = (i + 1) & mask) {
		size_t home = index->slots[i].hash & mask;

		if (((i - home) & mask) < ((i - gap) & mask))
			continue;
		index->slots[gap] = index->slots[i];
		gap = i;
	}
	index->slots[gap].item = HASH_INDEX_NONE;
	index->num_items--;
}
