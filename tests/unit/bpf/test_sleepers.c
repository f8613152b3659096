/* Iterators over all threads: sleepers at the start and the end of a recording. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "sleepers.bpf.c"
#undef const
/* clang-format on */

#define START    1000
#define END      9000
#define PERIOD   1000
#define SLEEPING 1 /* TASK_INTERRUPTIBLE */

static struct task_struct task; /* a kernel thread */

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_HASH(departures_by_tid, 1);
	FAKE_PER_CPU(states);
	FAKE_HASH(target_tids, 2);
	FAKE_ARRAY(sleepers, 1);
	FAKE_ARRAY(scheduler_frames, 1);
	task = (struct task_struct){.pid = 7, .tgid = 6, .start_time = 1, .comm = "sleeper"};
	start_ns = START;
	end_ns = END;
	end_boot_ns = END + 50;
	period_ns = PERIOD;
	min_block_ns = 0;
	only_futexes = notes_in_tasks = is_filtered = has_queue_times = false;
	take_kernel_stacks = take_user_stacks = true;
	scheduler_pc = scheduler_text_start = scheduler_text_end = 0;
	cgroup_id = 0;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static struct wire_off_cpu_counters *get_counters(void)
{
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);

	return &cpu->counters;
}

static void visit(int (*program)(struct bpf_iter__task *ctx), struct task_struct *visited)
{
	struct bpf_iter_meta meta = {0};
	struct bpf_iter__task ctx = {.meta = &meta, .task = visited};

	assert_int_equal(program(&ctx), 0);
}

static struct departure *note(enum departure_origin origin, uint64_t left_ns)
{
	struct departure *departure = add_departure(&task);

	assert_non_null(departure);
	departure->origin = origin;
	departure->left_ns = left_ns;
	departure->flag = WIRE_SAMPLE_BLOCKED;
	departure->has_phase = true;
	departure->phase = (struct wire_phase){.until_ns = PERIOD - 1, .behind_ns = 1};
	return departure;
}

/* Sums over all threads. */
static void expect_times(uint64_t lived_ns, uint64_t blocked_ns, uint64_t queue_ns, uint64_t cpu_ns)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	assert_int_equal(counter->lived_ns, lived_ns);
	assert_int_equal(counter->blocked_ns, blocked_ns);
	assert_int_equal(counter->run_queue_ns, queue_ns);
	assert_int_equal(counter->cpu_ns, cpu_ns);
}

static void a_thread_asleep_throughout_has_one_wait(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();
	const struct wire_sample *sample;

	task.__state = SLEEPING;
	visit(note_sleeper, &task);
	visit(count_thread, &task);
	expect_times(END - START, END - START, 0, 0);
	visit(send_sleeper, &task);
	assert_int_equal(counter->fired, 1);
	assert_int_equal(counter->unfinished, 1);
	assert_int_equal(counter->sends.sent, 1);
	assert_int_equal(counter->sent_unfinished, 1);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->tid, 7);
	assert_int_equal(sample->pid, 6);
	assert_int_equal(sample->num_periods, (END - START) / PERIOD);
	assert_int_equal(sample->wait_ns, END - START);
	assert_int_equal(sample->time_ns, END + 50);
	assert_true(sample->flags & WIRE_SAMPLE_THROUGHOUT);
	assert_true(sample->flags & WIRE_SAMPLE_BLOCKED);
	assert_true(sample->wakeup == WIRE_NOT_WOKEN);
	assert_string_equal(sample->comm, "sleeper");
	/* Once. */
	visit(send_sleeper, &task);
	assert_int_equal(counter->fired, 1);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 1);
}

static void a_thread_running_since_its_start_has_no_wait(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();
	struct departure *departure = note(STARTED, 5000);

	departure->lives_since_ns = departure->woken_ns = 5000;
	task.se.sum_exec_runtime = 3500;
	task.on_cpu = 1;
	visit(count_thread, &task);
	expect_times(4000, 0, 500, 3500);
	visit(send_sleeper, &task);
	assert_int_equal(counter->fired, 0);
	assert_int_equal(counter->unfinished, 0);
	assert_int_equal(fake_kernel.num_records, 0);
}

/* The scheduler's clock may be ahead of ours. */
static void a_first_run_is_no_longer_than_the_life(void **state _unused_)
{
	struct departure *departure = note(STARTED, 5000);

	departure->lives_since_ns = departure->woken_ns = 5000;
	task.se.sum_exec_runtime = 4100;
	visit(count_thread, &task);
	expect_times(4000, 0, 0, 4000);
}

static void a_new_thread_without_cpu_waits_for_one(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();
	struct departure *departure = note(STARTED, 5000);

	departure->lives_since_ns = departure->woken_ns = 5000;
	visit(count_thread, &task);
	expect_times(4000, 0, 4000, 0);
	visit(send_sleeper, &task);
	assert_int_equal(counter->fired, 1);
	assert_int_equal(counter->unfinished, 1);
	assert_int_equal(counter->sends.sent, 1);
}

static void earlier_cpu_time_does_not_shorten_a_wait(void **state _unused_)
{
	struct departure *departure = note(DEPARTED, 5000);

	departure->woken_ns = 8000;
	departure->wakeup = 77;
	task.se.sum_exec_runtime = 3500;
	visit(count_thread, &task);
	expect_times(END - START, 3000, 1000, 0);
	visit(send_sleeper, &task);
	assert_int_equal(get_counters()->sends.sent, 1);
	assert_int_equal(((const struct wire_sample *)fake_record_last(WIRE_SAMPLE))->wakeup, 77);
}

/* The scheduler's clock is 900 behind. */
static struct departure *note_queued_before(uint64_t queued_ns)
{
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);
	struct departure *departure = note(DEPARTED, 5000);

	has_queue_times = true;
	cpu->clock_ahead_ns = 900;
	departure->queued_ns = queued_ns;
	task.sched_info.run_delay = queued_ns;
	task.sched_info.last_arrival = 3000 - 900;
	return departure;
}

static void a_thread_in_a_run_queue_has_been_woken(void **state _unused_)
{
	note_queued_before(77);
	task.sched_info.last_queued = 8000 - 900;
	visit(count_thread, &task);
	expect_times(END - START, 3000, 1000, 0);
	visit(send_sleeper, &task);
	assert_int_equal(get_counters()->sends.sent, 1);
}

static void a_thread_that_has_changed_its_run_queue_was_woken_before(void **state _unused_)
{
	note_queued_before(77);
	task.sched_info.run_delay += 300;
	task.sched_info.last_queued = 8000 - 900;
	visit(count_thread, &task);
	expect_times(END - START, 2700, 1300, 0);
}

static void a_thread_that_got_a_cpu_after_the_end_had_been_woken(void **state _unused_)
{
	note_queued_before(77);
	task.sched_info.run_delay += 500;
	task.sched_info.last_arrival = END + 100 - 900;
	visit(count_thread, &task);
	expect_times(END - START, 3600, 400, 0);
}

static void a_thread_in_no_run_queue_sleeps(void **state _unused_)
{
	note_queued_before(77);
	visit(count_thread, &task);
	expect_times(END - START, 4000, 0, 0);
}

static void without_the_clocks_difference_no_wakeup_is_known(void **state _unused_)
{
	struct wire_off_cpu_state *cpu = get_per_cpu(&states);

	note_queued_before(77);
	cpu->clock_ahead_ns = 0;
	task.sched_info.last_queued = 8000 - 900;
	visit(count_thread, &task);
	expect_times(END - START, 4000, 0, 0);
}

static void a_running_thread_has_its_cpu_time(void **state _unused_)
{
	struct departure *departure = note(DEPARTED, 0);

	departure->resumed_ns = 7000;
	visit(count_thread, &task);
	expect_times(END - START, 0, 0, 2000);
	visit(send_sleeper, &task);
	assert_int_equal(get_counters()->fired, 0);
}

static void a_thread_running_throughout_has_all_cpu_time(void **state _unused_)
{
	task.on_cpu = 1;
	visit(count_thread, &task);
	expect_times(END - START, 0, 0, END - START);
	/* A thread without note that is not running. */
	task.on_cpu = 0;
	visit(count_thread, &task);
	expect_times(2 * (END - START), 0, 0, END - START);
}

static void ended_and_younger_threads_count_nothing(void **state _unused_)
{
	task.__state = TASK_DEAD;
	visit(count_thread, &task);
	expect_times(0, 0, 0, 0);
	task.__state = 0;
	task.start_time = END;
	visit(count_thread, &task);
	expect_times(0, 0, 0, 0);
	task.start_time = END - 1;
	visit(count_thread, &task);
	expect_times(1, 0, 0, 0);
	visit(count_thread, NULL); /* the last call of an iterator */
	visit(note_sleeper, NULL);
	visit(send_sleeper, NULL);
	expect_times(1, 0, 0, 0);
}

static void a_wait_after_the_end_is_not_sent(void **state _unused_)
{
	note(DEPARTED, END);
	visit(send_sleeper, &task);
	assert_int_equal(get_counters()->fired, 0);
}

static void only_sleeping_threads_are_noted(void **state _unused_)
{
	static const uint32_t states_that_are_none[] = {0, TASK_DEAD | SLEEPING,
							TASK_WAKING | SLEEPING, TASK_NEW};

	for (size_t i = 0; i < ARRAY_LENGTH(states_that_are_none); i++) {
		task.__state = states_that_are_none[i];
		visit(note_sleeper, &task);
		assert_null(find_departure(&task));
	}
}

static void a_later_departure_keeps_its_note(void **state _unused_)
{
	struct departure *departure = note(DEPARTED, 1200);

	task.__state = SLEEPING;
	visit(note_sleeper, &task);
	assert_int_equal(departure->left_ns, 1200);
	assert_int_equal(departure->origin, DEPARTED);
}

static void a_full_map_counts_sleepers_without_note(void **state _unused_)
{
	struct task_struct other = {.pid = 8, .tgid = 8, .__state = SLEEPING};

	task.__state = SLEEPING;
	visit(note_sleeper, &task);
	assert_int_equal(get_counters()->unnoted, 0);
	visit(note_sleeper, &other);
	assert_int_equal(get_counters()->unnoted, 1);
	/* The thread is not counted as running. */
	visit(count_thread, &other);
	expect_times(END - START, 0, 0, 0);
}

/* The kernel runs the program again with the next read. */
static void a_full_buffer_leaves_the_sleeper_to_the_next_read(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();

	fake_kernel.kernel_stack[0] = 0xffffffff81000000;
	fake_kernel.num_kernel_frames = 1;
	task.__state = SLEEPING;
	visit(note_sleeper, &task);
	for (int64_t room = 0; room < 2; room++) {
		fake_kernel.seq_room = room; /* for the stack, then for the sample */
		visit(send_sleeper, &task);
		assert_int_equal(counter->fired, 0);
		assert_int_equal(counter->sends.sent, 0);
		assert_int_equal(counter->unfinished, 0);
		assert_int_equal(fake_record_count(WIRE_SAMPLE), 0);
	}
	fake_kernel.seq_room = FAKE_ALL_FIT;
	visit(send_sleeper, &task);
	assert_int_equal(counter->fired, 1);
	assert_int_equal(counter->sends.sent, 1);
	assert_int_equal(((const struct wire_sample *)fake_record_last(WIRE_SAMPLE))->kernel_stack,
			 ((const struct wire_stack *)fake_record_last(WIRE_STACK))->hash);
}

static void waits_below_the_limit_or_the_period_are_counted(void **state _unused_)
{
	const struct wire_off_cpu_counters *counter = get_counters();
	struct departure *departure = note(DEPARTED, END - 50);

	min_block_ns = 51;
	visit(send_sleeper, &task);
	assert_int_equal(counter->below_min_block, 1);
	departure->left_ns = END - 50;
	min_block_ns = 50;
	visit(send_sleeper, &task);
	assert_int_equal(counter->below_period, 1);
	departure->left_ns = END - 5000;
	departure->is_left_out = true;
	visit(send_sleeper, &task);
	assert_int_equal(counter->other_waits, 1);
	assert_int_equal(counter->fired, 3);
	assert_int_equal(counter->unfinished, 3);
	assert_int_equal(fake_kernel.num_records, 0);
}

static void the_scheduler_is_the_innermost_frame_of_a_sleeper(void **state _unused_)
{
	const struct wire_stack *stack;

	fake_kernel.kernel_stack[0] = 0xffffffff81000000;
	fake_kernel.num_kernel_frames = 1;
	scheduler_pc = 0xffffffff82000000;
	task.__state = SLEEPING;
	visit(note_sleeper, &task);
	visit(send_sleeper, &task);
	stack = fake_record_last(WIRE_STACK);
	assert_int_equal(stack->num_frames, 2);
	assert_true(stack->pcs[0] == 0xffffffff82000000);
	assert_true(stack->pcs[1] == 0xffffffff81000000);
}

/*
 * Code of the scheduler: __schedule, schedule, do_nanosleep, and a function behind it that is not
 * part of it. The kernel's stack of the thread.
 */
static uint8_t code[0x400];
static uint64_t kernel_words[MAX_SCHEDULER_WORDS];

enum {
	SCHEDULE_PROPER = 0x40,
	SCHEDULE = 0x80,
	NANOSLEEP = 0x180,
	TEXT_END = 0x200,
	OUTER = 0x300
};

static uint64_t address_of(size_t offset)
{
	return (uintptr_t)code + offset;
}

/* Write a call that returns to the offset. Gives its address. */
static uint64_t put_call(size_t return_offset, size_t target)
{
	int32_t distance = (int32_t)(target - return_offset);

	code[return_offset - 5] = 0xe8;
	memcpy(code + return_offset - 4, &distance, sizeof(distance));
	return address_of(return_offset);
}

static uint64_t put_call_by_register(size_t return_offset)
{
	memset(code + return_offset - 5, 0x90, 3);
	code[return_offset - 2] = 0xff;
	code[return_offset - 1] = 0xd0;
	return address_of(return_offset);
}

static void expect_kernel_stack(const uint64_t *pcs, uint32_t number)
{
	const struct wire_stack *stack;

	task.__state = SLEEPING;
	task.thread.sp = (uintptr_t)kernel_words;
	note(DEPARTED, 2000);
	visit(send_sleeper, &task);
	stack = fake_record_last(WIRE_STACK);
	assert_int_equal(stack->num_frames, number);
	for (uint32_t i = 0; i < number; i++)
		assert_true(stack->pcs[i] == pcs[i]);
}

/* A thread sleeps in SCHEDULE_PROPER, called by SCHEDULE, called by NANOSLEEP, called by OUTER. */
static void put_sleeper(void)
{
	memset(code, 0x90, sizeof(code));
	memset(kernel_words, 0, sizeof(kernel_words));
	scheduler_pc = address_of(SCHEDULE_PROPER) + 1;
	scheduler_text_start = address_of(SCHEDULE_PROPER);
	scheduler_text_end = address_of(TEXT_END);
	kernel_words[1] = put_call(OUTER + 0x60, TEXT_END + 0x10); /* of another function */
	kernel_words[6] = put_call(SCHEDULE + 0x20, SCHEDULE_PROPER);
	kernel_words[12] = put_call(NANOSLEEP + 0x30, SCHEDULE);
	kernel_words[19] = put_call(OUTER + 0x20, NANOSLEEP);
	fake_kernel.kernel_stack[0] = kernel_words[19];
	fake_kernel.kernel_stack[1] = 0xffffffff81000000;
	fake_kernel.num_kernel_frames = 2;
}

/* As in the stack of a wait that ends. */
static void frames_of_the_scheduler_are_found_in_the_memory_of_the_stack(void **state _unused_)
{
	uint64_t pcs[5];

	put_sleeper();
	kernel_words[8] = put_call(NANOSLEEP + 0x50, OUTER); /* older than the others */
	kernel_words[10] = put_call(NANOSLEEP + 0x60, SCHEDULE_PROPER) + 1; /* no call before it */
	memcpy(pcs,
	       (uint64_t[]){scheduler_pc, kernel_words[6], kernel_words[12], kernel_words[19],
			    0xffffffff81000000},
	       sizeof(pcs));
	expect_kernel_stack(pcs, 5);
}

static void a_call_by_a_register_leads_to_the_scheduler(void **state _unused_)
{
	uint64_t pcs[5];

	put_sleeper();
	kernel_words[12] = put_call_by_register(NANOSLEEP + 0x30);
	kernel_words[19] = put_call_by_register(OUTER + 0x20);
	memcpy(pcs,
	       (uint64_t[]){scheduler_pc, kernel_words[6], kernel_words[12], kernel_words[19],
			    0xffffffff81000000},
	       sizeof(pcs));
	expect_kernel_stack(pcs, 5);
}

/* NANOSLEEP has jumped to SCHEDULE, which returns to OUTER. */
static void a_function_of_the_scheduler_may_have_jumped_to_another_one(void **state _unused_)
{
	uint64_t pcs[4];

	put_sleeper();
	kernel_words[12] = 0;
	memcpy(pcs,
	       (uint64_t[]){scheduler_pc, kernel_words[6], kernel_words[19], 0xffffffff81000000},
	       sizeof(pcs));
	expect_kernel_stack(pcs, 4);
}

static void frames_that_do_not_call_each_other_are_not_believed(void **state _unused_)
{
	uint64_t pcs[3];

	put_sleeper();
	put_call(OUTER + 0x20, OUTER); /* the frame that the kernel gives calls something else */
	memcpy(pcs, (uint64_t[]){scheduler_pc, kernel_words[19], 0xffffffff81000000}, sizeof(pcs));
	expect_kernel_stack(pcs, 3);
	put_sleeper();
	put_call(SCHEDULE + 0x20, SCHEDULE_PROPER + 0x30); /* nobody calls __schedule */
	expect_kernel_stack(pcs, 3);
	put_sleeper();
	for (size_t i = 7; i < 7 + MAX_SCHEDULER_FRAMES; i++) /* too many */
		kernel_words[i] = put_call_by_register(NANOSLEEP + 0x30);
	expect_kernel_stack(pcs, 3);
	put_sleeper();
	fake_kernel.kernel_stack[0] = address_of(OUTER + 0x70); /* is not on the stack */
	pcs[1] = fake_kernel.kernel_stack[0];
	expect_kernel_stack(pcs, 3);
}

/* Its stack is that of something else by now. */
static void a_thread_that_has_gone_on_has_no_stack(void **state _unused_)
{
	static struct mm_struct memory;
	struct user_registers registers = {.sp = 0x7f0000000f00, .ip = 0x400000, .cs = USER_CODE};
	const struct wire_sample *sample;

	fake_kernel.kernel_stack[0] = 0xffffffff81000000;
	fake_kernel.num_kernel_frames = 1;
	fake_kernel.registers = &registers;
	task.mm = &memory;
	note(DEPARTED, 2000);
	task.__state = 0;
	visit(send_sleeper_with_stack, &task);
	assert_int_equal(fake_kernel.num_records, 1);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->wait_ns, END - 2000);
	assert_int_equal(sample->kernel_stack, 0);
	assert_int_equal(sample->user_sp, 0);
}

/* The copy ends at the first unreadable page. */
static void the_stack_of_a_sleeper_is_copied(void **state _unused_)
{
	static uint8_t page[2 * WIRE_RAW_PAGE_BYTES];
	static struct mm_struct memory;
	struct user_registers registers = {.sp = 0x7f0000000f00, .ip = 0x400000, .cs = USER_CODE};
	const struct wire_raw_sample *raw;

	memset(page, 0x5a, sizeof(page));
	fake_memory_add(0x7f0000000000, page, sizeof(page));
	task.mm = &memory;
	task.__state = SLEEPING;
	fake_kernel.registers = &registers;
	visit(note_sleeper, &task);
	visit(send_sleeper_with_stack, &task);
	raw = fake_record_last(WIRE_RAW_SAMPLE);
	assert_int_equal(raw->num_bytes, WIRE_RAW_PAGE_BYTES + 0x100);
	assert_int_equal(raw->num_far_bytes, 0);
	assert_int_equal(raw->registers.sp, 0x7f0000000f00);
	assert_int_equal(raw->bytes[0], 0x5a);
	assert_int_equal(raw->bytes[raw->num_bytes - 1], 0x5a);
}

static void threads_outside_the_cgroup_are_skipped(void **state _unused_)
{
	struct kernfs_node nodes[] = {{.id = 5}, {.id = 6}};
	struct cgroup root = {.kn = &nodes[0]};
	struct cgroup group = {.kn = &nodes[1]};
	struct css_set set = {.dfl_cgrp = &group};

	group.self = (struct cgroup_subsys_state){.cgroup = &group, .parent = &root.self};
	root.self = (struct cgroup_subsys_state){.cgroup = &root};
	task.cgroups = &set;
	cgroup_id = 7;
	visit(count_thread, &task);
	expect_times(0, 0, 0, 0);
	cgroup_id = 5;
	visit(count_thread, &task);
	expect_times(END - START, 0, 0, 0);
	cgroup_id = 6;
	visit(count_thread, &task);
	expect_times(2 * (END - START), 0, 0, 0);
}

/* So deep are no cgroups. */
static void ancestors_of_a_cgroup_are_bounded(void **state _unused_)
{
	static struct kernfs_node nodes[MAX_CGROUP_DEPTH + 1];
	static struct cgroup groups[MAX_CGROUP_DEPTH + 1];
	struct css_set set = {.dfl_cgrp = &groups[0]};

	for (uint32_t i = 0; i <= MAX_CGROUP_DEPTH; i++) {
		nodes[i].id = 100 + i;
		groups[i] = (struct cgroup){
			.self = {.cgroup = &groups[i],
				 .parent = i < MAX_CGROUP_DEPTH ? &groups[i + 1].self : NULL},
			.kn = &nodes[i]};
	}
	task.cgroups = &set;
	cgroup_id = 100 + MAX_CGROUP_DEPTH;
	visit(count_thread, &task);
	expect_times(0, 0, 0, 0);
	cgroup_id--;
	visit(count_thread, &task);
	expect_times(END - START, 0, 0, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_thread_asleep_throughout_has_one_wait),
		TEST(a_thread_running_since_its_start_has_no_wait),
		TEST(a_first_run_is_no_longer_than_the_life),
		TEST(a_new_thread_without_cpu_waits_for_one),
		TEST(earlier_cpu_time_does_not_shorten_a_wait),
		TEST(a_thread_in_a_run_queue_has_been_woken),
		TEST(a_thread_that_has_changed_its_run_queue_was_woken_before),
		TEST(a_thread_that_got_a_cpu_after_the_end_had_been_woken),
		TEST(a_thread_in_no_run_queue_sleeps),
		TEST(without_the_clocks_difference_no_wakeup_is_known),
		TEST(a_running_thread_has_its_cpu_time),
		TEST(a_thread_running_throughout_has_all_cpu_time),
		TEST(ended_and_younger_threads_count_nothing),
		TEST(a_wait_after_the_end_is_not_sent),
		TEST(only_sleeping_threads_are_noted),
		TEST(a_later_departure_keeps_its_note),
		TEST(a_full_map_counts_sleepers_without_note),
		TEST(a_full_buffer_leaves_the_sleeper_to_the_next_read),
		TEST(waits_below_the_limit_or_the_period_are_counted),
		TEST(the_scheduler_is_the_innermost_frame_of_a_sleeper),
		TEST(frames_of_the_scheduler_are_found_in_the_memory_of_the_stack),
		TEST(a_call_by_a_register_leads_to_the_scheduler),
		TEST(a_function_of_the_scheduler_may_have_jumped_to_another_one),
		TEST(frames_that_do_not_call_each_other_are_not_believed),
		TEST(a_thread_that_has_gone_on_has_no_stack),
		TEST(the_stack_of_a_sleeper_is_copied),
		TEST(threads_outside_the_cgroup_are_skipped),
		TEST(ancestors_of_a_cgroup_are_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
