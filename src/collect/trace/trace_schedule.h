/*
 * The scheduling of a recording into its timeline: the switches and wakeups themselves, the threads
 * that no sample has shown, and when threads left their stack regions for good.
 */
#ifndef COLLECT_TRACE_TRACE_SCHEDULE_H
#define COLLECT_TRACE_TRACE_SCHEDULE_H

#include "base/attributes.h"
#include "collect/trace/recorded_occupancies.h"
#include "collect/trace/schedule_store.h"
#include "process/process_table.h"
#include "timeline/timeline.h"

/*
 * Processes are identified by pid and start, threads by tid in a process of that pid. Threads are
 * added to processes in the timeline or the table; others are only in the events. A thread's last
 * occupancy is prolonged until the thread exits, calls exec, or leaves its CPU for good; the end of
 * a process is prolonged until its threads have left their CPUs.
 *
 * store        must outlive the timeline
 * occupancies  of the recording; none was read yet
 * timeline     has the recording's samples
 *
 * Returns 0, -ENOMEM, or another negative errno if the store is unreadable.
 */
_must_check_ int trace_schedule_add(struct schedule_store *store,
				    const struct process_table *processes,
				    struct recorded_occupancies *occupancies,
				    struct timeline *timeline);

/*
 * Only the last step: prolong occupancies and processes by the switches of the timeline's source.
 * Exposed for tests. Returns 0, -ENOMEM or the source's error.
 */
_must_check_ int trace_schedule_prolong(struct recorded_occupancies *occupancies,
					struct timeline *timeline);

#endif
