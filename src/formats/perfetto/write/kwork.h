/*
 * Interrupts, softirqs and items of workqueues in a Perfetto trace, as the kernel's own events: readers have
 * tracks for them, of CPUs and of worker threads.
 */
#ifndef FORMATS_PERFETTO_WRITE_KWORK_H
#define FORMATS_PERFETTO_WRITE_KWORK_H

#include "formats/perfetto/write/stream.h"
#include "timeline/timeline.h"

/* Write them all, on a sequence of their own. Returns 0 or a stream's error. */
_must_check_ int perfetto_write_kwork(const struct timeline *timeline,
				      struct perfetto_stream *stream);

#endif
