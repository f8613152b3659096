/*
 * Time as the whole program counts it: nanoseconds of CLOCK_BOOTTIME, which BPF programs can read,
 * perf events can be stamped with, and which goes on while the machine is suspended.
 */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define NS_PER_SECOND 1000000000ull
#define NS_PER_MS     1000000ull

static inline uint64_t clock_read_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

static inline uint64_t clock_now_ns(void)
{
	return clock_read_ns(CLOCK_BOOTTIME);
}

/*
 * The difference to add to a time of this clock to get one of ours. We may be interrupted between
 * the two reads, so the quickest of several attempts counts.
 */
static inline uint64_t clock_get_offset_ns(clockid_t clock)
{
	uint64_t shortest_ns = UINT64_MAX;
	uint64_t offset_ns = 0;

	for (int i = 0; i < 4; i++) {
		uint64_t before_ns = clock_now_ns();
		uint64_t time_ns = clock_read_ns(clock);
		uint64_t taken_ns = clock_now_ns() - before_ns;

		if (taken_ns >= shortest_ns)
			continue;
		shortest_ns = taken_ns;
		offset_ns = before_ns + taken_ns / 2 - time_ns;
	}
	return offset_ns;
}

/* A time of the calendar, such as a file's, as the program counts it; 0 when before that. */
static inline uint64_t clock_from_calendar_ns(const struct timespec *time)
{
	uint64_t calendar_ns = (uint64_t)time->tv_sec * NS_PER_SECOND + (uint64_t)time->tv_nsec;
	uint64_t time_ns = calendar_ns + clock_get_offset_ns(CLOCK_REALTIME);
	uint64_t now_ns = clock_now_ns();

	if (time_ns <= now_ns)
		return time_ns;
	/* The sum has wrapped, or the calendar was set back meanwhile. */
	return time_ns > UINT64_MAX / 2 ? 0 : now_ns;
}

#endif
