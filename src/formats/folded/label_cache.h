/*
 * The labels that were read lately, as "read_[k]", and a number of each. Most frames of a file are
 * repeated. One access to memory finds such a label, where the tables of the profile take three or
 * four.
 *
 * A label has two places, beside each other; a new label replaces the older one there. A label of
 * more than LABEL_MAX_WHOLE bytes is compared with a string that its owner keeps.
 */
#ifndef FORMATS_FOLDED_LABEL_CACHE_H
#define FORMATS_FOLDED_LABEL_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

#define LABEL_CACHE_ENTRIES 32768 /* a power of two */
#define LABEL_WORD_BYTES    8
#define LABEL_MAX_WHOLE     (3 * LABEL_WORD_BYTES)

struct cached_label {
	/*
	 * The first bytes of the label, the bytes behind these, the last ones. In a label of less than
	 * LABEL_MAX_WHOLE bytes words overlap.
	 */
	uint64_t words[3];
	uint32_t length; /* in bytes; 0: free */
	uint32_t number;
};

struct label_cache {
	struct cached_label *entries; /* NULL: not made yet */
	const char **names;           /* of labels beyond LABEL_MAX_WHOLE, by entry */
};

static inline void label_cache_release(struct label_cache *cache)
{
	free(cache->entries);
	free(cache->names);
	*cache = (struct label_cache){0};
}

static inline uint64_t label_cache_read_word(const uint8_t *bytes)
{
	uint64_t word;

	memcpy(&word, bytes, sizeof(word));
	return word;
}

/* The entry that a label would have; an empty label and a huge one have a length of 0. */
static inline struct cached_label label_cache_make(const uint8_t *label, size_t length)
{
	struct cached_label made = {0};

	if (length > UINT32_MAX)
		return made;
	made.length = (uint32_t)length;
	if (length >= LABEL_WORD_BYTES) {
		made.words[0] = label_cache_read_word(label);
		made.words[1] = label_cache_read_word(length >= 2 * LABEL_WORD_BYTES
							      ? label + LABEL_WORD_BYTES
							      : label + length - LABEL_WORD_BYTES);
		made.words[2] = label_cache_read_word(label + length - LABEL_WORD_BYTES);
	} else {
		for (size_t i = 0; i < length; i++)
			made.words[0] |= (uint64_t)label[i] << (8 * i);
	}
	return made;
}

static inline size_t label_cache_place(const struct cached_label *made)
{
	uint64_t hash = hash_mix(made->length, made->words[0]);

	hash = hash_mix(hash_mix(hash, made->words[1]), made->words[2]);
	return hash_fold(hash) % LABEL_CACHE_ENTRIES;
}

static inline bool label_cache_has(const struct label_cache *cache, size_t place,
				   const struct cached_label *made, const uint8_t *label)
{
	const struct cached_label *entry = &cache->entries[place];

	return entry->words[0] == made->words[0] && entry->words[2] == made->words[2] &&
	       entry->words[1] == made->words[1] && entry->length == made->length &&
	       (made->length <= LABEL_MAX_WHOLE ||
		!memcmp(cache->names[place], label, made->length));
}

/* Whether the cache has the label; made: its entry. */
static inline bool label_cache_find(const struct label_cache *cache,
				    const struct cached_label *made, const uint8_t *label,
				    uint32_t *ret)
{
	size_t place = label_cache_place(made);

	if (!cache->entries || !made->length)
		return false;
	if (!label_cache_has(cache, place, made, label)) {
		place ^= 1;
		if (!label_cache_has(cache, place, made, label))
			return false;
	}
	*ret = cache->entries[place].number;
	return true;
}

/* name: the label, as long as the cache is used. When out of memory, the cache stays empty. */
static inline void label_cache_add(struct label_cache *cache, const struct cached_label *made,
				   const char *name, uint32_t number)
{
	size_t place = label_cache_place(made);

	if (!cache->entries) {
		cache->entries = calloc(LABEL_CACHE_ENTRIES, sizeof(*cache->entries));
		cache->names = calloc(LABEL_CACHE_ENTRIES, sizeof(*cache->names));
		if (!cache->entries || !cache->names)
			label_cache_release(cache);
	}
	if (!cache->entries || !made->length)
		return;
	cache->entries[place ^ 1] = cache->entries[place];
	if (cache->entries[place].length > LABEL_MAX_WHOLE)
		cache->names[place ^ 1] = cache->names[place];
	cache->entries[place] = *made;
	cache->entries[place].number = number;
	if (made->length > LABEL_MAX_WHOLE)
		cache->names[place] = name;
}

#endif
