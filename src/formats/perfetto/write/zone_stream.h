/*
 * Zones on their way into a Perfetto trace while they are read, for as many as there may be: as
 * the consumer of a timeline, in two passes over the same zones. The first one finds out what must
 * be known before the first packet, the second one writes.
 *
 * A zone is written when something else begins or ends, but what it carries may come until its
 * end. So the first pass puts aside what comes late, and the second one finds it there.
 *
 * Memory: what is open at a time, what is declared, and a few megabytes. What must be sorted and
 * is more than that goes to the store.
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
 * Begin the first pass: what is added to the timeline from now on. The timeline must be empty and
 * outlive the second pass.
 */
void perfetto_zone_stream_survey(struct perfetto_zone_stream *stream, struct timeline *timeline);

/*
 * Begin the second pass: the same is added to another timeline. Returns 0 or a stream's error; the
 * timeline's adding functions then return that of the packets, or -ESTALE when they get something
 * else than in the first pass.
 */
_must_check_ int perfetto_zone_stream_write(struct perfetto_zone_stream *stream,
					    struct timeline *timeline,
					    struct perfetto_stream *packets);

/*
 * The end of the second pass. The same errors.
 *
 * ret_num_left_out  zones that lie deeper in others than readers of traces take
 */
_must_check_ int perfetto_zone_stream_finish(struct perfetto_zone_stream *stream,
					     uint64_t *ret_num_left_out);

#endif
