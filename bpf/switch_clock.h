/*
 * The time of a switch, CLOCK_MONOTONIC.
 *
 * Reading that clock takes a third of the time that our programs spend on a switch. The scheduler
 * has just read its own clock for it. So its time is used, plus the difference of the two clocks.
 * The difference is measured again after each millisecond.
 *
 * Our program runs a little after the scheduler has read its clock. So a measured difference is too
 * large, by some hundred nanoseconds to some microseconds, or by much more if the host took the CPU
 * meanwhile. Clocks drift apart slowly. So a smaller difference is taken at once, and a larger one
 * only as far as clocks may have drifted.
 */
#ifndef BPF_SWITCH_CLOCK_H
#define BPF_SWITCH_CLOCK_H

/* clang-format off */
#include "kernel.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
/* clang-format on */
#include "wire/off_cpu.h"

/* Linux kernel/sched/sched.h: the scheduler has not read its clock for this switch. */
#define RQCF_ACT_SKIP 0x02

/* Time between two measurements. */
#define COMPARE_NS 1000000ull
/* Clocks may drift apart by that part of the time: 500 ppm is the most that adjtimex(2) allows. */
#define DRIFT_SHIFT 10
/* A larger difference than that is another offset: the machine was suspended. */
#define MAX_LATE_NS 100000000ull

/* The scheduler's time of this switch. The thread leaves its CPU. 0: unknown. */
static __always_inline __u64 read_scheduler_clock(struct task_struct *task)
{
	struct cfs_rq *cfs_rq = NULL;
	struct rq *rq = NULL;

	if (!bpf_core_field_exists(task->se.cfs_rq) || !bpf_core_field_exists(cfs_rq->rq) ||
	    !bpf_core_field_exists(rq->clock) || !bpf_core_field_exists(rq->clock_update_flags))
		return 0;
	cfs_rq = task->se.cfs_rq;
	rq = cfs_rq ? cfs_rq->rq : NULL;
	return rq && !(rq->clock_update_flags & RQCF_ACT_SKIP) ? rq->clock : 0;
}

/* Measure the difference of the clocks. */
static __always_inline void compare_clocks(struct wire_off_cpu_state *cpu, __u64 scheduler_ns)
{
	__u64 ahead_ns = bpf_ktime_get_ns() - scheduler_ns;
	__u64 most_ns = cpu->clock_ahead_ns + ((scheduler_ns - cpu->compared_ns) >> DRIFT_SHIFT);

	/* Differences are of either sign. */
	if (cpu->compared_ns && ahead_ns - most_ns < MAX_LATE_NS)
		ahead_ns = most_ns;
	cpu->clock_ahead_ns = ahead_ns;
	cpu->compared_ns = scheduler_ns;
}

/* A thread leaves this CPU. Not before the CPU's last switch. */
static __always_inline __u64 read_switch_clock(struct wire_off_cpu_state *cpu,
					       struct task_struct *task)
{
	__u64 scheduler_ns = read_scheduler_clock(task);
	__u64 now_ns;

	if (scheduler_ns && scheduler_ns - cpu->compared_ns >= COMPARE_NS)
		compare_clocks(cpu, scheduler_ns);
	now_ns = scheduler_ns ? scheduler_ns + cpu->clock_ahead_ns : bpf_ktime_get_ns();
	return now_ns > cpu->switched_ns ? now_ns : cpu->switched_ns;
}

#endif
