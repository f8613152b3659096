/* Waits and their wakers, as our own traces have them. */
#ifndef FORMATS_PERFETTO_READ_WAITS_H
#define FORMATS_PERFETTO_READ_WAITS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/slices.h"

/* An event of a track of waits, which our own traces have. */
_must_check_ int perfetto_slices_read_wait(struct perfetto_slices *slices,
					   const struct perfetto_packet *packet,
					   struct bytes message,
					   const struct perfetto_track_event *event,
					   struct perfetto_track *track);

/* Whether an instant is one of our wakeups. If so, it is taken. */
_must_check_ int perfetto_slices_take_wakeup(struct perfetto_slices *slices,
					     const struct perfetto_packet *packet,
					     struct bytes message,
					     const struct perfetto_track_event *event,
					     struct perfetto_track *track, bool *ret_is_one);

#endif
