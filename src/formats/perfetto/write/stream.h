/*
 * Packets of a Perfetto trace on their way to a sink: each is encoded at once, so that memory does
 * not grow with the trace.
 */
#ifndef FORMATS_PERFETTO_WRITE_STREAM_H
#define FORMATS_PERFETTO_WRITE_STREAM_H

#include <perfetto.pb-c.h>

#include "base/text.h"
#include "formats/format.h"
#include "formats/perfetto/perfetto.h"

/* The sequences of a trace, by trusted_packet_sequence_id. */
enum perfetto_sequence_id {
	SEQUENCE_SYSTEM = 1,  /* clocks, system, processes, threads */
	SEQUENCE_SCHED = 2,   /* scheduling */
	SEQUENCE_SAMPLES = 3, /* samples and their stacks; 4 to 15 are those of further metrics */
	SEQUENCE_EVENTS = 16, /* tracks of our own, and the zones on them */
	SEQUENCE_OCCUPANCIES = 17,
	SEQUENCE_FILLS = 18,
	SEQUENCE_TOTALS = 19,
	SEQUENCE_COUNTERS = 20,
	SEQUENCE_TASKS = 21,   /* task events of threads */
	SEQUENCE_WAITS = 22,   /* waits of threads, with their stacks */
	SEQUENCE_KWORK = 23,   /* interrupts and the like */
	SEQUENCE_MORE_SAMPLES, /* the metrics that those before have no room for */
	END_OF_SEQUENCES =
		SEQUENCE_MORE_SAMPLES + PERFETTO_MAX_METRICS - (SEQUENCE_EVENTS - SEQUENCE_SAMPLES),
};

/* The sequence of a metric's samples. */
static inline uint32_t perfetto_get_sample_sequence(uint32_t metric)
{
	uint32_t num_first = SEQUENCE_EVENTS - SEQUENCE_SAMPLES;

	return metric < num_first ? SEQUENCE_SAMPLES + metric
				  : SEQUENCE_MORE_SAMPLES + metric - num_first;
}

struct perfetto_stream;

/*
 * sink           borrowed
 * is_compressed  put packets into zlib-compressed ones
 *
 * NULL when out of memory.
 */
struct perfetto_stream *perfetto_stream_new(const struct sink *sink, bool is_compressed);
void perfetto_stream_free(struct perfetto_stream *stream);
static inline void perfetto_stream_freep(struct perfetto_stream **stream)
{
	perfetto_stream_free(*stream);
}

/* Append a packet. Returns 0, -ENOMEM, or the error of the sink. */
_must_check_ int perfetto_stream_add(struct perfetto_stream *stream,
				     const Perfetto__TracePacket *packet);

/*
 * A packet that is written field by field (formats/protobuf_writer.h), in the order of their numbers: put them on the text that
 * start() returns, and end the packet before another call.
 *
 * Returns 0, -ENOMEM, or the error of the sink.
 */
enum {
	PERFETTO_PACKET_TIME = 8,
	PERFETTO_PACKET_SEQUENCE = 10,
	PERFETTO_PACKET_EVENT = 11,
	PERFETTO_PACKET_INTERNED = 12,
	PERFETTO_PACKET_FLAGS = 13,
	PERFETTO_PACKET_CLOCK = 58,
};
struct text *perfetto_stream_start(struct perfetto_stream *stream);
_must_check_ int perfetto_stream_end(struct perfetto_stream *stream);

/*
 * Append a packet with an event. interned: the fields of its interned data, or NULL.
 *
 * Returns 0, -ENOMEM, or the error of the sink.
 */
_must_check_ int perfetto_stream_add_event(struct perfetto_stream *stream,
					   const Perfetto__TracePacket *packet,
					   const struct text *interned);

/* Append the packet that ends the trace, and pass on the held ones. */
_must_check_ int perfetto_stream_finish(struct perfetto_stream *stream);

/* Encoded bytes so far, before compression. */
uint64_t perfetto_stream_get_size(const struct perfetto_stream *stream);

/* Number of events so far; readers keep each of them. */
uint64_t perfetto_stream_get_event_count(const struct perfetto_stream *stream);

/*
 * Times are most of a packet. On the sequences from SEQUENCE_SAMPLES on they are emitted as the
 * time since the packet before, on a clock of the sequence; late packets have a time on
 * CLOCK_BOOTTIME. Start the clocks of all sequences at the same time, before any packet of theirs.
 */
_must_check_ int perfetto_stream_start_clock(struct perfetto_stream *stream, uint32_t sequence,
					     uint64_t start_ns);

/* Give the packet its time. It must be the next one of its sequence that is added. */
void perfetto_stream_set_time(struct perfetto_stream *stream, Perfetto__TracePacket *packet,
			      uint64_t time_ns);

/* The id of a sequence's clock, for its defaults. */
#define PERFETTO_CLOCK_OF_SEQUENCE 64

/*
 * The item of a number on a sequence is emitted once, until the sequence's state is cleared, which
 * bounds the memory of readers. Gives numbers, from 1 on, to ids, which are any numbers from 0: the
 * first ids get the small ones, which are short.
 */
struct perfetto_emitted {
	uint32_t *numbers; /* by id; 0: not emitted */
	size_t num_ids;    /* there is room for */
	uint32_t last_number;
};

/*
 * The number of an id, and whether it has not been emitted yet; from now on it has. 0, or -ENOMEM.
 */
_must_check_ int perfetto_emitted_add(struct perfetto_emitted *emitted, uint32_t id,
				      uint64_t *ret_number, bool *ret_is_new);
void perfetto_emitted_clear(struct perfetto_emitted *emitted);
void perfetto_emitted_release(struct perfetto_emitted *emitted);

/* How many bytes a sequence writes before it clears its state. */
#define PERFETTO_STATE_BYTES (16u << 20)

#define PERFETTO_STATE_CLEARED 1u
#define PERFETTO_STATE_NEEDED  2u

#endif
