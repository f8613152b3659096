/* User registers of a thread, by a helper or from its kernel stack, and what they say of a system call. */
#include "bpf/fake_kernel.h"

/* clang-format off */
#define const
#include "registers.h"
#undef const
/* clang-format on */

static struct mm_struct memory;
static struct task_struct task;
static struct user_registers registers;
static uint8_t kernel_stack[KERNEL_STACK_BYTES_KASAN];

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	memset(kernel_stack, 0, sizeof(kernel_stack));
	task = (struct task_struct){.mm = &memory, .stack = kernel_stack};
	registers = (struct user_registers){.orig_ax = SYSCALL_FUTEX,
					    .ax = -38ul,
					    .di = 0x1000,
					    .ip = 0x400000,
					    .cs = USER_CODE};
	fake_kernel.task = &task;
	fake_kernel.registers = &registers;
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_kernel_release();
	return 0;
}

static void expect_found(void)
{
	struct user_registers found = {0};

	read_registers(&found, &task);
	assert_memory_equal(&found, &registers, sizeof(found));
}

/* They end where the stack does; under KASAN it is larger. */
static void an_old_kernel_has_them_on_the_stack(void **state _unused_)
{
	static const uint32_t sizes[] = {KERNEL_STACK_BYTES, KERNEL_STACK_BYTES_KASAN};

	expect_found();
	fake_kernel.registers = NULL;
	fake_kernel.lacks_helpers = 1;
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		memset(kernel_stack, 0, sizeof(kernel_stack));
		memcpy(kernel_stack + sizes[i] - sizeof(registers), &registers, sizeof(registers));
		expect_found();
	}
}

static void a_call_that_has_returned_waits_for_nothing(void **state _unused_)
{
	registers.ax = -512ul; /* a signal stops the thread, which will make the call again */
	assert_int_equal(get_futex(&task, &registers), 0);
	assert_false(is_futex_wait(&task, &registers));
	assert_false(waits_for_futex(&task, WIRE_SAMPLE_BLOCKED));
	registers.orig_ax = SYSCALL_FUTEX_WAITV;
	assert_false(is_futex_wait(&task, &registers));
	registers.ax = -38ul;
	assert_true(is_futex_wait(&task, &registers));
	task.__state = 4;
	assert_false(is_futex_wait(&task, &registers));
}

/* The 16 KiB hold what looks like code of the kernel. */
static void code_of_the_kernel_is_no_user_code(void **state _unused_)
{
	struct user_registers other = {.cs = 0x10};

	fake_kernel.lacks_helpers = 1;
	memcpy(kernel_stack + sizeof(kernel_stack) - sizeof(registers), &registers,
	       sizeof(registers));
	for (other.cs = 0; other.cs < 3; other.cs++) {
		memcpy(kernel_stack + KERNEL_STACK_BYTES - sizeof(other), &other, sizeof(other));
		expect_found();
	}
}

static void only_operations_that_wait_have_a_futex(void **state _unused_)
{
	/* FUTEX_WAIT, LOCK_PI, WAIT_BITSET, WAIT_REQUEUE_PI, LOCK_PI2. */
	static const uint32_t waits[] = {0, 6, 9, 11, 13};

	for (uint32_t i = 0; i < 32; i++) {
		bool is_wait = false;

		for (size_t j = 0; j < ARRAY_LENGTH(waits); j++)
			is_wait |= waits[j] == i;
		registers.si = i;
		assert_int_equal(get_futex(&task, &registers), is_wait ? 0x1000 : 0);
		registers.si = i | 0x180; /* private, of the realtime clock */
		assert_int_equal(get_futex(&task, &registers), is_wait ? 0x1000 : 0);
	}
}

static void other_calls_have_no_futex(void **state _unused_)
{
	registers.orig_ax = SYSCALL_FUTEX + 1;
	assert_int_equal(get_futex(&task, &registers), 0);
	registers.orig_ax = SYSCALL_FUTEX;
	task.thread_info.status = CALL_STATUS_32_BIT; /* the number is another call */
	assert_int_equal(get_futex(&task, &registers), 0);
	assert_false(is_futex_wait(&task, &registers));
}

/* The addresses are in memory. */
static void a_wait_for_several_futexes_has_no_address(void **state _unused_)
{
	registers.orig_ax = SYSCALL_FUTEX_WAITV;
	registers.si = 1; /* the number of futexes */
	assert_true(is_futex_wait(&task, &registers));
	assert_int_equal(get_futex(&task, &registers), 0);
	task.thread_info.status = CALL_STATUS_32_BIT;
	assert_true(is_futex_wait(&task, &registers));
	assert_int_equal(get_futex(&task, &registers), 0);
}

/* Its second argument is the expected value. */
static void futex_wait_has_no_operation(void **state _unused_)
{
	registers.orig_ax = SYSCALL_FUTEX_WAIT;
	registers.si = 1;
	assert_true(is_futex_wait(&task, &registers));
	assert_int_equal(get_futex(&task, &registers), 0x1000);
}

static void the_table_of_32_bits_has_other_numbers_and_arguments(void **state _unused_)
{
	static const uint32_t calls[] = {SYSCALL_FUTEX_32, SYSCALL_FUTEX_TIME64_32};

	for (size_t i = 0; i < ARRAY_LENGTH(calls); i++) {
		registers.orig_ax = calls[i];
		registers.bx = 0x2000;
		registers.cx = 0x80; /* FUTEX_WAIT, private */
		task.thread_info.status = CALL_STATUS_32_BIT;
		assert_true(is_futex_wait(&task, &registers));
		assert_int_equal(get_futex(&task, &registers), 0x2000);
		registers.cx = 0x81;
		assert_false(is_futex_wait(&task, &registers));
		assert_int_equal(get_futex(&task, &registers), 0);
		registers.cx = 0x80;
		task.thread_info.status = 0;
		assert_false(is_futex_wait(&task, &registers));
	}
}

static void a_call_is_its_number_plus_one(void **state _unused_)
{
	registers.orig_ax = 0;
	assert_int_equal(get_call(&task, &registers), 1);
	registers.orig_ax = SYSCALL_FUTEX;
	assert_int_equal(get_call(&task, &registers), SYSCALL_FUTEX + 1);
	registers.orig_ax = -1;
	assert_int_equal(get_call(&task, &registers), 0);
}

/* 64-bit code makes calls of either table; other bits of the status have other meanings. */
static void the_kernel_knows_the_table_of_a_call(void **state _unused_)
{
	registers.orig_ax = 20;
	task.thread_info.status = CALL_STATUS_32_BIT | 4;
	assert_true(get_call(&task, &registers) == (21 | WIRE_CALL_32_BIT));
	registers.cs = USER_CODE_OF_32_BITS;
	assert_true(get_call(&task, &registers) == (21 | WIRE_CALL_32_BIT));
	task.thread_info.status = 4;
	assert_int_equal(get_call(&task, &registers), 21);
	fake_kernel.lacked_field = "thread_info.status";
	assert_true(get_call(&task, &registers) == (21 | WIRE_CALL_32_BIT));
	registers.cs = USER_CODE;
	assert_true(get_call(&task, &registers) == (21 | WIRE_CALL_UNKNOWN_TABLE));
}

static void calls_of_x32_have_a_mark(void **state _unused_)
{
	registers.orig_ax = SYSCALL_FUTEX | SHORT_POINTERS_BIT;
	assert_int_equal(get_call(&task, &registers), (SYSCALL_FUTEX | SHORT_POINTERS_BIT) + 1);
	assert_int_equal(get_futex(&task, &registers), 0x1000);
	assert_true(is_futex_wait(&task, &registers));
	registers.orig_ax = SYSCALL_FUTEX_WAITV | SHORT_POINTERS_BIT;
	assert_true(is_futex_wait(&task, &registers));
	/* The 32-bit table has no such numbers. */
	registers.orig_ax = SYSCALL_FUTEX_32 | SHORT_POINTERS_BIT;
	task.thread_info.status = CALL_STATUS_32_BIT;
	assert_false(is_futex_wait(&task, &registers));
}

static void only_blocked_threads_of_programs_wait_for_a_futex(void **state _unused_)
{
	assert_true(waits_for_futex(&task, WIRE_SAMPLE_BLOCKED));
	registers.orig_ax = SYSCALL_FUTEX_WAITV;
	assert_true(waits_for_futex(&task, WIRE_SAMPLE_BLOCKED));
	registers.orig_ax = SYSCALL_FUTEX;
	assert_false(waits_for_futex(&task, 0));
	registers.si = 1; /* FUTEX_WAKE */
	assert_false(waits_for_futex(&task, WIRE_SAMPLE_BLOCKED));
	registers.si = 0;
	task.flags = PF_KTHREAD;
	assert_false(waits_for_futex(&task, WIRE_SAMPLE_BLOCKED));
	task.flags = 0;
	task.mm = NULL;
	assert_false(waits_for_futex(&task, WIRE_SAMPLE_BLOCKED));
}

static void a_walk_starts_with_each_register(void **state _unused_)
{
	struct wire_registers ret;
	uint64_t *words = (uint64_t *)&registers;

	for (size_t i = 0; i < sizeof(registers) / sizeof(*words); i++)
		words[i] = 100 + i;
	get_registers(&registers, &ret);
	assert_int_equal(ret.pc, registers.ip);
	assert_int_equal(ret.sp, registers.sp);
	assert_int_equal(ret.fp, registers.bp);
	assert_int_equal(ret.di, registers.di);
	assert_int_equal(ret.si, registers.si);
	assert_int_equal(ret.bx, registers.bx);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_old_kernel_has_them_on_the_stack),
		TEST(code_of_the_kernel_is_no_user_code),
		TEST(only_operations_that_wait_have_a_futex),
		TEST(a_call_that_has_returned_waits_for_nothing),
		TEST(other_calls_have_no_futex),
		TEST(a_wait_for_several_futexes_has_no_address),
		TEST(futex_wait_has_no_operation),
		TEST(the_table_of_32_bits_has_other_numbers_and_arguments),
		TEST(a_call_is_its_number_plus_one),
		TEST(the_kernel_knows_the_table_of_a_call),
		TEST(calls_of_x32_have_a_mark),
		TEST(only_blocked_threads_of_programs_wait_for_a_futex),
		TEST(a_walk_starts_with_each_register),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
