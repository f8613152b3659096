/*
 * The off-CPU time of each zone's thread inside the zone: for a timeline that has zones and a
 * schedule.
 *
 * The thread is the one on the zone's region at the time, by the occupancies. For a zone on a fiber
 * these are the threads that went on with the fiber, without their other work while it waited for
 * one. A thread runs when it starts a zone and when it is sampled. If the schedule disagrees, it
 * has lost the return of the thread, and the interval ends there.
 */
#ifndef TIMELINE_ZONE_OFF_CPU_H
#define TIMELINE_ZONE_OFF_CPU_H

#include "timeline/timeline.h"

/* The zone's parameter with that time. */
#define ZONE_OFF_CPU_NAME "off_cpu_ns"

/*
 * Add the parameter to all zones where it is not 0. The reported zones and occupancies must be
 * complete. Memory: some 60 bytes a zone, and less for threads and regions.
 *
 * Returns 0, also without a schedule; -ENOMEM, or the error of its source.
 */
_must_check_ int zone_off_cpu_add(struct timeline *timeline);

#endif
