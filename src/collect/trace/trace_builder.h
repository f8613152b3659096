/*
 * From a recording's log to a timeline: threads, samples, and on which stack region they were
 * taken.
 *
 * Called once the recording has stopped. Not thread-safe.
 */
#ifndef COLLECT_TRACE_TRACE_BUILDER_H
#define COLLECT_TRACE_TRACE_BUILDER_H

#include <stdint.h>

#include "base/attributes.h"
#include "collect/trace/recorded_samples.h"
#include "collect/trace/trace_log.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

/* All borrowed. */
struct trace_source {
	struct trace_log *log;
	const struct profile *profile;
	const struct process_table *processes; /* whose ids are the profile's */
	uint64_t period_ns;                    /* CPU time that one tick stands for */
	uint64_t wait_ns;                      /* of off-CPU time, that a period stands for */
	const struct metric_scale *scales;     /* at most MAX_EVENTS, each of another metric */
	size_t num_scales;
};

/*
 * Add the recording to a timeline, which reads what grows with time from the log: free it first. What
 * the log's spools have lost is missing. Occupancies that the timeline has are dropped, and made anew.
 * Processes and threads that it has, by pid and tid, are the same.
 *
 * Returns 0, -ENOMEM, or negative errno of reading the log.
 */
_must_check_ int trace_builder_build(const struct trace_source *source, struct timeline *timeline);

#endif
