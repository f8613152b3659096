/*
 * Zones as samples: a stack is the names of the zones around a moment, its weight the nanoseconds
 * that were spent in the innermost one itself. So zones can be seen in every format of profiles.
 */
#ifndef FORMATS_ZONES_READ_PROFILE_H
#define FORMATS_ZONES_READ_PROFILE_H

#include "formats/import.h"
#include "timeline/timeline.h"

#define ZONES_METRIC_NAME "zone-time"
#define ZONES_METRIC_UNIT "nanoseconds"

/*
 * Add the timeline's zones from first_zone on to import->profile.
 *
 * Returns 0, -ENOMEM or -EOVERFLOW.
 */
_must_check_ int zones_profile_add(struct import *import, const struct timeline *timeline,
				   uint32_t first_zone);

#endif
