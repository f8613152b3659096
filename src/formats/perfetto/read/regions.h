/* Stack regions of our own traces: their fill and the number in use, by their counters. */
#ifndef FORMATS_PERFETTO_READ_REGIONS_H
#define FORMATS_PERFETTO_READ_REGIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/slices.h"

/* The region of the timeline that a track of one is for, from its first use on. */
_must_check_ int perfetto_regions_use(struct perfetto_slices *slices, struct perfetto_track *track);

/* Read data of regions in our own traces from their counters. */
_must_check_ int perfetto_slices_add_fill(struct perfetto_slices *slices,
					  const struct perfetto_packet *packet, uint64_t bytes,
					  struct perfetto_track *track);
_must_check_ int perfetto_slices_add_in_use(struct perfetto_slices *slices,
					    const struct perfetto_packet *packet, uint64_t value,
					    const struct perfetto_track *track);

#endif
