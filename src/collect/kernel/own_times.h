/*
 * CPU time of our own BPF programs, which run in the time of the code that they interrupt. It is
 * from the kernel's statistics if enabled (sysctl kernel.bpf_stats_enabled), which slow down every
 * BPF program of the machine. Otherwise it is from the runs that the programs time themselves
 * (bpf/own_time.h).
 *
 * Programs that only we run, in our own CPU time (iterators), are not included.
 */
#ifndef COLLECT_KERNEL_OWN_TIMES_H
#define COLLECT_KERNEL_OWN_TIMES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "collect/account.h"
#include "wire/wire.h"

struct bpf_object;

/* Times and counts of an object's programs so far. */
struct own_time_reading {
	uint64_t measured_ns; /* by the kernel's statistics */
	uint64_t num_measured;
	struct wire_own_time sampled;
};

/* Readings of several objects, in order of addition. */
struct own_times {
	ARRAY(struct own_time_reading) readings;
};
void own_times_release(struct own_times *times);

/* Read an object's programs. Returns 0 or -ENOMEM; unreadable values are 0. */
_must_check_ int own_times_add(struct own_times *times, const struct bpf_object *object);

/* Time spent in the programs between two readings of the same objects. */
struct program_time own_times_subtract(const struct own_times *start, const struct own_times *end);

#endif
