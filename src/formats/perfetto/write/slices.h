/*
 * Zones and occupancies as slices of a Perfetto trace. Their tracks are described at the first use.
 */
#ifndef FORMATS_PERFETTO_WRITE_SLICES_H
#define FORMATS_PERFETTO_WRITE_SLICES_H

#include "formats/perfetto/write/event.h"
#include "formats/perfetto/write/tracks.h"

/*
 * Readers take no slices deeper than this, and then mistake their ends for those of other slices.
 * The callers skip them, and write only the fill.
 *
 * Source: SliceTracker of Perfetto v55.3, which the trace processor has; seen by loading.
 */
#define MAX_SLICE_DEPTH 512

/*
 * Start the slice of a zone: everything but its attributes, which the caller adds to the event
 * before perfetto_event_writer_add(). All of these return 0 or a stream's error.
 */
_must_check_ int perfetto_start_zone(struct perfetto_event_writer *writer,
				     struct perfetto_tracks *tracks, const struct zone *zone,
				     uint64_t fill_bytes);
/* fill_bytes  of the region, from now on */
_must_check_ int perfetto_end_zone(struct perfetto_event_writer *writer,
				   struct perfetto_tracks *tracks, uint32_t region,
				   uint64_t fill_bytes, uint64_t time_ns);

/* Only the fill of the region, from now on. */
_must_check_ int perfetto_write_fill(struct perfetto_event_writer *writer,
				     struct perfetto_tracks *tracks, uint32_t region,
				     uint64_t fill_bytes, uint64_t time_ns);

/* Flows between occupancies: numbers that no program is likely to choose. */
#define HAND_OVER_FLOW 0xc3a5c85c00000000ull

/*
 * The region's slice: the thread on it. An arrow leads to it from the slice with the same outgoing
 * flow.
 *
 * thread_name        of the thread, NUL-terminated
 * flow_in, flow_out  0: none
 */
_must_check_ int perfetto_start_region_slice(struct perfetto_event_writer *writer,
					     struct perfetto_tracks *tracks,
					     const struct occupancy *occupancy,
					     const char *thread_name, uint64_t flow_in,
					     uint64_t flow_out);
_must_check_ int perfetto_end_region_slice(struct perfetto_event_writer *writer,
					   struct perfetto_tracks *tracks, uint32_t region,
					   uint64_t flow_out, uint64_t time_ns);

/* The thread's slice: the region it is on. */
_must_check_ int perfetto_start_thread_slice(struct perfetto_event_writer *writer,
					     struct perfetto_tracks *tracks,
					     const struct occupancy *occupancy);
_must_check_ int perfetto_end_thread_slice(struct perfetto_event_writer *writer,
					   struct perfetto_tracks *tracks, uint32_t thread,
					   uint64_t time_ns);

/* Write a task event of a thread, on its own track. */
_must_check_ int perfetto_write_task_event(struct perfetto_event_writer *writer,
					   const struct perfetto_tracks *tracks,
					   const struct task_event *task);

/* How many of a process's regions are in use, and how large these are. */
_must_check_ int perfetto_write_use(struct perfetto_event_writer *writer,
				    struct perfetto_tracks *tracks,
				    const struct regions_in_use *use);

#endif
