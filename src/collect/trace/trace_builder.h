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
	uint64_t period_ns;                    /* CPU time of one tick */
	uint64_t wait_ns;                      /* off-CPU time of one period */
	const struct metric_scale *scales;     /* at most MAX_EVENTS, each of another metric */
	size_t num_scales;
};

/*
 * Add the recording to a timeline. It reads data that grows with time from the log, so free the
 * timeline first. Data that the log's spools have lost is missing. Occupancies of the timeline are
 * dropped and rebuilt. Processes and threads already in it are matched by pid and tid.
 *
 * Returns 0, -ENOMEM, or negative errno of reading the log.
 */
_must_check_ int trace_builder_build(const struct trace_source *source, struct timeline *timeline);

#endif
