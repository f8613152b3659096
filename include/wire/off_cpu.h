/*
 * What the off-CPU program and user space exchange, and the arithmetic of its period.
 *
 * Included by both sides, as wire/wire.h is. The program's samples are struct wire_sample.
 */
#ifndef WIRE_OFF_CPU_H
#define WIRE_OFF_CPU_H

#include "wire/wire.h"

/*
 * Add a duration to the off-CPU time of a thread. Gives how often the sum has crossed a multiple of the
 * period: so many periods the sample stands for; the rest is left in *phase_ns. As a thread begins at
 * a random phase below the period, the expected weight of every interval is its duration, also of those
 * that are shorter than the period.
 */
static inline wire_u32 wire_take_periods(wire_u64 *phase_ns, wire_u64 duration_ns,
					 wire_u64 period_ns)
{
	wire_u64 sum_ns = *phase_ns + duration_ns;
	wire_u64 num_periods;

	/* Most waits: so little is done at a switch that two divisions would be a good part of it. */
	if (sum_ns < period_ns || !period_ns) {
		*phase_ns = sum_ns;
		return 0;
	}
	num_periods = sum_ns / period_ns;
	if (num_periods > ~(wire_u32)0)
		num_periods = ~(wire_u32)0; /* what is beyond is the next sample's */
	*phase_ns = sum_ns - num_periods * period_ns;
	return (wire_u32)num_periods;
}

/*
 * What became of every time that a thread got a CPU, or had not got one when the recording ended, per CPU:
 * each adds to `fired` and to exactly one of the others up to lost_ring_stack. The sums are exact, of all
 * intervals whose begin was seen, whether they were sampled or not, but for those that are filtered out: too
 * short, or for something else.
 */
struct wire_off_cpu_counters {
	wire_u64 fired;
	wire_u64 filtered;         /* the thread was no target */
	wire_u64 unseen_begin;     /* it is not known when it had left its CPU */
	wire_u64 other_waits;      /* it was for no futex, and only those are recorded */
	wire_u64 below_min_block;  /* the interval is shorter than the limit */
	wire_u64 below_period;     /* the thread's time has not crossed a period */
	wire_u64 sent;             /* a wire_sample went into the ring, or to the reader */
	wire_u64 lost_ring_sample; /* no room in the ring for the sample */
	wire_u64 lost_ring_stack;  /* no room in the ring for its stack */
	wire_u64 unnoted;          /* not of a run: no room to note when a thread left its CPU */
	wire_u64 blocked_ns;
	wire_u64 uninterruptible_ns;
	wire_u64 run_queue_ns; /* from being woken to getting a CPU */
	wire_u64 preempted_ns;
	wire_u64 other_waits_ns;     /* of the intervals that were for something else */
	wire_u64 below_min_block_ns; /* of the intervals that were too short */
	wire_u64 unfinished;         /* of those that fired: still going on at the end */
	wire_u64 sent_unfinished;    /* of those that were sent */
	/* Of all target threads: from their start, or the begin, to their end, or that. */
	wire_u64 lived_ns;
	wire_u64 cpu_ns; /* that they had a CPU */
};
_Static_assert(sizeof(struct wire_off_cpu_counters) == 160,
	       "struct wire_off_cpu_counters is part of the wire format");

/* All that the program has of a CPU, so that it is looked up once. */
struct wire_off_cpu_state {
	struct wire_off_cpu_counters counters;
	/*
	 * When the CPU last switched threads: the end of one's time is the begin of the other's, so that
	 * on-CPU and off-CPU time make up all of it. Of no use to user space.
	 */
	wire_u64 switched_ns;
};
_Static_assert(sizeof(struct wire_off_cpu_state) == 168,
	       "struct wire_off_cpu_state is part of the wire format");

/*
 * What became of every wakeup that ended a wait of a period or more, per CPU: each adds to exactly one.
 */
struct wire_waker_counters {
	wire_u64 sent;        /* a wire_sample went into the ring */
	wire_u64 lost_ring;   /* no room in the ring for it or for its stack */
	wire_u64 lost_nested; /* an interrupt came while that of another wakeup was being taken */
	wire_u64 hidden;      /* our pid namespace does not show who it was */
};
_Static_assert(sizeof(struct wire_waker_counters) == 32,
	       "struct wire_waker_counters is part of the wire format");

#endif
