/*
 * Processes of a trace that are shown together, and the order of stack regions.
 *
 * A build makes thousands of processes that live for milliseconds, each with a sample or two: one
 * by one they would hide all others. Processes are grouped if they started and ended while the
 * trace was made, have no more than two samples, and report nothing themselves. Readers see them as
 * threads of one process: one for all that descend from the same other process.
 */
#ifndef FORMATS_PERFETTO_WRITE_GROUPS_H
#define FORMATS_PERFETTO_WRITE_GROUPS_H

#include <stdint.h>

#include "base/attributes.h"
#include "timeline/timeline.h"

struct perfetto_group {
	uint32_t ancestor; /* process of the timeline; TIMELINE_NONE: unknown */
	uint32_t num_processes;
};

struct perfetto_groups;

struct perfetto_groups_opts {
	uint64_t start_ns;       /* of the trace; 0: unknown, and then nothing is grouped */
	const uint32_t *parents; /* by process; TIMELINE_NONE: unknown */
	const uint32_t *order;   /* processes in the order that gives groups their numbers */
};

/* All is borrowed for the call. Returns 0, -ENOMEM or an error of the timeline's samples. */
_must_check_ int perfetto_groups_new(const struct timeline *timeline,
				     const struct perfetto_groups_opts *opts,
				     struct perfetto_groups **ret);
void perfetto_groups_free(struct perfetto_groups *groups);

/* The number of a process's group; TIMELINE_NONE: not grouped. */
uint32_t perfetto_groups_find(const struct perfetto_groups *groups, uint32_t process);
uint32_t perfetto_groups_count(const struct perfetto_groups *groups);
const struct perfetto_group *perfetto_groups_get(const struct perfetto_groups *groups,
						 uint32_t group);

/*
 * A region's place among those of its process, from 1: by the time that threads were on it. 0: no
 * samples were taken, and the order is that of their first use.
 */
int32_t perfetto_groups_get_rank(const struct perfetto_groups *groups, uint32_t region);

#endif
