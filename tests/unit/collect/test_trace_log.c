/* Stack areas, the order of spools, and counters of lost items. */
#include "collect/trace/trace_log.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>

#include "base/attributes.h"
#include "failing_memory.h"
#include "test_folder.h"
#include "timeline/timeline.h"
#include "unit.h"

#define LOW  0x7f0000000000ull
#define PAGE 0x1000ull

struct fixture {
	char folder[TEST_PATH_BYTES];
	struct trace_log *log;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct error error;

	test_folder_make(fixture->folder);
	assert_int_equal(trace_log_new(fixture->folder, &fixture->log, &error), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	trace_log_free(fixture->log);
	/* The spools have no names. */
	assert_int_equal(rmdir(fixture->folder), 0);
	free(fixture);
	return 0;
}

static void see(struct fixture *fixture, enum wire_stack_kind kind, uint32_t tid, uint64_t start,
		uint64_t end)
{
	const struct wire_stack_area area = {
		.kind = kind, .pid = 5, .tid = tid, .start = start, .end = end, .time_ns = 100};

	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
}

static size_t count_areas(const struct fixture *fixture)
{
	size_t count;

	(void)trace_log_get_areas(fixture->log, &count);
	return count;
}

static const struct stack_area *get_area(const struct fixture *fixture, size_t number)
{
	size_t count;
	const struct stack_area *areas = trace_log_get_areas(fixture->log, &count);

	assert_true(number < count);
	return &areas[number];
}

static void a_grown_stack_stays_one_area(void **state)
{
	struct fixture *fixture = *state;

	see(fixture, WIRE_STACK_MAIN, 5, LOW + PAGE, LOW + 9 * PAGE);
	see(fixture, WIRE_STACK_MAIN, 6, LOW + 2 * PAGE, LOW + 9 * PAGE);
	see(fixture, WIRE_STACK_MAIN, 5, LOW, LOW + 9 * PAGE);
	assert_int_equal(count_areas(fixture), 1);
	assert_int_equal(get_area(fixture, 0)->start, LOW);
	assert_int_equal(get_area(fixture, 0)->kind, STACK_MAIN);
	see(fixture, WIRE_STACK_OTHER, 5, LOW, LOW + 9 * PAGE);
	see(fixture, WIRE_STACK_MAIN, 5, LOW, LOW + 8 * PAGE);
	assert_int_equal(count_areas(fixture), 3);
}

static void each_thread_has_its_signal_stack(void **state)
{
	struct fixture *fixture = *state;

	see(fixture, WIRE_STACK_SIGNAL, 6, LOW, LOW + PAGE);
	see(fixture, WIRE_STACK_SIGNAL, 7, LOW, LOW + PAGE);
	assert_int_equal(count_areas(fixture), 2);
	assert_int_equal(get_area(fixture, 1)->tid, 7);
}

/* The rest of the mapping may belong to the next thread. */
static void a_threads_stack_ends_with_the_page_of_its_own_data(void **state)
{
	struct fixture *fixture = *state;
	struct wire_stack_area area = {.kind = WIRE_STACK_THREAD,
				       .pid = 5,
				       .tid = 6,
				       .start = LOW,
				       .end = LOW + 9 * PAGE,
				       .thread_pointer = LOW + 3 * PAGE + 16};

	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
	assert_int_equal(get_area(fixture, 0)->end, LOW + 4 * PAGE);
	assert_int_equal(get_area(fixture, 0)->kind, STACK_THREAD);
	assert_int_equal(get_area(fixture, 0)->tid, 6);
	/* The first thread's stack is elsewhere. */
	area.tid = 5;
	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
	assert_int_equal(get_area(fixture, 1)->kind, STACK_OTHER);
	assert_int_equal(get_area(fixture, 1)->end, LOW + 9 * PAGE);
	assert_int_equal(get_area(fixture, 1)->tid, 0);
}

/* Its thread pointer does not limit it. */
static void a_bounded_threads_stack_is_taken_as_it_is(void **state)
{
	struct fixture *fixture = *state;
	const struct wire_stack_area area = {.kind = WIRE_STACK_BOUNDED_THREAD,
					     .pid = 5,
					     .tid = 5,
					     .start = LOW + 16,
					     .end = LOW + 9 * PAGE + 16,
					     .thread_pointer = LOW + 3 * PAGE};

	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
	assert_int_equal(get_area(fixture, 0)->kind, STACK_THREAD);
	assert_int_equal(get_area(fixture, 0)->tid, 5);
	assert_int_equal(get_area(fixture, 0)->start, LOW + 16);
	assert_int_equal(get_area(fixture, 0)->end, LOW + 9 * PAGE + 16);
	assert_true(get_area(fixture, 0)->has_exact_bounds);
}

static void malformed_areas_are_ignored(void **state)
{
	struct fixture *fixture = *state;

	see(fixture, WIRE_STACK_NONE, 5, LOW, LOW + PAGE);
	see(fixture, WIRE_STACK_MAIN, 5, LOW + PAGE, LOW + PAGE);
	see(fixture, WIRE_STACK_MAIN, 5, LOW + PAGE, LOW);
	assert_int_equal(count_areas(fixture), 0);
}

static void a_goroutine_replaces_areas_that_it_overlaps(void **state)
{
	struct fixture *fixture = *state;

	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW, LOW + 2 * PAGE);
	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW + 2 * PAGE, LOW + 4 * PAGE);
	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW, LOW + 2 * PAGE);
	assert_int_equal(count_areas(fixture), 2); /* both are present */
	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW + PAGE, LOW + 3 * PAGE);
	assert_int_equal(count_areas(fixture), 3);
	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW + 2 * PAGE, LOW + 4 * PAGE);
	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW, LOW + 2 * PAGE);
	assert_int_equal(count_areas(fixture), 5); /* both were replaced */
	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW, LOW + 4 * PAGE);
	see(fixture, WIRE_STACK_GOROUTINE, 5, LOW, LOW + 4 * PAGE);
	assert_int_equal(count_areas(fixture), 6);
}

static void samples_come_back_in_the_order_of_time_and_cpu(void **state)
{
	static const struct timed_sample samples[] = {
		{.time_ns = 30, .cpu = 1}, {.time_ns = 10, .cpu = 2}, {.time_ns = 30, .cpu = 0}};
	static const uint64_t expected[][2] = {{10, 2}, {30, 0}, {30, 1}};
	struct fixture *fixture = *state;
	struct spool *spool = trace_log_get_samples(fixture->log);
	struct timed_sample sample;

	for (size_t i = 0; i < ARRAY_LENGTH(samples); i++)
		trace_log_add_sample(fixture->log, &samples[i]);
	assert_int_equal(spool_rewind(spool), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		assert_int_equal(spool_next(spool, &sample), 1);
		assert_int_equal(sample.time_ns, expected[i][0]);
		assert_int_equal(sample.cpu, expected[i][1]);
	}
	assert_int_equal(spool_next(spool, &sample), 0);
}

static void waits_come_back_in_the_order_of_their_ends(void **state)
{
	struct fixture *fixture = *state;
	struct spool *spool = trace_log_get_waits(fixture->log);
	struct timed_wait wait;

	for (uint64_t end_ns = 3; end_ns > 0; end_ns--)
		trace_log_add_wait(fixture->log,
				   &(struct timed_wait){.end_ns = end_ns, .wait_ns = 9});
	assert_int_equal(spool_rewind(spool), 0);
	for (uint64_t end_ns = 1; end_ns <= 3; end_ns++) {
		assert_int_equal(spool_next(spool, &wait), 1);
		assert_int_equal(wait.end_ns, end_ns);
	}
}

static void names_and_threads_come_back_in_the_order_of_time(void **state)
{
	struct fixture *fixture = *state;
	struct spool *renames = trace_log_get_renames(fixture->log);
	struct spool *threads = trace_log_get_threads(fixture->log);
	struct thread_rename rename;

	trace_log_add_rename(fixture->log, 20, 5, 6, "second and much too long");
	trace_log_add_rename(fixture->log, 10, 5, 6, "first");
	trace_log_add_thread(fixture->log, 20, 5, 7);
	trace_log_add_thread(fixture->log, 10, 5, 6);
	assert_int_equal(spool_rewind(renames), 0);
	assert_int_equal(spool_next(renames, &rename), 1);
	assert_string_equal(rename.comm, "first");
	assert_int_equal(spool_next(renames, &rename), 1);
	assert_string_equal(rename.comm, "second and much");
	assert_int_equal(spool_rewind(threads), 0);
	assert_int_equal(spool_get_counts(threads).kept, 2);
}

/* RLIMIT_FSIZE acts like a full disk. */
static void a_full_disk_counts_lost_items(void **state)
{
	struct fixture *fixture = *state;
	struct spool *built = trace_log_get_thread_waits(fixture->log);
	const struct rlimit none = {.rlim_cur = 0, .rlim_max = RLIM_INFINITY};
	struct rlimit before;
	struct spool_counts counts;

	assert_int_equal(trace_log_get_wait_counts(fixture->log).lost, 0);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &none), 0);
	for (int i = 0; i < 3; i++)
		trace_log_add_wait(fixture->log, &(struct timed_wait){.end_ns = 1});
	for (int i = 0; i < 2; i++)
		spool_add(built, &(struct timeline_wait){.thread = 1});
	trace_log_add_rename(fixture->log, 20, 5, 6, "name");
	trace_log_count_lost_rename(fixture->log);
	assert_int_equal(trace_log_complete(fixture->log), 0);
	assert_int_equal(trace_log_get_wait_counts(fixture->log).lost, 2);
	assert_int_equal(trace_log_get_wait_counts(fixture->log).lost_errno, EFBIG);
	assert_int_equal(spool_rewind(trace_log_get_waits(fixture->log)), 0);
	assert_int_equal(spool_rewind(trace_log_get_renames(fixture->log)), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	counts = trace_log_get_wait_counts(fixture->log);
	assert_int_equal(counts.lost, 5);
	assert_int_equal(counts.kept, 0);
	assert_int_equal(counts.lost_errno, EFBIG);
	assert_int_equal(trace_log_get_lost_renames(fixture->log), 2);
}

static void lost_renames_are_counted(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(trace_log_get_lost_renames(fixture->log), 0);
	trace_log_count_lost_rename(fixture->log);
	trace_log_count_lost_rename(fixture->log);
	assert_int_equal(trace_log_get_lost_renames(fixture->log), 2);
}

static int make_log(void *context)
{
	const struct fixture *fixture = context;
	struct trace_log *log = NULL;
	struct error error;
	int err = trace_log_new(fixture->folder, &log, &error);

	assert_true(err ? !log : !!log);
	trace_log_free(log);
	return err;
}

static void a_log_without_memory_is_none(void **state)
{
	failing_memory_try_all(make_log, *state);
}

/* Areas, each reported again where memory was short. */
static void an_area_that_lacked_memory_can_be_added_again(void **state)
{
	static const enum wire_stack_kind kinds[] = {WIRE_STACK_GOROUTINE, WIRE_STACK_OTHER};
	struct fixture *fixture = *state;
	bool has_failed[ARRAY_LENGTH(kinds)] = {false};

	for (uint32_t i = 0; i < 40; i++) {
		const struct wire_stack_area area = {.kind = kinds[i % 2],
						     .pid = 5,
						     .tid = 5,
						     .start = LOW + i * PAGE,
						     .end = LOW + (i + 1) * PAGE,
						     .time_ns = 100};

		for (int64_t num_before = 0;; num_before++) {
			int err;

			failing_memory_start(num_before);
			err = trace_log_add_area(fixture->log, 0, &area);
			assert_int_equal(err, failing_memory_end() ? -ENOMEM : 0);
			assert_int_equal(count_areas(fixture), i + !err);
			if (!err)
				break;
			has_failed[i % 2] = true;
		}
		assert_int_equal(get_area(fixture, i)->start, area.start);
	}
	assert_true(has_failed[0] && has_failed[1]);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_grown_stack_stays_one_area),
		TEST(each_thread_has_its_signal_stack),
		TEST(a_threads_stack_ends_with_the_page_of_its_own_data),
		TEST(a_bounded_threads_stack_is_taken_as_it_is),
		TEST(malformed_areas_are_ignored),
		TEST(a_goroutine_replaces_areas_that_it_overlaps),
		TEST(samples_come_back_in_the_order_of_time_and_cpu),
		TEST(waits_come_back_in_the_order_of_their_ends),
		TEST(names_and_threads_come_back_in_the_order_of_time),
		TEST(a_full_disk_counts_lost_items),
		TEST(lost_renames_are_counted),
		TEST(a_log_without_memory_is_none),
		TEST(an_area_that_lacked_memory_can_be_added_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
