/*
 * Packets of a Perfetto trace on their way to a sink: each is encoded at once, so that memory does
 * not grow with the trace.
 */
#ifndef FORMATS_PERFETTO_STREAM_H
#define FORMATS_PERFETTO_STREAM_H

#include <perfetto.pb-c.h>

#include "base/text.h"
#include "formats/format.h"

/* What the readers of a trace tell apart by trusted_packet_sequence_id. */
enum perfetto_sequence {
	SEQUENCE_SYSTEM = 1,  /* clocks, system, processes, threads */
	SEQUENCE_SCHED = 2,   /* scheduling */
	SEQUENCE_SAMPLES = 3, /* samples and their stacks */
	SEQUENCE_EVENTS = 16, /* zones and everything else on tracks of our own */
};

struct perfetto_stream;

/*
 * sink           borrowed
 * is_compressed  pack packets into zlib-compressed ones
 *
 * NULL when out of memory.
 */
struct perfetto_stream *perfetto_stream_new(const struct sink *sink, bool is_compressed);
void perfetto_stream_free(struct perfetto_stream *stream);

/* Append a packet. Returns 0, -ENOMEM, or what the sink returned. */
_must_check_ int perfetto_stream_add(struct perfetto_stream *stream,
				     const Perfetto__TracePacket *packet);

/* Pass on what is held back; the end of the trace. */
_must_check_ int perfetto_stream_finish(struct perfetto_stream *stream);

/* Encoded bytes so far, before compression. */
uint64_t perfetto_stream_get_size(const struct perfetto_stream *stream);

/*
 * What an id on a sequence stands for is told once, until the sequence's state is cleared, which
 * bounds the memory of readers. Marks what has been told: ids are 0 to whatever.
 */
struct perfetto_told {
	uint8_t *marks; /* by id */
	size_t num_ids; /* there is room for */
};

/* Whether the id has not been told yet; from now on it has. -ENOMEM, or 0. */
_must_check_ int perfetto_told_add(struct perfetto_told *told, uint32_t id, bool *ret_is_new);
void perfetto_told_clear(struct perfetto_told *told);
void perfetto_told_release(struct perfetto_told *told);

/* How many bytes a sequence writes before it clears its state. */
#define PERFETTO_STATE_BYTES (16u << 20)

#define PERFETTO_STATE_CLEARED 1u
#define PERFETTO_STATE_NEEDED  2u

#endif
