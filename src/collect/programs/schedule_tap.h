/*
 * The scheduling program in the kernel: loading it, reading its rings.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROGRAMS_SCHEDULE_TAP_H
#define COLLECT_PROGRAMS_SCHEDULE_TAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "wire/schedule.h"

struct btf;
struct own_times;
struct schedule_tap;

struct schedule_tap_opts {
	int running_fd; /* the sampler's map of running threads, borrowed */
	int targets_fd; /* the sampler's filter, borrowed; -1: all threads */
	/* Size of each ring; 0: 4 MiB. Rounded up to a size that the kernel accepts. */
	size_t ring_bytes;
	/* Given every batch, each CPU's in order; returns 0 or negative errno. */
	int (*on_record)(const void *record, size_t size, void *context);
	void *context;
};

/*
 * Load the program.
 *
 * Returns 0, -EPERM or -ENOTSUP (error has the missing feature and the remedy), or -ENOMEM.
 */
_must_check_ int schedule_tap_new(const struct schedule_tap_opts *opts, struct schedule_tap **ret,
				  struct error *error);
void schedule_tap_free(struct schedule_tap *tap);

/* Start recording. Returns 0 or -ENOTSUP with error filled. */
_must_check_ int schedule_tap_start(struct schedule_tap *tap, struct error *error);

/*
 * Stop, pass on the batches that CPUs have not filled, and free the rings. Returns as
 * schedule_tap_read().
 */
_must_check_ int schedule_tap_stop(struct schedule_tap *tap);

/* A descriptor that is readable when a ring should be read. */
int schedule_tap_get_fd(const struct schedule_tap *tap);
/* Pass on the batches in the rings. Returns 0, the error of on_record(), or negative errno. */
_must_check_ int schedule_tap_read(struct schedule_tap *tap);

/* The counters, summed over CPUs. Returns 0 or negative errno. */
_must_check_ int schedule_tap_read_counters(const struct schedule_tap *tap,
					    struct wire_schedule_counters *ret);

/* Those of the kernel's own work, summed likewise; all 0 before schedule_tap_stop(). */
struct wire_kwork_counters schedule_tap_get_kwork_counters(const struct schedule_tap *tap);

/* The arguments of the tracepoint sched_switch, after `preempt`. */
enum switch_arguments {
	SWITCH_PREVIOUS_NEXT,       /* until Linux 5.17 */
	SWITCH_STATE_PREVIOUS_NEXT, /* Linux 5.18 */
	SWITCH_PREVIOUS_NEXT_STATE, /* from its stable updates on */
	SWITCH_UNKNOWN,
};

/* Determined from the kernel's types. Exposed for tests. */
enum switch_arguments schedule_tap_probe_switch(const struct btf *btf);

/* Add the CPU time of its programs. Returns 0 or -ENOMEM. */
_must_check_ int schedule_tap_read_time(const struct schedule_tap *tap, struct own_times *times);

#endif
