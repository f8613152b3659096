/*
 * The tracks of a Perfetto trace, made from a timeline:
 *
 *	process
 *	├ Stacks                  Number of stacks, Known stacks total size: counters beside them
 *	│ └ each stack region     slices: the thread on it
 *	│   ├ zones               slices, nested
 *	│   └ fill                counter, bytes
 *	├ each counter
 *	└ thread                  instants: its task events, and the threads it woke
 *	  stack in use            slices: the region it was on; shown beside the thread
 *	  waits                   slices: its waits; likewise
 *
 * Processes of one group are a process together, with nothing but their threads.
 *
 * A track is described before its first use, and not at all without one; processes and threads
 * are described all at once.
 */
#ifndef FORMATS_PERFETTO_WRITE_TRACKS_H
#define FORMATS_PERFETTO_WRITE_TRACKS_H

#include "base/attributes.h"
#include "formats/perfetto/write/stream.h"
#include "timeline/timeline.h"

struct perfetto_tracks;

/* Both are borrowed. NULL when out of memory. */
struct perfetto_tracks *perfetto_tracks_new(const struct timeline *timeline,
					    struct perfetto_stream *stream);
void perfetto_tracks_free(struct perfetto_tracks *tracks);
static inline void perfetto_tracks_freep(struct perfetto_tracks **tracks)
{
	perfetto_tracks_free(*tracks);
}

/*
 * Short-lived processes are to be shown together (write/groups.h), and regions by weight. Before
 * anything is described. Returns 0, -ENOMEM or an error of the timeline's samples.
 */
_must_check_ int perfetto_tracks_group(struct perfetto_tracks *tracks);
/* Whether a process is shown so: then it has no tracks of its own. */
bool perfetto_tracks_is_grouped(const struct perfetto_tracks *tracks, uint32_t process);

/* Describe all processes and threads, on a sequence of their own. 0 or a stream's error. */
_must_check_ int perfetto_tracks_describe_threads(struct perfetto_tracks *tracks);

/*
 * Describe the track if needed, and the tracks above it. ret is its uuid. Returns 0 or a stream's
 * error.
 */
_must_check_ int perfetto_tracks_use_region(struct perfetto_tracks *tracks, uint32_t region,
					    uint64_t *ret);
_must_check_ int perfetto_tracks_use_zones(struct perfetto_tracks *tracks, uint32_t region,
					   uint64_t *ret);
_must_check_ int perfetto_tracks_use_fill(struct perfetto_tracks *tracks, uint32_t region,
					  uint64_t *ret);
_must_check_ int perfetto_tracks_use_thread_stack(struct perfetto_tracks *tracks, uint32_t thread,
						  uint64_t *ret);
_must_check_ int perfetto_tracks_use_waits(struct perfetto_tracks *tracks, uint32_t thread,
					   uint64_t *ret);
/* The thread's own track, which is described with the thread. */
uint64_t perfetto_tracks_get_thread(const struct perfetto_tracks *tracks, uint32_t thread);
_must_check_ int perfetto_tracks_use_counter(struct perfetto_tracks *tracks, uint32_t counter,
					     uint64_t *ret);
/* The two counters of the regions in use: how many, and how large. */
_must_check_ int perfetto_tracks_use_totals(struct perfetto_tracks *tracks, uint32_t process,
					    uint64_t *ret_number, uint64_t *ret_size);

/* The numbers in the trace: those of the timeline if possible. pid: or that of the group */
uint32_t perfetto_tracks_get_pid(const struct perfetto_tracks *tracks, uint32_t process);
uint32_t perfetto_tracks_get_tid(const struct perfetto_tracks *tracks, uint32_t thread);

#endif
