/* Iterators over all threads: system calls that are under way at the start and the end of a recording. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "calls.bpf.c"
#undef const
/* clang-format on */

#define START  1000000
#define END    9000000
#define READ   0
#define PAUSE  34
#define ENOSYS 38

static struct mm_struct memory;
static struct task_struct task;
static struct user_registers registers;

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	FAKE_HASH(calls, 2);
	FAKE_HASH(target_tids, 2);
	FAKE_ARRAY(sleepers, 1);
	task = (struct task_struct){
		.pid = 7, .tgid = 6, .mm = &memory, .start_time = 1, .comm = "caller"};
	registers = (struct user_registers){
		.orig_ax = PAUSE, .ax = (unsigned long)-ENOSYS, .cs = USER_CODE, .sp = 0x7000};
	fake_kernel.registers = &registers;
	start_ns = START;
	end_ns = END;
	end_boot_ns = END + 50;
	event_number = 2;
	is_filtered = false;
	take_user_stacks = walks_by_table = true;
	cgroup_id = 0;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static void visit(int (*program)(struct bpf_iter__task *ctx), struct task_struct *visited)
{
	struct bpf_iter_meta meta = {0};
	struct bpf_iter__task ctx = {.meta = &meta, .task = visited};

	assert_int_equal(program(&ctx), 0);
}

static struct wire_call *find_call(void)
{
	__u64 key = (uintptr_t)&task;

	return bpf_map_lookup_elem(&calls, &key);
}

static void a_call_under_way_throughout_is_as_long_as_the_recording(void **state _unused_)
{
	const struct wire_sample *sample;

	visit(note_call, &task);
	assert_non_null(find_call());
	assert_int_equal(find_call()->start_ns, START);
	assert_int_equal(find_call()->number, PAUSE + 1);
	visit(send_call, &task);
	sample = fake_record_last(WIRE_SAMPLE);
	assert_int_equal(sample->pid, 6);
	assert_int_equal(sample->tid, 7);
	assert_int_equal(sample->event, 2);
	assert_int_equal(sample->num_periods, 1);
	assert_int_equal(sample->weight, END - START);
	assert_int_equal(sample->duration_ms, 8);
	assert_int_equal(sample->call, PAUSE + 1);
	assert_int_equal(sample->time_ns, END + 50);
	assert_int_equal(sample->user_sp, 0x7000);
	assert_int_equal(sample->flags & WIRE_SAMPLE_OFF_CPU, 0);
	assert_true(sample->flags & WIRE_SAMPLE_UNDER_WAY);
	assert_string_equal(sample->comm, "caller");
	/* Once. */
	visit(send_call, &task);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 1);
	visit(send_call, NULL);
}

static void only_threads_in_a_call_are_noted(void **state _unused_)
{
	struct task_struct kernel_thread = {.pid = 2, .tgid = 2, .flags = PF_KTHREAD};

	visit(note_call, NULL);
	visit(note_call, &kernel_thread);
	task.on_cpu = 1; /* its registers are those of its last call */
	visit(note_call, &task);
	task.on_cpu = 0;
	registers.orig_ax = (unsigned long)-1; /* a page fault */
	visit(note_call, &task);
	registers.orig_ax = (unsigned long)-237; /* an interrupt */
	visit(note_call, &task);
	registers.orig_ax = 231; /* it does not return */
	visit(note_call, &task);
	registers.orig_ax = 56; /* a new thread has not run yet */
	registers.ax = 0;
	visit(note_call, &task);
	assert_null(find_call());
	/* Its parent waits in it. */
	registers.ax = (unsigned long)-ENOSYS;
	visit(note_call, &task);
	assert_non_null(find_call());
}

/* A signal that stops a thread ends its call, as a cgroup's freezer does. Tracers stop it outside. */
static void a_stopped_thread_is_in_no_call(void **state _unused_)
{
	registers.ax = (unsigned long)-516; /* it will be restarted */
	visit(note_call, &task);
	registers.ax = 0; /* a worker of io_uring has the registers of the call that made it */
	visit(note_call, &task);
	registers.ax = (unsigned long)-ENOSYS;
	task.__state = 4; /* the result of an unknown call */
	visit(note_call, &task);
	task.__state = 8 | 0x100;
	visit(note_call, &task);
	assert_null(find_call());
	task.__state = 1; /* it sleeps */
	visit(note_call, &task);
	assert_non_null(find_call());
}

static void a_call_of_the_other_table_has_its_mark(void **state _unused_)
{
	registers.orig_ax = 1; /* exit() there */
	visit(note_call, &task);
	assert_int_equal(find_call()->number, 1 + 1);
	visit(send_call, &task);
	task.thread_info.status = CALL_STATUS_32_BIT;
	visit(note_call, &task);
	assert_null(find_call());
	registers.orig_ax = 20;
	visit(note_call, &task);
	assert_true(find_call()->number == (21 | WIRE_CALL_32_BIT));
}

static void a_call_made_meanwhile_is_kept(void **state _unused_)
{
	struct wire_call call = {.start_ns = START + 5, .number = READ + 1};
	__u64 key = (uintptr_t)&task;

	assert_int_equal(bpf_map_update_elem(&calls, &key, &call, BPF_ANY), 0);
	visit(note_call, &task);
	assert_int_equal(find_call()->start_ns, START + 5);
	assert_int_equal(find_call()->number, READ + 1);
}

static void a_filter_leaves_other_threads_out(void **state _unused_)
{
	__u64 key = 7;
	__u32 target = WIRE_TARGET;

	is_filtered = true;
	visit(note_call, &task);
	assert_null(find_call());
	bpf_map_update_elem(&target_tids, &key, &target, BPF_ANY);
	visit(note_call, &task);
	assert_non_null(find_call());
}

/* It has returned since the end. */
static void a_call_of_another_number_has_no_stack(void **state _unused_)
{
	static const uint64_t stack[4];

	fake_memory_add(0x7000, stack, sizeof(stack));
	visit(note_call, &task);
	registers.orig_ax = READ;
	visit(send_call_with_stack, &task);
	assert_int_equal(fake_record_count(WIRE_RAW_SAMPLE), 0);
	assert_int_equal(((const struct wire_sample *)fake_record_last(WIRE_SAMPLE))->call,
			 PAUSE + 1);
	assert_int_equal(((const struct wire_sample *)fake_record_last(WIRE_SAMPLE))->user_sp, 0);
}

static void the_stack_is_copied(void **state _unused_)
{
	static uint8_t stack[2 * WIRE_RAW_PAGE_BYTES];
	const struct wire_raw_sample *raw;

	fake_memory_add(0x7000, stack, sizeof(stack));
	visit(note_call, &task);
	visit(send_call_with_stack, &task);
	raw = fake_record_last(WIRE_RAW_SAMPLE);
	assert_int_equal(raw->num_bytes, sizeof(stack));
	assert_int_equal(raw->sample.call, PAUSE + 1);
	assert_int_equal(raw->registers.sp, 0x7000);
}

static void a_call_without_room_is_sent_again(void **state _unused_)
{
	visit(note_call, &task);
	fake_kernel.seq_room = 0;
	visit(send_call, &task);
	assert_int_equal(fake_kernel.num_records, 0);
	fake_kernel.seq_room = FAKE_ALL_FIT;
	visit(send_call, &task);
	assert_int_equal(fake_record_count(WIRE_SAMPLE), 1);
}

static void a_call_that_starts_after_the_end_is_left_out(void **state _unused_)
{
	struct wire_call call = {.start_ns = END, .number = READ + 1};
	__u64 key = (uintptr_t)&task;

	assert_int_equal(bpf_map_update_elem(&calls, &key, &call, BPF_ANY), 0);
	visit(send_call, &task);
	assert_int_equal(fake_kernel.num_records, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(a_call_under_way_throughout_is_as_long_as_the_recording),
		TEST(only_threads_in_a_call_are_noted),
		TEST(a_stopped_thread_is_in_no_call),
		TEST(a_call_of_the_other_table_has_its_mark),
		TEST(a_call_made_meanwhile_is_kept),
		TEST(a_filter_leaves_other_threads_out),
		TEST(a_call_of_another_number_has_no_stack),
		TEST(the_stack_is_copied),
		TEST(a_call_without_room_is_sent_again),
		TEST(a_call_that_starts_after_the_end_is_left_out),
	};
#undef TEST

	return cmocka_run_group_tests(tests, NULL, NULL);
}
