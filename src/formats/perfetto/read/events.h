/* Events of tracks: starts and ends of slices, instants, counters. */
#ifndef FORMATS_PERFETTO_READ_EVENTS_H
#define FORMATS_PERFETTO_READ_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/slices.h"

_must_check_ int perfetto_slices_read_event(struct perfetto_slices *slices,
					    const struct perfetto_packet *packet,
					    struct bytes message);

#endif
