/*
 * External merge sort: records in the order of their keys, however many there are. Records beyond
 * the memory limit go, sorted chunk by chunk, to a store of the caller's. The chunks are merged
 * while they are read.
 *
 *	record_sorter_init(&sorter, store, memory_bytes);
 *	record_sorter_add(&sorter, key, data, size) …
 *	record_sorter_finish(&sorter);
 *	while ((got = record_sorter_next(&sorter, &record)) > 0) …
 *	record_sorter_release(&sorter);
 *
 * Memory: memory_bytes, and half as much again while they are sorted; for every chunk in the store
 * one sixteenth of it while they are merged. Records of one key keep the order they were added in.
 */
#ifndef BASE_RECORD_SORTER_H
#define BASE_RECORD_SORTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"

/*
 * Append-only storage. append() returns the offset of the bytes. Both return 0 or negative errno.
 */
struct record_store {
	int (*append)(void *context, const void *data, size_t size, uint64_t *ret_offset);
	int (*read)(void *context, uint64_t offset, void *data, size_t size);
	void *context;
};

struct sorted_record {
	uint64_t key;
	const void *data; /* borrowed until the next call; not aligned */
	size_t size;      /* in bytes */
};

struct record_position {
	uint64_t key;
	size_t offset; /* in `bytes` */
};

/* A run of sorted records in the store; the last run may be in memory. */
struct record_chunk {
	uint64_t offset; /* in the store, of the unread part */
	uint64_t left;   /* length of that part in bytes */
	uint8_t *bytes;  /* read buffer */
	size_t capacity;
	size_t length;
	size_t taken; /* bytes of the buffer that were returned */
	uint64_t key; /* of the next record */
};

struct record_sorter {
	const struct record_store *store; /* NULL: all stays in memory */
	size_t memory_bytes;
	ARRAY(uint8_t) bytes;
	ARRAY(struct record_position) positions; /* of the records in bytes */
	bool is_unsorted;
	uint64_t last_key;
	ARRAY(struct record_chunk) chunks;
	/* While reading: chunks that have records left, as a heap (heap.h). */
	ARRAY(uint32_t) heap;
	size_t next_position;
	bool has_taken; /* from the chunk on top of the heap */
};

/* store is borrowed; NULL: memory only. */
void record_sorter_init(struct record_sorter *sorter, const struct record_store *store,
			size_t memory_bytes);
void record_sorter_release(struct record_sorter *sorter);

/* size  at most UINT32_MAX. Returns 0, -ENOMEM, -EOVERFLOW or a store's error. */
_must_check_ int record_sorter_add(struct record_sorter *sorter, uint64_t key, const void *data,
				   size_t size);
/* No more records will be added; sorts. Returns as record_sorter_add(). */
_must_check_ int record_sorter_finish(struct record_sorter *sorter);
/* Returns 1 and the next record, 0 after the last, or negative errno. */
_must_check_ int record_sorter_next(struct record_sorter *sorter, struct sorted_record *ret);

#endif
