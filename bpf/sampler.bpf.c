/*
 * The sampling program: runs at every tick of a perf event, takes the stacks of the thread that the
 * tick interrupted, and sends them. Every run of the program ends in exactly one counter.
 */
/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
/* clang-format on */
#include "maps.h"
#include "output.h"
#define RUNS_FOR_EACH_TIMED 8
#include "own_time.h"
#include "running.h"
#include "stack_area.h"
#include "take_sample.h"
#include "target_filter.h"
#include "task.h"
#include "wire/wire.h"

char LICENSE[] SEC("license") = "GPL";

/* Number of the requested event that the ticks belong to. */
const volatile __u32 event_number = 0;
/* Scheduling is recorded, too: ticks prove which thread runs. */
const volatile bool tracks_running = false;

/* Send the sample of a tick, and count the result. */
static __always_inline void take_sample(struct bpf_perf_event_data *ctx, struct scratch *scratch,
					struct wire_counters *counter, __u64 pid_tgid,
					bool takes_areas)
{
	bool in_user_mode = REGISTERS_IN_USER_MODE(ctx->regs);

	describe_task(scratch, pid_tgid, in_user_mode);
	scratch->sample.event = event_number;
	scratch->sample.weight = ctx->sample_period;
	if (takes_areas)
		send_stack_area();
	count_send(&counter->sends,
		   send_stacks(ctx, scratch, take_kernel_stacks && !in_user_mode, 0));
}

/* The published processes, updated at once: user space hears of these events a moment later. */
static __always_inline void publish_fork(__u32 parent_pid, __u32 child_pid)
{
	struct unwind_process *process;

	if (parent_pid == child_pid || pid_namespace_inode)
		return;
	process = bpf_map_lookup_elem(&unwind_processes, &parent_pid);
	if (process)
		bpf_map_update_elem(&unwind_processes, &child_pid, process, BPF_ANY);
}

/* When the thread started, as the filter keeps it. */
static __always_inline __u32 get_start(struct task_struct *task)
{
	return (__u32)(BPF_CORE_READ(task, start_time) >> 10) << WIRE_TARGET_BITS;
}

/* Raw tracepoints: for typed ones libbpf reads all types of the kernel. */
SEC("raw_tp/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *child)
{
	COUNT_OWN_TIME;
	__u32 parent_pid = BPF_CORE_READ(parent, tgid);
	__u32 child_pid = BPF_CORE_READ(child, tgid);

	follow_fork(BPF_CORE_READ(parent, pid), BPF_CORE_READ(child, pid), get_start(child),
		    parent_pid != child_pid);
	publish_fork(parent_pid, child_pid);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *task, int old_tid)
{
	COUNT_OWN_TIME;
	__u32 pid = BPF_CORE_READ(task, tgid);

	follow_exec(old_tid, BPF_CORE_READ(task, pid), get_start(task));
	if (!pid_namespace_inode)
		bpf_map_delete_elem(&unwind_processes, &pid);
	return 0;
}

SEC("raw_tp/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *task)
{
	COUNT_OWN_TIME;
	__u32 pid = BPF_CORE_READ(task, tgid);
	__u32 tid = BPF_CORE_READ(task, pid);

	follow_exit(tid, get_start(task));
	if (!pid_namespace_inode && tid == pid)
		bpf_map_delete_elem(&unwind_processes, &pid);
	return 0;
}

SEC("raw_tp/sched_process_free")
int BPF_PROG(on_free, struct task_struct *task)
{
	COUNT_OWN_TIME;

	follow_free(BPF_CORE_READ(task, pid), get_start(task));
	return 0;
}

static __always_inline int handle_tick(struct bpf_perf_event_data *ctx, bool takes_areas)
{
	struct wire_counters *counter = get_per_cpu(&counters);
	struct scratch *scratch = get_scratch();
	__u64 pid_tgid;

	if (!counter || !scratch)
		return 0; /* impossible */
	if (tracks_running)
		see_running();
	pid_tgid = start_tick(counter);
	if (pid_tgid)
		take_sample(ctx, scratch, counter, pid_tgid, takes_areas);
	return 0;
}

/* User space loads one of the two. */
SEC("perf_event")
int on_tick(struct bpf_perf_event_data *ctx)
{
	COUNT_OWN_TIME;

	return handle_tick(ctx, false);
}

/* Also sends the memory areas of stacks: for kernels with bpf_find_vma() (Linux 5.17). */
SEC("perf_event")
int on_tick_with_areas(struct bpf_perf_event_data *ctx)
{
	COUNT_OWN_TIME;

	return handle_tick(ctx, true);
}
