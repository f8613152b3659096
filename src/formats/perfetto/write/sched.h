/*
 * The machine, its clocks and its scheduling, as packets of a Perfetto trace.
 */
#ifndef FORMATS_PERFETTO_WRITE_SCHED_H
#define FORMATS_PERFETTO_WRITE_SCHED_H

#include "formats/perfetto/write/stream.h"
#include "timeline/timeline.h"

/*
 * Clocks and kernel: first in the file, because readers need the kernel's release to understand
 * the states of threads. Returns 0 or a stream's error.
 */
_must_check_ int perfetto_write_system(const struct timeline *timeline,
				       struct perfetto_stream *stream);

/* Switches and wakeups, a bundle for some of each CPU. Returns 0 or a stream's error. */
_must_check_ int perfetto_write_sched(const struct timeline *timeline,
				      struct perfetto_stream *stream);

#endif
