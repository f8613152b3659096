/*
 * Zones on their way into a Perfetto trace while they are read, in any number: as the consumer of a
 * timeline, in two passes over the same zones. The first one collects the data for the first
 * packet, the second one writes.
 *
 * A zone is written when something else starts or ends, but its attributes may be reported until
 * its end. So the first pass puts late ones aside, and the second one finds them there.
 *
 * Memory: the open items, the declarations, and a few megabytes. Larger amounts to sort go to the
 * store.
 */
#ifndef FORMATS_PERFETTO_WRITE_ZONE_STREAM_H
#define FORMATS_PERFETTO_WRITE_ZONE_STREAM_H

#include "base/record_sorter.h"
#include "formats/perfetto/write/stream.h"
#include "timeline/timeline.h"

struct perfetto_zone_stream;

/* The store is borrowed; NULL: all stays in memory. NULL when out of memory. */
struct perfetto_zone_stream *perfetto_zone_stream_new(const struct record_store *store);
void perfetto_zone_stream_free(struct perfetto_zone_stream *stream);

/*
 * Start the first pass, over all items added to the timeline from now on. The timeline must be
 * empty and outlive the second pass.
 */
void perfetto_zone_stream_survey(struct perfetto_zone_stream *stream, struct timeline *timeline);

/*
 * Start the second pass: the same items are added to another timeline. Returns 0 or a stream's
 * error. The timeline's adding functions then return that of the packets, or -ESTALE if items
 * differ from the first pass.
 */
_must_check_ int perfetto_zone_stream_write(struct perfetto_zone_stream *stream,
					    struct timeline *timeline,
					    struct perfetto_stream *packets);

/*
 * The end of the second pass. The same errors.
 *
 * ret_num_left_out  zones deeper in others than readers of traces take
 */
_must_check_ int perfetto_zone_stream_finish(struct perfetto_zone_stream *stream,
					     uint64_t *ret_num_left_out);

#endif
