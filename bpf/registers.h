/* The user registers of a thread in the kernel: the running one, or one that does not run. */
#ifndef BPF_REGISTERS_H
#define BPF_REGISTERS_H

#include "task.h"
#include "wire/registers.h"
#include "wire/wire.h"

/* Bytes of a kernel stack, and those of kernels that check their own memory accesses (KASAN). */
#define KERNEL_STACK_BYTES       (16u << 10)
#define KERNEL_STACK_BYTES_KASAN (32u << 10)

/* Find the saved user registers, for kernels without a helper for it. */
static __always_inline const void *find_saved_registers(struct task_struct *task)
{
	const struct user_registers *end = TASK_FIELD(task, stack) + KERNEL_STACK_BYTES;
	unsigned long mode = 0;

	(void)bpf_probe_read_kernel(&mode, sizeof(mode), &end[-1].MODE_REGISTER);
	if (!IS_USER_MODE(mode))
		end = (const void *)end + KERNEL_STACK_BYTES_KASAN - KERNEL_STACK_BYTES;
	return end - 1;
}

/* A thread's user registers; zeros when they cannot be had. */
static __always_inline void read_registers(struct user_registers *ret, struct task_struct *task)
{
	const void *saved;

	if (HAS_HELPER(task_pt_regs))
		saved = (const void *)bpf_task_pt_regs((void *)task);
	else
		saved = find_saved_registers(task);
	(void)bpf_probe_read_kernel(ret, sizeof(*ret), saved);
}

/* Linux include/uapi/linux/futex.h: bits of the operations that wait; above them are flags. */
#define FUTEX_COMMAND_MASK 0x1f
#define FUTEX_WAITS        (1u << 0 | 1u << 6 | 1u << 9 | 1u << 11 | 1u << 13)

static __always_inline bool is_futex_operation_that_waits(__u64 operation)
{
	return FUTEX_WAITS >> (operation & FUTEX_COMMAND_MASK) & 1;
}

/* Whether a thread waits in futex(2). */
static __always_inline bool is_in_futex(const struct user_registers *registers)
{
	__u32 call = registers->CALL_REGISTER;

	if (REGISTERS_ARE_32_BIT(registers))
		return (call == SYSCALL_FUTEX_32 || call == SYSCALL_FUTEX_TIME64_32) &&
		       is_futex_operation_that_waits(registers->CALL_ARGUMENT_2_32);
	return call == SYSCALL_FUTEX && is_futex_operation_that_waits(registers->CALL_ARGUMENT_2);
}

/*
 * The address of the futex that a thread waits for; 0: it waits for none, or for several at a time,
 * and their addresses are in memory (futex_waitv).
 */
static __always_inline __u64 get_futex(const struct user_registers *registers)
{
	if (!is_in_futex(registers) && (__u32)registers->CALL_REGISTER != SYSCALL_FUTEX_WAIT)
		return 0;
	return REGISTERS_ARE_32_BIT(registers) ? (__u32)registers->CALL_ARGUMENT_1_32
					       : registers->CALL_ARGUMENT_1;
}

/* Whether a thread is in a system call that waits for futexes. */
static __always_inline bool is_futex_wait(const struct user_registers *registers)
{
	__u32 call = registers->CALL_REGISTER;

	return is_in_futex(registers) || call == SYSCALL_FUTEX_WAITV || call == SYSCALL_FUTEX_WAIT;
}

/* The system call that a thread is in, as wire_sample has it. */
static __always_inline __u64 get_call(const struct user_registers *registers)
{
	__u64 number = (__u32)registers->CALL_REGISTER + 1ull;

	/* -1: in none, as a signal handler that returns. */
	if (number == WIRE_CALL_32_BIT)
		return 0;
	return REGISTERS_ARE_32_BIT(registers) ? number | WIRE_CALL_32_BIT : number;
}

/*
 * Whether a thread that is off its CPU, or about to be, waits for a futex. An uninterruptible wait
 * is for another resource of the system call, such as memory.
 */
static __always_inline bool waits_for_futex(struct task_struct *task, __u32 flag)
{
	struct user_registers registers = {0};

	if (flag != WIRE_SAMPLE_BLOCKED || !TASK_POINTER(task, mm) ||
	    (TASK_FIELD(task, flags) & PF_KTHREAD))
		return false;
	read_registers(&registers, task);
	return is_futex_wait(&registers);
}

/* The registers that a walk starts with. */
static __always_inline void get_registers(const struct user_registers *registers,
					  struct wire_registers *ret)
{
#define GET_REGISTER(name, NAME, saved, ...) ret->name = registers->saved;
	WIRE_FOR_EACH_REGISTER(GET_REGISTER)
#undef GET_REGISTER
}

#endif
