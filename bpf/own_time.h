/*
 * CPU time of our own programs: some of their runs, chosen at random, are timed, and all are
 * counted. If the kernel's statistics of programs are enabled, user space uses these instead.
 */
#ifndef BPF_OWN_TIME_H
#define BPF_OWN_TIME_H

#include "maps.h"

/* The mean number of runs for each timed one. A power of two; the including program may set it. */
#ifndef RUNS_FOR_EACH_TIMED
#define RUNS_FOR_EACH_TIMED 64
#endif

/* No run takes that long; its thread was preempted, or the virtual machine lost the CPU. */
#define MAX_RUN_NS 1000000ull

PER_CPU(struct wire_own_time, own_times);

/*
 * Note the start of a timed run: in the map, as the walk needs the whole stack of a program. As in
 * the kernel's statistics, the time includes one clock reading, about as much as the kernel's own
 * work around a program.
 */
static __always_inline char start_own_run(void)
{
	struct wire_own_time *own = get_per_cpu(&own_times);

	if (!own)
		return 0; /* impossible */
	/* Other programs count on this CPU, too, so it may have dropped below 0. */
	if (own->runs_left - 1 >= 2 * RUNS_FOR_EACH_TIMED) {
		own->runs_left = 1 + (bpf_get_prandom_u32() & (2 * RUNS_FOR_EACH_TIMED - 1));
		own->num_runs += own->runs_left;
	}
	if (!--own->runs_left)
		own->started_ns = bpf_ktime_get_ns();
	return 0;
}

static __always_inline void end_own_run(const char *unused)
{
	struct wire_own_time *own = get_per_cpu(&own_times);
	__u64 run_ns;

	if (!own || !own->started_ns)
		return;
	run_ns = bpf_ktime_get_ns() - own->started_ns;
	own->started_ns = 0;
	if (run_ns > MAX_RUN_NS)
		return;
	own->num_timed++;
	own->timed_ns += run_ns;
}

/* At the head of a program's function: from there to its end. */
#define COUNT_OWN_TIME char own_run __attribute__((unused, cleanup(end_own_run))) = start_own_run()

#endif
