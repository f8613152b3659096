/*
 * Data exchanged by the off-CPU program and user space, and the arithmetic of its period.
 *
 * Included by both sides, like wire/wire.h. The program's samples are struct wire_sample.
 */
#ifndef WIRE_OFF_CPU_H
#define WIRE_OFF_CPU_H

#include "wire/wire.h"

/*
 * Position of a thread's off-CPU time in its period. The time is divided into periods, and each has
 * one point, at a random place in it. An interval represents one period for each point in it, so
 * its expected weight is its duration, even if it is shorter than the period. All intervals of a
 * thread together weigh their sum, except for less than a period. With equally spaced points, waits
 * as long as the period would always be hit at the same place: on one side of a wakeup, or at every
 * second of two.
 */
struct wire_phase {
	wire_u64 until_ns;  /* from now to the next point */
	wire_u64 behind_ns; /* from this point to the end of its period, at least 1 */
	wire_u64 excess_ns; /* beyond the maximum of one sample: left for the next one */
};

/*
 * A random number from 0 up to, but not including, the limit; updates *random. Uses the finalizer
 * of SplitMix64.
 */
static inline wire_u64 wire_draw_below(wire_u64 *random, wire_u64 limit)
{
	wire_u64 number = *random += 0x9e3779b97f4a7c15ull;

	number = (number ^ (number >> 30)) * 0xbf58476d1ce4e5b9ull;
	number = (number ^ (number >> 27)) * 0x94d049bb133111ebull;
	return (number ^ (number >> 31)) % limit;
}

/* Choose the point of a period that starts now. period_ns  at least 1 */
static inline void wire_start_period(struct wire_phase *phase, wire_u64 period_ns, wire_u64 *random)
{
	phase->until_ns = wire_draw_below(random, period_ns);
	phase->behind_ns = period_ns - phase->until_ns;
}

/* Maximum number of periods of one sample, without its first and its last. */
#define WIRE_MAX_WHOLE_PERIODS 0xfffffffdull

/*
 * Add a duration to the off-CPU time of a thread. Returns the number of points in it, which is the
 * number of periods of the sample.
 *
 * period_ns  at least 1
 * random     any number; updated for the next call
 */
static inline wire_u32 wire_take_periods(struct wire_phase *phase, wire_u64 duration_ns,
					 wire_u64 period_ns, wire_u64 *random)
{
	wire_u64 past_ns; /* the point */
	wire_u64 num_whole;

	/* Most waits: so little is done at a switch that divisions would be a good part of it. */
	if (duration_ns <= phase->until_ns) {
		phase->until_ns -= duration_ns;
		return 0;
	}
	past_ns = duration_ns - phase->until_ns + phase->excess_ns;
	phase->excess_ns = 0;
	if (past_ns < phase->behind_ns) {
		wire_u64 left_ns = phase->behind_ns - past_ns;

		wire_start_period(phase, period_ns, random);
		phase->until_ns += left_ns;
		return 1;
	}
	past_ns -= phase->behind_ns;
	num_whole = past_ns / period_ns;
	past_ns %= period_ns;
	if (num_whole > WIRE_MAX_WHOLE_PERIODS) {
		phase->excess_ns = (num_whole - WIRE_MAX_WHOLE_PERIODS) * period_ns;
		num_whole = WIRE_MAX_WHOLE_PERIODS;
	}
	wire_start_period(phase, period_ns, random);
	if (past_ns <= phase->until_ns) {
		phase->until_ns -= past_ns;
		return (wire_u32)(1 + num_whole);
	}
	wire_start_period(phase, period_ns, random);
	phase->until_ns += period_ns - past_ns;
	return (wire_u32)(2 + num_whole);
}

/*
 * Counts of every time that a thread got a CPU, or had not got one when the recording ended, per
 * CPU: each adds to `fired` and to exactly one of the others up to lost_ring_stack. The sums are
 * exact, over all intervals whose start was seen, whether sampled or not, except those filtered out
 * (too short, or for something else).
 */
struct wire_off_cpu_counters {
	wire_u64 fired;
	wire_u64 filtered;        /* the thread was not a target */
	wire_u64 unseen_begin;    /* the time when it had left its CPU is unknown */
	wire_u64 other_waits;     /* it was for no futex, and only those are recorded */
	wire_u64 below_min_block; /* the interval is shorter than the limit */
	wire_u64 below_period;    /* the thread's time has not crossed a period */
	struct wire_sends sends;
	wire_u64 unnoted; /* not of a run: no room to note when a thread left its CPU */
	wire_u64 blocked_ns;
	wire_u64 uninterruptible_ns;
	wire_u64 run_queue_ns; /* from being woken to getting a CPU */
	wire_u64 preempted_ns;
	wire_u64 other_waits_ns;     /* of the intervals that were for something else */
	wire_u64 below_min_block_ns; /* of the intervals that were too short */
	wire_u64 unfinished;         /* of those fired: still waiting at the end */
	wire_u64 sent_unfinished;    /* of those sent */
	/*
	 * Lifetime of all target threads, from their start, or that of the recording, to the end of
	 * either.
	 */
	wire_u64 lived_ns;
	wire_u64 cpu_ns; /* time on a CPU */
};
_Static_assert(sizeof(struct wire_off_cpu_counters) == 160,
	       "struct wire_off_cpu_counters is part of the wire format");

/* All data of a CPU in one value, so that it is looked up once. */
struct wire_off_cpu_state {
	struct wire_off_cpu_counters counters;
	/*
	 * When the CPU last switched threads: the end of one thread's time is the start of the
	 * other's, so on-CPU and off-CPU time cover everything. Not used by user space.
	 */
	wire_u64 switched_ns;
	/*
	 * CLOCK_MONOTONIC minus the scheduler's own clock; 0: unknown. Not used by user space,
	 * either.
	 */
	wire_u64 clock_ahead_ns;
};
_Static_assert(sizeof(struct wire_off_cpu_state) == 176,
	       "struct wire_off_cpu_state is part of the wire format");

/*
 * Counts of every wakeup that ended a wait of a period or more, per CPU: each adds to exactly one.
 */
struct wire_waker_counters {
	wire_u64 sent;      /* a wire_sample went into the ring */
	wire_u64 lost_ring; /* no room in the ring for it or for its stack */
	/* An interrupt occurred while the stack of another wakeup was being taken. */
	wire_u64 lost_nested;
	wire_u64 hidden; /* our pid namespace does not show the waker */
};
_Static_assert(sizeof(struct wire_waker_counters) == 32,
	       "struct wire_waker_counters is part of the wire format");

#endif
