/*
 * Reading Perfetto traces, our own and those of other tools: samples, slices, counters, and the
 * threads that they belong to.
 *
 * A trace is a protobuf message of nothing but packets. It is read twice:
 *
 *	descriptors   processes, threads, tracks, symbols: they may follow their first use
 *	events        everything else, in the order of the file
 *
 * Packets form sequences, one for each writer, which the file interleaves. Within a sequence,
 * names, frames and stacks are interned: emitted in full once, referred to by number ("iid") from
 * then on, until a packet clears the sequence's state. Numbers, the default clock and the clocks
 * with small ids mean something within their sequence only (read/sequences.c, read/interned.c).
 *
 * Samples and counter values go into the profile and the timeline at once. Slices must be sorted
 * first and are kept until the end, when read/zones.c turns them into zones; heap profiles are
 * kept, too, because the last dump of a stack replaces those before it.
 *
 * Fields that we do not know are skipped, as in all of protobuf. So are packets that need state
 * which their sequence has lost. A truncated trace is read up to its end; if it was cut between two
 * packets, only a trace of ours reveals it, whose first packet announces a last one. Compressed
 * packets hold packets, but no compressed ones. All that is kept is bounded by the size of the trace
 * (perfetto_has_room()), because a small file may claim a lot.
 *
 * Source: google/perfetto v55.3, protos/perfetto/trace.
 */
#include <errno.h>
#include <string.h>

#include "formats/import.h"
#include "formats/perfetto/perfetto.h"
#include "formats/perfetto/read/clocks.h"
#include "formats/perfetto/read/events.h"
#include "formats/perfetto/read/heap.h"
#include "formats/perfetto/read/interned.h"
#include "formats/perfetto/read/owners.h"
#include "formats/perfetto/read/sched.h"
#include "formats/perfetto/read/zones.h"
#include "formats/reader.h"

/* Limit of the output of all compressed packets: as for compressed files. */
#define DECOMPRESS_FREE_BYTES (64u << 20)
#define DECOMPRESS_RATIO      50
/*
 * Limit of the output of one packet, beside twice the trace's size: that much is in memory at once.
 */
#define DECOMPRESS_AT_ONCE_BYTES (32u << 20)

#define ADVANCE_BYTES     (1u << 20)
#define NUM_DETECT_FIELDS 32

#define SERVICE_EVENT_END 4 /* field of a service event: read_tracing_buffers_completed */

#define FLAG_STATE_CLEARED 1u
#define FLAG_STATE_NEEDED  2u

enum packet_field {
	PACKET_KERNEL = 1, /* events of ftrace */
	PACKET_PROCESS_TREE = 2,
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED = 12,
	PACKET_FLAGS = 13,
	PACKET_HEAP = 37,
	PACKET_DROPPED = 42,
	PACKET_THREAD = 44, /* thread of the sequence */
	PACKET_SYSTEM_INFO = 45,
	PACKET_COMPRESSED = 50, /* by zlib */
	PACKET_STREAMING_PROFILE = 54,
	PACKET_CLOCK = 58,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK = 60,
	PACKET_SYMBOLS = 61,
	PACKET_SAMPLE = 66,
	PACKET_SERVICE_EVENT = 69,
	PACKET_RENAME = 120,
	PACKET_ZSTD_COMPRESSED = 133,
	PACKET_GROUPED = 1000, /* ours */
	PACKET_HAS_END = 1001, /* ours */
};

/* Data that other tools write and this reader does not read. */
static const struct {
	uint32_t kind;
	const char *name;
} unread_kinds[] = {
	{7, "counters of the system"},
	{9, "process statistics"},
	{34, "the table of ftrace's statistics"},
	{39, "Android's log"},
	{40, "energy estimates"},
	{47, "frames of graphics"},
	{52, "counters of a GPU"},
	{53, "stages of a GPU"},
	{56, "Java heap graphs"},
	{76, "frame timelines"},
};

enum perfetto_round { ROUND_DESCRIPTORS, ROUND_EVENTS };

/* The fields of a packet, before anything is made of them. */
struct raw_packet {
	uint64_t timestamp;
	uint64_t clock;
	uint64_t flags;
	uint32_t sequence;
	bool has_timestamp;
	bool has_clock;
	bool is_after_loss;
	bool announces_end;   /* of the trace that it starts */
	uint32_t kind;        /* field of the oneof; 0: no known kind */
	uint32_t unread_kind; /* then; 0: it has no data */
	struct bytes data;
	struct bytes interned;
	struct bytes defaults;
};

struct perfetto_reader {
	struct perfetto_trace trace;
	uint64_t num_stateless; /* packets whose sequence had lost the referenced state */
	uint64_t
		num_unread[ARRAY_LENGTH(unread_kinds) + 1]; /* packets; the last is of all others */
	struct perfetto_clocks clocks;
	struct perfetto_sequences sequences;
	struct perfetto_threads threads;
	struct perfetto_track_table tracks;
	struct perfetto_samples samples;
	struct perfetto_slices slices;
	struct perfetto_symbols symbols;
	struct perfetto_code code;
	struct perfetto_heaps heaps;
	struct perfetto_sched sched;
};

struct rounds {
	struct perfetto_reader *reader;
	enum perfetto_round round;
	uint64_t num_packets;
	bool is_unfinished; /* a trace of ours has started, and its last packet is to come */
	uint64_t num_decompressible; /* bytes that may still be decompressed */
	size_t emitted;              /* bytes reported as consumed */
	struct text decompressed;
};

/* ---- fields ------------------------------------------------------------------------------- */

/* Fields that describe the trace or the packet, and contain no events. */
static bool is_about_trace(uint32_t field)
{
	switch (field) {
	case 33: /* TraceConfig */
	case 35: /* TraceStats */
	case 36: /* a mark to find packets by */
	case 46: /* Trigger */
	case 72: /* ExtensionDescriptor */
	case 78: /* UiState */
	case 89: /* TraceUuid */
	case 92: /* TraceProvenance and the like, of later versions */
		return true;
	}
	return false;
}

/* Whether a descriptor has the contents of a packet, too, as in our own traces. */
static bool is_described(struct bytes message)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field))
		if (field.number == 1000)
			return true;
	return false;
}

static const uint8_t packet_field_types[] = {
	[PACKET_TIMESTAMP] = PROTOBUF_SET(PROTOBUF_VARINT),
	[PACKET_CLOCK] = PROTOBUF_SET(PROTOBUF_VARINT),
	[PACKET_SEQUENCE] = PROTOBUF_SET(PROTOBUF_VARINT),
	[PACKET_FLAGS] = PROTOBUF_SET(PROTOBUF_VARINT),
	[PACKET_DROPPED] = PROTOBUF_SET(PROTOBUF_VARINT),
	[PACKET_INTERNED] = PROTOBUF_SET(PROTOBUF_BYTES),
	[PACKET_DEFAULTS] = PROTOBUF_SET(PROTOBUF_BYTES),
};

/* False when the packet is broken. */
static bool read_fields(struct bytes message, struct raw_packet *packet)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (!protobuf_fits(&field, packet_field_types, ARRAY_LENGTH(packet_field_types)))
			continue;
		switch (field.number) {
		case PACKET_TIMESTAMP:
			packet->timestamp = field.value;
			packet->has_timestamp = true;
			break;
		case PACKET_CLOCK:
			packet->clock = field.value;
			packet->has_clock = true;
			break;
		case PACKET_SEQUENCE:
			packet->sequence = (uint32_t)field.value;
			break;
		case PACKET_FLAGS:
			packet->flags = field.value;
			break;
		case PACKET_DROPPED:
			packet->is_after_loss = field.value != 0;
			break;
		case PACKET_HAS_END:
			packet->announces_end = field.type == PROTOBUF_VARINT && field.value;
			break;
		case PACKET_INTERNED:
			packet->interned = field.body;
			break;
		case PACKET_DEFAULTS:
			packet->defaults = field.body;
			break;
		case PACKET_KERNEL:
		case PACKET_PROCESS_TREE:
		case PACKET_CLOCK_SNAPSHOT:
		case PACKET_TRACK_EVENT:
		case PACKET_THREAD:
		case PACKET_SYSTEM_INFO:
		case PACKET_COMPRESSED:
		case PACKET_ZSTD_COMPRESSED:
		case PACKET_STREAMING_PROFILE:
		case PACKET_HEAP:
		case PACKET_TRACK:
		case PACKET_SYMBOLS:
		case PACKET_SAMPLE:
		case PACKET_SERVICE_EVENT:
		case PACKET_GROUPED:
			if (field.type != PROTOBUF_BYTES)
				break;
			packet->kind = field.number;
			packet->data = field.body;
			break;
		default:
			if (field.type == PROTOBUF_BYTES && !is_about_trace(field.number) &&
			    !(field.number == PACKET_RENAME && is_described(field.body)))
				packet->unread_kind = field.number;
		}
	}
	return !message.failed;
}

/* ---- sequences ---------------------------------------------------------------------------- */

static int read_defaults(struct perfetto_reader *reader, struct perfetto_sequence *sequence,
			 struct bytes message)
{
	struct protobuf_field field;
	struct protobuf_field inner;
	int err = 0;

	while (protobuf_next(&message, &field)) {
		if (field.number == PACKET_CLOCK && field.type == PROTOBUF_VARINT)
			sequence->default_clock = (uint32_t)field.value;
		else if (field.number == 12 && field.type == PROTOBUF_BYTES)
			err = perfetto_read_sample_defaults(&reader->trace, sequence, field.body);
		else if (field.number == 11 && field.type == PROTOBUF_BYTES)
			while (protobuf_next(&field.body, &inner))
				if (inner.number == 11 && inner.type == PROTOBUF_VARINT)
					sequence->default_track = inner.value;
		if (err)
			return err;
	}
	return 0;
}

/* The packet's timestamp on CLOCK_BOOTTIME. An incremental clock moves on by the call. */
static uint64_t find_time(struct perfetto_reader *reader, const struct raw_packet *raw,
			  struct perfetto_sequence *sequence)
{
	uint64_t clock = raw->has_clock ? raw->clock : sequence ? sequence->default_clock : 0;

	return perfetto_clocks_convert(&reader->clocks, sequence, clock, raw->timestamp);
}

/* ---- packets ------------------------------------------------------------------------------ */

/*
 * The first round. Clocks are not known yet, so only a time on CLOCK_BOOTTIME tells the start of a
 * process or thread, from when on it has its pid or tid.
 */
static int read_descriptors(struct perfetto_reader *reader, const struct raw_packet *raw)
{
	bool is_boottime = !raw->has_clock || raw->clock == PERFETTO_BOOTTIME;
	uint64_t since_ns = is_boottime && raw->has_timestamp ? raw->timestamp : 0;
	uint32_t ignored;

	switch (raw->kind) {
	case PACKET_PROCESS_TREE:
		return perfetto_threads_read_tree(&reader->threads, raw->data, 0);
	case PACKET_THREAD:
		return perfetto_threads_read_thread(&reader->threads, raw->data, since_ns,
						    &ignored);
	case PACKET_TRACK:
		return perfetto_track_table_read(&reader->tracks, raw->data, since_ns);
	case PACKET_SYMBOLS:
		return perfetto_symbols_read(&reader->symbols, raw->data);
	case PACKET_GROUPED:
		return perfetto_threads_read_grouped(&reader->threads, raw->data);
	}
	return 0;
}

static void read_owner(struct perfetto_sequence *sequence, struct bytes message)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (field.number == 1 && field.type == PROTOBUF_VARINT)
			sequence->pid = (uint32_t)field.value;
		else if (field.number == 2 && field.type == PROTOBUF_VARINT)
			sequence->tid = (uint32_t)field.value;
	}
}

static int read_data(struct perfetto_reader *reader, const struct raw_packet *raw,
		     struct perfetto_sequence *sequence)
{
	struct perfetto_packet packet = {
		.sequence = sequence,
		.has_time = raw->has_timestamp,
		.time_ns = raw->has_timestamp ? find_time(reader, raw, sequence) : 0,
	};

	switch (raw->kind) {
	case PACKET_KERNEL:
		return perfetto_sched_read(&reader->sched, &packet, raw->data);
	case PACKET_SYSTEM_INFO:
		return perfetto_read_system(&reader->trace, raw->data);
	case PACKET_CLOCK_SNAPSHOT:
		return perfetto_clocks_read_snapshot(&reader->clocks, sequence, raw->data);
	case PACKET_THREAD:
		if (sequence)
			read_owner(sequence, raw->data);
		return 0;
	case PACKET_TRACK_EVENT:
		return sequence ? perfetto_slices_read_event(&reader->slices, &packet, raw->data)
				: 0;
	case PACKET_SAMPLE:
		return sequence ? perfetto_samples_read(&reader->samples, &packet, raw->data) : 0;
	case PACKET_HEAP:
		return sequence ? perfetto_heaps_read(&reader->heaps, &packet, raw->data) : 0;
	case PACKET_STREAMING_PROFILE:
		return sequence ? perfetto_samples_read_streamed(&reader->samples, &packet,
								 raw->data)
				: 0;
	}
	return 0;
}

static void count_unread(struct perfetto_reader *reader, uint32_t kind)
{
	size_t i = 0;

	while (i < ARRAY_LENGTH(unread_kinds) && unread_kinds[i].kind != kind)
		i++;
	reader->num_unread[i]++;
}

static int read_events(struct perfetto_reader *reader, const struct raw_packet *raw)
{
	struct perfetto_sequence *sequence =
		raw->sequence ? perfetto_sequences_find(&reader->sequences, raw->sequence) : NULL;

	if (raw->sequence && !sequence)
		return perfetto_has_room(&reader->trace, reader->sequences.items.length, 64)
			       ? -ENOMEM
			       : 0;
	if (!raw->kind && raw->unread_kind)
		count_unread(reader, raw->unread_kind);
	if (sequence && raw->is_after_loss)
		sequence->is_valid = false;
	if (sequence && raw->flags & FLAG_STATE_CLEARED)
		perfetto_sequence_clear(sequence);
	if (raw->flags & FLAG_STATE_NEEDED && (!sequence || !sequence->is_valid)) {
		reader->num_stateless++;
		return 0;
	}
	if (sequence && raw->defaults.size) {
		int err = read_defaults(reader, sequence, raw->defaults);

		if (err)
			return err;
	}
	if (sequence && raw->interned.size) {
		int err = perfetto_read_interned(&reader->code, sequence, raw->interned);

		if (err)
			return err;
	}
	return read_data(reader, raw, sequence);
}

static int read_packets(struct rounds *rounds, struct bytes bytes, bool is_compressed);

static int read_compressed(struct rounds *rounds, struct bytes compressed, bool is_zstd)
{
	struct perfetto_reader *reader = rounds->reader;
	uint64_t at_once = 2 * (uint64_t)reader->trace.import->size + DECOMPRESS_AT_ONCE_BYTES;
	size_t limit = rounds->num_decompressible < at_once ? rounds->num_decompressible : at_once;
	int err = perfetto_decompress(compressed, is_zstd, limit, &rounds->decompressed);

	if (err == -EFBIG)
		return import_fail_byte(
			reader->trace.import, reader->trace.offset,
			"compressed packets that expand to far more than their size");
	if (err == -ENOTSUP)
		return import_fail_byte(
			reader->trace.import, reader->trace.offset,
			"its packets are compressed by zstd: decompress it with 'stackwide "
			"convert FILE -o NEW.pftrace', or use the command line");
	if (err == -EBADMSG)
		rounds->is_unfinished = false; /* the last packet may be one of these */
	if (err == -EBADMSG && rounds->round == ROUND_DESCRIPTORS)
		return 0; /* reported in the other round */
	if (err == -EBADMSG)
		return reader_skip_byte(reader->trace.import, reader->trace.offset,
					"damaged compressed packets");
	if (err)
		return err;
	rounds->num_decompressible -= rounds->decompressed.length;
	return read_packets(rounds,
			    bytes_of(rounds->decompressed.data, rounds->decompressed.length), true);
}

/* Warn that the trace is truncated, in the second round; refuse a file without packets. */
static int report_truncated(struct rounds *rounds, size_t offset, bool is_compressed)
{
	struct import *import = rounds->reader->trace.import;

	if (!is_compressed && !rounds->num_packets)
		return import_fail_byte(import, offset, "expected a packet of a Perfetto trace");
	rounds->is_unfinished = false;
	if (rounds->round == ROUND_DESCRIPTORS)
		return 0;
	return reader_end_at_byte(import, offset, "the trace is truncated");
}

static bool ends_trace(struct bytes service_event)
{
	struct protobuf_field field;

	while (protobuf_next(&service_event, &field))
		if (field.number == SERVICE_EVENT_END && field.type == PROTOBUF_VARINT &&
		    field.value)
			return true;
	return false;
}

/* The first packet of a trace of ours; another one may have been before it in the file. */
static int start_trace(struct rounds *rounds, bool is_compressed)
{
	int err = rounds->is_unfinished
			  ? report_truncated(rounds, rounds->reader->trace.offset, is_compressed)
			  : 0;

	rounds->is_unfinished = true;
	return err;
}

static int read_packet(struct rounds *rounds, struct bytes message, bool is_compressed)
{
	struct raw_packet raw = {0};
	int err;

	rounds->num_packets++;
	if (!read_fields(message, &raw))
		return rounds->round == ROUND_DESCRIPTORS
			       ? 0
			       : reader_skip_byte(rounds->reader->trace.import,
						  rounds->reader->trace.offset, "a broken packet");
	if (raw.kind == PACKET_COMPRESSED || raw.kind == PACKET_ZSTD_COMPRESSED)
		return is_compressed ? 0
				     : read_compressed(rounds, raw.data,
						       raw.kind == PACKET_ZSTD_COMPRESSED);
	if (raw.kind == PACKET_SERVICE_EVENT && ends_trace(raw.data))
		rounds->is_unfinished = false;
	if (raw.announces_end) {
		err = start_trace(rounds, is_compressed);
		if (err)
			return err;
	}
	if (rounds->round == ROUND_DESCRIPTORS)
		return read_descriptors(rounds->reader, &raw);
	return read_events(rounds->reader, &raw);
}

static int read_packets(struct rounds *rounds, struct bytes bytes, bool is_compressed)
{
	struct perfetto_reader *reader = rounds->reader;
	struct import *import = reader->trace.import;
	struct protobuf_field field;

	if (!is_compressed)
		reader->trace.offset = 0;
	while (protobuf_next(&bytes, &field)) {
		if (rounds->round == ROUND_DESCRIPTORS)
			reader->trace.num_bytes += field.body.size;
		if (field.number == 1 && field.type == PROTOBUF_BYTES) {
			int err = read_packet(rounds, field.body, is_compressed);

			if (err)
				return err;
		}
		if (is_compressed)
			continue;
		reader->trace.offset = bytes.offset;
		if (rounds->round == ROUND_EVENTS && import->advance &&
		    bytes.offset - rounds->emitted >= ADVANCE_BYTES) {
			import->advance(import->context, bytes.offset);
			rounds->emitted = bytes.offset;
		}
	}
	if (bytes.failed || (!is_compressed && (!rounds->num_packets || rounds->is_unfinished)))
		return report_truncated(rounds, reader->trace.offset, is_compressed);
	return 0;
}

static int read_round(struct perfetto_reader *reader, enum perfetto_round round)
{
	const struct import *import = reader->trace.import;
	struct rounds rounds = {
		.reader = reader,
		.round = round,
		.num_decompressible =
			(uint64_t)import->size * DECOMPRESS_RATIO + DECOMPRESS_FREE_BYTES,
	};
	int err = read_packets(&rounds, bytes_of(import->data, import->size), false);

	text_release(&rounds.decompressed);
	return err;
}

static void append_unread(struct text *list, uint64_t count, const char *name)
{
	if (count)
		text_printf(list, "%s%llu of %s", list->length ? ", " : "",
			    (unsigned long long)count, name);
}

/* Warn about data that a trace made of this one will lack. */
static void report_unread(struct perfetto_reader *reader)
{
	_cleanup_(text_release) struct text list = {0};

	append_unread(&list, reader->sched.num_unread, "the kernel's events");
	for (size_t i = 0; i < ARRAY_LENGTH(unread_kinds); i++)
		append_unread(&list, reader->num_unread[i], unread_kinds[i].name);
	append_unread(&list, reader->num_unread[ARRAY_LENGTH(unread_kinds)], "other kinds");
	append_unread(&list, reader->trace.import->counts.unknown_events,
		      "events that are neither slices nor counters");
	if (list.length && !list.failed)
		import_warn(reader->trace.import, "skipped: %s", list.data);
}

/* Warn about skipped data, with the reasons. */
static void report_losses(struct perfetto_reader *reader)
{
	struct import *import = reader->trace.import;

	if (reader->num_stateless)
		import_warn_counted(import, reader->num_stateless,
				    "{packet refers to data lost before it|packets refer to data "
				    "lost before them}, skipping");
	if (reader->samples.num_stackless)
		import_warn_counted(
			import, reader->samples.num_stackless,
			"{sample refers to a missing stack|samples refer to missing stacks}");
	if (reader->slices.num_skipped)
		import_warn_counted(import, reader->slices.num_skipped,
				    "{event does|events do} not match others, skipping");
	if (reader->slices.num_stacks)
		import_warn_counted(import, reader->slices.num_stacks,
				    "call {stack|stacks} of slices, not samples, skipping");
	if (import->is_for_trace)
		report_unread(reader);
	import->counts.skipped += reader->num_stateless + reader->slices.num_skipped;
	import->counts.without_stack += reader->samples.num_stackless;
}

static void release(struct perfetto_reader *reader)
{
	perfetto_sequences_release(&reader->sequences);
	perfetto_clocks_release(&reader->clocks);
	perfetto_track_table_release(&reader->tracks);
	perfetto_threads_release(&reader->threads);
	perfetto_samples_release(&reader->samples);
	perfetto_slices_release(&reader->slices);
	perfetto_heaps_release(&reader->heaps);
	perfetto_sched_release(&reader->sched);
	perfetto_code_release(&reader->code);
	perfetto_symbols_release(&reader->symbols);
}

static int read_trace(struct perfetto_reader *reader)
{
	struct import *import = reader->trace.import;
	uint32_t first_wait = timeline_count_wait(reader->trace.timeline);
	int err;

	reader->slices.first_zone = timeline_count_zone(reader->trace.timeline);
	err = read_round(reader, ROUND_DESCRIPTORS);
	if (err)
		return err;
	err = perfetto_owners_prepare(&reader->tracks);
	if (err)
		return err;
	err = read_round(reader, ROUND_EVENTS);
	if (err)
		return err;
	err = perfetto_slices_finish(&reader->slices);
	if (err)
		return err;
	err = perfetto_heaps_finish(&reader->heaps);
	if (err)
		return err;
	err = perfetto_sched_finish(&reader->sched);
	if (err)
		return err;
	err = perfetto_samples_finish(&reader->samples, first_wait);
	if (err)
		return err;
	report_losses(reader);
	return import->will_name_code ? 0
				      : unsymbolized_code_name(import, false, UNNAMED_NO_SYMBOL);
}

int perfetto_read(struct import *import)
{
	_cleanup_(timeline_freep) struct timeline *own_timeline =
		import->timeline ? NULL : timeline_new();
	struct timeline *timeline = import->timeline ? import->timeline : own_timeline;
	_cleanup_(release) struct perfetto_reader reader = {
		.trace = {.import = import, .timeline = timeline},
		.clocks = {.trace = &reader.trace},
		.sequences = {.trace = &reader.trace},
		.threads = {.trace = &reader.trace},
		.tracks = {.trace = &reader.trace, .threads = &reader.threads},
		.samples = {.trace = &reader.trace, .threads = &reader.threads},
		.slices = {.trace = &reader.trace,
			   .tracks = &reader.tracks,
			   .samples = &reader.samples,
			   .code = &reader.code},
		.symbols = {.trace = &reader.trace},
		.code = {.trace = &reader.trace, .symbols = &reader.symbols},
		.heaps = {.trace = &reader.trace,
			  .code = &reader.code,
			  .samples = &reader.samples,
			  .threads = &reader.threads},
		.sched = {.trace = &reader.trace, .threads = &reader.threads},
	};

	return timeline ? read_trace(&reader) : -ENOMEM;
}

/* ---- detection ---------------------------------------------------------------------------- */

/* Whether a field can be one of a packet: those that we know must have the right wire type. */
static bool is_fitting(const struct protobuf_field *field)
{
	switch (field->number) {
	case PACKET_TIMESTAMP:
	case PACKET_SEQUENCE:
	case PACKET_FLAGS:
	case PACKET_CLOCK:
	case PACKET_DROPPED:
		return field->type == PROTOBUF_VARINT;
	case PACKET_KERNEL:
	case PACKET_PROCESS_TREE:
	case PACKET_CLOCK_SNAPSHOT:
	case PACKET_TRACK_EVENT:
	case PACKET_INTERNED:
	case PACKET_SYSTEM_INFO:
	case PACKET_COMPRESSED:
	case PACKET_ZSTD_COMPRESSED:
	case PACKET_DEFAULTS:
	case PACKET_TRACK:
	case PACKET_SAMPLE:
	case PACKET_SERVICE_EVENT:
		return field->type == PROTOBUF_BYTES;
	}
	return true;
}

/* Adds how many fields of the packet are known; false when one does not fit. */
static bool count_fitting(struct bytes message, unsigned int *num_known)
{
	struct protobuf_field field;

	while (protobuf_next(&message, &field)) {
		if (!is_fitting(&field))
			return false;
		*num_known += field.number == PACKET_SEQUENCE ||
			      field.number == PACKET_COMPRESSED ||
			      field.number == PACKET_ZSTD_COMPRESSED ||
			      field.number == PACKET_CLOCK_SNAPSHOT || field.number == PACKET_TRACK;
	}
	return !message.failed;
}

/*
 * The format has no magic number: nothing but packets, one after the other. A packet has a
 * sequence, is compressed, or is one of those that a trace starts with. An uncompressed pprof
 * profile starts with the same byte. Its first message holds two small numbers, without any of
 * these fields.
 */
enum detection perfetto_detect(const uint8_t *data, size_t size)
{
	struct bytes bytes = bytes_of(data, size);
	struct protobuf_field field;
	unsigned int num_known = 0;
	unsigned int num_packets = 0;

	while (num_packets < NUM_DETECT_FIELDS && protobuf_next(&bytes, &field)) {
		if (field.number != 1 || field.type != PROTOBUF_BYTES ||
		    !count_fitting(field.body, &num_known))
			return DETECTED_NOT;
		num_packets++;
	}
	if (!num_packets)
		return size && data[0] == 0x0a ? DETECTED_BY_NAME : DETECTED_NOT;
	return num_known ? DETECTED_SURE : DETECTED_BY_NAME;
}

const struct format format_pftrace = {
	.name = "pftrace",
	.extension = ".pftrace",
	.summary = "trace for Perfetto: events over time, by thread and stack",
	.has_times = true,
	.has_all_metrics = true,
	.has_threads = true,
	.has_lines = true,
	.has_addresses = true,
	.max_metrics = PERFETTO_MAX_METRICS,
	.write = NOT_IN_PAGE(perfetto_write),
	.detect = perfetto_detect,
	.read = perfetto_read,
};
