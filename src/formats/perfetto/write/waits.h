/*
 * Waits that were sampled, as slices of a Perfetto trace with their call stacks.
 */
#ifndef FORMATS_PERFETTO_WRITE_WAITS_H
#define FORMATS_PERFETTO_WRITE_WAITS_H

#include "formats/perfetto/write/event.h"
#include "formats/perfetto/write/tracks.h"
#include "profile/profile.h"

/* Flows from wakers to waits: numbers that no program is likely to choose. */
#define WAKEUP_FLOW 0xb492b66f00000000ull

/*
 * profile  of the stacks, which the writer has
 * flow     of this wait alone
 *
 * Returns 0 or a stream's error.
 */
_must_check_ int perfetto_write_wait(struct perfetto_event_writer *writer,
				     struct perfetto_tracks *tracks, const struct profile *profile,
				     const struct timeline_wait *wait, uint64_t flow);

#endif
