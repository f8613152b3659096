/*
 * The samples of a recording as a source that a timeline reads: straight from the log's file, with
 * the profile's threads translated into the timeline's. Takes memory for threads, not for samples.
 */
#ifndef COLLECT_TRACE_RECORDED_SAMPLES_H
#define COLLECT_TRACE_RECORDED_SAMPLES_H

#include <stdint.h>

#include "base/arithmetic.h"
#include "base/attributes.h"
#include "base/spool.h"
#include "timeline/timeline.h"

struct recorded_samples;

/* Scale of the weights of a metric. */
struct metric_scale {
	uint32_t metric; /* of the profile */
	struct ratio ratio;
};

/*
 * spool        of struct timed_sample; borrowed
 * num_threads  number of threads in the profile
 * period_ns    CPU time of one tick
 * wait_ns      off-CPU time of one period
 *
 * NULL when out of memory.
 */
struct recorded_samples *recorded_samples_new(struct spool *spool, uint32_t num_threads,
					      uint64_t period_ns, uint64_t wait_ns);
void recorded_samples_free(struct recorded_samples *samples);

/*
 * From sample `number` on, counted from 0, a thread of the profile is this one of the timeline.
 * Numbers do not go back. Returns 0 or -ENOMEM.
 */
_must_check_ int recorded_samples_set_thread(struct recorded_samples *samples, uint64_t number,
					     uint32_t profile_thread, uint32_t thread);

/* Scale those of a metric, one of MAX_EVENTS at most, as profile_scale_samples() does. */
void recorded_samples_add_scale(struct recorded_samples *samples, const struct metric_scale *scale);

/* Attach the samples to a timeline, which takes ownership. */
void recorded_samples_give(struct recorded_samples *samples, struct timeline *timeline);

#endif
