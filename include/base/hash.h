/*
 * Hashing, and an index from hashes to numbers for interning tables.
 *
 * The index stores 32-bit item numbers; the items themselves stay in the owner's array, and
 * the owner says whether an item is the wanted one. So one table serves strings, stacks,
 * locations and samples alike.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define HASH_INDEX_NONE UINT32_MAX

struct hash_index {
	struct hash_slot *slots; /* power-of-two open addressing */
	size_t num_slots;
	size_t num_items;
};

/* Mix one 64-bit word into a hash (order matters). */
static inline uint64_t hash_mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ (hash >> 32);
}

uint64_t hash_bytes(const void *data, size_t size);

void hash_index_release(struct hash_index *index);

/*
 * The item with this hash for which is_item(owner, item, key) holds, or HASH_INDEX_NONE.
 */
uint32_t hash_index_find(const struct hash_index *index, uint64_t hash,
			 bool (*is_item)(const void *owner, uint32_t item, const void *key),
			 const void *owner, const void *key);

/* Make room for this many items in all. Returns 0 or -ENOMEM. */
_must_check_ int hash_index_reserve(struct hash_index *index, size_t num_items);

/* Add an item that is not in the index yet. Returns 0 or -ENOMEM. */
_must_check_ int hash_index_add(struct hash_index *index, uint64_t hash, uint32_t item);

/* Take an item out that is in the index, under the hash that it was added with. */
void hash_index_remove(struct hash_index *index, uint64_t hash, uint32_t item);

#endif
