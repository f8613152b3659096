/*
 * The sampled threads, if not all are: those that user space has named, and their descendants.
 *
 * Ticks belong to CPUs, and ticks of other threads are dropped here. Ticks that belong to threads
 * and are inherited would miss their target. The kernel restarts them with every child, so a
 * process with a shorter life than their period never gets one. It also swaps them between parent
 * and child, so the parent hardly gets any.
 */
#ifndef BPF_TARGET_FILTER_H
#define BPF_TARGET_FILTER_H

#include "maps.h"
#include "output.h"

/* Set by user space before loading: descendants of a target are not targets. */
const volatile bool leaves_children_out = false;

/* The running thread's role for user space: enum wire_target, or 0. */
static __always_inline __u32 get_target_state_of_current(__u32 tid)
{
	__u32 target = get_target_state(tid);

	if (!target && pid_namespace_inode)
		target = get_target_state(WIRE_NAMED_IN_NAMESPACE |
					  (__u32)get_visible_pid_tgid(bpf_get_current_pid_tgid()));
	return target;
}

/* start: its start time, above WIRE_TARGET_BITS; 0 if unknown. */
static __always_inline void add_target(__u64 tid, __u32 start)
{
	__u32 target = WIRE_TARGET | start;
	struct wire_counters *counter = get_per_cpu(&counters);

	if (bpf_map_update_elem(&target_tids, &tid, &target, BPF_ANY) && counter)
		counter->unfollowed++;
}

/* is_process: it is certainly not another thread of the same process. */
static __always_inline void follow_fork(__u32 parent_tid, __u32 child_tid, __u32 child_start,
					bool is_process)
{
	if (is_process && leaves_children_out)
		return;
	if (is_filtered && get_target_state_of_current(parent_tid) == WIRE_TARGET)
		add_target(child_tid, child_start);
}

/* The thread that executes a program takes the tid of its process's first one. */
static __always_inline void follow_exec(__u32 old_tid, __u32 tid, __u32 start)
{
	__u64 old_key = old_tid;

	if (!is_filtered || (!get_target_state(old_tid) && !get_target_state_of_current(tid)))
		return;
	add_target(tid, start);
	if (old_tid != tid)
		bpf_map_delete_elem(&target_tids, &old_key);
	/* The new program's files are to be opened while it runs. */
	wake_user_space();
}

/* An exiting thread still has work to do: it keeps its own number until it is gone. */
static __always_inline void follow_exit(__u32 tid, __u32 start)
{
	__u32 target;
	__u64 key;

	if (!is_filtered)
		return;
	target = get_target_state_of_current(tid);
	/* Perhaps the recording has ended. */
	if (target && tid == (__u32)(bpf_get_current_pid_tgid() >> 32))
		wake_user_space();
	if (!pid_namespace_inode)
		return;
	if (target == WIRE_TARGET)
		add_target(tid, start);
	key = WIRE_NAMED_IN_NAMESPACE | (__u32)get_visible_pid_tgid(bpf_get_current_pid_tgid());
	bpf_map_delete_elem(&target_tids, &key);
}

/* Another thread may have the tid by then. */
static __always_inline void follow_free(__u64 tid, __u32 start)
{
	const __u32 *target = bpf_map_lookup_elem(&target_tids, &tid);
	__u32 target_start = target ? *target & ~WIRE_TARGET_MASK : 0;

	if (target && (!target_start || !start || target_start == start))
		bpf_map_delete_elem(&target_tids, &tid);
}

/*
 * Count a tick. Returns the thread it has interrupted, pid in the upper half, or 0 if that is
 * not sampled.
 */
static __always_inline __u64 start_tick(struct wire_counters *counter)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	bool is_target;

	counter->fired++;
	if ((__u32)pid_tgid == 0) {
		counter->idle++;
		return 0;
	}
	is_target = !is_filtered || get_target_state_of_current((__u32)pid_tgid) == WIRE_TARGET;
	pid_tgid = get_visible_pid_tgid(pid_tgid);
	if (is_target && pid_tgid)
		return pid_tgid;
	counter->filtered++;
	if (is_target)
		counter->outside++;
	return 0;
}

#endif
