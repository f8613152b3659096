/*
 * Samples of threads that do not run: programs that the kernel runs for every thread of the machine
 * take them in the reader's process.
 *
 * The stack belongs to another thread. The kernel walks its own part of it. The user part is copied
 * by the program that may sleep, as its pages may have to be fetched, and walked by user space.
 * Records go to the reader, not to the rings, which nobody empties meanwhile. A record that does
 * not fit into the reader's buffer is returned by the next read: the program runs again then, so
 * nothing may be counted before it has been written.
 */
#ifndef BPF_OTHER_TASK_H
#define BPF_OTHER_TASK_H

#include "maps.h"
#include "output.h"
#include "registers.h"
#include "task.h"
#include "wire/unwind.h"

/* All that is emitted for a thread must fit into 32 KiB, which the kernel has for a reader. */
#define STACK_PAGES 6
/* A cgroup deeper than that is not found. */
#define MAX_CGROUP_DEPTH 64

/* Set by user space before loading. */
const volatile bool walks_by_table = true;
/* Only threads of this cgroup and those below it; 0: all. */
const volatile __u64 cgroup_id = 0;
/* Set by user space before it reads: the end, CLOCK_MONOTONIC and CLOCK_BOOTTIME. */
volatile __u64 end_ns = 0;
volatile __u64 end_boot_ns = 0;

/* A struct wire_raw_sample with less room. */
struct sleeper_stack {
	struct wire_sample sample;
	struct wire_registers registers;
	__u64 far_sp;
	__u32 num_bytes;
	__u32 num_far_bytes;
	__u8 seen[3]; /* entry_bytes, cfa_offset, frame_setup: 0, as no code is looked at here */
	__u8 has_signal_stack;
	__u8 padding[4];
	__u64 signal_stack;
	__u64 signal_stack_bytes;
	__u8 bytes[STACK_PAGES * WIRE_RAW_PAGE_BYTES];
};
_Static_assert(sizeof(struct sleeper_stack) == sizeof(struct wire_raw_sample) -
						       WIRE_RAW_STACK_BYTES +
						       STACK_PAGES * WIRE_RAW_PAGE_BYTES,
	       "struct sleeper_stack is not as struct wire_raw_sample is");

/* Data sent for one thread at a time, as there is one reader. */
struct sleeper {
	struct user_registers registers;
	struct wire_stack stack;
	struct sleeper_stack raw;
};
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sleeper);
} sleepers SEC(".maps");

static __always_inline struct sleeper *get_sleeper(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&sleepers, &zero);
}

static __always_inline struct wire_stack *get_scratch_stack(void)
{
	struct sleeper *sleeper = get_sleeper();

	return sleeper ? &sleeper->stack : NULL;
}

/* Its number in the reader's pid namespace, which has it: others are not met. */
static __always_inline __u32 get_visible_number(struct pid *pid)
{
	return get_number(pid, BPF_CORE_READ(get_current_task(), thread_pid, level));
}

static __always_inline bool is_under_cgroup(struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);

	for (int i = 0; cgroup && i < MAX_CGROUP_DEPTH; i++) {
		struct cgroup_subsys_state *parent;

		if (BPF_CORE_READ(cgroup, kn, id) == cgroup_id)
			return true;
		parent = BPF_CORE_READ(cgroup, self.parent);
		cgroup = parent ? BPF_CORE_READ(parent, cgroup) : NULL;
	}
	return false;
}

static __always_inline bool is_target(struct task_struct *task)
{
	__u32 target;

	if (cgroup_id)
		return is_under_cgroup(task);
	if (!is_filtered)
		return true;
	target = get_target_state(TASK_FIELD(task, pid));
	if (!target && pid_namespace_inode)
		target = get_target_state(WIRE_NAMED_IN_NAMESPACE |
					  get_visible_number(BPF_CORE_READ(task, thread_pid)));
	return target == WIRE_TARGET;
}

static __always_inline bool is_on_cpu(struct task_struct *task)
{
	if (bpf_core_field_exists(task->on_cpu))
		return TASK_FIELD(task, on_cpu);
	return !get_state(task);
}

/* The thread's data. */
static __always_inline void describe_other(struct wire_sample *sample, struct task_struct *task)
{
	*sample = (struct wire_sample){
		.type = WIRE_SAMPLE,
		.pid = TASK_FIELD(task, tgid),
		.tid = TASK_FIELD(task, pid),
		.flags = WIRE_SAMPLE_IN_KERNEL,
		.time_ns = end_boot_ns,
		.generation = WIRE_GENERATION_UNKNOWN,
	};
	if (pid_namespace_inode) {
		sample->pid = get_visible_number(BPF_CORE_READ(task, group_leader, thread_pid));
		sample->tid = get_visible_number(BPF_CORE_READ(task, thread_pid));
	}
	(void)bpf_probe_read_kernel_str(sample->comm, sizeof(sample->comm), task->comm);
	if (bpf_core_field_exists(task->self_exec_id))
		sample->generation = TASK_FIELD(task, self_exec_id);
	if (bpf_core_field_exists(task->in_execve) && is_in_execve(task))
		sample->flags |= WIRE_SAMPLE_IN_EXEC;
	if (!TASK_POINTER(task, mm) || (TASK_FIELD(task, flags) & PF_KTHREAD))
		sample->flags |= WIRE_SAMPLE_NO_USER_MEMORY;
}

/* Copy the stack, up to the last available page. Returns the number of bytes. */
static __always_inline __u32 copy_stack(struct sleeper_stack *raw, struct task_struct *task)
{
	__u64 sp = raw->registers.sp;
	__u64 first = WIRE_RAW_PAGE_BYTES - (sp & (WIRE_RAW_PAGE_BYTES - 1));
	__u64 num_bytes = 0;

	for (int i = 0; i < STACK_PAGES; i++) {
		__u64 size = i ? WIRE_RAW_PAGE_BYTES : first;

		asm volatile(""
			     : "+r"(num_bytes), "+r"(size)); /* the verifier must see the limits */
		if (num_bytes > sizeof(raw->bytes) - WIRE_RAW_PAGE_BYTES ||
		    size > WIRE_RAW_PAGE_BYTES)
			break;
		if (bpf_copy_from_user_task(raw->bytes + num_bytes, size, (void *)(sp + num_bytes),
					    task, 0))
			break;
		num_bytes += size;
	}
	return num_bytes;
}

/*
 * The user registers and stack. Returns the size of the record, which is that of a mere sample if
 * the stack is not available.
 */
static __always_inline __u64 fill_user_stack(struct sleeper *sleeper, struct task_struct *task,
					     bool copies_stack)
{
	struct sleeper_stack *raw = &sleeper->raw;

	if (!take_user_stacks || (raw->sample.flags & WIRE_SAMPLE_NO_USER_MEMORY))
		return sizeof(raw->sample);
	read_registers(&sleeper->registers, task);
	raw->sample.user_sp = sleeper->registers.sp;
	raw->sample.futex = get_futex(task, &sleeper->registers);
	if (REGISTERS_ARE_32_BIT(&sleeper->registers)) {
		raw->sample.walk_end = WALK_32_BIT;
		return sizeof(raw->sample);
	}
	if (!copies_stack || !walks_by_table)
		return sizeof(raw->sample);
	get_registers(&sleeper->registers, &raw->registers);
	raw->far_sp = raw->num_far_bytes = 0;
	raw->has_signal_stack = true;
	raw->signal_stack = TASK_FIELD(task, sas_ss_sp);
	raw->signal_stack_bytes = TASK_FIELD(task, sas_ss_size);
	raw->num_bytes = copy_stack(raw, task);
	if (!raw->num_bytes)
		return sizeof(raw->sample);
	raw->sample.type = WIRE_RAW_SAMPLE;
	return sizeof(*raw) - sizeof(raw->bytes) + raw->num_bytes;
}

#endif
