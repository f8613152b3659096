/*
 * Zones and counters of a trace of Chrome, for a timeline.
 */
#ifndef FORMATS_CHROME_READ_TIMELINE_H
#define FORMATS_CHROME_READ_TIMELINE_H

#include <stdint.h>

#include "base/attributes.h"
#include "formats/chrome/read_tracks.h"

struct chrome_slice;
struct chrome_timeline;
struct open_slices;
struct zone_attribute;

/* Both are borrowed. NULL when out of memory. */
struct chrome_timeline *chrome_timeline_new(struct import *import, struct chrome_tracks *tracks);
void chrome_timeline_free(struct chrome_timeline *timeline);
/*
 * Add the slice that is innermost in open; it starts no earlier than those of its track before it.
 */
_must_check_ int chrome_timeline_add(struct chrome_timeline *timeline,
				     const struct chrome_slice *slice, struct open_slices *open);
/* Add one more attribute to a zone, an item of those open slices. */
_must_check_ int chrome_timeline_add_attribute(struct chrome_timeline *timeline, uint32_t zone,
					       const struct zone_attribute *attribute);
/* The values of a counter's event. */
_must_check_ int chrome_timeline_add_counters(struct chrome_timeline *timeline,
					      const struct chrome_event *event);
/* When all is read: the names of processes. 0 or -ENOMEM. */
_must_check_ int chrome_timeline_finish(struct chrome_timeline *timeline);

#endif
