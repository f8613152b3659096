/*
 * The threads whose waits are recorded, where not all are: those of a cgroup, or of the sampling
 * program's filter.
 */
#ifndef BPF_WAIT_TARGET_H
#define BPF_WAIT_TARGET_H

#include "maps.h"
#include "target_filter.h"

/* Set by user space before loading: the target is a cgroup. */
const volatile bool is_of_cgroup = false;

struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, sizeof(__u32));
} cgroups SEC(".maps");

/* Whether the running thread is. */
static __always_inline bool is_target(__u32 tid)
{
	if (is_of_cgroup)
		return bpf_current_task_under_cgroup(&cgroups, 0) == 1;
	return !is_filtered || get_target_state_of_current(tid) == WIRE_TARGET;
}

/* Whether one is that the running thread has started: it is in the filter by its own number. */
static __always_inline bool is_new_target(__u32 tid)
{
	if (is_of_cgroup)
		return bpf_current_task_under_cgroup(&cgroups, 0) == 1;
	return !is_filtered || get_target_state(tid) == WIRE_TARGET;
}

#endif
