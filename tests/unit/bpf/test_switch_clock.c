/* The time of a switch by the scheduler's clock. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "switch_clock.h"
#undef const
/* clang-format on */

#define AHEAD_NS 5000000000ull
#define FIRST_NS 7000000000ull /* the scheduler's clock */

static struct rq rq;
static struct cfs_rq cfs_rq;
static struct task_struct task;
static struct wire_off_cpu_state cpu;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	rq = (struct rq){0};
	cfs_rq = (struct cfs_rq){&rq};
	task = (struct task_struct){.se.cfs_rq = &cfs_rq};
	cpu = (struct wire_off_cpu_state){0};
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

/* late_ns  for how long the program has been running when it reads the clock, if it does */
static uint64_t read_at(uint64_t scheduler_ns, uint64_t late_ns)
{
	rq.clock = scheduler_ns;
	fake_kernel.now_ns = scheduler_ns + AHEAD_NS + late_ns;
	return cpu.switched_ns = read_switch_clock(&cpu, &task);
}

static void the_schedulers_clock_counts_between_two_measurements(void **state _unused_)
{
	const uint64_t start_ns = FIRST_NS + AHEAD_NS;

	assert_int_equal(read_at(FIRST_NS, 100), start_ns + 100);
	/* How late the program is does not matter. */
	assert_int_equal(read_at(FIRST_NS + 1000, 40000), start_ns + 1100);
	assert_int_equal(read_at(FIRST_NS + COMPARE_NS - 1, 7), start_ns + COMPARE_NS + 99);
	assert_int_equal(cpu.compared_ns, FIRST_NS);
	assert_int_equal(read_at(FIRST_NS + COMPARE_NS, 50), start_ns + COMPARE_NS + 99);
	assert_int_equal(cpu.compared_ns, FIRST_NS + COMPARE_NS);
	assert_int_equal(cpu.clock_ahead_ns, AHEAD_NS + 50);
}

static void a_late_measurement_moves_the_clock_as_far_as_clocks_drift(void **state _unused_)
{
	uint64_t drift_ns = COMPARE_NS >> DRIFT_SHIFT;

	read_at(FIRST_NS, 100);
	read_at(FIRST_NS + COMPARE_NS, 90000000);
	assert_int_equal(cpu.clock_ahead_ns, AHEAD_NS + 100 + drift_ns);
	read_at(FIRST_NS + 2 * COMPARE_NS, 100);
	assert_int_equal(cpu.clock_ahead_ns, AHEAD_NS + 100);
	/* The longer ago, the farther. */
	read_at(FIRST_NS + 12 * COMPARE_NS, 100 + 10 * drift_ns);
	assert_in_range(cpu.clock_ahead_ns, AHEAD_NS + 100 + 10 * drift_ns,
			AHEAD_NS + 109 + 10 * drift_ns);
}

static void clocks_that_were_set_are_measured_anew(void **state _unused_)
{
	read_at(FIRST_NS, 100);
	read_at(FIRST_NS + COMPARE_NS, 10 * MAX_LATE_NS);
	assert_int_equal(cpu.clock_ahead_ns, AHEAD_NS + 10 * MAX_LATE_NS);
	/* The scheduler's clock may have been set back. */
	cpu = (struct wire_off_cpu_state){0};
	read_at(FIRST_NS, 100);
	read_at(FIRST_NS - 1000000000, 1000000100 + 500);
	assert_int_equal(cpu.compared_ns, FIRST_NS - 1000000000);
	assert_int_equal(cpu.clock_ahead_ns, AHEAD_NS + 1000000100 + 500);
}

/* The scheduler's clock may be ahead of ours, too. */
static void a_difference_may_have_either_sign(void **state _unused_)
{
	rq.clock = 9000000000;
	fake_kernel.now_ns = 1000000100;
	assert_int_equal(read_switch_clock(&cpu, &task), 1000000100);
	rq.clock += 1000;
	assert_int_equal(read_switch_clock(&cpu, &task), 1000001100);
	rq.clock += COMPARE_NS;
	fake_kernel.now_ns += COMPARE_NS + 1000 - 60;
	assert_int_equal(read_switch_clock(&cpu, &task), 1000000100 + COMPARE_NS + 1000 - 60);
}

static void no_switch_is_before_the_one_before_it(void **state _unused_)
{
	uint64_t switched_ns = read_at(FIRST_NS, 5000);

	read_at(FIRST_NS + COMPARE_NS - 10, 0);
	switched_ns = cpu.switched_ns;
	assert_int_equal(read_at(FIRST_NS + COMPARE_NS, 100), switched_ns);
	assert_int_equal(cpu.clock_ahead_ns, AHEAD_NS + 100);
	/* The clock itself is read. */
	rq.clock_update_flags = RQCF_ACT_SKIP;
	assert_int_equal(read_at(FIRST_NS + COMPARE_NS + 20, 30), switched_ns);
	assert_true(read_at(FIRST_NS + 2 * COMPARE_NS, 0) > switched_ns);
}

static void without_a_fresh_time_of_the_scheduler_the_clock_is_read(void **state _unused_)
{
	static const char *const fields[] = {"cfs_rq", "rq->clock", "clock_update_flags"};

	rq.clock_update_flags = RQCF_ACT_SKIP | 4;
	assert_int_equal(read_at(FIRST_NS, 321), FIRST_NS + AHEAD_NS + 321);
	rq.clock_update_flags = 4;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		fake_kernel.lacked_field = fields[i];
		cpu.switched_ns = 0;
		assert_int_equal(read_at(FIRST_NS, 321 + i), FIRST_NS + AHEAD_NS + 321 + i);
	}
	assert_int_equal(cpu.compared_ns, 0);
	assert_int_equal(cpu.clock_ahead_ns, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_schedulers_clock_counts_between_two_measurements),
		TEST(a_late_measurement_moves_the_clock_as_far_as_clocks_drift),
		TEST(clocks_that_were_set_are_measured_anew),
		TEST(a_difference_may_have_either_sign),
		TEST(no_switch_is_before_the_one_before_it),
		TEST(without_a_fresh_time_of_the_scheduler_the_clock_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
