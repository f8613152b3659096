/*
 * Hashing, and an index from hashes to item numbers.
 *
 * The index stores 32-bit item numbers; the items themselves stay in the owner's array, and a
 * function of the owner compares an item with a key. Most users want a typed intern table, which
 * combines an array and this index (intern.h). Use the index itself if the items are no array of
 * plain structs, or are removed again.
 *
 * Hashes are the same in every run: output must not depend on chance, and inputs that collide on
 * purpose cost time, not correctness.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define HASH_INDEX_NONE UINT32_MAX

struct hash_slot {
	uint32_t hash; /* folded to 32 bits: enough to grow the table without the items */
	uint32_t item; /* HASH_INDEX_NONE: free */
};

struct hash_index {
	struct hash_slot *slots; /* open addressing; their number is a power of two */
	size_t num_slots;
	size_t num_items;
};

/* Mix one 64-bit word into a hash (order matters). */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

/* The upper half of a product depends on every bit of its factor; the lower one does not. */
static inline uint32_t hash_fold(uint64_t hash)
{
	return (uint32_t)((hash * 0xff51afd7ed558ccdull) >> 32);
}

uint64_t hash_bytes(const void *data, size_t size);

void hash_index_release(struct hash_index *index);

/*
 * The item with this hash for which is_item(owner, item, key) holds, or HASH_INDEX_NONE.
 */
uint32_t hash_index_find(const struct hash_index *index, uint64_t hash,
			 bool (*is_item)(const void *owner, uint32_t item, const void *key),
			 const void *owner, const void *key);

/*
 * The same where most of the time is spent: the compiler puts is_item() in place. Linear probing.
 * The search always ends at a free slot, since the table is at most three quarters full. The 32
 * bits of the hash are compared first: that avoids access to nearly every wrong item, which would
 * be elsewhere in memory.
 */
static inline uint32_t hash_index_find_inline(const struct hash_index *index, uint64_t hash,
					      bool (*is_item)(const void *owner, uint32_t item,
							      const void *key),
					      const void *owner, const void *key)
{
	size_t mask = index->num_slots - 1;
	uint32_t folded = hash_fold(hash);

	if (!index->num_slots)
		return HASH_INDEX_NONE;
	for (size_t i = folded & mask;; i = (i + 1) & mask) {
		const struct hash_slot *slot = &index->slots[i];

		if (slot->item == HASH_INDEX_NONE)
			return HASH_INDEX_NONE;
		if (slot->hash == folded && is_item(owner, slot->item, key))
			return slot->item;
	}
}

/* Make room for this many items in all. Returns 0 or -ENOMEM. */
_must_check_ int hash_index_reserve(struct hash_index *index, size_t num_items);

/* Add an item that is not in the index yet. Returns 0 or -ENOMEM. */
_must_check_ int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t item);

/* Remove an item that is in the index, under the hash it was added with. */
void hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t item);

#endif
