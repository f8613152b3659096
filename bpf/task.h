/*
 * The running task on kernels old and new.
 */
#ifndef BPF_TASK_H
#define BPF_TASK_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */

/*
 * The running task. Before Linux 5.11 the verifier does not know the type of the pointer, and a
 * field must be read like any kernel memory; later that would only cost more.
 */
static __always_inline struct task_struct *get_current_task(void)
{
	if (HAS_HELPER(get_current_task_btf))
		return (void *)bpf_get_current_task_btf();
	return (void *)bpf_get_current_task();
}

/* A field of the running task. */
#define TASK_FIELD(task, field) \
	(HAS_HELPER(get_current_task_btf) ? (task)->field : BPF_CORE_READ(task, field))

/*
 * A field of the running task that is a pointer. The verifier may search all types of the kernel for
 * each pointer that a program loads, which takes a millisecond.
 */
#define TASK_POINTER(task, field) BPF_CORE_READ(task, field)

/* How often a thread has left a CPU: with sched_switch the kernel has counted the leaving one already. */
static __always_inline __u32 count_leaves(struct task_struct *task)
{
	return TASK_FIELD(task, nvcsw) + TASK_FIELD(task, nivcsw);
}

/* Its state now: others change it, too. */
static __always_inline __u32 get_state(struct task_struct *task)
{
	if (bpf_core_field_exists(task->__state))
		return TASK_FIELD(task, __state);
	return TASK_FIELD((struct task_struct___with_state *)task, state);
}

/* Linux include/linux/sched.h: stopped by a signal, or for a tracer. */
#define TASK_STOPPED_OR_TRACED (0x0004 | 0x0008)

static __always_inline bool is_in_execve(struct task_struct *task)
{
	if (HAS_HELPER(get_current_task_btf))
		return BPF_CORE_READ_BITFIELD(task, in_execve);
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/* Whether a signal handler is running on the stack that the thread has set for handlers. */
static __always_inline bool is_on_signal_stack(struct task_struct *task, __u64 sp)
{
	__u64 offset = sp - TASK_FIELD(task, sas_ss_sp);

	return offset && offset <= TASK_FIELD(task, sas_ss_size);
}

#endif
