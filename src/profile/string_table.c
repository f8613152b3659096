#include "profile/string_table.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"

/* Texts are in chunks that never move, so that a borrowed string stays valid. */
#define CHUNK_BYTES 65536

/* The length is kept because a string may hold NUL bytes: a file's names are bytes. */
struct string_entry {
	const char *data;
	size_t length;
};

struct string_table {
	ARRAY(struct string_entry) entries;
	ARRAY(char *) chunks;
	size_t chunk_used;
	size_t chunk_size;
	struct hash_index index;
};

struct string_table *string_table_new(void)
{
	struct string_table *table = calloc(1, sizeof(*table));
	uint32_t empty;

	if (!table)
		return NULL;
	if (string_table_add(table, "", 0, &empty)) {
		string_table_free(table);
		return NULL;
	}
	return table;
}

void string_table_free(struct string_table *table)
{
	if (!table)
		return;
	array_for_each (&table->chunks, chunk)
		free(*chunk);
	array_release(&table->chunks);
	array_release(&table->entries);
	hash_index_release(&table->index);
	free(table);
}

static bool is_entry(const void *owner, uint32_t item, const void *key)
{
	const struct string_table *table = owner;
	const struct string_entry *entry = &table->entries.items[item];
	const struct string_entry *wanted = key;

	return entry->length == wanted->length &&
	       memcmp(entry->data, wanted->data, wanted->length) == 0;
}

/* Copy a string and its NUL into a chunk. */
static char *store(struct string_table *table, const char *string, size_t length)
{
	size_t size = length + 1;
	char **chunk;
	char *copy;

	/*
	 * The remainder of the previous chunk is not used any more; a string that is longer than a
	 * chunk gets a chunk of its size.
	 */
	if (size > table->chunk_size - table->chunk_used) {
		size_t chunk_size = size > CHUNK_BYTES ? size : CHUNK_BYTES;

		copy = malloc(chunk_size);
		chunk = copy ? array_add(&table->chunks) : NULL;
		if (!chunk) {
			free(copy);
			return NULL;
		}
		*chunk = copy;
		table->chunk_used = 0;
		table->chunk_size = chunk_size;
	}
	copy = table->chunks.items[table->chunks.length - 1] + table->chunk_used;
	memcpy(copy, string, length);
	copy[length] = '\0';
	table->chunk_used += size;
	return copy;
}

int string_table_copy(const struct string_table *from, uint32_t id, struct string_table *to,
		      uint32_t *ret)
{
	return string_table_add(to, string_table_get(from, id), string_table_get_length(from, id),
				ret);
}

int string_table_add(struct string_table *table, const char *string, size_t length, uint32_t *ret)
{
	uint64_t hash = hash_bytes(string, length);
	struct string_entry wanted = {string, length};
	uint32_t id = hash_index_find_inline(&table->index, hash, is_entry, table, &wanted);
	struct string_entry *entry;

	if (id != HASH_INDEX_NONE) {
		*ret = id;
		return 0;
	}
	wanted.data = store(table, string, length);
	entry = wanted.data ? array_add(&table->entries) : NULL;
	if (!entry)
		return -ENOMEM;
	*entry = wanted;
	id = (uint32_t)(table->entries.length - 1);
	/* The bytes in their chunk stay; they are freed with the table. */
	if (hash_index_add(&table->index, hash, id)) {
		table->entries.length--;
		return -ENOMEM;
	}
	*ret = id;
	return 0;
}

uint32_t string_table_find(const struct string_table *table, const char *string, size_t length)
{
	struct string_entry wanted = {string, length};

	return hash_index_find_inline(&table->index, hash_bytes(string, length), is_entry, table,
				      &wanted);
}

const char *string_table_get(const struct string_table *table, uint32_t id)
{
	return table->entries.items[id].data;
}

size_t string_table_get_length(const struct string_table *table, uint32_t id)
{
	return table->entries.items[id].length;
}

uint32_t string_table_get_count(const struct string_table *table)
{
	return (uint32_t)table->entries.length;
}
