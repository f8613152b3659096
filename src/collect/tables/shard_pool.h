/*
 * Shards of kernel memory for unwind tables, made ahead of need: putting one into the sampling
 * program's map waits for all CPUs (5 to 20 ms), which the thread that reads samples cannot afford.
 *
 * Thread-safe.
 */
#ifndef COLLECT_TABLES_SHARD_POOL_H
#define COLLECT_TABLES_SHARD_POOL_H

#include <stdint.h>

#include "base/attributes.h"
#include "wire/unwind.h"

struct shard_pool;

/*
 * shards_fd  the sampling program's map of shards; borrowed
 *
 * Returns NULL when out of memory.
 */
struct shard_pool *shard_pool_new(int shards_fd);
void shard_pool_free(struct shard_pool *pool); /* gives back the memory of all shards */

/* No more shards are needed: give back the memory of those that were made. */
void shard_pool_close(struct shard_pool *pool);

/*
 * From now on keep a spare shard, made by a thread of the pool's own. To be called once, before the
 * rights to make shards are given up. Without the thread, shards are made when they are needed.
 */
void shard_pool_start_maker(struct shard_pool *pool);

/*
 * Announce a table with this number of rows, and wait for the shards that it needs. Called by a thread
 * that may wait. A failure shows when the shards are taken.
 */
void shard_pool_prepare(struct shard_pool *pool, uint32_t num_rows);

/*
 * The table has been copied, or will not be.
 *
 * num_left  rows that the last shard taken has room for
 */
void shard_pool_finish(struct shard_pool *pool, uint32_t num_rows, uint32_t num_left);

/* Kernel memory of all shards, in bytes. */
uint64_t shard_pool_get_size(struct shard_pool *pool);

/*
 * Take the next shard, all zero; made now when none is ready. The first one taken is number 0 in
 * the map, and so on.
 *
 * ret  borrowed from the pool until it is unmapped
 *
 * Returns 0, -ENOSPC (UNWIND_MAX_SHARDS) or another negative errno.
 */
_must_check_ int shard_pool_take(struct shard_pool *pool, struct unwind_shard **ret);

/* Unmap a shard that was taken; the kernel still has it. */
void shard_pool_unmap(struct shard_pool *pool, uint32_t number);

/* A shard that was taken, mapped again if necessary. Returns 0 or negative errno. */
_must_check_ int shard_pool_map(struct shard_pool *pool, uint32_t number,
				struct unwind_shard **ret);

#endif
