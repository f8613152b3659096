/* Runs of our programs that are counted and timed. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#define RUNS_FOR_EACH_TIMED 4
#include "wire/wire.h"
#include "own_time.h"
#undef const
/* clang-format on */

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(own_times);
	fake_kernel.now_ns = 1000;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static struct wire_own_time *get_own(void)
{
	struct wire_own_time *own = get_per_cpu(&own_times);

	assert_non_null(own);
	return own;
}

/* A program that takes so long. */
static void run(uint64_t duration_ns)
{
	COUNT_OWN_TIME;

	fake_kernel.now_ns += duration_ns;
}

static uint64_t count_runs(void)
{
	return get_own()->num_runs - get_own()->runs_left;
}

static void every_run_is_counted(void **state _unused_)
{
	for (uint32_t i = 1; i <= 100; i++) {
		fake_kernel.random = i * 0x9e3779b9u;
		run(10);
		assert_int_equal(count_runs(), i);
	}
}

/* The next one is 1 to 8 runs later, by the lowest bits: on average 4.5. */
static void a_random_run_is_timed(void **state _unused_)
{
	for (uint32_t random = 0; random < 16; random++) {
		tear_down(NULL);
		set_up(NULL);
		fake_kernel.random = random;
		for (uint32_t i = 1; i <= random % 8; i++) {
			run(10);
			assert_int_equal(get_own()->num_timed, 0);
		}
		run(10);
		assert_int_equal(get_own()->num_timed, 1);
		assert_int_equal(get_own()->timed_ns, 10);
		assert_int_equal(get_own()->started_ns, 0);
		/* Then they count anew. */
		run(10);
		assert_int_equal(get_own()->num_timed, random % 8 ? 1 : 2);
	}
}

static void times_are_added_up(void **state _unused_)
{
	run(10);
	run(300);
	run(0);
	assert_int_equal(get_own()->num_timed, 3);
	assert_int_equal(get_own()->timed_ns, 310);
}

/* No run takes a millisecond. */
static void a_run_that_was_interrupted_is_not_timed(void **state _unused_)
{
	run(1000001);
	assert_int_equal(get_own()->num_timed, 0);
	assert_int_equal(get_own()->timed_ns, 0);
	assert_int_equal(get_own()->started_ns, 0);
	run(1000000);
	assert_int_equal(get_own()->num_timed, 1);
	assert_int_equal(get_own()->timed_ns, 1000000);
	assert_int_equal(count_runs(), 2);
}

/* Another program on this CPU has counted meanwhile: the number of runs left is below 0. */
static void counting_recovers_from_another_program(void **state _unused_)
{
	get_own()->runs_left = UINT64_MAX;
	fake_kernel.random = 3;
	run(10);
	assert_int_equal(get_own()->runs_left, 3);
	for (int i = 0; i < 3; i++)
		run(10);
	assert_int_equal(get_own()->num_timed, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(every_run_is_counted),
		TEST(a_random_run_is_timed),
		TEST(times_are_added_up),
		TEST(a_run_that_was_interrupted_is_not_timed),
		TEST(counting_recovers_from_another_program),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
