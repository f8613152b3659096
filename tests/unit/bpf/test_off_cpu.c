/* The off-CPU program: the test calls its hooks like the scheduler. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "off_cpu.bpf.c"
#undef const
/* clang-format on */

#define START    1000
#define PERIOD   1000
#define SLEEPING 1 /* TASK_INTERRUPTIBLE */
#define FRAME    0xffffffff81000000

static struct task_struct idle;
static struct task_struct task; /* the thread under test; a kernel thread by default */
static struct task_struct other;

/* room  for notes, in threads */
static void make_maps(uint64_t room)
{
	FAKE_HASH(departures_by_tid, room);
	FAKE_TASK_STORAGE(departures_of_tasks, room);
	FAKE_PER_CPU(states);
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(own_times);
	FAKE_PER_CPU(counters);
	FAKE_HASH(target_tids, 4);
	FAKE_ARRAY(sent_stacks, 1);
	FAKE_RINGS(rings);
}

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	make_maps(4);
	idle = (struct task_struct){0};
	task = (struct task_struct){.pid = 7, .tgid = 7, .start_time = 1};
	other = (struct task_struct){.pid = 8, .tgid = 8, .start_time = 1};
	is_recording = true;
	start_ns = START;
	period_ns = PERIOD;
	min_block_ns = 0;
	only_futexes = notes_in_tasks = has_queue_times = false;
	is_filtered = is_of_cgroup = false;
	has_command_started = false;
	take_kernel_stacks = true;
	take_user_stacks = false;
	fake_kernel.kernel_stack[0] = FRAME;
	fake_kernel.num_kernel_frames = 1;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static struct wire_off_cpu_state *get_state_of_cpu(void)
{
	return get_per_cpu(&states);
}

static struct wire_off_cpu_counters *get_counters(void)
{
	return &get_state_of_cpu()->counters;
}

static void run(struct task_struct *running)
{
	fake_kernel.task = running;
	fake_kernel.pid_tgid = (uint64_t)running->tgid << 32 | (uint32_t)running->pid;
}

/* state  as the scheduler read it; state_now  of the task */
static void leave_as(struct task_struct *leaving, uint64_t now_ns, uint32_t state,
		     uint32_t state_now)
{
	fake_kernel.now_ns = now_ns;
	run(leaving);
	leaving->__state = state_now;
	on_depart_state_last(NULL, false, leaving, NULL, state);
}

static void leave(struct task_struct *leaving, uint64_t now_ns, uint32_t state)
{
	leave_as(leaving, now_ns, state, state);
}

static void preempt(struct task_struct *leaving, uint64_t now_ns)
{
	fake_kernel.now_ns = now_ns;
	run(leaving);
	on_depart(NULL, true, leaving, NULL);
}

static void wake(struct task_struct *woken, uint64_t now_ns)
{
	fake_kernel.now_ns = now_ns;
	on_woken(NULL, woken);
	woken->__state = 0;
}

/* The CPU is idle before. */
static void resume_task(struct task_struct *resumed, uint64_t now_ns)
{
	leave(&idle, now_ns, 0);
	run(resumed);
	resumed->__state = 0;
	on_resume(NULL, true);
}

/* Each interval is in exactly one counter. */
static void expect_balance(void)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	assert_int_equal(counter->fired, counter->filtered + counter->unseen_begin +
						 counter->other_waits + counter->below_min_block +
						 counter->below_period + counter->sends.sent +
						 counter->sends.lost_ring_sample +
						 counter->sends.lost_ring_stack);
}

static void a_wakeup_ends_the_wait_and_starts_the_queue(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	leave(&task, 1100, SLEEPING);
	wake(&task, 1400);
	wake(&task, 1450); /* the first one counts */
	resume_task(&task, 1600);
	assert_int_equal(counter->blocked_ns, 300);
	assert_int_equal(counter->run_queue_ns, 200);
	assert_int_equal(counter->below_period, 1);
	assert_int_equal(counter->fired, 1);
	expect_balance();
}

/* The wakeup comes between the decision to sleep and the switch. */
static void a_thread_woken_before_it_leaves_waits_for_a_cpu(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	leave_as(&task, 1100, SLEEPING, TASK_WAKING);
	resume_task(&task, 1600);
	assert_int_equal(counter->blocked_ns, 0);
	assert_int_equal(counter->run_queue_ns, 500);
	/* The next wait is a usual one. */
	leave(&task, 1700, SLEEPING);
	resume_task(&task, 1900);
	assert_int_equal(counter->blocked_ns, 200);
	assert_int_equal(counter->run_queue_ns, 500);
}

/* The scheduler's clock is 900 behind. */
#define SCHEDULER_CLOCK(now_ns) ((now_ns)-900)

/* As resume_task(), after that time in a run queue. */
static void resume_queued_task(struct task_struct *resumed, uint64_t now_ns, uint64_t queued_ns)
{
	resumed->sched_info.run_delay += queued_ns;
	resumed->sched_info.last_arrival = SCHEDULER_CLOCK(now_ns);
	resume_task(resumed, now_ns);
}

static void the_kernels_time_in_run_queues_is_the_end_of_a_wait(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	has_queue_times = true;
	task.sched_info.run_delay = 5000; /* before it left */
	leave(&task, 1100, SLEEPING);
	resume_queued_task(&task, 1600, 200);
	assert_int_equal(counter->blocked_ns, 300);
	assert_int_equal(counter->run_queue_ns, 200);
	assert_int_equal(get_state_of_cpu()->clock_ahead_ns, 900);
	/* The next wait has its own. */
	leave(&task, 1700, SLEEPING);
	resume_queued_task(&task, 1800, 0);
	assert_int_equal(counter->blocked_ns, 400);
	assert_int_equal(counter->run_queue_ns, 200);
	expect_balance();
}

/* The wakers' program has noted the wakeup: other programs may have run between it and the queue. */
static void the_kernels_time_in_run_queues_is_better_than_the_wakers(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	has_queue_times = true;
	leave(&task, 1100, SLEEPING);
	find_departure(&task)->woken_ns = 1200;
	resume_queued_task(&task, 1600, 200);
	assert_int_equal(counter->blocked_ns, 300);
	assert_int_equal(counter->run_queue_ns, 200);
	expect_balance();
}

static void a_time_in_run_queues_is_no_longer_than_the_wait(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	has_queue_times = true;
	leave(&task, 1100, SLEEPING);
	resume_queued_task(&task, 1600, 501);
	assert_int_equal(counter->blocked_ns, 0);
	assert_int_equal(counter->run_queue_ns, 500);
	leave(&task, 1700, SLEEPING);
	resume_queued_task(&task, 1900, 100000);
	assert_int_equal(counter->blocked_ns + counter->run_queue_ns, 700);
	expect_balance();
}

/* All of it is in a run queue. */
static void a_preempted_thread_is_in_no_run_queue(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	has_queue_times = true;
	preempt(&task, 1300);
	resume_queued_task(&task, 1340, 40);
	assert_int_equal(counter->preempted_ns, 40);
	assert_int_equal(counter->run_queue_ns, 0);
	expect_balance();
}

static void the_state_decides_the_kind_of_wait(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	leave(&task, 1100, TASK_UNINTERRUPTIBLE);
	resume_task(&task, 1110);
	assert_int_equal(counter->uninterruptible_ns, 10);
	leave(&task, 1200, TASK_UNINTERRUPTIBLE | TASK_NOLOAD);
	resume_task(&task, 1220);
	assert_int_equal(counter->blocked_ns, 20);
	preempt(&task, 1300);
	wake(&task, 1310);
	resume_task(&task, 1340);
	assert_int_equal(counter->preempted_ns, 40);
	/* State 0: the thread is runnable. */
	leave(&task, 1400, 0);
	resume_task(&task, 1450);
	assert_int_equal(counter->preempted_ns, 90);
	assert_int_equal(counter->run_queue_ns, 0);
	expect_balance();
}

/* The next point of a thread's period. */
static void set_point(struct task_struct *of, uint64_t until_ns)
{
	struct departure *departure = find_departure(of);

	assert_non_null(departure);
	departure->phase =
		(struct wire_phase){.until_ns = until_ns, .behind_ns = PERIOD - until_ns};
}

static void a_sample_stands_for_the_points_in_it(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();
	const struct wire_sample *sample;

	fake_kernel.boot_offset_ns = 5000;
	leave(&task, 1100, SLEEPING);
	set_point(&task, 500);
	wake(&task, 3200);
	resume_task(&task, 4200);
	assert_int_equal(counter->sends.sent, 1);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->tid, 7);
	/* Of the third period chance decides, and of the fourth. */
	assert_in_range(sample->num_periods, 2, 3);
	assert_in_range(sample->num_periods + sample->num_queue_periods, 3, 4);
	assert_int_equal(sample->wait_ns, 2100);
	assert_int_equal(sample->queue_ns, 1000);
	assert_int_equal(sample->time_ns, 9200);
	assert_true(sample->flags & WIRE_SAMPLE_BLOCKED);
	assert_true(sample->kernel_stack != 0);
	assert_int_equal(fake_record_count(WIRE_STACK), 1);
	leave(&task, 4300, SLEEPING);
	set_point(&task, 899);
	resume_task(&task, 5199);
	assert_int_equal(counter->below_period, 1);
	leave(&task, 5200, SLEEPING);
	resume_task(&task, 5201);
	assert_int_equal(counter->sends.sent, 2);
	/* The stack is known. */
	assert_int_equal(fake_record_count(WIRE_STACK), 1);
	expect_balance();
}

static void a_full_ring_counts_lost_waits(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	fake_kernel.ring_room = 0;
	leave(&task, 1100, SLEEPING);
	resume_task(&task, 3100);
	assert_int_equal(counter->sends.lost_ring_stack, 1);
	fake_kernel.ring_room = 1; /* for the stack */
	leave(&task, 3200, SLEEPING);
	resume_task(&task, 5200);
	assert_int_equal(counter->sends.lost_ring_sample, 1);
	assert_int_equal(counter->sends.sent, 0);
	assert_int_equal(counter->fired, 2);
	assert_int_equal(counter->blocked_ns, 4000);
	expect_balance();
	/* The stack was sent. */
	fake_kernel.ring_room = 1;
	leave(&task, 5300, SLEEPING);
	resume_task(&task, 7300);
	assert_int_equal(counter->sends.sent, 1);
}

static void a_full_map_counts_threads_without_note(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter;

	fake_kernel_reset();
	make_maps(1);
	counter = get_counters();
	leave(&task, 1100, SLEEPING);
	leave(&other, 1200, SLEEPING);
	assert_int_equal(counter->unnoted, 1);
	resume_task(&other, 1300);
	assert_int_equal(counter->unseen_begin, 1);
	fake_kernel.now_ns = 1400;
	on_started(NULL, &other);
	assert_int_equal(counter->unnoted, 2);
	resume_task(&task, 1500);
	assert_int_equal(counter->blocked_ns, 400);
	expect_balance();
	/* The end of a thread makes room. */
	leave(&task, 1600, TASK_DEAD);
	leave(&other, 1700, SLEEPING);
	assert_int_equal(counter->unnoted, 2);
}

static void a_new_thread_waits_for_its_first_cpu(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();
	const struct wire_sample *sample;

	fake_kernel.now_ns = 2000;
	on_started(NULL, &task);
	resume_task(&task, 3500);
	assert_int_equal(counter->run_queue_ns, 1500);
	assert_int_equal(counter->blocked_ns, 0);
	assert_int_equal(counter->sends.sent, 1);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_true(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY);
	assert_int_equal(sample->kernel_stack, 0);
	/* The next wait is a usual one. */
	leave(&task, 3600, SLEEPING);
	resume_task(&task, 5600);
	assert_int_equal(counter->blocked_ns, 2000);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_true(sample->kernel_stack != 0);
	expect_balance();
}

/* Some kernels do not report that a new thread has got its CPU. */
static void a_first_run_is_seen_when_it_ends(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	fake_kernel.now_ns = 2000;
	on_started(NULL, &task);
	leave(&idle, 2300, 0);
	leave(&task, 2800, SLEEPING);
	assert_int_equal(counter->fired, 1);
	assert_int_equal(counter->run_queue_ns, 300);
	assert_int_equal(counter->cpu_ns, 500);
	expect_balance();
}

static void lifetime_is_cpu_time_plus_waits(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	fake_kernel.now_ns = 2000;
	task.start_time = 2000;
	on_started(NULL, &task);
	resume_task(&task, 2300);
	leave(&task, 2500, SLEEPING);
	wake(&task, 2900);
	resume_task(&task, 3000);
	fake_kernel.now_ns = 3100;
	on_exit(NULL, &task);
	assert_int_equal(counter->lived_ns, 1100);
	preempt(&task, 3200);
	resume_task(&task, 3250);
	leave(&task, 3300, TASK_DEAD);
	assert_int_equal(counter->lived_ns, 1300);
	assert_int_equal(counter->cpu_ns, 200 + 300 - 100 + 100 - 50);
	assert_int_equal(counter->lived_ns - counter->cpu_ns,
			 counter->blocked_ns + counter->run_queue_ns + counter->preempted_ns);
	expect_balance();
}

static void threads_outside_the_target_are_filtered(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();
	uint64_t tid = 7;
	uint32_t target = WIRE_TARGET;

	is_filtered = true;
	leave(&task, 1100, SLEEPING);
	resume_task(&task, 1200);
	assert_int_equal(counter->filtered, 1);
	assert_int_equal(counter->blocked_ns, 0);
	assert_int_equal(fake_map_update(fake_map_find(&target_tids), &tid, &target), 0);
	leave(&task, 1300, SLEEPING);
	resume_task(&task, 1500);
	assert_int_equal(counter->blocked_ns, 200);
	fake_kernel.now_ns = 1600;
	on_started(NULL, &other);
	assert_null(find_departure(&other));
	expect_balance();
}

static void only_threads_of_the_cgroup_are_recorded(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	is_of_cgroup = true;
	leave(&task, 1100, SLEEPING);
	resume_task(&task, 1200);
	assert_int_equal(counter->filtered, 1);
	fake_kernel.is_under_cgroup = 1;
	leave(&task, 1300, SLEEPING);
	resume_task(&task, 1500);
	assert_int_equal(counter->blocked_ns, 200);
	expect_balance();
}

static void new_threads_of_the_cgroup_are_recorded(void **state _unused_)
{
	is_of_cgroup = true;
	fake_kernel.now_ns = 2000;
	on_started(NULL, &task);
	assert_null(find_departure(&task));
	fake_kernel.is_under_cgroup = -1; /* it cannot say */
	on_started(NULL, &task);
	assert_null(find_departure(&task));
	fake_kernel.is_under_cgroup = 1;
	on_started(NULL, &task);
	assert_non_null(find_departure(&task));
}

static void short_waits_are_left_out(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	min_block_ns = 100;
	leave(&task, 1100, SLEEPING);
	wake(&task, 1150);
	resume_task(&task, 1199);
	assert_int_equal(counter->below_min_block, 1);
	assert_int_equal(counter->below_min_block_ns, 99);
	leave(&task, 1200, SLEEPING);
	wake(&task, 1250);
	resume_task(&task, 1300);
	assert_int_equal(counter->below_min_block, 1);
	assert_int_equal(counter->below_period, 1);
	assert_int_equal(counter->blocked_ns, 50);
	assert_int_equal(counter->run_queue_ns, 50);
	expect_balance();
}

static void only_waits_for_futexes_are_recorded(void **state _unused_)
{
	static struct mm_struct memory;
	struct user_registers registers = {
		.orig_ax = SYSCALL_FUTEX, .ax = -38ul, .di = 0x1000, .cs = USER_CODE};
	const struct wire_off_cpu_counters *counter = get_counters();

	only_futexes = true;
	task.mm = &memory;
	fake_kernel.registers = &registers;
	leave(&task, 1100, SLEEPING);
	resume_task(&task, 1200);
	assert_int_equal(counter->blocked_ns, 100);
	/* FUTEX_WAKE does not wait. */
	registers.si = 1;
	leave(&task, 1300, SLEEPING);
	resume_task(&task, 1500);
	assert_int_equal(counter->other_waits, 1);
	assert_int_equal(counter->other_waits_ns, 200);
	registers.si = 0;
	registers.orig_ax = 0;
	leave(&task, 1600, SLEEPING);
	resume_task(&task, 1700);
	assert_int_equal(counter->other_waits, 2);
	assert_int_equal(counter->blocked_ns, 100);
	expect_balance();
}

/* The wakers' program leaves the number with the note. */
static void a_wait_has_its_own_waker(void **state _unused_)
{
	leave(&task, 1100, SLEEPING);
	find_departure(&task)->wakeup = 42;
	resume_task(&task, 3100);
	assert_int_equal(((const struct wire_sample *)fake_record_last(WIRE_SAMPLE))->wakeup, 42);
	preempt(&task, 3200);
	resume_task(&task, 5200);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 2);
	assert_int_equal(((const struct wire_sample *)fake_record_last(WIRE_SAMPLE))->wakeup, 0);
}

static void a_new_thread_waits_for_no_futex(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	only_futexes = true;
	fake_kernel.now_ns = 2000;
	on_started(NULL, &task);
	resume_task(&task, 3500);
	assert_int_equal(counter->run_queue_ns, 0);
	assert_int_equal(counter->other_waits, 1);
	assert_int_equal(counter->other_waits_ns, 1500);
	assert_int_equal(counter->sends.sent, 0);
	expect_balance();
}

static void a_sample_has_the_futex_of_its_wait(void **state _unused_)
{
	static struct mm_struct memory;
	struct user_registers registers = {
		.orig_ax = SYSCALL_FUTEX, .ax = -38ul, .di = 0x1238, .cs = USER_CODE, .sp = 0x7000};
	const struct wire_sample *sample;

	task.mm = &memory;
	fake_kernel.registers = &registers;
	leave(&task, 1100, SLEEPING);
	resume_task(&task, 3100);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->futex, 0x1238);
	assert_int_equal(sample->user_sp, 0x7000);
	preempt(&task, 3200);
	resume_task(&task, 5200);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->futex, 0);
}

static void a_command_is_recorded_from_its_exec_on(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	leave(&idle, 1500, 0);
	run(&task);
	is_filtered = true;
	fake_kernel.now_ns = 2000;
	on_command(NULL, &task);
	assert_int_equal(start_ns, START); /* not the target */
	is_filtered = false;
	assert_int_equal(fake_map_update(fake_map_find(&target_tids), &(uint64_t){7},
					 &(uint32_t){WIRE_TARGET}),
			 0);
	on_command(NULL, &task);
	assert_int_equal(start_ns, 2000);
	fake_kernel.now_ns = 2500;
	on_command(NULL, &task); /* a later exec */
	assert_int_equal(start_ns, 2000);
	leave(&task, 2600, SLEEPING);
	assert_int_equal(counter->cpu_ns, 600);
}

static void nothing_is_counted_before_the_recording(void **state _unused_)
{
	const struct wire_off_cpu_counters none = {0};

	is_recording = false;
	leave(&task, 1100, SLEEPING);
	wake(&task, 1200);
	resume_task(&task, 3600);
	fake_kernel.now_ns = 3700;
	on_started(NULL, &other);
	on_exit(NULL, &task);
	assert_memory_equal(get_counters(), &none, sizeof(none));
	assert_int_equal(fake_kernel.num_records, 0);
	is_recording = true;
	resume_task(&task, 3800);
	assert_int_equal(get_counters()->unseen_begin, 1);
}

/* Clocks of CPUs may differ a little. */
static void no_wait_is_negative(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	leave(&task, 1500, SLEEPING);
	wake(&task, 1400);
	resume_task(&task, 1450);
	assert_int_equal(counter->blocked_ns, 0);
	assert_int_equal(counter->run_queue_ns, 0);
	leave(&task, 1600, SLEEPING);
	wake(&task, 1800);
	resume_task(&task, 1700);
	assert_int_equal(counter->blocked_ns, 100);
	assert_int_equal(counter->run_queue_ns, 0);
}

static void notes_may_be_in_tasks(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	notes_in_tasks = true;
	leave(&task, 1100, SLEEPING);
	wake(&task, 1200);
	resume_task(&task, 1300);
	assert_int_equal(counter->blocked_ns, 100);
	assert_int_equal(fake_map_find(&departures_of_tasks)->num_entries, 1);
	assert_int_equal(fake_map_find(&departures_by_tid)->num_entries, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_wakeup_ends_the_wait_and_starts_the_queue),
		TEST(a_thread_woken_before_it_leaves_waits_for_a_cpu),
		TEST(the_kernels_time_in_run_queues_is_the_end_of_a_wait),
		TEST(the_kernels_time_in_run_queues_is_better_than_the_wakers),
		TEST(a_time_in_run_queues_is_no_longer_than_the_wait),
		TEST(a_preempted_thread_is_in_no_run_queue),
		TEST(the_state_decides_the_kind_of_wait),
		TEST(a_sample_stands_for_the_points_in_it),
		TEST(a_full_ring_counts_lost_waits),
		TEST(a_full_map_counts_threads_without_note),
		TEST(a_new_thread_waits_for_its_first_cpu),
		TEST(a_first_run_is_seen_when_it_ends),
		TEST(lifetime_is_cpu_time_plus_waits),
		TEST(threads_outside_the_target_are_filtered),
		TEST(only_threads_of_the_cgroup_are_recorded),
		TEST(new_threads_of_the_cgroup_are_recorded),
		TEST(short_waits_are_left_out),
		TEST(only_waits_for_futexes_are_recorded),
		TEST(a_wait_has_its_own_waker),
		TEST(a_new_thread_waits_for_no_futex),
		TEST(a_sample_has_the_futex_of_its_wait),
		TEST(a_command_is_recorded_from_its_exec_on),
		TEST(nothing_is_counted_before_the_recording),
		TEST(no_wait_is_negative),
		TEST(notes_may_be_in_tasks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
