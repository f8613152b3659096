/*
 * Names of the waits of threads, for our writer and our reader: slices of these names on a track
 * below that of the thread. Wakers are instants of a category on the waker's own track; a flow
 * leads from them to the slice of the run queue.
 */
#ifndef FORMATS_PERFETTO_WAITS_H
#define FORMATS_PERFETTO_WAITS_H

#include "timeline/timeline.h"

#define PERFETTO_WAITS_TRACK     "sampled waits"
#define PERFETTO_RUN_QUEUE_SLICE "run queue"
#define PERFETTO_WEIGHT_NAME     "weight_ns"
#define PERFETTO_WAKER_NAME      "waker"
#define PERFETTO_WAKEUP_CATEGORY "sampled wakeup"

static inline const char *perfetto_get_wait_name(enum off_cpu_state state)
{
	switch (state) {
	case OFF_CPU_BLOCKED:
		return "blocked";
	case OFF_CPU_UNINTERRUPTIBLE:
		return "uninterruptible";
	case OFF_CPU_PREEMPTED:
		break;
	}
	return "preempted";
}

#endif
