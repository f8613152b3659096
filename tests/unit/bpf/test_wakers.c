/* The wakers' program: samples of the threads that end waits. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "wakers.bpf.c"
#undef const
/* clang-format on */

#define PERIOD 1000

static struct task_struct waker;
static struct task_struct task; /* the waiting thread */
static struct departure *departure;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_HASH(departures_by_tid, 4);
	FAKE_PER_CPU(waker_counters);
	FAKE_PER_CPU(takings);
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(own_times);
	FAKE_HASH(target_tids, 4);
	FAKE_ARRAY(sent_stacks, 2);
	FAKE_PER_CPU(raw_budget);
	FAKE_PER_CPU(hotspot_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(raw_samples, 1);
	FAKE_ARRAY(unwind_mappings, 1);
	FAKE_HASH(unwind_processes, 2);
	FAKE_RINGS(rings);
	waker = (struct task_struct){.pid = 9, .tgid = 9};
	task = (struct task_struct){.pid = 7, .tgid = 7};
	fake_kernel.task = &waker;
	fake_kernel.pid_tgid = 9ull << 32 | 9;
	fake_kernel.kernel_stack[0] = 0xffffffff81000000;
	fake_kernel.num_kernel_frames = 1;
	is_recording = true;
	period_ns = PERIOD;
	is_filtered = is_of_cgroup = notes_in_tasks = false;
	pid_namespace_inode = 0;
	departure = add_departure(&task);
	departure->left_ns = 5000;
	departure->phase = (struct wire_phase){.until_ns = PERIOD - 1, .behind_ns = 1};
	departure->flag = WIRE_SAMPLE_BLOCKED;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static struct wire_waker_counters *get_counters(void)
{
	return get_per_cpu(&waker_counters);
}

static void wake(uint64_t now_ns)
{
	fake_kernel.now_ns = now_ns;
	assert_int_equal(on_woken_by(NULL, &task), 0);
}

/* Wake the thread from another wait. */
static void wake_again(void)
{
	departure->woken_ns = departure->wakeup = 0;
	wake(6000);
}

static void expect_counts(uint64_t sent, uint64_t lost_ring, uint64_t lost_nested, uint64_t hidden)
{
	const struct wire_waker_counters *counter = get_counters();

	assert_int_equal(counter->sent, sent);
	assert_int_equal(counter->lost_ring, lost_ring);
	assert_int_equal(counter->lost_nested, lost_nested);
	assert_int_equal(counter->hidden, hidden);
}

static void a_sampled_wait_has_its_waker_sent(void **state _unused_)
{
	const struct wire_sample *sample;

	wake(6000);
	expect_counts(1, 0, 0, 0);
	assert_int_equal(departure->woken_ns, 6000);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->tid, 9);
	assert_true(sample->flags & WIRE_SAMPLE_WAKER);
	assert_true(sample->wakeup != 0);
	assert_int_equal(sample->wakeup, departure->wakeup);
	/* The first wakeup ended the wait. */
	wake(6100);
	expect_counts(1, 0, 0, 0);
	assert_int_equal(departure->woken_ns, 6000);
}

#define SP 0x7f0000001000

/* What is copied is bounded: the woken thread's lock is held. */
static void the_stack_of_an_early_waker_is_copied(void **state _unused_)
{
	static uint8_t stack[16 * WIRE_RAW_PAGE_BYTES];
	static struct xol_area not_probed;
	struct mm_struct memory = {.uprobes_state = {&not_probed}};
	struct user_registers registers = {.cs = USER_CODE, .sp = SP, .ip = 0x400000};
	const struct wire_raw_sample *raw;

	waker.mm = &memory;
	fake_kernel.registers = &registers;
	fake_memory_add(SP, stack, sizeof(stack));
	walks_by_table = true;
	wake(6000);
	walks_by_table = false;
	waker.mm = NULL;
	expect_counts(1, 0, 0, 0);
	raw = fake_record_last(WIRE_RAW_SAMPLE);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 0);
	assert_true(raw->sample.flags & WIRE_SAMPLE_WAKER);
	assert_int_equal(raw->sample.wakeup, departure->wakeup);
	assert_int_equal(raw->registers.pc, 0x400000);
	assert_in_range(raw->num_bytes, 1, (WIRE_RAW_FEW_PAGES + 1) * WIRE_RAW_PAGE_BYTES);
}

/* Taking it needs time, and the thread gets into a run queue after that: its wait ends there. */
static void taking_a_sample_is_not_time_in_a_run_queue(void **state _unused_)
{
	const struct wire_sample *sample;

	fake_kernel.clock_step_ns = 10;
	wake(6000);
	expect_counts(1, 0, 0, 0);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_true(sample->time_ns > 6000);
	assert_true(departure->woken_ns > sample->time_ns);
}

static void each_waker_has_a_number_of_its_own(void **state _unused_)
{
	uint64_t first;

	wake_again();
	first = departure->wakeup;
	wake_again();
	assert_true(departure->wakeup != first);
	/* Each CPU has its own count. */
	*(struct taking *)get_per_cpu(&takings) = (struct taking){0};
	fake_kernel.cpu = 1;
	assert_int_equal(WIRE_CPUS_PER_RING > 1, 1);
	wake_again();
	assert_true(departure->wakeup != first);
}

static void a_wait_below_the_period_has_no_waker(void **state _unused_)
{
	wake(5999);
	expect_counts(0, 0, 0, 0);
	assert_int_equal(departure->wakeup, 0);
	assert_int_equal(departure->woken_ns, 5999);
	departure->woken_ns = 0;
	departure->phase.until_ns--;
	wake(5999);
	expect_counts(1, 0, 0, 0);
}

static void a_wait_without_sample_has_no_waker(void **state _unused_)
{
	departure->flag = WIRE_SAMPLE_PREEMPTED;
	wake(9000);
	departure->woken_ns = 0;
	departure->flag = WIRE_SAMPLE_BLOCKED;
	departure->is_left_out = true;
	wake(9000);
	departure->woken_ns = departure->left_ns = 0; /* the thread is running */
	wake(9000);
	assert_int_equal(departure->woken_ns, 0);
	is_recording = false;
	departure->left_ns = 5000;
	wake(9000);
	assert_int_equal(departure->woken_ns, 0);
	expect_counts(0, 0, 0, 0);
	assert_int_equal(fake_kernel.num_records, 0);
}

static void a_full_ring_counts_lost_wakers(void **state _unused_)
{
	fake_kernel.ring_room = 0;
	wake_again();
	expect_counts(0, 1, 0, 0);
	assert_int_equal(departure->wakeup, 0);
	fake_kernel.ring_room = 1; /* for the stack */
	wake_again();
	expect_counts(0, 2, 0, 0);
	assert_int_equal(departure->wakeup, 0);
	fake_kernel.ring_room = 1;
	wake_again();
	expect_counts(1, 2, 0, 0);
	assert_true(departure->wakeup != 0);
}

/* An interrupt wakes a thread while the program takes a sample. */
static void a_nested_waker_is_counted(void **state _unused_)
{
	struct taking *taking = get_per_cpu(&takings);

	taking->is_under_way = true;
	wake_again();
	expect_counts(0, 0, 1, 0);
	assert_int_equal(departure->wakeup, 0);
	assert_int_equal(departure->woken_ns, 6000);
	taking->is_under_way = false;
	wake_again();
	wake_again();
	expect_counts(2, 0, 1, 0);
}

static void a_waker_outside_the_pid_namespace_is_counted(void **state _unused_)
{
	static struct pid outside; /* of the first namespace alone */

	waker.thread_pid = &outside;
	waker.group_leader = &waker;
	pid_namespace_inode = 42;
	wake_again();
	expect_counts(0, 0, 0, 1);
	assert_int_equal(departure->wakeup, 0);
	/* The idle task is visible in all namespaces. */
	fake_kernel.pid_tgid = 0;
	wake_again();
	expect_counts(1, 0, 0, 1);
}

/* It is no more than a name, unless it is a target itself. */
static void a_waker_outside_the_target_has_no_user_stack(void **state _unused_)
{
	static struct mm_struct memory;
	static const struct user_registers registers = {.ip = 0x400000, .cs = USER_CODE};
	uint64_t tid = 9;
	uint32_t target = WIRE_TARGET;

	waker.mm = &memory;
	fake_kernel.registers = &registers;
	fake_kernel.user_stack[0] = 0x400000;
	fake_kernel.num_user_frames = 1;
	walks_by_table = false;
	for (unsigned int i = 0; i < 4; i++) {
		const struct wire_sample *sample;

		is_filtered = i == 1 || i == 3;
		is_of_cgroup = i == 2;
		if (i == 3)
			assert_int_equal(
				fake_map_update(fake_map_find(&target_tids), &tid, &target), 0);
		wake_again();
		sample = fake_record_last(WIRE_SAMPLE);
		assert_int_equal(!(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY), i == 0 || i == 3);
		assert_int_equal(sample->user_stack != 0, i == 0 || i == 3);
		assert_true(sample->kernel_stack != 0);
	}
	walks_by_table = true;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_sampled_wait_has_its_waker_sent),
		TEST(the_stack_of_an_early_waker_is_copied),
		TEST(taking_a_sample_is_not_time_in_a_run_queue),
		TEST(each_waker_has_a_number_of_its_own),
		TEST(a_wait_below_the_period_has_no_waker),
		TEST(a_wait_without_sample_has_no_waker),
		TEST(a_full_ring_counts_lost_wakers),
		TEST(a_nested_waker_is_counted),
		TEST(a_waker_outside_the_pid_namespace_is_counted),
		TEST(a_waker_outside_the_target_has_no_user_stack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
