/*
 * Stores the scheduling of a recording's target, and the kernel's own work, from the BPF program
 * (schedule_tap.h) in temporary files (schedule_store.h, kwork_store.h). Losses here never cost a
 * sample.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TRACE_SCHEDULING_H
#define COLLECT_TRACE_SCHEDULING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/account.h"
#include "collect/trace/kwork_store.h"
#include "collect/trace/schedule_store.h"

struct own_times;
struct scheduling;

struct scheduling_opts {
	int running_fd;     /* the sampler's map of running threads */
	int targets_fd;     /* the sampler's filter; -1: all threads */
	size_t ring_bytes;  /* of each ring between kernel and us; 0: the default */
	const char *folder; /* for the temporary file */
};

/*
 * Record the switches and wakeups of the target's threads from now on.
 *
 * Returns 0, -EPERM or -ENOTSUP (error has the missing feature and the remedy), or another negative
 * errno with error filled.
 */
_must_check_ int scheduling_new(const struct scheduling_opts *opts, struct scheduling **ret,
				struct error *error);
void scheduling_free(struct scheduling *scheduling);

/* Readable when there is something that should be read soon. */
int scheduling_get_fd(const struct scheduling *scheduling);
/* Read the kernel's records. Returns 0 or negative errno. NULL is fine. */
_must_check_ int scheduling_read(struct scheduling *scheduling);
/* Stop, and read the rest. Returns 0 or negative errno. NULL is fine. */
_must_check_ int scheduling_stop(struct scheduling *scheduling);

/* Counts lag behind before scheduling_stop(). */
struct scheduling_counts scheduling_get_counts(const struct scheduling *scheduling);
/* Borrowed until scheduling_free(). */
struct schedule_store *scheduling_get_store(const struct scheduling *scheduling);
struct kwork_store *scheduling_get_kworks(const struct scheduling *scheduling);

/* Add the CPU time of its programs. Returns 0 or -ENOMEM. NULL is fine. */
_must_check_ int scheduling_read_time(const struct scheduling *scheduling, struct own_times *times);

#endif
