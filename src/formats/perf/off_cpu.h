/*
 * Samples of `perf record --off-cpu`: the time that a thread was off its CPU at a stack, added up
 * over the recording. perf gives them a time that puts them behind all others.
 *
 * Source: Linux, tools/perf/util/bpf_off_cpu.c.
 */
#ifndef FORMATS_PERF_OFF_CPU_H
#define FORMATS_PERF_OFF_CPU_H

#include <stdbool.h>
#include <stdint.h>

#define PERF_OFF_CPU_EVENT   "offcpu-time"
#define PERF_OFF_CPU_TIME_NS (~0ull << 32)

/* Whether it is a time at all. The text of perf script has microseconds. */
static inline bool perf_is_time(uint64_t time_ns)
{
	return time_ns && time_ns / 1000 != PERF_OFF_CPU_TIME_NS / 1000;
}

#endif
