/*
 * The scheduling of a recording into its timeline: the switches and wakings themselves, the threads
 * that no sample has shown, and when threads left their stack regions for good.
 */
#ifndef COLLECT_TRACE_SCHEDULE_H
#define COLLECT_TRACE_SCHEDULE_H

#include "base/attributes.h"
#include "collect/schedule_store.h"
#include "process/process_table.h"
#include "timeline/timeline.h"

/*
 * Processes that the timeline has already, by pid and start, and threads, by tid in a process of
 * that pid, are the same. Threads are added to processes that the timeline or the table knows; of
 * the others the events alone tell. A thread's last occupancy goes on until the thread exits, or
 * leaves its CPU and does not come back.
 *
 * store     must outlive the timeline
 * timeline  has the recording's samples and their occupancies
 *
 * Returns 0, -ENOMEM, or another negative errno when the store cannot be read.
 */
_must_check_ int trace_schedule_add(struct schedule_store *store,
				    const struct process_table *processes,
				    struct timeline *timeline);

/*
 * Only the last: prolong the last occupancy of each thread by the switches that the timeline's
 * source tells. Exposed for tests. Returns 0, -ENOMEM or the source's error.
 */
_must_check_ int trace_schedule_prolong_occupancies(struct timeline *timeline);

#endif
