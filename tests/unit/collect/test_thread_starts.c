/* When the thread that has a tid began, as time advances. */
#include "base/spool.h"

int rewind_of_test(struct spool *spool);
int next_of_test(struct spool *spool, void *ret);

#define spool_rewind rewind_of_test
#define spool_next   next_of_test
#include "collect/trace/thread_starts.c"
#undef spool_rewind
#undef spool_next

#include "failing_memory.h"
#include "test_folder.h"
#include "unit.h"

#define PID 100

static int rewind_error; /* what the file gives; 0: it is read */
static int next_error;
static int num_rewinds;

int rewind_of_test(struct spool *spool)
{
	num_rewinds++;
	return rewind_error ? rewind_error : spool_rewind(spool);
}

int next_of_test(struct spool *spool, void *ret)
{
	return next_error ? next_error : spool_next(spool, ret);
}

static struct spool *spool;
static struct thread_starts *starts;

static int set_up(void **state _unused_)
{
	rewind_error = next_error = num_rewinds = 0;
	assert_int_equal(
		spool_new(test_parent_folder(), sizeof(struct thread_start), NULL, &spool, NULL),
		0);
	starts = thread_starts_new(spool);
	assert_non_null(starts);
	return 0;
}

static int tear_down(void **state _unused_)
{
	thread_starts_free(starts);
	spool_free(spool);
	return 0;
}

static void add(uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	spool_add(spool, &(struct thread_start){time_ns, pid, tid});
}

static void go_to(uint64_t time_ns)
{
	assert_int_equal(thread_starts_go_to(starts, time_ns), 0);
}

static void a_start_is_known_from_its_time_on(void **state _unused_)
{
	add(10, PID, 101);
	add(20, PID, 102);
	assert_int_equal(thread_starts_find(starts, PID, 101), 0);
	go_to(9);
	assert_int_equal(thread_starts_find(starts, PID, 101), 0);
	go_to(10);
	assert_int_equal(thread_starts_find(starts, PID, 101), 10);
	assert_int_equal(thread_starts_find(starts, PID, 102), 0);
	go_to(20);
	assert_int_equal(thread_starts_find(starts, PID, 102), 20);
	assert_int_equal(thread_starts_find(starts, PID, 103), 0);
	assert_int_equal(num_rewinds, 1);
}

static void a_tid_is_that_of_its_last_thread(void **state _unused_)
{
	add(10, PID, 101);
	add(20, PID, 101);
	add(30, PID + 1, 101);
	go_to(15);
	assert_int_equal(thread_starts_find(starts, PID, 101), 10);
	go_to(25);
	assert_int_equal(thread_starts_find(starts, PID, 101), 20);
	assert_int_equal(thread_starts_find(starts, PID + 1, 101), 0);
	/* Of another process by now. */
	go_to(30);
	assert_int_equal(thread_starts_find(starts, PID, 101), 0);
	assert_int_equal(thread_starts_find(starts, PID + 1, 101), 30);
}

static void time_may_pass_over_many(void **state _unused_)
{
	for (uint32_t i = 1; i <= 100; i++)
		add(i, PID, 100 + i % 50);
	go_to(1000);
	for (uint32_t i = 51; i <= 100; i++)
		assert_int_equal(thread_starts_find(starts, PID, 100 + i % 50), i);
}

static void a_file_that_cannot_be_read_is_an_error(void **state _unused_)
{
	add(10, PID, 101);
	add(20, PID, 102);
	add(30, PID, 103);
	rewind_error = -EIO;
	assert_int_equal(thread_starts_go_to(starts, 5), -EIO);
	thread_starts_free(starts);
	starts = thread_starts_new(spool);
	rewind_error = 0;
	next_error = -EIO;
	assert_int_equal(thread_starts_go_to(starts, 5), -EIO);
	/* What was not read is no start. */
	assert_int_equal(thread_starts_go_to(starts, UINT64_MAX), 0);
	assert_int_equal(thread_starts_find(starts, 0, 0), 0);
	assert_int_equal(starts->latest.length, 0);
	thread_starts_free(starts);
	starts = thread_starts_new(spool);
	next_error = 0;
	go_to(5);
	next_error = -EIO;
	assert_int_equal(thread_starts_go_to(starts, 10), -EIO);
}

static int read_all(void *context _unused_)
{
	struct thread_starts *made = thread_starts_new(spool);
	int err = made ? thread_starts_go_to(made, 1000) : -ENOMEM;

	thread_starts_free(made);
	return err;
}

static void short_memory_is_an_error(void **state _unused_)
{
	for (uint32_t i = 0; i < 20; i++)
		add(i, PID, i);
	assert_int_equal(spool_rewind(spool), 0); /* all is written by now */
	failing_memory_try_all(read_all, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_start_is_known_from_its_time_on),
		TEST(a_tid_is_that_of_its_last_thread),
		TEST(time_may_pass_over_many),
		TEST(a_file_that_cannot_be_read_is_an_error),
		TEST(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
