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

/* The table of a thread's system call: 0, WIRE_CALL_32_BIT or WIRE_CALL_UNKNOWN_TABLE. */
static __always_inline __u64 get_call_table(struct task_struct *task,
					    const struct user_registers *registers)
{
	if (bpf_core_field_exists(task->thread_info.status))
		return TASK_FIELD(task, thread_info.status) & CALL_STATUS_32_BIT ? WIRE_CALL_32_BIT
										 : 0;
	return REGISTERS_ARE_32_BIT(registers) ? WIRE_CALL_32_BIT : WIRE_CALL_UNKNOWN_TABLE;
}

/* The system call of a thread that is in the kernel, as wire_sample has it. */
static __always_inline __u64 get_call(struct task_struct *task,
				      const struct user_registers *registers)
{
	__u32 number = (__u32)registers->CALL_REGISTER + 1;

	/* -1: no call, as in a signal handler that returns. */
	return number ? number | get_call_table(task, registers) : 0;
}

/*
 * The system call of a thread off its CPU; 0: none. If a signal or the freezer stops the
 * thread, its call has ended before, and sys_exit was reported. A tracer stops it before sys_enter,
 * after sys_exit, or within calls that make threads. These are left out, too.
 */
static __always_inline __u64 get_call_under_way(struct task_struct *task,
						const struct user_registers *registers)
{
	if (!CALL_HAS_NOT_RETURNED(registers) || (get_state(task) & TASK_STOPPED_OR_TRACED))
		return 0;
	return get_call(task, registers);
}

/* Its number in its table; x32 has most numbers of the 64-bit table. */
static __always_inline __u32 get_call_number(__u64 call)
{
	__u32 number = (__u32)call - 1;

	return call & WIRE_CALL_32_BIT ? number : number & ~SHORT_POINTERS_BIT;
}

/* Whether a thread waits in futex(2). */
static __always_inline bool is_in_futex(__u64 call, const struct user_registers *registers)
{
	__u32 number = get_call_number(call);

	if (call & WIRE_CALL_32_BIT)
		return (number == SYSCALL_FUTEX_32 || number == SYSCALL_FUTEX_TIME64_32) &&
		       is_futex_operation_that_waits(registers->CALL_ARGUMENT_2_32);
	return number == SYSCALL_FUTEX && is_futex_operation_that_waits(registers->CALL_ARGUMENT_2);
}

/*
 * The address of the futex that a thread waits for; 0: it waits for none, or for several at a time,
 * and their addresses are in memory (futex_waitv).
 */
static __always_inline __u64 get_futex(struct task_struct *task,
				       const struct user_registers *registers)
{
	__u64 call = get_call_under_way(task, registers);

	if (!is_in_futex(call, registers) && get_call_number(call) != SYSCALL_FUTEX_WAIT)
		return 0;
	return call & WIRE_CALL_32_BIT ? (__u32)registers->CALL_ARGUMENT_1_32
				       : registers->CALL_ARGUMENT_1;
}

/* Whether a thread is in a system call that waits for futexes. */
static __always_inline bool is_futex_wait(struct task_struct *task,
					  const struct user_registers *registers)
{
	__u64 call = get_call_under_way(task, registers);
	__u32 number = get_call_number(call);

	return is_in_futex(call, registers) || number == SYSCALL_FUTEX_WAITV ||
	       number == SYSCALL_FUTEX_WAIT;
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
	return is_futex_wait(task, &registers);
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
