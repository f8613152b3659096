/* Shards that are made ahead of need. The test replaces the kernel's maps by memory, and can be another thread that takes shards. */
#include <pthread.h>

static int unlock_before_others(pthread_mutex_t *mutex);
#define pthread_mutex_unlock unlock_before_others
#include "collect/tables/shard_pool.c"
#undef pthread_mutex_unlock

#include "unit.h"

#include <sys/syscall.h>

#define SHARDS_FD 1000
#define PER_SHARD (UNWIND_SHARD_ROWS - END_ROWS)

static uint32_t num_created;
static uint32_t max_created; /* the next one fails */
static bool has_batches;
static uint32_t num_batches;
static uint32_t num_single;
static uint32_t max_put; /* in all */
static uint32_t num_put;
static struct shard_pool *pool;
static uint32_t num_others; /* threads that take a shard as soon as there is one */

static int unlock_before_others(pthread_mutex_t *mutex)
{
	int err = pthread_mutex_unlock(mutex);

	if (num_others && pool->num_taken < pool->num_made) {
		num_others--;
		pool->num_taken++;
	}
	return err;
}

int bpf_map_create(enum bpf_map_type type, const char *name _unused_, __u32 key_size,
		   __u32 value_size, __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	int fd;

	assert_int_equal(type, BPF_MAP_TYPE_ARRAY);
	assert_int_equal(key_size, 4);
	assert_int_equal(max_entries, 1);
	assert_int_equal(opts->map_flags, BPF_F_MMAPABLE);
	if (num_created == max_created)
		return -ENOMEM;
	num_created++;
	fd = (int)syscall(SYS_memfd_create, "shard", 0);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, value_size), 0);
	return fd;
}

/* Numbers come in order, each once. */
static int put(uint32_t number)
{
	errno = ENOSPC;
	if (num_put == max_put)
		return -ENOSPC;
	assert_int_equal(number, num_put);
	num_put++;
	return 0;
}

int bpf_map_update_elem(int fd, const void *key, const void *value _unused_, __u64 flags _unused_)
{
	assert_int_equal(fd, SHARDS_FD);
	num_single++;
	return put(*(const uint32_t *)key);
}

int bpf_map_update_batch(int fd, const void *keys, const void *values _unused_, __u32 *count,
			 const struct bpf_map_batch_opts *opts _unused_)
{
	assert_int_equal(fd, SHARDS_FD);
	errno = EINVAL;
	if (!has_batches)
		return -EINVAL;
	num_batches++;
	for (uint32_t i = 0; i < *count; i++)
		if (put(((const uint32_t *)keys)[i]))
			return -ENOSPC;
	return 0;
}

static uint32_t num_seen; /* shards that a lookup finds before the call that puts them returns */

int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	assert_int_equal(fd, SHARDS_FD);
	if (*(const uint32_t *)key >= num_seen)
		return -ENOENT;
	*(uint32_t *)value = 1;
	return 0;
}

static int find_free_fd(void)
{
	int fd = dup(0);

	close(fd);
	return fd;
}

static int set_up(void **state _unused_)
{
	num_created = num_batches = num_single = num_put = num_seen = 0;
	max_created = max_put = UINT32_MAX;
	has_batches = true;
	pool = shard_pool_new(SHARDS_FD);
	assert_non_null(pool);
	return 0;
}

static int tear_down(void **state _unused_)
{
	shard_pool_free(pool);
	return 0;
}

static void a_shard_is_made_for_each_part_of_a_table(void **state _unused_)
{
	static const uint32_t counts[][2] = {{0, 0},
					     {1, 1},
					     {PER_SHARD, 1},
					     {PER_SHARD + 1, 2},
					     {3 * PER_SHARD, 3},
					     {64 * PER_SHARD, 64}};

	int first_free = find_free_fd();

	for (size_t i = 0; i < ARRAY_LENGTH(counts); i++) {
		tear_down(NULL);
		assert_int_equal(find_free_fd(), first_free);
		set_up(NULL);
		shard_pool_prepare(pool, counts[i][0]);
		assert_int_equal(num_created, counts[i][1]);
		assert_int_equal(num_batches, counts[i][1] > 0);
		assert_int_equal(shard_pool_get_size(pool),
				 counts[i][1] * (sizeof(struct unwind_shard) + 4096));
	}
}

static void more_than_a_batch_is_made_in_several(void **state _unused_)
{
	shard_pool_prepare(pool, 65 * PER_SHARD);
	assert_int_equal(num_created, 65);
	assert_int_equal(num_batches, 2);
}

static void without_batches_shards_are_put_one_by_one(void **state _unused_)
{
	has_batches = false;
	shard_pool_prepare(pool, 3 * PER_SHARD);
	assert_int_equal(num_single, 3);
	assert_int_equal(shard_pool_get_size(pool), 3 * (sizeof(struct unwind_shard) + 4096));
}

static void tables_that_are_announced_add_up(void **state _unused_)
{
	shard_pool_prepare(pool, PER_SHARD / 2);
	shard_pool_prepare(pool, PER_SHARD / 2);
	assert_int_equal(num_created, 1);
	shard_pool_prepare(pool, PER_SHARD / 2);
	assert_int_equal(num_created, 2);
	/* Those that were copied need no more. */
	shard_pool_finish(pool, PER_SHARD / 2, 0);
	shard_pool_finish(pool, PER_SHARD / 2, 0);
	shard_pool_prepare(pool, PER_SHARD);
	assert_int_equal(num_created, 2);
	shard_pool_prepare(pool, PER_SHARD);
	assert_int_equal(num_created, 3);
}

static void rows_that_are_left_are_used_but_for_the_end(void **state _unused_)
{
	struct unwind_shard *shard;

	shard_pool_prepare(pool, 100);
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	shard_pool_finish(pool, 100, END_ROWS + 500);
	shard_pool_prepare(pool, 500);
	assert_int_equal(num_created, 1);
	shard_pool_prepare(pool, 1);
	assert_int_equal(num_created, 2);
	shard_pool_finish(pool, 501, END_ROWS - 1);
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	shard_pool_prepare(pool, 1);
	assert_int_equal(num_created, 3);
}

static void shards_are_taken_in_order_and_made_if_none_is_ready(void **state _unused_)
{
	struct unwind_shard *shards[3];

	shard_pool_prepare(pool, 2 * PER_SHARD);
	for (size_t i = 0; i < ARRAY_LENGTH(shards); i++) {
		assert_int_equal(shard_pool_take(pool, &shards[i]), 0);
		assert_ptr_equal(shards[i], pool->shards[i]);
		assert_int_equal(shards[i]->rows[UNWIND_SHARD_ROWS - 1].rule, 0);
		shards[i]->rows[UNWIND_SHARD_ROWS - 1].rule = 1;
	}
	assert_int_equal(num_created, 3);
}

static void a_shard_that_another_thread_takes_is_made_again(void **state _unused_)
{
	struct unwind_shard *shard = NULL;

	num_others = 2;
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(num_others, 0);
	assert_int_equal(num_put, 3);
	assert_ptr_equal(shard, pool->shards[2]);
	max_put = 4;
	num_others = 1;
	assert_int_equal(shard_pool_take(pool, &shard), -ENOSPC);
	assert_null(shard);
}

static void the_number_of_shards_is_bounded(void **state _unused_)
{
	struct unwind_shard *shard;

	for (uint32_t i = 0; i < UNWIND_MAX_SHARDS / 64 + 1; i++)
		shard_pool_prepare(pool, 64 * PER_SHARD);
	assert_int_equal(num_created, UNWIND_MAX_SHARDS);
	for (uint32_t i = 0; i < UNWIND_MAX_SHARDS; i++)
		assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(shard_pool_take(pool, &shard), -ENOSPC);
}

static void what_could_be_made_is_there_before_the_error(void **state _unused_)
{
	int first_free = find_free_fd();
	struct unwind_shard *shard;

	max_created = 2;
	shard_pool_prepare(pool, 3 * PER_SHARD);
	assert_int_equal(num_put, 2);
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(shard_pool_take(pool, &shard), -ENOMEM);
	max_created = UINT32_MAX;
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	tear_down(NULL);
	assert_int_equal(find_free_fd(), first_free);
	set_up(NULL);
}

static void a_shard_can_be_unmapped_and_mapped_again(void **state _unused_)
{
	struct unwind_shard *shard;

	assert_int_equal(shard_pool_take(pool, &shard), 0);
	shard->rows[7].rule = 7;
	shard_pool_unmap(pool, 0);
	assert_null(pool->shards[0]);
	assert_int_equal(shard_pool_map(pool, 0, &shard), 0);
	assert_int_equal(shard->rows[7].rule, 7);
	assert_int_equal(shard_pool_map(pool, 0, &shard), 0); /* once is enough */
	shard_pool_close(pool);
	assert_null(pool->shards[0]);
	assert_int_equal(shard_pool_get_size(pool), sizeof(struct unwind_shard) + 4096);
}

static void shards_that_the_map_refuses_are_not_there(void **state _unused_)
{
	int first_free = find_free_fd();
	struct unwind_shard *shard;

	has_batches = false;
	max_put = 1;
	shard_pool_prepare(pool, 3 * PER_SHARD);
	assert_int_equal(shard_pool_get_size(pool), sizeof(struct unwind_shard) + 4096);
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(shard_pool_take(pool, &shard), -ENOSPC);
	tear_down(NULL);
	assert_int_equal(find_free_fd(), first_free);
	set_up(NULL);
	shard_pool_free(NULL);
}

/* As the maker does. */
static bool make_spare_shard(void)
{
	bool is_made;

	pthread_mutex_lock(&pool->lock);
	is_made = make_spare(pool);
	pthread_mutex_unlock(&pool->lock);
	return is_made;
}

static void some_shards_are_spare(void **state _unused_)
{
	struct unwind_shard *shard;

	/* Before the first table. */
	assert_true(make_spare_shard());
	assert_false(make_spare_shard());
	assert_int_equal(num_created, SPARE_MAX);
	assert_int_equal(num_batches, 1);
	/* Announced tables take them. The last one is a reason to make others. */
	shard_pool_prepare(pool, PER_SHARD);
	assert_false(make_spare_shard());
	shard_pool_prepare(pool, PER_SHARD);
	assert_int_equal(num_created, 2);
	assert_true(make_spare_shard());
	assert_false(make_spare_shard());
	assert_int_equal(num_created, 2 + SPARE_MAX);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(shard_pool_take(pool, &shard), 0);
		shard_pool_finish(pool, PER_SHARD, 0);
		assert_false(make_spare_shard());
	}
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_false(make_spare_shard());
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(num_created, 4);
	assert_true(make_spare_shard());
	assert_int_equal(num_created, 4 + SPARE_MAX);
}

/* The kernel has put the first two of three, and its call waits. */
static void shards_are_used_while_the_kernel_waits(void **state _unused_)
{
	struct batch batch = {.count = 3, .numbers = {0, 1, 2}};
	struct unwind_shard *shard;

	for (uint32_t i = 0; i < batch.count; i++)
		assert_int_equal(make_memory(&batch.shards[i], &batch.fds[i]), 0);
	pthread_mutex_lock(&pool->making);
	note_pending(pool, &batch);
	pool->num_coming_rows = PER_SHARD;
	assert_int_equal(count_missing(pool), 1);
	assert_int_equal(pool->num_made, 0);
	num_seen = 2;
	assert_int_equal(count_missing(pool), 0);
	for (uint32_t i = 0; i < 2; i++) {
		assert_int_equal(shard_pool_take(pool, &shard), 0);
		assert_ptr_equal(shard, batch.shards[i]);
	}
	assert_int_equal(pool->num_made, 2);
	assert_int_equal(pool->num_pending, 1);
	/* A table that needs none does not wait for the one that is being made. */
	shard_pool_finish(pool, PER_SHARD, UNWIND_SHARD_ROWS);
	shard_pool_prepare(pool, PER_SHARD - END_ROWS);
	num_seen = 3;
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_ptr_equal(shard, batch.shards[2]);
	pthread_mutex_unlock(&pool->making);
}

static void no_spare_shard_is_made_after_a_failure(void **state _unused_)
{
	struct unwind_shard *shard;

	max_created = 0;
	assert_true(make_spare_shard());
	max_created = UINT32_MAX;
	assert_false(make_spare_shard());
	assert_int_equal(num_created, 0);
	/* One that is needed is made. */
	assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(num_created, 1);
}

static void no_spare_shard_is_made_beyond_the_limit(void **state _unused_)
{
	for (uint32_t i = 0; i < UNWIND_MAX_SHARDS / 64; i++)
		shard_pool_prepare(pool, 64 * PER_SHARD);
	assert_false(make_spare_shard());
	assert_int_equal(num_created, UNWIND_MAX_SHARDS);
}

/* Another thread makes shards: a table that has its own does not wait for them. */
static void a_table_with_enough_shards_does_not_wait(void **state _unused_)
{
	assert_true(make_spare_shard());
	pthread_mutex_lock(&pool->making);
	shard_pool_prepare(pool, PER_SHARD);
	pthread_mutex_unlock(&pool->making);
	assert_int_equal(num_created, SPARE_MAX);
}

/* Whatever the maker has done by then. */
static void the_maker_ends_with_the_pool(void **state _unused_)
{
	struct unwind_shard *shard;

	shard_pool_start_maker(pool);
	for (int i = 0; i < 8; i++) {
		shard_pool_prepare(pool, PER_SHARD);
		assert_int_equal(shard_pool_take(pool, &shard), 0);
		shard_pool_finish(pool, PER_SHARD, 0);
	}
	tear_down(NULL);
	assert_true(num_put >= 8);
	set_up(NULL);
}

static void without_shards_the_maker_is_not_waited_for(void **state _unused_)
{
	struct unwind_shard *shard;

	max_created = 3;
	shard_pool_start_maker(pool);
	shard_pool_prepare(pool, 5 * PER_SHARD);
	for (int i = 0; i < 3; i++)
		assert_int_equal(shard_pool_take(pool, &shard), 0);
	assert_int_equal(shard_pool_take(pool, &shard), -ENOMEM);
}

static void at_the_limit_the_maker_is_not_waited_for(void **state _unused_)
{
	shard_pool_start_maker(pool);
	for (uint32_t i = 0; i < UNWIND_MAX_SHARDS / 64 + 2; i++)
		shard_pool_prepare(pool, 64 * PER_SHARD);
	assert_int_equal(pool->num_made, UNWIND_MAX_SHARDS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_shard_is_made_for_each_part_of_a_table),
		TEST(more_than_a_batch_is_made_in_several),
		TEST(without_batches_shards_are_put_one_by_one),
		TEST(tables_that_are_announced_add_up),
		TEST(rows_that_are_left_are_used_but_for_the_end),
		TEST(shards_are_taken_in_order_and_made_if_none_is_ready),
		TEST(a_shard_that_another_thread_takes_is_made_again),
		TEST(the_number_of_shards_is_bounded),
		TEST(what_could_be_made_is_there_before_the_error),
		TEST(a_shard_can_be_unmapped_and_mapped_again),
		TEST(shards_that_the_map_refuses_are_not_there),
		TEST(some_shards_are_spare),
		TEST(shards_are_used_while_the_kernel_waits),
		TEST(no_spare_shard_is_made_after_a_failure),
		TEST(no_spare_shard_is_made_beyond_the_limit),
		TEST(a_table_with_enough_shards_does_not_wait),
		TEST(the_maker_ends_with_the_pool),
		TEST(without_shards_the_maker_is_not_waited_for),
		TEST(at_the_limit_the_maker_is_not_waited_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
