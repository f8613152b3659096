/*
 * Names of the task events of a thread, for our writer and our reader: instants of these names and
 * category on the thread's own track.
 */
#ifndef FORMATS_PERFETTO_TASK_EVENTS_H
#define FORMATS_PERFETTO_TASK_EVENTS_H

#include "timeline/timeline.h"

#define PERFETTO_TASK_CATEGORY "process"

static inline const char *perfetto_get_task_event_name(enum task_event_kind kind)
{
	switch (kind) {
	case TASK_FORK:
		return "fork";
	case TASK_EXEC:
		return "exec";
	case TASK_EXIT:
		return "exit";
	case TASK_RENAME:
		break;
	}
	return "rename";
}

#endif
