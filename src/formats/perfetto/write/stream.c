/*
 * A trace is one protobuf message with a single repeated field, its packets: each can be written as
 * soon as it is made, as tag, length and bytes. Packets are collected to chunks. With compression,
 * a chunk becomes the one field of another packet, which readers decompress where they meet it;
 * compression starts anew with each.
 *
 * Most packets are events, and most bytes are stacks: both are encoded field by field, faster than
 * protobuf-c does it. The rest is left to protobuf-c.
 *
 * Times are most of an event. Each sequence gets a clock of its own that is incremental: a
 * timestamp is the time since the one before. The clock cannot go back, so late packets have their
 * own time, on CLOCK_BOOTTIME, and leave the clock alone.
 *
 * A list that lacks its last packets is a valid list. So the first packet announces a last one, by
 * which readers know a complete trace.
 */
#include "formats/perfetto/write/stream.h"

#include <errno.h>
#include <zlib.h>

#include "base/array.h"
#include "formats/perfetto/write/event_bytes.h"
#include "formats/protobuf_writer.h"

/* In a compressed packet there should be less than 512 KiB of packets. */
#define CHUNK_BYTES 262144

#define TRACE_PACKET_FIELD 1    /* of Trace */
#define TRACE_PACKET_TAG   0x0a /* the same, with a length and so many bytes */

#define CLOCK_ID_BOOTTIME 6

struct perfetto_stream {
	const struct sink *sink;
	bool is_compressed;
	uint64_t size;
	uint64_t num_events;
	uint64_t clocks[END_OF_SEQUENCES]; /* reading of each, as CLOCK_BOOTTIME */
	struct text packets;
	size_t start; /* of the packet that is being written, and the mark of its size */
	size_t mark;
	struct text compressed;
};

/* Append one packet, with its tag and length before it. */
static int encode(struct text *text, const Perfetto__TracePacket *packet)
{
	size_t length = perfetto__trace_packet__get_packed_size(packet);
	uint8_t *end;

	if (array_reserve_bytes(&text->data, &text->capacity,
				text->length + length + PROTOBUF_FIELD_BYTES, 1))
		return -ENOMEM;
	end = (uint8_t *)text->data + text->length;
	*end++ = TRACE_PACKET_TAG;
	end = protobuf_encode(end, length);
	end += perfetto__trace_packet__pack(packet, end);
	text->length = (size_t)(end - (uint8_t *)text->data);
	return 0;
}

/* Announces the last packet. */
static int add_start(struct perfetto_stream *stream)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;

	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SYSTEM;
	packet.has_has_end = packet.has_end = 1;
	return encode(&stream->packets, &packet);
}

/* Readers expect a time of service events. */
static int add_end(struct perfetto_stream *stream)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__TracingServiceEvent event = PERFETTO__TRACING_SERVICE_EVENT__INIT;

	for (size_t i = 0; i < ARRAY_LENGTH(stream->clocks); i++)
		if (stream->clocks[i] > packet.timestamp)
			packet.timestamp = stream->clocks[i];
	packet.has_timestamp = 1;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = SEQUENCE_SYSTEM;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_SERVICE_EVENT;
	packet.service_event = &event;
	event.has_read_tracing_buffers_completed = event.read_tracing_buffers_completed = 1;
	return encode(&stream->packets, &packet);
}

struct perfetto_stream *perfetto_stream_new(const struct sink *sink, bool is_compressed)
{
	struct perfetto_stream *stream = calloc(1, sizeof(*stream));

	if (!stream)
		return NULL;
	stream->sink = sink;
	stream->is_compressed = is_compressed;
	if (add_start(stream)) {
		perfetto_stream_free(stream);
		return NULL;
	}
	return stream;
}

void perfetto_stream_free(struct perfetto_stream *stream)
{
	if (!stream)
		return;
	text_release(&stream->packets);
	text_release(&stream->compressed);
	free(stream);
}

static int write_compressed(struct perfetto_stream *stream)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	uLongf size = compressBound(stream->packets.length);
	struct text *output = &stream->compressed;
	_cleanup_free_ uint8_t *compressed = malloc(size);

	if (!compressed || compress2(compressed, &size, (const Bytef *)stream->packets.data,
				     stream->packets.length, Z_DEFAULT_COMPRESSION) != Z_OK)
		return -ENOMEM;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_COMPRESSED_PACKETS;
	packet.compressed_packets.data = compressed;
	packet.compressed_packets.len = size;
	output->length = 0;
	if (encode(output, &packet))
		return -ENOMEM;
	return stream->sink->write(stream->sink->context, output->data, output->length);
}

static int drain(struct perfetto_stream *stream)
{
	int err = 0;

	if (stream->packets.length && stream->is_compressed)
		err = write_compressed(stream);
	else if (stream->packets.length)
		err = stream->sink->write(stream->sink->context, stream->packets.data,
					  stream->packets.length);
	stream->packets.length = 0;
	return err;
}

/* The number of rows that readers make of a packet; for the columns of scheduling, their lines. */
static uint64_t count_events(const Perfetto__TracePacket *packet)
{
	const Perfetto__CompactSched *sched;

	switch (packet->data_case) {
	case PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT:
		return 1 + packet->track_event->n_extra_counter_values;
	case PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE:
		return 1;
	case PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS:
		sched = packet->ftrace_events->compact_sched;
		return packet->ftrace_events->n_event +
		       (sched ? sched->n_switch_timestamp + sched->n_waking_timestamp : 0);
	default:
		return 0;
	}
}

/* The packet that starts there is complete. */
static int finish_packet(struct perfetto_stream *stream, size_t start, uint64_t num_events)
{
	stream->size += stream->packets.length - start;
	stream->num_events += num_events;
	return stream->packets.length < CHUNK_BYTES ? 0 : drain(stream);
}

int perfetto_stream_add(struct perfetto_stream *stream, const Perfetto__TracePacket *packet)
{
	size_t before = stream->packets.length;
	int err = encode(&stream->packets, packet);

	return err ? err : finish_packet(stream, before, count_events(packet));
}

int perfetto_stream_add_event(struct perfetto_stream *stream, const Perfetto__TracePacket *packet,
			      const struct text *interned)
{
	size_t before = stream->packets.length;
	int err = perfetto_append_event(&stream->packets, packet, interned);

	return err ? err : finish_packet(stream, before, count_events(packet));
}

struct text *perfetto_stream_start(struct perfetto_stream *stream)
{
	stream->start = stream->packets.length;
	stream->mark = protobuf_start(&stream->packets, TRACE_PACKET_FIELD);
	return &stream->packets;
}

int perfetto_stream_end(struct perfetto_stream *stream)
{
	protobuf_end(&stream->packets, stream->mark);
	return stream->packets.failed ? -ENOMEM : finish_packet(stream, stream->start, 0);
}

int perfetto_stream_finish(struct perfetto_stream *stream)
{
	int err = add_end(stream);

	return err ? err : drain(stream);
}

uint64_t perfetto_stream_get_size(const struct perfetto_stream *stream)
{
	return stream->size;
}

uint64_t perfetto_stream_get_event_count(const struct perfetto_stream *stream)
{
	return stream->num_events;
}

/* ---- clocks ------------------------------------------------------------------------------- */

/* Readers refuse snapshots that go back in time, also those of another sequence. */
int perfetto_stream_start_clock(struct perfetto_stream *stream, uint32_t sequence,
				uint64_t start_ns)
{
	Perfetto__TracePacket packet = PERFETTO__TRACE_PACKET__INIT;
	Perfetto__ClockSnapshot body = PERFETTO__CLOCK_SNAPSHOT__INIT;
	Perfetto__ClockSnapshot__Clock boottime = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__ClockSnapshot__Clock own = PERFETTO__CLOCK_SNAPSHOT__CLOCK__INIT;
	Perfetto__ClockSnapshot__Clock *clocks[] = {&boottime, &own};

	boottime.has_clock_id = boottime.has_timestamp = 1;
	boottime.clock_id = CLOCK_ID_BOOTTIME;
	boottime.timestamp = start_ns;
	own.has_clock_id = own.has_timestamp = 1;
	own.clock_id = PERFETTO_CLOCK_OF_SEQUENCE;
	own.has_is_incremental = own.is_incremental = 1;
	body.n_clocks = ARRAY_LENGTH(clocks);
	body.clocks = clocks;
	packet.has_trusted_packet_sequence_id = 1;
	packet.trusted_packet_sequence_id = sequence;
	packet.data_case = PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT;
	packet.clock_snapshot = &body;
	stream->clocks[sequence] = start_ns;
	return perfetto_stream_add(stream, &packet);
}

void perfetto_stream_set_time(struct perfetto_stream *stream, Perfetto__TracePacket *packet,
			      uint64_t time_ns)
{
	uint64_t *clock = &stream->clocks[packet->trusted_packet_sequence_id];

	packet->has_timestamp = 1;
	if (time_ns < *clock) {
		packet->timestamp = time_ns;
		packet->has_timestamp_clock_id = 1;
		packet->timestamp_clock_id = CLOCK_ID_BOOTTIME;
		return;
	}
	packet->timestamp = time_ns - *clock;
	*clock = time_ns;
}

/* ---- emitted items --------------------------------------------------------------------------- */

/* The reserve may give more than was asked for, and all of it is zeroed: 0 is "not emitted". */
int perfetto_emitted_add(struct perfetto_emitted *emitted, uint32_t id, uint64_t *ret_number,
			 bool *ret_is_new)
{
	size_t before = emitted->num_ids;

	if (id >= before) {
		size_t num_ids = before;

		if (array_reserve_bytes(&emitted->numbers, &num_ids, (size_t)id + 1,
					sizeof(*emitted->numbers)))
			return -ENOMEM;
		memset(emitted->numbers + before, 0,
		       (num_ids - before) * sizeof(*emitted->numbers));
		emitted->num_ids = num_ids;
	}
	*ret_is_new = !emitted->numbers[id];
	if (*ret_is_new)
		emitted->numbers[id] = ++emitted->last_number;
	*ret_number = emitted->numbers[id];
	return 0;
}

void perfetto_emitted_clear(struct perfetto_emitted *emitted)
{
	if (emitted->num_ids)
		memset(emitted->numbers, 0, emitted->num_ids * sizeof(*emitted->numbers));
	emitted->last_number = 0;
}

void perfetto_emitted_release(struct perfetto_emitted *emitted)
{
	free(emitted->numbers);
	*emitted = (struct perfetto_emitted){0};
}
