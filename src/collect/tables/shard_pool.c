/*
 * Putting a shard into the BPF map waits for an RCU grace period, as long for several as for one.
 * So the rows of all tables that are about to be copied are added up, and the shards for them are
 * made in one batch, and one or two more: the next table shall not wait for a grace period. Not more
 * than that, because a shard is locked kernel memory.
 *
 * The kernel waits after it has put the shards: programs that still run may have seen earlier values.
 * The slots were empty, so a shard can be used as soon as it is found there, while the maker's call
 * still waits.
 */
#include "collect/tables/shard_pool.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "base/confinement.h"

/* Rows at the end of a shard that stay free because the next page does not fit: mostly fewer. */
#define END_ROWS 2000
/* The most shards in a batch. */
#define BATCH_MAX 64
/* Spare shards when the maker has made some. */
#define SPARE_MAX 2
/* How often to look whether the kernel has put shards. */
#define LOOK_NS (NS_PER_MS / 5)
/* The kernel puts the map's header before the value, in a page of its own. */
#define MAP_BYTES 4096

struct shard_pool {
	int shards_fd;
	pthread_mutex_t making; /* held while shards are made, which takes time */
	pthread_mutex_t lock;   /* of the members below, held shortly */
	struct unwind_shard *shards[UNWIND_MAX_SHARDS]; /* NULL: not mapped */
	int fds[UNWIND_MAX_SHARDS];                     /* the map of each shard that is made */
	uint32_t num_made;
	uint32_t num_pending; /* after these: their call has not returned yet */
	uint32_t num_taken;
	uint32_t num_left_rows;   /* in the last one taken */
	uint64_t num_coming_rows; /* of tables that are about to be copied */
	pthread_t maker;          /* makes the spare shard */
	bool has_maker;
	bool is_closing;
	bool has_failed;         /* the maker makes no more */
	pthread_cond_t is_asked; /* the maker has to look */
};

struct shard_pool *shard_pool_new(int shards_fd)
{
	struct shard_pool *pool = calloc(1, sizeof(*pool));

	if (!pool)
		return NULL;
	pool->shards_fd = shards_fd;
	pthread_mutex_init(&pool->making, NULL);
	pthread_mutex_init(&pool->lock, NULL);
	pthread_cond_init(&pool->is_asked, NULL);
	return pool;
}

/* The lock is held. */
static void unmap(struct shard_pool *pool, uint32_t number)
{
	if (pool->shards[number])
		munmap(pool->shards[number], sizeof(*pool->shards[number]));
	pool->shards[number] = NULL;
}

/* The lock is held. */
static void unmap_all(struct shard_pool *pool)
{
	for (uint32_t i = 0; i < pool->num_made; i++)
		unmap(pool, i);
}

/* The maker is not waited for: it may be in a call that takes long. */
void shard_pool_close(struct shard_pool *pool)
{
	pthread_mutex_lock(&pool->lock);
	pool->is_closing = true;
	pthread_cond_signal(&pool->is_asked);
	unmap_all(pool);
	pthread_mutex_unlock(&pool->lock);
}

void shard_pool_free(struct shard_pool *pool)
{
	if (!pool)
		return;
	shard_pool_close(pool);
	if (pool->has_maker)
		pthread_join(pool->maker, NULL);
	unmap_all(pool);
	for (uint32_t i = 0; i < pool->num_made; i++)
		close(pool->fds[i]);
	pthread_cond_destroy(&pool->is_asked);
	pthread_mutex_destroy(&pool->lock);
	pthread_mutex_destroy(&pool->making);
	free(pool);
}

static int map_shard(int fd, struct unwind_shard **ret)
{
	void *memory = mmap(NULL, sizeof(**ret), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (memory == MAP_FAILED)
		return -errno;
	(void)madvise(memory, sizeof(**ret), MADV_DONTFORK); /* not inherited by our children */
	*ret = memory;
	return 0;
}

static int make_memory(struct unwind_shard **ret, int *ret_fd)
{
	LIBBPF_OPTS(bpf_map_create_opts, opts, .map_flags = BPF_F_MMAPABLE);
	int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind_shard", sizeof(uint32_t), sizeof(**ret),
				1, &opts);
	int err;

	if (fd < 0)
		return fd;
	err = map_shard(fd, ret);
	if (err)
		close(fd);
	*ret_fd = fd;
	return err;
}

/* Shards that are about to be put into the map. */
struct batch {
	uint32_t count;
	uint32_t numbers[BATCH_MAX];
	int fds[BATCH_MAX];
	struct unwind_shard *shards[BATCH_MAX];
};

/* Returns the number of shards that were put. Before Linux 5.19 there is no batch operation. */
static uint32_t put_batch(int shards_fd, const struct batch *batch)
{
	uint32_t count = batch->count;
	uint32_t done = 0;

	if (!bpf_map_update_batch(shards_fd, batch->numbers, batch->fds, &count, NULL))
		return batch->count;
	while (done < batch->count &&
	       !bpf_map_update_elem(shards_fd, &batch->numbers[done], &batch->fds[done], BPF_ANY))
		done++;
	return done;
}

/* Call before putting them. */
static void note_pending(struct shard_pool *pool, const struct batch *batch)
{
	pthread_mutex_lock(&pool->lock);
	for (uint32_t i = 0; i < batch->count; i++) {
		pool->shards[batch->numbers[i]] = batch->shards[i];
		pool->fds[batch->numbers[i]] = batch->fds[i];
	}
	pool->num_pending = batch->count;
	pthread_mutex_unlock(&pool->lock);
}

/* Count pending shards that are in the map already. The lock is held. */
static void see_pending(struct shard_pool *pool)
{
	uint32_t id;

	while (pool->num_pending && !bpf_map_lookup_elem(pool->shards_fd, &pool->num_made, &id)) {
		pool->num_pending--;
		pool->num_made++;
	}
}

/*
 * Make so many. pool->making is held, so that nobody else adds some. The map of shards keeps the
 * maps that are made here, and so do our mappings of them.
 */
static int make_shards(struct shard_pool *pool, uint32_t count)
{
	struct batch batch = {0};
	uint32_t first = pool->num_made;
	uint32_t num_put;
	int err = 0;

	if (first == UNWIND_MAX_SHARDS)
		return -ENOSPC;
	for (; batch.count < count && batch.count < BATCH_MAX &&
	       first + batch.count < UNWIND_MAX_SHARDS;
	     batch.count++) {
		batch.numbers[batch.count] = first + batch.count;
		err = make_memory(&batch.shards[batch.count], &batch.fds[batch.count]);
		if (err)
			break;
	}
	note_pending(pool, &batch);
	/* If one could not be made, those before it are put all the same. */
	num_put = batch.count ? put_batch(pool->shards_fd, &batch) : 0;
	if (!num_put && !err)
		err = -errno;
	pthread_mutex_lock(&pool->lock);
	if (pool->num_made < first + num_put)
		pool->num_made = first + num_put;
	num_put = pool->num_made - first;
	pool->num_pending = 0;
	pthread_mutex_unlock(&pool->lock);
	for (uint32_t i = num_put; i < batch.count; i++) {
		munmap(batch.shards[i], sizeof(*batch.shards[i]));
		close(batch.fds[i]);
	}
	return num_put ? 0 : err;
}

/* The number of shards that announced tables need. The lock is held. */
static uint64_t count_needed(const struct shard_pool *pool)
{
	uint64_t per_shard = UNWIND_SHARD_ROWS - END_ROWS;
	uint64_t num_rows = pool->num_coming_rows;

	num_rows -= num_rows < pool->num_left_rows ? num_rows : pool->num_left_rows;
	return (num_rows + per_shard - 1) / per_shard;
}

/* The number of shards that announced tables need and that do not exist yet. */
static uint32_t count_missing(struct shard_pool *pool)
{
	uint64_t num_needed;
	uint64_t ready;

	pthread_mutex_lock(&pool->lock);
	see_pending(pool);
	ready = pool->num_made - pool->num_taken;
	num_needed = count_needed(pool);
	pthread_mutex_unlock(&pool->lock);
	return num_needed > ready ? (uint32_t)(num_needed - ready) : 0;
}

/* The number of shards to make so that some are spare; 0: there is a spare one. The lock is held. */
static uint32_t count_lacking(const struct shard_pool *pool)
{
	uint64_t ready = pool->num_made - pool->num_taken;
	uint64_t num_needed = count_needed(pool);

	if (pool->has_failed || pool->num_made == UNWIND_MAX_SHARDS || ready > num_needed)
		return 0;
	return (uint32_t)(num_needed + SPARE_MAX - ready);
}

/* Make spare shards. Returns false if there is one. The lock is held, except while they are made. */
static bool make_spare(struct shard_pool *pool)
{
	uint32_t count;
	int err;

	if (!count_lacking(pool))
		return false;
	pthread_mutex_unlock(&pool->lock);
	pthread_mutex_lock(&pool->making);
	pthread_mutex_lock(&pool->lock);
	count = count_lacking(pool); /* another thread may have made some */
	pthread_mutex_unlock(&pool->lock);
	err = count ? make_shards(pool, count) : 0;
	pthread_mutex_unlock(&pool->making);
	pthread_mutex_lock(&pool->lock);
	pool->has_failed = err != 0;
	return true;
}

static void *run_maker(void *context)
{
	struct shard_pool *pool = context;

	/* The thread starts before the recorder has given up its rights. */
	(void)!confinement_keep_sampling_rights(false);
	pthread_mutex_lock(&pool->lock);
	while (!pool->is_closing)
		if (!make_spare(pool))
			pthread_cond_wait(&pool->is_asked, &pool->lock);
	pthread_mutex_unlock(&pool->lock);
	return NULL;
}

void shard_pool_start_maker(struct shard_pool *pool)
{
	pool->has_maker = !pthread_create(&pool->maker, NULL, run_maker, pool);
}

static bool is_maker_at_work(struct shard_pool *pool)
{
	bool is_at_work;

	pthread_mutex_lock(&pool->lock);
	is_at_work = pool->has_maker && !pool->has_failed && pool->num_made < UNWIND_MAX_SHARDS;
	pthread_mutex_unlock(&pool->lock);
	return is_at_work;
}

void shard_pool_prepare(struct shard_pool *pool, uint32_t num_rows)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	uint32_t num_missing;

	pthread_mutex_lock(&pool->lock);
	pool->num_coming_rows += num_rows;
	pthread_cond_signal(&pool->is_asked);
	pthread_mutex_unlock(&pool->lock);
	while (count_missing(pool) && is_maker_at_work(pool))
		nanosleep(&pause, NULL);
	if (!count_missing(pool))
		return;
	pthread_mutex_lock(&pool->making);
	for (;;) {
		num_missing = count_missing(pool);
		if (!num_missing || make_shards(pool, num_missing))
			break;
	}
	pthread_mutex_unlock(&pool->making);
}

void shard_pool_finish(struct shard_pool *pool, uint32_t num_rows, uint32_t num_left)
{
	pthread_mutex_lock(&pool->lock);
	pool->num_coming_rows -= num_rows;
	pool->num_left_rows = num_left < END_ROWS ? 0 : num_left - END_ROWS;
	pthread_mutex_unlock(&pool->lock);
}

int shard_pool_map(struct shard_pool *pool, uint32_t number, struct unwind_shard **ret)
{
	int err = 0;

	pthread_mutex_lock(&pool->lock);
	if (!pool->shards[number])
		err = map_shard(pool->fds[number], &pool->shards[number]);
	*ret = pool->shards[number];
	pthread_mutex_unlock(&pool->lock);
	return err;
}

void shard_pool_unmap(struct shard_pool *pool, uint32_t number)
{
	pthread_mutex_lock(&pool->lock);
	unmap(pool, number);
	pthread_mutex_unlock(&pool->lock);
}

uint64_t shard_pool_get_size(struct shard_pool *pool)
{
	uint64_t num_made;

	pthread_mutex_lock(&pool->lock);
	num_made = pool->num_made;
	pthread_mutex_unlock(&pool->lock);
	return num_made * (sizeof(struct unwind_shard) + MAP_BYTES);
}

static struct unwind_shard *take_ready(struct shard_pool *pool)
{
	struct unwind_shard *shard = NULL;

	pthread_mutex_lock(&pool->lock);
	see_pending(pool);
	if (pool->num_taken < pool->num_made)
		shard = pool->shards[pool->num_taken++];
	pthread_cond_signal(&pool->is_asked);
	pthread_mutex_unlock(&pool->lock);
	return shard;
}

int shard_pool_take(struct shard_pool *pool, struct unwind_shard **ret)
{
	int err = 0;

	*ret = take_ready(pool);
	if (*ret)
		return 0;
	pthread_mutex_lock(&pool->making);
	/* Another thread may have made one meanwhile, or take the one that is made here. */
	while (!(*ret = take_ready(pool)) && !err)
		err = make_shards(pool, 1);
	pthread_mutex_unlock(&pool->making);
	return *ret ? 0 : err;
}
