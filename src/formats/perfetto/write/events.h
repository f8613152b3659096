/*
 * The items of a timeline as events of a Perfetto trace: zones with all their attributes,
 * occupancies with arrows where a region changes hands, fill, counters, waits.
 */
#ifndef FORMATS_PERFETTO_WRITE_EVENTS_H
#define FORMATS_PERFETTO_WRITE_EVENTS_H

#include "formats/perfetto/write/stacks.h"
#include "formats/perfetto/write/tracks.h"
#include "profile/profile.h"

/* Write them all. Returns 0 or a stream's error. */
_must_check_ int perfetto_write_events(const struct profile *profile,
				       const struct timeline *timeline,
				       struct perfetto_tracks *tracks,
				       struct perfetto_stacks *stacks,
				       struct perfetto_stream *stream);

#endif
