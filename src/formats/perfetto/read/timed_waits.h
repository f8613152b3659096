/*
 * Samples of waits in our own traces, until all slices of waits are read. A sample has the end of its wait; its
 * weight is spread over the wait's slice.
 */
#ifndef FORMATS_PERFETTO_READ_TIMED_WAITS_H
#define FORMATS_PERFETTO_READ_TIMED_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "formats/perfetto/read/trace.h"

/* A sample of the profile. */
struct perfetto_timed_wait {
	uint64_t end_ns; /* of the wait, and of its time in a run queue */
	uint64_t weight;
	uint32_t owner;  /* thread of the timeline */
	uint32_t thread; /* of the profile, as the next two */
	uint32_t stack;
	uint32_t metric;
	bool is_queued; /* it weighs the time in the run queue */
};

struct perfetto_timed_waits {
	ARRAY(struct perfetto_timed_wait) items;
};

void perfetto_timed_waits_release(struct perfetto_timed_waits *waits);
/* Returns 0 or -ENOMEM. */
_must_check_ int perfetto_timed_waits_add(struct perfetto_timed_waits *waits,
					  const struct perfetto_timed_wait *wait);
/*
 * Add the times of all to the profile. Without a slice, the weight is at the wait's end.
 *
 * first_wait  of the timeline, that is this trace's
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int perfetto_timed_waits_finish(const struct perfetto_timed_waits *waits,
					     const struct perfetto_trace *trace,
					     uint32_t first_wait);

#endif
