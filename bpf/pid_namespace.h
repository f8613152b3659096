/*
 * The numbers of threads in our pid namespace: of its own threads, and of those in all namespaces
 * below it. A thread has a number in each namespace from the first one down to its own.
 *
 * Without type information only the kernel's helper is available, which is limited to threads of
 * that very namespace.
 */
#ifndef BPF_PID_NAMESPACE_H
#define BPF_PID_NAMESPACE_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
/* clang-format on */

/* The pid namespace that we count processes in; inode 0: the first one. */
const volatile __u64 pid_namespace_dev = 0;
const volatile __u64 pid_namespace_inode = 0;

#ifdef WITHOUT_TYPES

static __always_inline __u64 find_numbers(void)
{
	struct bpf_pidns_info in_namespace;

	if (bpf_get_ns_current_pid_tgid(pid_namespace_dev, pid_namespace_inode, &in_namespace,
					sizeof(in_namespace)))
		return 0;
	return (__u64)in_namespace.tgid << 32 | in_namespace.pid;
}

#else

#include "task.h"

/* The kernel's own limit (MAX_PID_NS_LEVEL). */
#define MAX_NAMESPACE_LEVEL 32

static __always_inline struct upid *get_upid(struct pid *pid, __u32 level)
{
	void *numbers = &pid->numbers[0];

	return numbers + (__u64)level * bpf_core_type_size(struct upid);
}

/* At a level of namespaces; 0: the pid is not as deep. */
static __always_inline __u32 get_number(struct pid *pid, __u32 level)
{
	struct upid *upid = get_upid(pid, level);

	if (!pid || BPF_CORE_READ(pid, level) < level)
		return 0;
	return BPF_CORE_READ(upid, nr);
}

/* The running thread in our namespace, pid in the upper half; 0: it is outside. */
__attribute__((noinline)) __u64 find_numbers(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	__u32 level = pid ? BPF_CORE_READ(pid, level) : 0;

	/* The first namespace is not ours. */
	for (__u32 i = 1; i <= MAX_NAMESPACE_LEVEL; i++) {
		struct upid *upid = get_upid(pid, i);

		if (i > level)
			return 0;
		if (BPF_CORE_READ(upid, ns, ns.inum) == (__u32)pid_namespace_inode)
			return (__u64)get_number(BPF_CORE_READ(task, group_leader, thread_pid), i)
				       << 32 |
			       get_number(pid, i);
	}
	return 0;
}

#endif

/*
 * The running thread, pid in the upper half, as our pid namespace counts. 0 when the namespace does
 * not show it.
 */
static __always_inline __u64 get_visible_pid_tgid(__u64 pid_tgid)
{
	return pid_namespace_inode ? find_numbers() : pid_tgid;
}

#endif
