/* The sampling program: counters of ticks, the filter of threads, stack areas, raw stacks. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "sampler.bpf.c"
#undef const
/* clang-format on */

#define SP 0x7f0000001000

static struct task_struct task;
static struct xol_area not_probed;
static struct mm_struct memory;
static struct vm_area_struct area;
static struct bpf_perf_event_data tick;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_PER_CPU(counters);
	FAKE_PER_CPU(scratches);
	FAKE_PER_CPU(own_times);
	FAKE_PER_CPU(known_areas);
	FAKE_PER_CPU(thread_bounds);
	FAKE_PER_CPU(running_threads);
	FAKE_PER_CPU(raw_budget);
	FAKE_PER_CPU(hotspot_scratches);
	FAKE_PER_CPU(runtime_stacks);
	FAKE_ARRAY(raw_samples, 1);
	FAKE_ARRAY(sent_stacks, 1);
	FAKE_ARRAY(unwind_mappings, 1);
	FAKE_HASH(target_tids, 4);
	FAKE_HASH(unwind_processes, 2);
	FAKE_RINGS(rings);
	memory = (struct mm_struct){.start_brk = 0x1000,
				    .brk = 0x2000,
				    .start_stack = SP + 0x800,
				    .uprobes_state = {&not_probed}};
	area = (struct vm_area_struct){.vm_start = SP - 0x1000, .vm_end = SP + 0x1000};
	task = (struct task_struct){.pid = 7, .tgid = 6, .start_time = 5 << 10};
	tick = (struct bpf_perf_event_data){.regs = {.cs = USER_CODE}, .sample_period = 100};
	fake_kernel.task = &task;
	fake_kernel.pid_tgid = 6ull << 32 | 7;
	fake_kernel.registers = &tick.regs;
	fake_kernel.vma = &area;
	fake_kernel.user_stack[0] = 0x400000;
	fake_kernel.kernel_stack[0] = 0xffffffff81000000;
	fake_kernel.num_user_frames = fake_kernel.num_kernel_frames = 1;
	is_filtered = leaves_children_out = false;
	pid_namespace_inode = 0;
	walks_by_table = false;
	take_user_stacks = take_kernel_stacks = true;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static struct wire_counters *get_counters(void)
{
	return get_per_cpu(&counters);
}

static void add_key(uint64_t key, uint32_t value)
{
	assert_int_equal(fake_map_update(fake_map_find(&target_tids), &key, &value), 0);
}

static bool is_in_filter(uint64_t tid)
{
	return get_target_state(tid) == WIRE_TARGET;
}

static void expect_balance(void)
{
	const struct wire_counters *counter = get_counters();

	assert_int_equal(counter->fired, counter->idle + counter->filtered + counter->sends.sent +
						 counter->sends.lost_ring_sample +
						 counter->sends.lost_ring_stack);
}

static void a_tick_is_a_sample_with_its_stacks(void **state _unused_)
{
	const struct wire_sample *sample;

	task.mm = &memory;
	event_number = 3;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->pid, 6);
	assert_int_equal(sample->tid, 7);
	assert_int_equal(sample->weight, 100);
	assert_int_equal(sample->event, 3);
	assert_true(sample->user_stack != 0);
	assert_int_equal(sample->kernel_stack, 0);
	assert_int_equal(sample->flags & WIRE_SAMPLE_IN_KERNEL, 0);
	tick.regs.cs = 0x10;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_true(sample->kernel_stack != 0);
	assert_true(sample->flags & WIRE_SAMPLE_IN_KERNEL);
	assert_int_equal(fake_record_count(WIRE_STACK), 2);
	for (uint64_t i = 0; i < fake_kernel.num_records; i++) {
		const struct wire_stack *stack = fake_kernel.records[i].bytes;

		if (stack->type != WIRE_STACK || stack->hash != sample->kernel_stack)
			continue;
		assert_int_equal(stack->num_frames, fake_kernel.num_kernel_frames);
		assert_true(stack->pcs[0] == fake_kernel.kernel_stack[0]);
	}
	on_tick(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK), 2);
	assert_int_equal(get_counters()->sends.sent, 3);
	expect_balance();
	event_number = 0;
}

static void a_sample_has_the_state_of_its_task(void **state _unused_)
{
	const struct wire_sample *sample;

	task.self_exec_id = 9;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->generation, 9);
	assert_true(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY);
	assert_int_equal(sample->flags & WIRE_SAMPLE_IN_EXEC, 0);
	assert_string_equal(sample->comm, "thread");
	task.mm = &memory;
	task.in_execve = 1;
	tick.regs.sp = SP;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY, 0);
	assert_true(sample->flags & WIRE_SAMPLE_IN_EXEC);
	assert_int_equal(sample->user_sp, SP);
	/* The memory of an image in exec may be either's. */
	on_tick_with_areas(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK_AREA), 0);
	task.flags = PF_KTHREAD;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_true(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY);
}

/* Tables are for 64-bit code. */
static void the_kernel_follows_frame_pointers_of_32_bit_code(void **state _unused_)
{
	const struct wire_sample *sample;

	task.mm = &memory;
	walks_by_table = true;
	tick.regs.cs = USER_CODE_OF_32_BITS;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->walk_end, WALK_32_BIT);
	assert_true(sample->user_stack != 0);
	walks_by_table = false;
	tick.regs.cs = USER_CODE;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->walk_end, WALK_FP_CHAIN);
}

static void a_full_ring_counts_lost_ticks(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();

	task.mm = &memory;
	fake_kernel.ring_room = 0;
	on_tick(&tick);
	assert_int_equal(counter->sends.lost_ring_stack, 1);
	fake_kernel.ring_room = 1;
	on_tick(&tick);
	assert_int_equal(counter->sends.lost_ring_sample, 1);
	fake_kernel.ring_room = 1; /* the stack is known */
	on_tick(&tick);
	assert_int_equal(counter->sends.sent, 1);
	tick.regs.cs = 0x10;
	fake_kernel.ring_room = 0; /* for the kernel stack */
	on_tick(&tick);
	assert_int_equal(counter->sends.lost_ring_stack, 2);
	expect_balance();
}

static void filtered_and_idle_ticks_are_counted(void **state _unused_)
{
	const struct wire_counters *counter = get_counters();

	is_filtered = true;
	on_tick(&tick);
	assert_int_equal(counter->filtered, 1);
	fake_kernel.pid_tgid = 0;
	on_tick(&tick);
	assert_int_equal(counter->idle, 1);
	add_key(7, WIRE_TARGET_FROM_EXEC);
	fake_kernel.pid_tgid = 6ull << 32 | 7;
	on_tick(&tick);
	assert_int_equal(counter->filtered, 2);
	add_key(7, WIRE_TARGET);
	on_tick(&tick);
	assert_int_equal(counter->sends.sent, 1);
	assert_int_equal(counter->outside, 0);
	expect_balance();
}

/* A struct pid with the numbers of three nested namespaces. */
struct numbers {
	unsigned int level;
	struct upid numbers[3];
};

static void ticks_outside_the_pid_namespace_are_counted(void **state _unused_)
{
	struct pid_namespace namespaces[] = {{.ns.inum = 1}, {.ns.inum = 42}, {.ns.inum = 43}};
	struct numbers numbers = {
		.level = 2,
		.numbers = {{7, &namespaces[0]}, {107, &namespaces[1]}, {207, &namespaces[2]}}};
	const struct wire_counters *counter = get_counters();
	const struct wire_sample *sample;

	task.thread_pid = (struct pid *)&numbers;
	task.group_leader = &task;
	pid_namespace_inode = 42;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->tid, 107); /* its own namespace is deeper */
	assert_int_equal(sample->pid, 107);
	pid_namespace_inode = 43;
	on_tick(&tick);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->tid, 207);
	assert_int_equal(counter->sends.sent, 2);
	numbers.level = 1; /* the thread is outside the namespace */
	on_tick(&tick);
	assert_int_equal(counter->filtered, 1);
	assert_int_equal(counter->outside, 1);
	is_filtered = true;
	on_tick(&tick);
	assert_int_equal(counter->filtered, 2);
	assert_int_equal(counter->outside, 1);
	/* User space knows a thread by its number in the namespace. */
	pid_namespace_inode = 42;
	add_key(WIRE_NAMED_IN_NAMESPACE | 107, WIRE_TARGET);
	on_tick(&tick);
	assert_int_equal(counter->sends.sent, 3);
	expect_balance();
}

static struct task_struct child_of(pid_t pid, pid_t tgid)
{
	return (struct task_struct){.pid = pid, .tgid = tgid, .start_time = 9 << 10};
}

static void children_of_a_target_are_targets(void **state _unused_)
{
	struct task_struct thread = child_of(8, 6);
	struct task_struct process = child_of(9, 9);
	struct task_struct other = child_of(10, 10);

	is_filtered = true;
	on_fork(NULL, &other, &thread);
	assert_false(is_in_filter(8));
	add_key(7, WIRE_TARGET);
	on_fork(NULL, &task, &thread);
	on_fork(NULL, &task, &process);
	assert_true(is_in_filter(8));
	assert_true(is_in_filter(9));
	leaves_children_out = true;
	on_fork(NULL, &task, &other);
	assert_false(is_in_filter(10));
}

static void a_full_filter_counts_unfollowed_threads(void **state _unused_)
{
	is_filtered = true;
	add_key(7, WIRE_TARGET);
	for (pid_t pid = 20; pid < 23; pid++) {
		struct task_struct child = child_of(pid, pid);

		on_fork(NULL, &task, &child);
	}
	assert_int_equal(get_counters()->unfollowed, 0);
	for (pid_t pid = 23; pid < 25; pid++) {
		struct task_struct child = child_of(pid, pid);

		on_fork(NULL, &task, &child);
	}
	assert_int_equal(get_counters()->unfollowed, 2);
}

/* Another thread may have the tid by then. */
static void a_freed_thread_leaves_the_filter(void **state _unused_)
{
	struct task_struct child = child_of(8, 8);
	struct task_struct later = child_of(8, 8);

	is_filtered = true;
	add_key(7, WIRE_TARGET);
	on_fork(NULL, &task, &child);
	later.start_time = 10 << 10;
	on_free(NULL, &later);
	assert_true(is_in_filter(8));
	on_free(NULL, &child);
	assert_false(is_in_filter(8));
	/* A thread added by user space has no start time. */
	on_free(NULL, &task);
	assert_false(is_in_filter(7));
	on_free(NULL, &task);
}

static void an_exec_takes_the_tid_of_the_first_thread(void **state _unused_)
{
	is_filtered = true;
	task.pid = 6; /* 7 before the exec */
	on_exec(NULL, &task, 7);
	assert_false(is_in_filter(6));
	add_key(7, WIRE_TARGET);
	on_exec(NULL, &task, 7);
	assert_true(is_in_filter(6));
	assert_false(is_in_filter(7));
	assert_int_equal(fake_kernel.num_forced_wakeups, 1);
	add_key(6, WIRE_TARGET_FROM_EXEC);
	on_exec(NULL, &task, 6);
	assert_true(is_in_filter(6));
	assert_int_equal(fake_kernel.num_forced_wakeups, 2);
}

static void the_end_of_a_target_wakes_user_space(void **state _unused_)
{
	is_filtered = true;
	on_exit(NULL, &task);
	add_key(7, WIRE_TARGET);
	on_exit(NULL, &task); /* not the last thread */
	assert_int_equal(fake_kernel.num_forced_wakeups, 0);
	fake_kernel.pid_tgid = 7ull << 32 | 7;
	task.tgid = 7;
	on_exit(NULL, &task);
	assert_int_equal(fake_kernel.num_forced_wakeups, 1);
	assert_true(is_in_filter(7));
}

/* Its number in the namespace is gone before the thread is. */
static void an_exiting_thread_stays_in_the_filter_by_its_own_number(void **state _unused_)
{
	struct pid_namespace namespaces[] = {{.ns.inum = 1}, {.ns.inum = 42}};
	struct numbers numbers = {.level = 1,
				  .numbers = {{7, &namespaces[0]}, {107, &namespaces[1]}}};

	task.thread_pid = (struct pid *)&numbers;
	task.group_leader = &task;
	is_filtered = true;
	pid_namespace_inode = 42;
	on_exit(NULL, &task);
	assert_false(is_in_filter(7));
	add_key(WIRE_NAMED_IN_NAMESPACE | 107, WIRE_TARGET);
	on_exit(NULL, &task);
	assert_true(is_in_filter(7));
	assert_false(is_in_filter(WIRE_NAMED_IN_NAMESPACE | 107));
	assert_int_equal(fake_map_find(&target_tids)->num_entries, 1);
}

/* The scratch area still has the outer frames of a stack before. */
static void a_stack_is_known_by_its_frames_alone(void **state _unused_)
{
	task.mm = &memory;
	for (uint64_t num = 1; num <= 3; num++) {
		fake_kernel.user_stack[num - 1] = 0x400000 + num;
		fake_kernel.num_user_frames = num;
		on_tick(&tick);
	}
	assert_int_equal(fake_record_count(WIRE_STACK), 3);
	for (uint64_t num = 1; num <= 3; num++) {
		fake_kernel.num_user_frames = num;
		on_tick(&tick);
	}
	assert_int_equal(fake_record_count(WIRE_STACK), 3);
}

static uint64_t hash_of(const uint64_t *pcs, uint64_t num_frames, uint64_t seed)
{
	struct wire_stack *stack = get_scratch_stack();

	/* Frames of the stack before are beyond its end. */
	memset(stack->pcs, (int)(0x40 + num_frames), sizeof(stack->pcs));
	memcpy(stack->pcs, pcs, num_frames * sizeof(*pcs));
	return hash_stack(num_frames, seed);
}

/* Each frame, its place, the number of frames, and the seed. */
static void the_hash_covers_all_of_a_stack(void **state _unused_)
{
	static uint64_t pcs[WIRE_MAX_FRAMES + 1];
	static const uint64_t numbers[] = {
		1, 2, 3, 4, 5, 8, 9, 31, 32, 33, WIRE_MAX_FRAMES - 1, WIRE_MAX_FRAMES};

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		const uint64_t num = numbers[i];
		uint64_t hash;

		for (uint64_t j = 0; j < num; j++)
			pcs[j] = 0x400000 + 0x10 * j;
		hash = hash_of(pcs, num, 7);
		assert_true(hash == hash_of(pcs, num, 7));
		memset(get_scratch_stack()->pcs + num, 0x77,
		       (WIRE_MAX_FRAMES - num) * sizeof(*pcs));
		assert_true(hash == hash_stack(num, 7));
		assert_true(hash != hash_of(pcs, num, 8));
		assert_true(hash != hash_of(pcs, num - 1, 7));
		for (uint64_t j = 0; j < num; j++) {
			const uint64_t pc = pcs[j];

			pcs[j] = pc + 1;
			assert_true(hash != hash_of(pcs, num, 7));
			/* In turns with the frame after it, and with that of the same sum. */
			for (uint64_t distance = 1; distance <= 2 && j + distance < num;
			     distance++) {
				pcs[j] = pcs[j + distance];
				pcs[j + distance] = pc;
				assert_true(hash != hash_of(pcs, num, 7));
				pcs[j + distance] = pcs[j];
			}
			pcs[j] = pc;
		}
	}
	/* A frame of 0 at the end is a frame. The two sums count the same frames in different ways. */
	pcs[0] = 0x400000;
	pcs[1] = pcs[2] = pcs[3] = 0;
	for (uint64_t num = 1; num < 4; num++)
		assert_true(hash_of(pcs, num, 7) != hash_of(pcs, num + 1, 7));
	assert_true(hash_of((uint64_t[]){0x1000, 0x2000}, 2, 2) !=
		    hash_of((uint64_t[]){0x3000, 0x3000}, 2, 2));
	assert_true(hash_of((uint64_t[]){0x1000, 0x1000}, 2, 2) !=
		    hash_of((uint64_t[]){0x3000, 0x3000}, 2, 2));
}

static bool is_published(uint32_t pid)
{
	return fake_map_lookup(fake_map_find(&unwind_processes), &pid);
}

static void published_processes_follow_fork_exec_and_exit(void **state _unused_)
{
	struct unwind_process process = {.num_mappings = 3};
	struct task_struct thread = child_of(8, 6);
	struct task_struct child = child_of(9, 9);
	uint32_t pid = 6;

	task.pid = 6;
	on_fork(NULL, &task, &child);
	assert_false(is_published(9));
	assert_int_equal(fake_map_update(fake_map_find(&unwind_processes), &pid, &process), 0);
	on_fork(NULL, &task, &thread);
	assert_false(is_published(8));
	on_fork(NULL, &task, &child);
	assert_true(is_published(9));
	on_exit(NULL, &thread);
	assert_true(is_published(6));
	on_exec(NULL, &task, 6);
	assert_false(is_published(6));
	on_exit(NULL, &child);
	assert_false(is_published(9));
	/* In a PID namespace user space publishes alone. */
	assert_int_equal(fake_map_update(fake_map_find(&unwind_processes), &pid, &process), 0);
	pid_namespace_inode = 42;
	on_fork(NULL, &task, &child);
	assert_false(is_published(9));
	on_exec(NULL, &task, 6);
	assert_true(is_published(6));
}

static void expect_area(uint64_t count, enum wire_stack_kind kind, uint64_t start, uint64_t end)
{
	const struct wire_stack_area *sent;

	on_tick_with_areas(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK_AREA), count);
	sent = fake_record_last(WIRE_STACK_AREA);
	assert_int_equal(sent->kind, kind);
	assert_int_equal(sent->start, start);
	assert_int_equal(sent->end, end);
}

static void a_stack_area_is_sent_once(void **state _unused_)
{
	task.mm = &memory;
	tick.regs.sp = SP;
	expect_area(1, WIRE_STACK_MAIN, SP - 0x1000, SP + 0x1000);
	tick.regs.sp = SP + 0x1000; /* the last address inside */
	expect_area(1, WIRE_STACK_MAIN, SP - 0x1000, SP + 0x1000);
	tick.regs.sp = SP + 0x1001;
	memory.start_stack = SP + 0x100000;
	area.vm_end = SP + 0x2000;
	expect_area(2, WIRE_STACK_OTHER, SP - 0x1000, SP + 0x2000);
	/* The thread executed another program. */
	memory.start_stack = SP;
	task.self_exec_id = 1;
	((struct known_areas *)get_per_cpu(&known_areas))->areas[14].mm++;
	expect_area(3, WIRE_STACK_MAIN, SP - 0x1000, SP + 0x2000);
	/* Another thread has the same place in the cache. */
	fake_kernel.pid_tgid += KNOWN_AREAS / 2;
	expect_area(4, WIRE_STACK_MAIN, SP - 0x1000, SP + 0x2000);
}

static void a_full_ring_leaves_the_area_to_the_next_tick(void **state _unused_)
{
	task.mm = &memory;
	tick.regs.sp = SP;
	fake_kernel.ring_room = 0;
	on_tick_with_areas(&tick);
	fake_kernel.ring_room = FAKE_ALL_FIT;
	fake_kernel.vma = NULL; /* the mapping is being changed */
	on_tick_with_areas(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK_AREA), 0);
	fake_kernel.vma = &area;
	expect_area(1, WIRE_STACK_MAIN, SP - 0x1000, SP + 0x1000);
}

static void a_handler_has_its_signal_stack(void **state _unused_)
{
	task.mm = &memory;
	task.sas_ss_sp = SP - 0x100;
	task.sas_ss_size = 0x200;
	tick.regs.sp = SP;
	expect_area(1, WIRE_STACK_SIGNAL, SP - 0x100, SP + 0x100);
	tick.regs.sp = SP + 0x100;
	expect_area(1, WIRE_STACK_SIGNAL, SP - 0x100, SP + 0x100);
	tick.regs.sp = SP + 0x101;
	expect_area(2, WIRE_STACK_MAIN, SP - 0x1000, SP + 0x1000);
	tick.regs.sp = SP - 0x100; /* just below the signal stack */
	on_tick_with_areas(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK_AREA), 2);
}

static void a_thread_pointer_above_the_stack_marks_a_thread(void **state _unused_)
{
	static uint64_t self = SP + 0x800;

	task.mm = &memory;
	memory.start_stack = 0;
	task.thread.fsbase = SP + 0x800;
	fake_memory_add(SP + 0x800, &self, sizeof(self));
	tick.regs.sp = SP;
	expect_area(1, WIRE_STACK_THREAD, SP - 0x1000, SP + 0x1000);
	assert_int_equal(
		((const struct wire_stack_area *)fake_record_last(WIRE_STACK_AREA))->thread_pointer,
		SP + 0x800);
}

#define THREAD_POINTER (SP + 0x800)

/* A C library's description of the thread in memory; the kernel has joined its mapping with others. */
static uint64_t *add_thread(size_t num_words)
{
	static uint64_t words[0x900 / 8];

	memset(words, 0, sizeof(words));
	words[0] = THREAD_POINTER;
	task.mm = &memory;
	memory.start_stack = 0;
	task.thread.fsbase = THREAD_POINTER;
	area = (struct vm_area_struct){.vm_start = SP - 0x8000, .vm_end = SP + 0x8000};
	fake_memory_add(THREAD_POINTER, words, num_words * sizeof(*words));
	tick.regs.sp = SP;
	return words;
}

static void glibc_knows_the_bounds_of_a_threads_stack(void **state _unused_)
{
	uint64_t *words = add_thread(0x900 / 8) + 0x690 / 8;

	words[0] = SP - 0x3000;
	words[1] = 0x5000;
	words[2] = 0x1000; /* the guard */
	expect_area(1, WIRE_STACK_BOUNDED_THREAD, SP - 0x2000, SP + 0x2000);
	/* Other memory is below it. */
	tick.regs.sp = SP - 0x2000;
	expect_area(2, WIRE_STACK_OTHER, SP - 0x8000, SP - 0x2000);
	tick.regs.sp = SP - 0x1fff;
	expect_area(3, WIRE_STACK_BOUNDED_THREAD, SP - 0x2000, SP + 0x2000);
	/* The mapping is smaller. */
	memset(get_per_cpu(&known_areas), 0, sizeof(struct known_areas));
	area = (struct vm_area_struct){.vm_start = SP - 0x1800, .vm_end = SP + 0x1000};
	expect_area(4, WIRE_STACK_BOUNDED_THREAD, SP - 0x1800, SP + 0x1000);
}

static void musl_knows_the_bounds_of_a_threads_stack(void **state _unused_)
{
	uint64_t *words = add_thread(200 / 8) + 0x48 / 8;

	words[0] = SP - 0x3000;
	words[1] = 0x5000;
	words[2] = SP + 0x7e0; /* its own data are above */
	words[3] = 0x27e0;
	words[4] = 0x1000;
	expect_area(1, WIRE_STACK_BOUNDED_THREAD, SP - 0x2000, SP + 0x2000);
	/* The program has provided the memory. */
	memset(get_per_cpu(&known_areas), 0, sizeof(struct known_areas));
	words[0] = words[4] = 0;
	words[1] = 0x4000;
	expect_area(2, WIRE_STACK_BOUNDED_THREAD, SP - 0x2000, SP + 0x2000);
	/* An older version has another word before. */
	memset(get_per_cpu(&known_areas), 0, sizeof(struct known_areas));
	memmove(words + 1, words, 5 * sizeof(*words));
	words[0] = 1;
	expect_area(3, WIRE_STACK_BOUNDED_THREAD, SP - 0x2000, SP + 0x2000);
}

/* Without bounds that agree with each other, the mapping is all that is known. */
static void bounds_that_disagree_are_not_a_stacks(void **state _unused_)
{
	static const struct {
		size_t offset;
		uint64_t words[5];
	} cases[] = {
		{0x690, {SP - 0x3000, 0x3800, 0}}, /* ends at the thread pointer */
		{0x690, {SP - 0x3000, 0x3801 + MAX_LIBRARY_BYTES, 0}}, /* ends too far above it */
		{0x690, {THREAD_POINTER, 0x800, 0}},                   /* starts there */
		{0x690, {SP - 0x3000, 0x5000, 0x3800}},                /* the guard is as large */
		{0x690, {SP - 0x3000, 0x5000, UINT64_MAX}},
		{0x48, {SP - 0x3000, 0x5000, SP + 0x7e0, 0x27e0, 0x2000}},
		{0x48, {0, 0x4000, SP + 0x7e0, 0x27e0, 0x1000}},
		{0x48, {SP - 0x3000, 0x5000, SP + 0x801, 0x2801, 0x1000}},
		{0x48, {0, 0x4000, SP + 0x7e0, 0, 0}},
		{0x48, {0, 0x2800, SP + 0x7e0, 0x27e0, 0}},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		void *made = NULL;
		const struct wire_stack_area *sent;

		(void)tear_down(&made);
		(void)set_up(&made);
		memcpy(add_thread(0x900 / 8) + cases[i].offset / 8, cases[i].words,
		       sizeof(cases[i].words));
		on_tick_with_areas(&tick);
		sent = fake_record_last(WIRE_STACK_AREA);
		if (sent->kind != WIRE_STACK_THREAD || sent->start != area.vm_start ||
		    sent->end != area.vm_end)
			fail_msg("case %zu: kind %u", i, sent->kind);
	}
}

static void the_heap_is_no_stack(void **state _unused_)
{
	task.mm = &memory;
	memory.start_stack = 0;
	memory.start_brk = SP - 0x1000;
	memory.brk = SP + 0x1000;
	tick.regs.sp = SP;
	on_tick_with_areas(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK_AREA), 0);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 1);
}

static void the_heap_may_hold_a_threads_stack(void **state _unused_)
{
	uint64_t *words = add_thread(0x900 / 8) + 0x690 / 8;

	memory.start_brk = SP - 0x7000;
	memory.brk = SP + 0x8000;
	/* Without its bounds it may be anywhere. */
	on_tick_with_areas(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK_AREA), 0);
	memset(get_per_cpu(&known_areas), 0, sizeof(struct known_areas));
	words[0] = SP - 0x3000;
	words[1] = 0x5000;
	expect_area(1, WIRE_STACK_BOUNDED_THREAD, SP - 0x3000, SP + 0x2000);
	/* Other memory of the heap. */
	tick.regs.sp = SP - 0x3800;
	on_tick_with_areas(&tick);
	assert_int_equal(fake_record_count(WIRE_STACK_AREA), 1);
}

static void a_goroutine_has_the_bounds_of_its_descriptor(void **state _unused_)
{
	struct goroutine routine = {.low = SP - 0x400,
				    .high = SP + 0x400,
				    .guard = SP - 0x300,
				    .system_guard = NO_GUARD};

	task.mm = &memory;
	fake_memory_add(0x5000, &routine, sizeof(routine));
	tick.regs.sp = SP;
	tick.regs.r14 = 0x5000;
	expect_area(1, WIRE_STACK_GOROUTINE, SP - 0x400, SP + 0x400);
	expect_area(1, WIRE_STACK_GOROUTINE, SP - 0x400, SP + 0x400);
	routine.low -= 0x100;
	expect_area(2, WIRE_STACK_GOROUTINE, SP - 0x500, SP + 0x400);
	routine.high = SP - 1; /* sp is outside of its stack */
	expect_area(3, WIRE_STACK_MAIN, SP - 0x1000, SP + 0x1000);
}

/* Other memory may look like a descriptor by chance. */
static void a_goroutine_needs_a_valid_descriptor(void **state _unused_)
{
	static const struct {
		uint64_t low, high, guard, system_guard;
		bool is_valid;
	} cases[] = {
		{SP - 0x400, SP + 0x400, SP - 0x300, NO_GUARD, true},
		{SP - 0x400, SP, SP - 0x300, NO_GUARD, true},
		{SP - 0x400, SP - 1, SP - 0x300, NO_GUARD, false},
		{SP, SP + 0x400, SP + 0x10, NO_GUARD, false},
		{SP - 1, SP + 0x400, SP, NO_GUARD, true},
		{SP - 0x400, SP + 0x400, SP - 0x400, NO_GUARD, false},
		{SP - 0x400, SP + 0x400, SP + 0x400, NO_GUARD, false},
		{SP - 0x400, SP + 0x400, MIN_POISONED_GUARD, NO_GUARD, true},
		{SP - 0x400, SP + 0x400, MIN_POISONED_GUARD - 1, NO_GUARD, false},
		{SP - 0x400, SP + 0x400, SP - 0x300, SP - 0x300, true},
		{SP - 0x400, SP + 0x400, SP - 0x300, SP - 0x200, false},
		{SP - 0x400, SP - 0x400 + MAX_GOROUTINE_BYTES, SP - 0x300, NO_GUARD, true},
		{SP - 0x400, SP - 0x3ff + MAX_GOROUTINE_BYTES, SP - 0x300, NO_GUARD, false},
	};
	struct goroutine routine = {0};
	struct goroutine found;

	fake_memory_add(0x5000, &routine, sizeof(routine));
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		routine = (struct goroutine){cases[i].low, cases[i].high, cases[i].guard,
					     cases[i].system_guard};
		assert_int_equal(read_goroutine(0x5000, SP, &found), cases[i].is_valid);
	}
	assert_false(read_goroutine(0, SP, &found));
	assert_false(read_goroutine(0x6000, SP, &found));
}

static void raw_stacks_have_a_budget(void **state _unused_)
{
	struct raw_budget *budget = get_per_cpu(&raw_budget);
	uint64_t now_ns = 5000000000;

	for (uint32_t i = 0; i < WIRE_RAW_SAMPLES_PER_SECOND; i++)
		assert_true(may_send_raw(now_ns));
	assert_false(may_send_raw(now_ns));
	assert_false(may_send_raw(now_ns + 1000000000));
	assert_true(may_send_raw(now_ns + 1000000001));
	assert_int_equal(budget->num_samples, 1);
	note_raw_bytes(WIRE_RAW_BYTES_PER_SECOND - 1);
	assert_true(may_send_raw(now_ns + 1000000001));
	note_raw_bytes(1);
	assert_false(may_send_raw(now_ns + 1000000001));
	assert_true(may_send_raw(now_ns + 2000000002));
	assert_int_equal(budget->num_bytes, 0);
}

static void the_stack_of_an_unpublished_process_is_copied(void **state _unused_)
{
	static uint8_t stack[0x2000];
	const struct wire_raw_sample *raw;

	memset(stack, 0x5a, sizeof(stack));
	task.mm = &memory;
	walks_by_table = true;
	memory.start_stack = SP + 0x1100;
	tick.regs.sp = SP + 0x800;
	tick.regs.ip = 0x400000;
	fake_memory_add(SP, stack, sizeof(stack));
	on_tick(&tick);
	raw = fake_record_last(WIRE_RAW_SAMPLE);
	assert_int_equal(raw->sample.walk_end, WALK_NO_PROCESS);
	assert_int_equal(raw->num_bytes, 0x1100 + STACK_END_MARGIN - 0x800);
	assert_int_equal(raw->bytes[raw->num_bytes - 1], 0x5a);
	assert_int_equal(fake_kernel.records[fake_kernel.num_records - 1].size,
			 offsetof(struct wire_raw_sample, bytes) + raw->num_bytes);
	/* With a ring half full the copy is left out. */
	fake_kernel.ring_quarters = 2;
	on_tick(&tick);
	assert_int_equal(fake_record_count(WIRE_RAW_SAMPLE), 1);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 1);
	fake_kernel.ring_quarters = 1;
	on_tick(&tick);
	assert_int_equal(fake_record_count(WIRE_RAW_SAMPLE), 2);
	assert_int_equal(get_counters()->sends.sent, 3);
}

static void a_sample_whose_copy_finds_no_room_is_sent_without(void **state _unused_)
{
	static uint8_t stack[0x1000];

	task.mm = &memory;
	walks_by_table = true;
	tick.regs.sp = SP + 0x400;
	tick.regs.ip = 0x400000;
	fake_memory_add(SP, stack, sizeof(stack));
	fake_kernel.ring_bytes = 1024;
	on_tick(&tick);
	assert_int_equal(fake_record_count(WIRE_RAW_SAMPLE), 0);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 1);
	assert_int_equal(get_counters()->sends.sent, 1);
	assert_int_equal(get_counters()->sends.lost_ring_sample, 0);
}

static void a_ring_that_fills_wakes_user_space(void **state _unused_)
{
	on_tick(&tick);
	assert_int_equal(fake_kernel.num_forced_wakeups, 0);
	fake_kernel.ring_quarters = 1;
	on_tick(&tick);
	assert_int_equal(fake_kernel.num_forced_wakeups, 1);
}

/* What the sample before has found is of another process. */
static void a_process_that_is_not_published_runs_no_interpreter(void **state _unused_)
{
	struct scratch *scratch = get_scratch();

	scratch->runtime.layout = scratch->hotspot_layout = 1;
	scratch->hotspot_state = HOTSPOT_STARTED;
	task.mm = &memory;
	walks_by_table = true;
	on_tick(&tick);
	walks_by_table = false;
	assert_int_equal(scratch->runtime.layout, 0);
	assert_int_equal(scratch->hotspot_layout, 0);
	assert_int_equal(scratch->hotspot_state, HOTSPOT_NOT_STARTED);
}

static void a_tick_updates_the_running_thread(void **state _unused_)
{
	struct wire_schedule_running *running = get_per_cpu(&running_threads);

	tracks_running = true;
	task.nvcsw = 2;
	task.nivcsw = 1;
	*running = (struct wire_schedule_running){.tid = 7, .num_leaves = 3, .other_since_ns = 9};
	fake_kernel.now_ns = 500;
	on_tick(&tick);
	assert_int_equal(running->seen_ns, 500);
	assert_int_equal(running->other_since_ns, 0);
	task.nvcsw = 3; /* the thread has left the CPU since */
	fake_kernel.now_ns = 600;
	on_tick(&tick);
	assert_int_equal(running->seen_ns, 500);
	assert_int_equal(running->other_tid, 7);
	assert_int_equal(running->other_since_ns, 600);
	fake_kernel.now_ns = 700;
	on_tick(&tick);
	assert_int_equal(running->other_since_ns, 600);
	task.nivcsw = 2; /* and once more, so that it came back later */
	fake_kernel.now_ns = 800;
	on_tick(&tick);
	assert_int_equal(running->other_since_ns, 800);
	tracks_running = false;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_tick_is_a_sample_with_its_stacks),
		TEST(a_sample_has_the_state_of_its_task),
		TEST(the_kernel_follows_frame_pointers_of_32_bit_code),
		TEST(a_full_ring_counts_lost_ticks),
		TEST(filtered_and_idle_ticks_are_counted),
		TEST(ticks_outside_the_pid_namespace_are_counted),
		TEST(children_of_a_target_are_targets),
		TEST(a_full_filter_counts_unfollowed_threads),
		TEST(a_freed_thread_leaves_the_filter),
		TEST(an_exec_takes_the_tid_of_the_first_thread),
		TEST(the_end_of_a_target_wakes_user_space),
		TEST(an_exiting_thread_stays_in_the_filter_by_its_own_number),
		TEST(a_stack_is_known_by_its_frames_alone),
		TEST(the_hash_covers_all_of_a_stack),
		TEST(published_processes_follow_fork_exec_and_exit),
		TEST(a_stack_area_is_sent_once),
		TEST(a_full_ring_leaves_the_area_to_the_next_tick),
		TEST(a_handler_has_its_signal_stack),
		TEST(glibc_knows_the_bounds_of_a_threads_stack),
		TEST(musl_knows_the_bounds_of_a_threads_stack),
		TEST(bounds_that_disagree_are_not_a_stacks),
		TEST(a_thread_pointer_above_the_stack_marks_a_thread),
		TEST(the_heap_is_no_stack),
		TEST(the_heap_may_hold_a_threads_stack),
		TEST(a_goroutine_has_the_bounds_of_its_descriptor),
		TEST(a_goroutine_needs_a_valid_descriptor),
		TEST(raw_stacks_have_a_budget),
		TEST(the_stack_of_an_unpublished_process_is_copied),
		TEST(a_sample_whose_copy_finds_no_room_is_sent_without),
		TEST(a_ring_that_fills_wakes_user_space),
		TEST(a_process_that_is_not_published_runs_no_interpreter),
		TEST(a_tick_updates_the_running_thread),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
