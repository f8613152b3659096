/*
 * Waits that were sampled, as slices of a Perfetto trace with their call stacks.
 */
#ifndef FORMATS_PERFETTO_WRITE_WAITS_H
#define FORMATS_PERFETTO_WRITE_WAITS_H

#include "formats/perfetto/write_event.h"
#include "formats/perfetto/write_tracks.h"
#include "profile/profile.h"

/* profile  of the stacks, which the writer has. Returns 0 or a stream's error. */
_must_check_ int perfetto_write_wait(struct perfetto_event_writer *writer,
				     struct perfetto_tracks *tracks, const struct profile *profile,
				     const struct timeline_wait *wait);

#endif
