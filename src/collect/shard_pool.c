#include "collect/shard_pool.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/attributes.h"

struct shard_pool {
	int shards_fd;
	pthread_mutex_t making; /* held while shards are made, which takes time */
	pthread_mutex_t lock;   /* of what follows, held for a moment */
	struct unwind_shard *shards[UNWIND_MAX_SHARDS];
	uint32_t num_made;
	uint32_t num_taken;
	uint64_t num_coming_rows; /* of tables that are about to be copied */
};

struct shard_pool *shard_pool_new(int shards_fd)
{
	struct shard_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->shards_fd = shards_fd;
	pthread_mutex_init(&pool->making, NULL);
	pthread_mutex_init(&pool->lock, NULL);
	return pool;
}

void shard_pool_free(struct shard_pool *pool)
{
	if (!pool)
		return;
	for (uint32_t i = 0; i < pool->num_made; i++)
		munmap(pool->shards[i], sizeof(struct unwind_shard));
	pthread_mutex_destroy(&pool->lock);
	pthread_mutex_destroy(&pool->making);
	free(pool);
}

/* The map of shards keeps the map that is made here, and so does our mapping of it. */
static int make_memory(int shards_fd, uint32_t number, struct unwind_shard **ret)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_shard",
						sizeof(uint32_t), sizeof(**ret), 1, &opts);
	void *memory;

	if (fd < 0)
		return fd;
	memory = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED)
		return -errno;
	if (bpf_map_update_elem(shards_fd, &number, &fd, BPF_ANY)) {
		int err = -errno;

		munmap(memory, sizeof(**ret));
		return err;
	}
	*ret = memory;
	return 0;
}

/* pool->making is held, so that nobody else adds one. */
static int make_shard(struct shard_pool *pool)
{
	uint32_t number = pool->num_made;
	struct unwind_shard *shard = NULL;
	int err = number == UNWIND_MAX_SHARDS ? -ENOSPC
					      : make_memory(pool->shards_fd, number, &shard);

	if (err)
		return err;
	pthread_mutex_lock(&pool->lock);
	pool->shards[number] = shard;
	pool->num_made++;
	pthread_mutex_unlock(&pool->lock);
	return 0;
}

static bool wants_more(struct shard_pool *pool)
{
	bool result;

	pthread_mutex_lock(&pool->lock);
	result = pool->num_made - pool->num_taken < pool->num_coming_rows / UNWIND_SHARD_ROWS + 1;
	pthread_mutex_unlock(&pool->lock);
	return result;
}

void shard_pool_prepare(struct shard_pool *pool, uint32_t num_rows)
{
	pthread_mutex_lock(&pool->lock);
	pool->num_coming_rows += num_rows;
	pthread_mutex_unlock(&pool->lock);
	pthread_mutex_lock(&pool->making);
	while (wants_more(pool) && !make_shard(pool))
		;
	pthread_mutex_unlock(&pool->making);
}

void shard_pool_finish(struct shard_pool *pool, uint32_t num_rows)
{
	pthread_mutex_lock(&pool->lock);
	pool->num_coming_rows -= num_rows;
	pthread_mutex_unlock(&pool->lock);
}

static struct unwind_shard *take_ready(struct shard_pool *pool)
{
	struct unwind_shard *shard = NULL;

	pthread_mutex_lock(&pool->lock);
	if (pool->num_taken < pool->num_made)
		shard = pool->shards[pool->num_taken++];
	pthread_mutex_unlock(&pool->lock);
	return shard;
}

int shard_pool_take(struct shard_pool *pool, struct unwind_shard **ret)
{
	struct unwind_shard *shard = take_ready(pool);
	int err = 0;

	if (!shard) {
		pthread_mutex_lock(&pool->making);
		shard = take_ready(pool); /* perhaps one was being made */
		if (!shard)
			err = make_shard(pool);
		pthread_mutex_unlock(&pool->making);
		if (!err && !shard)
			shard = take_ready(pool);
	}
	if (err)
		return err;
	*ret = shard;
	return 0;
}
