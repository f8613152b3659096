/*
 * The samples of a timeline, with the stacks of its profile, as PerfSample packets of a Perfetto
 * trace: one sequence for each metric.
 */
#ifndef FORMATS_PERFETTO_WRITE_SAMPLES_H
#define FORMATS_PERFETTO_WRITE_SAMPLES_H

#include "formats/perfetto/write/stacks.h"
#include "formats/perfetto/write/tracks.h"
#include "profile/profile.h"

/* Write them all. Returns 0 or a stream's error. */
_must_check_ int perfetto_write_samples(const struct profile *profile,
					const struct timeline *timeline,
					const struct perfetto_tracks *tracks,
					struct perfetto_stacks *stacks,
					struct perfetto_stream *stream);

#endif
