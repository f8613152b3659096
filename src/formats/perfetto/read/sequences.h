/* Sequences: each is the output of one writer, and has a state of its own. */
#ifndef FORMATS_PERFETTO_READ_SEQUENCES_H
#define FORMATS_PERFETTO_READ_SEQUENCES_H

#include <stdbool.h>
#include <stdint.h>

#include "formats/perfetto/read/interned_table.h"

struct perfetto_clock {
	uint32_t id;
	bool is_incremental;
	uint64_t multiplier; /* nanoseconds of its unit */
	uint64_t offset_ns;  /* to add for CLOCK_BOOTTIME, modulo 2^64 */
	uint64_t last_ns;    /* of an incremental clock */
};

/* A writer of packets. */
struct perfetto_sequence {
	uint32_t id;
	bool is_valid;          /* its state is complete: nothing was lost since it was cleared */
	bool is_ours;           /* stackwide's samples: see perfetto.proto */
	uint32_t default_clock; /* 0: none */
	uint64_t default_track;
	uint32_t metric_name; /* strings of the profile */
	uint32_t metric_unit;
	uint32_t frequency; /* of a recording, in Hz; 0: none */
	uint32_t metric;    /* of the profile; PERFETTO_NONE before its first sample */
	uint32_t pid;       /* of the sequence's thread */
	uint32_t tid;
	ARRAY(struct perfetto_clock) clocks;
	struct perfetto_interned *interned; /* NULL before it has interned anything */
};
INTERN_TABLE(perfetto_sequence_table, struct perfetto_sequence, id);

struct perfetto_sequences {
	struct perfetto_trace *trace; /* borrowed */
	struct perfetto_sequence_table items;
	uint32_t last; /* last one found */
};

/* A packet, as far as all kinds are alike. */
struct perfetto_packet {
	struct perfetto_sequence *sequence; /* NULL: it has none */
	uint64_t time_ns;
	bool has_time;
};

/* A number that the sequence has not interned (its packet was lost) gives the empty string. */
static inline uint32_t perfetto_find_string(const struct perfetto_packet *packet,
					    enum perfetto_interned_kind kind, uint64_t iid)
{
	uint32_t string = packet->sequence
				  ? perfetto_interned_find(packet->sequence->interned, kind, iid)
				  : PERFETTO_NONE;

	return string == PERFETTO_NONE ? STRING_EMPTY : string;
}

/* NULL when out of memory, or when there are too many. */
struct perfetto_sequence *perfetto_sequences_find(struct perfetto_sequences *sequences,
						  uint32_t id);
/* Its interned items are no longer valid. */
void perfetto_sequence_clear(struct perfetto_sequence *sequence);
void perfetto_sequences_release(struct perfetto_sequences *sequences);

#endif
