/*
 * The threads to be sampled, where not all are: those that user space has named, and whatever they
 * start.
 *
 * Ticks belong to CPUs, and ticks of other threads are left out here. Ticks that belong to threads
 * and are inherited would miss what they should show: the kernel starts them anew with every child,
 * so that a process which lives shorter than their period never sees one, and it swaps them between
 * parent and child, so that the parent hardly does.
 */
#ifndef BPF_WANTED_H
#define BPF_WANTED_H

#include "maps.h"
#include "output.h"

/* What user space wants of the running thread, or 0. */
static __always_inline __u32 get_wanted_of_current(__u32 tid)
{
	__u32 wanted = get_wanted(tid);

	if (!wanted && pid_namespace_inode)
		wanted = get_wanted(WIRE_NAMED_IN_NAMESPACE |
				    (__u32)get_visible_pid_tgid(bpf_get_current_pid_tgid()));
	return wanted;
}

/* start: when it started, above WIRE_WANTED_BITS; 0 where that is not known. */
static __always_inline void want(__u64 tid, __u32 start)
{
	__u32 wanted = WIRE_WANTED | start;
	struct wire_counters *counter = get_per_cpu(&counters);

	if (bpf_map_update_elem(&wanted_tids, &tid, &wanted, BPF_ANY) && counter)
		counter->unfollowed++;
}

static __always_inline void follow_fork(__u32 parent_tid, __u32 child_tid, __u32 child_start)
{
	if (is_filtered && get_wanted_of_current(parent_tid) == WIRE_WANTED)
		want(child_tid, child_start);
}

/* The thread that executes a program takes the tid of its process's first one. */
static __always_inline void follow_exec(__u32 old_tid, __u32 tid, __u32 start)
{
	__u64 old_key = old_tid;

	if (!is_filtered || (!get_wanted(old_tid) && !get_wanted_of_current(tid)))
		return;
	want(tid, start);
	if (old_tid != tid)
		bpf_map_delete_elem(&wanted_tids, &old_key);
}

/* A thread that exits has work to do yet: it is known by its own number until it is gone. */
static __always_inline void follow_exit(__u32 tid, __u32 start)
{
	__u64 key;

	if (!is_filtered || !pid_namespace_inode)
		return;
	if (get_wanted_of_current(tid) == WIRE_WANTED)
		want(tid, start);
	key = WIRE_NAMED_IN_NAMESPACE | (__u32)get_visible_pid_tgid(bpf_get_current_pid_tgid());
	bpf_map_delete_elem(&wanted_tids, &key);
}

/* By then another thread may have the tid. */
static __always_inline void follow_free(__u64 tid, __u32 start)
{
	const __u32 *wanted = bpf_map_lookup_elem(&wanted_tids, &tid);
	__u32 wanted_start = wanted ? *wanted & ~WIRE_WANTED_MASK : 0;

	if (wanted && (!wanted_start || !start || wanted_start == start))
		bpf_map_delete_elem(&wanted_tids, &tid);
}

/*
 * Count a tick. Gives the thread that it has interrupted, pid in the upper half, or 0 when that is
 * none to be sampled.
 */
static __always_inline __u64 begin_tick(struct wire_counters *counter)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	bool is_wanted;

	counter->fired++;
	if ((__u32)pid_tgid == 0) {
		counter->idle++;
		return 0;
	}
	is_wanted = !is_filtered || get_wanted_of_current((__u32)pid_tgid) == WIRE_WANTED;
	pid_tgid = get_visible_pid_tgid(pid_tgid);
	if (is_wanted && pid_tgid)
		return pid_tgid;
	counter->filtered++;
	return 0;
}

#endif
