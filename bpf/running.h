/*
 * The thread that this CPU runs, by the scheduler's events so far. Some kernels do not report the
 * switches of some threads (such as a virtual machine's own agent); then another thread is seen to
 * run. The scheduling program notices that at the next event, the sampling program at the next
 * tick, so they share the map.
 */
#ifndef BPF_RUNNING_H
#define BPF_RUNNING_H

#include "maps.h"
#include "task.h"
#include "wire/schedule.h"

PER_CPU(struct wire_schedule_running, running_threads);

/* A tick has found the running thread. */
static __always_inline void see_running(void)
{
	struct wire_schedule_running *running = get_per_cpu(&running_threads);
	struct task_struct *task = get_current_task();
	__u32 num_leaves = count_leaves(task);
	__u32 tid = TASK_FIELD(task, pid);

	if (!running)
		return; /* impossible */
	if (running->tid == tid && running->num_leaves == num_leaves) {
		running->seen_ns = bpf_ktime_get_boot_ns();
		running->other_since_ns = 0;
		return;
	}
	if (running->other_since_ns && running->other_tid == tid &&
	    running->other_leaves == num_leaves)
		return;
	running->other_tid = tid;
	running->other_leaves = num_leaves;
	running->other_since_ns = bpf_ktime_get_boot_ns();
}

#endif
