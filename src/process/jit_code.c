/*
 * Lookups ask for the newest entry at a given time, not now, so an entry cannot replace the ones it
 * hides. Instead, entries are found by buckets: an entry of up to 2^n bytes is in one or two of the
 * aligned ranges of 2^n bytes, whose bucket lists it. A lookup searches the bucket of its pc for
 * each n in use, from the newest entry backwards. So an entry costs the same whatever its size, and
 * a bucket has few entries for the same time.
 *
 * Limits: a lookup checks SEARCH_MAX entries of a bucket at most. Code beside code that was
 * regenerated that often is no longer found by time, but still as the first at its address.
 */
#include "process/jit_code.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/intern.h"
#include "base/text.h"

#define MAX_ENTRIES (1u << 20)
#define MAX_BYTES   (64u << 20)
/* A bucket with room for its first entries, and its place in the table's index. */
#define BUCKET_BYTES (sizeof(struct jit_bucket) + 48)
#define SEARCH_MAX   4096

/* The ranges of buckets have 2^10, 2^12, … bytes. */
#define BUCKET_BITS_MIN  10
#define BUCKET_BITS_STEP 2
#define NUM_BUCKET_SIZES 27 /* up to 2^62; no code is larger */

struct jit_entry {
	uint64_t start;
	uint64_t end;
	uint64_t time_ns;
	size_t name; /* offset in names */
};

struct jit_bucket {
	uint64_t number;    /* start of its range / size of its range */
	uint32_t size;      /* index below NUM_BUCKET_SIZES */
	ARRAY(uint32_t) of; /* entries, oldest first */
};
INTERN_TABLE(jit_bucket_table, struct jit_bucket, number, size);

struct jit_code {
	ARRAY(struct jit_entry) entries; /* in order of time */
	struct jit_bucket_table buckets;
	uint32_t sizes_in_use; /* bit mask */
	struct text names;     /* each with its NUL */
	uint64_t size_bytes;   /* of all that */
};

struct jit_code *jit_code_new(void)
{
	return calloc(1, sizeof(struct jit_code));
}

void jit_code_free(struct jit_code *code)
{
	if (!code)
		return;
	array_for_each (&code->buckets, bucket)
		array_release(&bucket->of);
	jit_bucket_table_release(&code->buckets);
	array_release(&code->entries);
	text_release(&code->names);
	free(code);
}

static unsigned get_bits(unsigned size)
{
	return BUCKET_BITS_MIN + size * BUCKET_BITS_STEP;
}

static unsigned choose_size(uint64_t num_bytes)
{
	unsigned size = 0;

	while (size < NUM_BUCKET_SIZES - 1 && num_bytes >> get_bits(size))
		size++;
	return size;
}

static int enter(struct jit_code *code, uint32_t entry, uint64_t number, unsigned size)
{
	struct jit_bucket wanted = {.number = number, .size = size};
	uint32_t bucket;
	uint32_t *added;
	int err = jit_bucket_table_intern(&code->buckets, &wanted, &bucket);

	if (err)
		return err;
	if (!code->buckets.items[bucket].of.length)
		code->size_bytes += BUCKET_BYTES;
	added = array_add(&code->buckets.items[bucket].of);
	if (!added)
		return -ENOMEM;
	*added = entry;
	code->size_bytes += sizeof(*added);
	return 0;
}

int jit_code_add(struct jit_code *code, uint64_t time_ns, uint64_t start, uint64_t end,
		 const char *name, size_t length)
{
	uint32_t number = (uint32_t)code->entries.length;
	unsigned size = choose_size(end - start);
	struct jit_entry *entry;

	if (number >= MAX_ENTRIES || code->size_bytes + sizeof(*entry) + length > MAX_BYTES ||
	    (end - start) >> get_bits(NUM_BUCKET_SIZES - 1))
		return -EFBIG;
	if (number && code->entries.items[number - 1].time_ns > time_ns)
		time_ns = code->entries.items[number - 1].time_ns;
	entry = array_add(&code->entries);
	if (!entry)
		return -ENOMEM;
	*entry = (struct jit_entry){
		.start = start, .end = end, .time_ns = time_ns, .name = code->names.length};
	text_append(&code->names, name, length);
	text_append_char(&code->names, '\0');
	if (code->names.failed) {
		code->names.failed = false;
		text_truncate(&code->names, entry->name);
		code->entries.length--;
		return -ENOMEM;
	}
	code->size_bytes += sizeof(*entry) + length + 1;
	code->sizes_in_use |= 1u << size;
	for (uint64_t at = start >> get_bits(size); at <= (end - 1) >> get_bits(size); at++) {
		int err = enter(code, number, at, size);

		if (err)
			return err;
	}
	return 0;
}

uint64_t jit_code_get_size_bytes(const struct jit_code *code)
{
	return code->size_bytes;
}

void jit_code_delay_last(struct jit_code *code, uint64_t time_ns)
{
	struct jit_entry *last;

	if (!code->entries.length)
		return;
	last = &code->entries.items[code->entries.length - 1];
	if (last->time_ns < time_ns)
		last->time_ns = time_ns;
}

size_t jit_code_count_until(const struct jit_code *code, uint64_t time_ns)
{
	return array_count_front(&code->entries, entry, entry->time_ns <= time_ns);
}

static const struct jit_bucket *find_bucket(const struct jit_code *code, uint64_t pc, unsigned size)
{
	struct jit_bucket wanted = {.number = pc >> get_bits(size), .size = size};
	uint32_t bucket;

	if (!(code->sizes_in_use & 1u << size))
		return NULL;
	bucket = jit_bucket_table_find(&code->buckets, &wanted);
	return bucket == HASH_INDEX_NONE ? NULL : &code->buckets.items[bucket];
}

static bool holds(const struct jit_entry *entry, uint64_t pc)
{
	return entry->start <= pc && pc < entry->end;
}

const char *jit_code_find(const struct jit_code *code, uint64_t pc, size_t num_entries)
{
	const struct jit_entry *found = NULL;

	for (unsigned size = 0; size < NUM_BUCKET_SIZES; size++) {
		const struct jit_bucket *bucket = find_bucket(code, pc, size);
		size_t newest =
			bucket ? array_count_front(&bucket->of, entry, *entry < num_entries) : 0;

		for (size_t i = newest; i > 0 && newest - i < SEARCH_MAX; i--) {
			const struct jit_entry *entry =
				&code->entries.items[bucket->of.items[i - 1]];

			if (found && entry <= found)
				break;
			if (holds(entry, pc))
				found = entry;
		}
	}
	return found ? code->names.data + found->name : NULL;
}

const char *jit_code_find_first(const struct jit_code *code, uint64_t pc, uint64_t *ret_time_ns)
{
	const struct jit_entry *found = NULL;

	for (unsigned size = 0; size < NUM_BUCKET_SIZES; size++) {
		const struct jit_bucket *bucket = find_bucket(code, pc, size);

		for (size_t i = 0; bucket && i < bucket->of.length && i < SEARCH_MAX; i++) {
			const struct jit_entry *entry = &code->entries.items[bucket->of.items[i]];

			if (found && entry >= found)
				break;
			if (holds(entry, pc))
				found = entry;
		}
	}
	if (!found)
		return NULL;
	*ret_time_ns = found->time_ns;
	return code->names.data + found->name;
}
