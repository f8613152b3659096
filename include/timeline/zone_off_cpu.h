/*
 * How long the thread of each zone was off the CPU inside it: of a timeline that has zones and a
 * schedule.
 *
 * What counts is the thread that is on the zone's region at the time, by the occupancies: of a zone
 * on a fiber, those that went on with the fiber, and not what they did elsewhere while it waited for
 * one. A thread runs when it begins a zone and when it is sampled; where the schedule says otherwise
 * it has lost that the thread came back, and the interval ends there.
 */
#ifndef TIMELINE_ZONE_OFF_CPU_H
#define TIMELINE_ZONE_OFF_CPU_H

#include "timeline/timeline.h"

/* The parameter of the zone that says so. */
#define ZONE_OFF_CPU_NAME "off_cpu_ns"

/*
 * Give the parameter to all zones where it is not 0. What was reported, zones and occupancies, must
 * be complete. Memory: some 60 bytes a zone, and less for threads and regions.
 *
 * Returns 0, also where there is no schedule; -ENOMEM, or what its source returned.
 */
_must_check_ int zone_off_cpu_add(struct timeline *timeline);

#endif
