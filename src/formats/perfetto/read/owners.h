/* The owners of a track's slices. */
#ifndef FORMATS_PERFETTO_READ_OWNERS_H
#define FORMATS_PERFETTO_READ_OWNERS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/tracks.h"

/* After the first round. */
_must_check_ int perfetto_owners_prepare(struct perfetto_track_table *tracks);
/* The timeline's thread whose slices are on the track. */
_must_check_ int perfetto_owners_find_thread(struct perfetto_track_table *tracks,
					     struct perfetto_track *track, uint32_t *ret);
/* The timeline's process that the track is of. */
_must_check_ int perfetto_owners_find_process(struct perfetto_track_table *tracks,
					      const struct perfetto_track *track, uint32_t *ret);
/* Its pid in the trace; 0 when it is of none. */
uint32_t perfetto_owners_get_pid(const struct perfetto_track_table *tracks,
				 const struct perfetto_track *track);

#endif
