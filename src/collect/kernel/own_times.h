/*
 * CPU time of our own BPF programs, which run in the time of whatever they interrupt: by the kernel's statistics where it
 * keeps them (sysctl kernel.bpf_stats_enabled), which cost every program of the machine some of its speed; else by the
 * runs that the programs time themselves (bpf/own_time.h).
 *
 * Programs that only we run, in our own CPU time (iterators), are left out.
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

/* What has come of an object's programs so far. */
struct own_time_reading {
	uint64_t measured_ns; /* by the kernel's statistics */
	uint64_t num_measured;
	struct wire_own_time sampled;
};

/* Of several objects, in the order in which they were added. */
struct own_times {
	ARRAY(struct own_time_reading) readings;
};
void own_times_release(struct own_times *times);

/* Read an object's programs. Returns 0 or -ENOMEM; what cannot be read is 0. */
_must_check_ int own_times_add(struct own_times *times, const struct bpf_object *object);

/* What the programs have taken from one reading to another of the same objects. */
struct program_time own_times_subtract(const struct own_times *begin, const struct own_times *end);

#endif
