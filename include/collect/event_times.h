/*
 * How long an event was counted. A CPU has a few counters: where more is to be counted, the kernel lets the events take
 * turns, and each has counted a part of the time only.
 */
#ifndef COLLECT_EVENT_TIMES_H
#define COLLECT_EVENT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Of all CPUs in sum. All 0 where the event is none of a CPU's counters, as a tracepoint. */
struct event_times {
	uint64_t enabled_ns; /* that it was to be counted */
	uint64_t running_ns; /* of that, that it had a counter */
};

/*
 * Whether what was counted is to be scaled. Below a thousandth nothing is: that is what switching the counters on and off
 * may take.
 */
static inline bool event_times_have_gaps(const struct event_times *times)
{
	return times->running_ns && times->running_ns < times->enabled_ns &&
	       times->enabled_ns - times->running_ns > times->enabled_ns / 1000;
}

/* Whether it was to be counted and never was: there is nothing to scale. */
static inline bool event_times_are_empty(const struct event_times *times)
{
	return times->enabled_ns && !times->running_ns;
}

#endif
