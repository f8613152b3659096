/* Tracks: their names, parents and purposes. */
#ifndef FORMATS_PERFETTO_READ_TRACKS_H
#define FORMATS_PERFETTO_READ_TRACKS_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/threads.h"

/* The purpose of a track; the later ones are of our own traces. */
enum perfetto_role {
	PERFETTO_TRACK,
	PERFETTO_COUNTER,
	PERFETTO_REGION,     /* its slices are the threads on it */
	PERFETTO_ZONES,      /* of a region */
	PERFETTO_FILL,       /* of a region */
	PERFETTO_NUM_STACKS, /* regions in use */
	PERFETTO_SIZE_STACKS,
	PERFETTO_STACK_IN_USE, /* has nothing that regions have not */
	PERFETTO_WAITS,        /* of a thread */
};

struct perfetto_track {
	uint64_t uuid;
	uint64_t parent_uuid;
	uint64_t region_start; /* of a region's track */
	uint64_t region_end;
	uint32_t name;    /* strings of the timeline */
	uint32_t unit;    /* of a counter */
	uint32_t process; /* index; PERFETTO_NONE: not that of a process */
	uint32_t thread;  /* the same */
	uint32_t
		item; /* region, counter or last wait of the timeline; TIMELINE_NONE before it is used */
	uint32_t owner; /* thread of the timeline that slices are of; TIMELINE_NONE: not yet */
	uint32_t first_event; /* of its slices; PERFETTO_NONE */
	uint32_t last_event;
	uint32_t first_occupancy; /* of a region, in the timeline */
	uint32_t num_occupancies;
	int64_t multiplier;
	int64_t sum; /* of an incremental counter */
	bool is_counter;
	bool is_incremental;
	bool is_unsorted;
	bool is_queued;      /* of waits: the last slice was one of a run queue */
	uint8_t region_kind; /* enum region_kind, of a region's bounds */
	uint8_t role;        /* enum perfetto_role */
};
INTERN_TABLE(perfetto_tracks_by_uuid, struct perfetto_track, uuid);

struct perfetto_track_table {
	struct perfetto_trace *trace;     /* borrowed */
	struct perfetto_threads *threads; /* borrowed */
	struct perfetto_tracks_by_uuid items;
	uint32_t last; /* last one found */
};

/* Descriptors, in the first round. */
_must_check_ int perfetto_track_table_read(struct perfetto_track_table *tracks,
					   struct bytes message, uint64_t since_ns);
/* Find the purpose of each track, once all are described. */
void perfetto_track_table_set_roles(struct perfetto_track_table *tracks);
/* A track, made if nothing describes it; NULL when out of memory or there are too many. */
struct perfetto_track *perfetto_track_table_find(struct perfetto_track_table *tracks,
						 uint64_t uuid);
/* The track that is described above this one; NULL at the top. */
struct perfetto_track *perfetto_track_table_get_parent(const struct perfetto_track_table *tracks,
						       const struct perfetto_track *track);
void perfetto_track_table_release(struct perfetto_track_table *tracks);

#endif
