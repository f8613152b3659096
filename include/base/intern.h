/*
 * Typed intern tables: an array that is also a hash table. Equal items are stored once and known by
 * their number, the index into the array.
 *
 *	struct edge { uint32_t from, to; uint64_t weight; };
 *	INTERN_TABLE(edge_table, struct edge, from, to);      the fields that identify an edge
 *
 *	struct edge_table edges = {0};
 *	err = edge_table_intern(&edges, &(struct edge){.from = 1, .to = 2}, &number);
 *	edges.items[number].weight += weight;
 *	edge_table_release(&edges);
 *
 * The table is an ARRAY() with an index, so that array_for_each() and the like work on it. Items
 * may change in place, except for the fields that identify them. Pointers to items are valid until
 * the next one is added. Items cannot be removed; use a hash_index for that.
 */
#ifndef BASE_INTERN_H
#define BASE_INTERN_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/hash.h"

/*
 * A table of items that these functions identify:
 *
 * hash     uint64_t hash(const type *item)
 * is_same  bool is_same(const type *a, const type *b)
 *
 * NAME_find     the number of the item that is the same as `wanted`, or HASH_INDEX_NONE
 * NAME_add      add an item that is not there yet. Returns 0, or -ENOMEM with nothing changed
 * NAME_intern   find the item, or add it. Returns as NAME_add
 */
#define INTERN_TABLE_BY(name, type, hash, is_same)                                                \
	struct name {                                                                             \
		type *items;                                                                      \
		size_t length;   /* items in use */                                               \
		size_t capacity; /* items allocated */                                            \
		struct hash_index index;                                                          \
	};                                                                                        \
                                                                                                  \
	static inline _unused_ void name##_release(struct name *table)                            \
	{                                                                                         \
		hash_index_release(&table->index);                                                \
		array_release(table);                                                             \
	}                                                                                         \
                                                                                                  \
	static inline _unused_ bool name##_is_item(const void *table, uint32_t item,              \
						   const void *wanted)                            \
	{                                                                                         \
		return is_same(&((const struct name *)table)->items[item], (const type *)wanted); \
	}                                                                                         \
                                                                                                  \
	static inline _unused_ uint32_t name##_find(const struct name *table, const type *wanted) \
	{                                                                                         \
		return hash_index_find(&table->index, hash(wanted), name##_is_item, table,        \
				       wanted);                                                   \
	}                                                                                         \
                                                                                                  \
	_must_check_ static inline _unused_ int name##_add(struct name *table, const type *item,  \
							   uint32_t *ret)                         \
	{                                                                                         \
		uint32_t number = (uint32_t)table->length;                                        \
                                                                                                  \
		if (array_reserve(table, table->length + 1) ||                                    \
		    hash_index_add(&table->index, hash(item), number))                            \
			return -ENOMEM;                                                           \
		table->items[table->length++] = *item;                                            \
		*ret = number;                                                                    \
		return 0;                                                                         \
	}                                                                                         \
                                                                                                  \
	_must_check_ static inline _unused_ int name##_intern(struct name *table,                 \
							      const type *wanted, uint32_t *ret)  \
	{                                                                                         \
		uint32_t number = name##_find(table, wanted);                                     \
                                                                                                  \
		if (number == HASH_INDEX_NONE)                                                    \
			return name##_add(table, wanted, ret);                                    \
		*ret = number;                                                                    \
		return 0;                                                                         \
	}                                                                                         \
	_Static_assert(sizeof(struct name) > 0, "takes the semicolon")

/* A table of items that are identified by these fields, one to four, which are integers. */
#define INTERN_TABLE(name, type, ...)                                            \
	static inline _unused_ uint64_t name##_hash(const type *item)            \
	{                                                                        \
		uint64_t hash = 0;                                               \
                                                                                 \
		INTERN_FOR_EACH(INTERN_HASH_FIELD, __VA_ARGS__)                  \
		return hash;                                                     \
	}                                                                        \
                                                                                 \
	static inline _unused_ bool name##_is_same(const type *a, const type *b) \
	{                                                                        \
		return true INTERN_FOR_EACH(INTERN_COMPARE_FIELD, __VA_ARGS__);  \
	}                                                                        \
                                                                                 \
	INTERN_TABLE_BY(name, type, name##_hash, name##_is_same)

/* Private: apply a macro to each of one to four fields. */
#define INTERN_HASH_FIELD(field)             hash = hash_mix(hash, (uint64_t)item->field);
#define INTERN_COMPARE_FIELD(field)          &&a->field == b->field
#define INTERN_FOR_EACH_1(use, field)        use(field)
#define INTERN_FOR_EACH_2(use, field, ...)   use(field) INTERN_FOR_EACH_1(use, __VA_ARGS__)
#define INTERN_FOR_EACH_3(use, field, ...)   use(field) INTERN_FOR_EACH_2(use, __VA_ARGS__)
#define INTERN_FOR_EACH_4(use, field, ...)   use(field) INTERN_FOR_EACH_3(use, __VA_ARGS__)
#define INTERN_FIFTH(a, b, c, d, fifth, ...) fifth
#define INTERN_FOR_EACH(use, ...)                                                          \
	INTERN_FIFTH(__VA_ARGS__, INTERN_FOR_EACH_4, INTERN_FOR_EACH_3, INTERN_FOR_EACH_2, \
		     INTERN_FOR_EACH_1, )                                                  \
	(use, __VA_ARGS__)

#endif
