/*
 * Burning CPU by the thread's own CPU clock, so that a workload's shares are exact however busy
 * the machine is. A workload's SECONDS are CPU time, too, of each of its threads: it gives as many
 * samples on a busy machine as on an idle one, only later. Always inlined: it adds no stack level
 * of its own.
 */
#ifndef SPIN_H
#define SPIN_H

#include <stdint.h>
#include <stdlib.h>
#include <time.h>

#define NS_PER_MS     1000000ull
#define NS_PER_SECOND 1000000000ull

static inline __attribute__((always_inline)) uint64_t read_clock_ns(clockid_t clock)
{
	struct timespec now;

	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

/*
 * The CPU time of this thread. Asking costs a system call: where a turn of the work is shorter than
 * some microseconds, ask once in many turns.
 */
static inline __attribute__((always_inline)) uint64_t read_cpu_ns(void)
{
	return read_clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Some work that no compiler can drop; about 0.1 ms, so that reading the clock costs little. */
static inline __attribute__((always_inline)) void spin_once(void)
{
	for (int i = 0; i < 100000; i++)
		__asm__ volatile("" ::"r"(i) : "memory");
}

/* Until this thread has used that much CPU time, at least. Returns what it really used. */
static inline __attribute__((always_inline)) uint64_t spin_cpu_ns(uint64_t wanted_ns)
{
	uint64_t start_ns = read_cpu_ns();
	uint64_t used_ns;

	do {
		spin_once();
		used_ns = read_cpu_ns() - start_ns;
	} while (used_ns < wanted_ns);
	return used_ns;
}

/*
 * For a function that is to use mean_ns of CPU time whenever it is called, by and by: turns are of
 * random length, as equal ones would go in step with the sampler, and what a turn used too much is
 * taken off the next one.
 */
static inline __attribute__((always_inline)) void spin_turn(double *owed_ns, double mean_ns)
{
	*owed_ns += mean_ns * 2 * drand48();
	if (*owed_ns > 0)
		*owed_ns -= (double)spin_cpu_ns((uint64_t)*owed_ns);
}

/* "1.5" seconds in nanoseconds; fallback when there is no such argument. */
static inline uint64_t read_duration_ns(int argc, char **argv, int index, double fallback_seconds)
{
	double seconds = index < argc ? atof(argv[index]) : fallback_seconds;

	return (uint64_t)(seconds * (double)NS_PER_SECOND);
}

#endif
