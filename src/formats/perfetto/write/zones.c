/*
 * A file of zones of any size becomes a trace in three passes, without ever being in memory as a
 * whole. The first one finds declarations, which may follow their first use. The second one makes a
 * timeline with a consumer that surveys it: its items, and those that are too late for the start of
 * their zone. The third one, with a new timeline, writes.
 *
 * A chunk ends anywhere. Bytes that a reader has not used, a part of a record, are moved to the
 * front of the buffer. The next bytes follow them; the buffer grows only for a record that is
 * longer than itself.
 */
#include "formats/perfetto.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "formats/perfetto/write/slices.h"
#include "formats/perfetto/write/zone_stream.h"
#include "formats/zones/read_lines.h"

#define CHUNK_BYTES (256u << 10)
/* Bytes that distinguish text and binary. */
#define KIND_BYTES 16

struct perfetto_zones_conversion {
	struct import *import;
	const struct zones_source *source;
	struct zones_reader *reader;
	struct perfetto_zone_stream *stream;
	struct timeline *declared; /* the first pass's */
	struct timeline *timeline; /* the second pass's */
	uint8_t *bytes;
	size_t capacity;
};

/* ---- chunks ------------------------------------------------------------------------------- */

/* Add bytes behind the present ones; a record may be longer than a chunk. */
static int add_bytes(struct perfetto_zones_conversion *conversion, struct zones_chunk *chunk)
{
	size_t got;
	int err;

	if (conversion->capacity - chunk->size < CHUNK_BYTES / 2) {
		err = array_reserve_bytes(&conversion->bytes, &conversion->capacity,
					  chunk->size + CHUNK_BYTES, 1);
		if (err)
			return err;
	}
	err = conversion->source->read(conversion->source->context, conversion->bytes + chunk->size,
				       conversion->capacity - chunk->size, &got);
	if (err)
		return err;
	chunk->data = conversion->bytes;
	chunk->size += got;
	chunk->is_last = !got;
	return 0;
}

static int read_through(struct perfetto_zones_conversion *conversion,
			int (*take)(struct zones_reader *reader, const struct zones_chunk *chunk,
				    size_t *ret_used))
{
	struct zones_chunk chunk = {0};
	int err = conversion->source->rewind(conversion->source->context);

	if (err)
		return err;
	while (!chunk.is_last) {
		size_t used;

		err = add_bytes(conversion, &chunk);
		if (err)
			return err;
		/* The first read may give fewer bytes than the kind takes. */
		if (!chunk.is_last && chunk.size < KIND_BYTES)
			continue;
		if (!conversion->reader)
			conversion->reader =
				zones_reader_new(conversion->import, chunk.data, chunk.size);
		if (!conversion->reader)
			return -ENOMEM;
		err = take(conversion->reader, &chunk, &used);
		if (err)
			return err;
		chunk.size -= used;
		chunk.offset += used;
		memmove(conversion->bytes, conversion->bytes + used, chunk.size);
	}
	return 0;
}

/* ---- passes ------------------------------------------------------------------------------- */

/* All zones once, into a timeline with a consumer. */
static int read_zones(struct perfetto_zones_conversion *conversion, struct timeline *timeline)
{
	_cleanup_(zones_builder_freep) struct zones_builder *builder = NULL;
	int err;

	conversion->import->timeline = timeline;
	builder = zones_builder_new(conversion->import);
	if (!builder)
		return -ENOMEM;
	err = zones_reader_start(conversion->reader, builder);
	if (err)
		return err;
	err = read_through(conversion, zones_reader_read);
	if (err)
		return err;
	return zones_builder_finish(builder);
}

/* All warnings have been given when the zones are read once more. */
static int read_zones_again(struct perfetto_zones_conversion *conversion)
{
	struct import *import = conversion->import;
	struct import_counts counts = import->counts;
	void (*warn)(void *context, const char *line) = import->warn;
	int err;

	import->warn = NULL;
	err = read_zones(conversion, conversion->timeline);
	import->warn = warn;
	import->counts = counts;
	return err;
}

static int convert(struct perfetto_zones_conversion *conversion, struct perfetto_stream *packets)
{
	uint64_t num_left_out;
	int err = read_through(conversion, zones_reader_scan);

	if (err)
		return err;
	perfetto_zone_stream_survey(conversion->stream, conversion->declared);
	err = read_zones(conversion, conversion->declared);
	if (err)
		return err;
	err = perfetto_zone_stream_write(conversion->stream, conversion->timeline, packets);
	if (err)
		return err;
	err = read_zones_again(conversion);
	if (err)
		return err;
	err = perfetto_zone_stream_finish(conversion->stream, &num_left_out);
	if (err)
		return err;
	if (num_left_out)
		import_warn(conversion->import,
			    "%" PRIu64
			    " zones are missing in the trace: they are nested more than %d "
			    "deep, and Perfetto shows no deeper ones",
			    num_left_out, MAX_SLICE_DEPTH);
	return 0;
}

int perfetto_write_zones(struct import *import, const struct zones_source *source,
			 const struct record_store *store, bool is_compressed,
			 const struct sink *sink)
{
	struct perfetto_zones_conversion conversion = {
		.import = import,
		.source = source,
		.stream = perfetto_zone_stream_new(store),
		.declared = timeline_new(),
		.timeline = timeline_new(),
	};
	struct perfetto_stream *packets = perfetto_stream_new(sink, is_compressed);
	struct timeline *timeline = import->timeline;
	int err = -ENOMEM;

	if (conversion.stream && conversion.declared && conversion.timeline && packets)
		err = convert(&conversion, packets);
	/* The third pass differs from the second: the file is being written to. */
	if (err == -ESTALE)
		err = import_fail_byte(import, 0, "the file changed while it was read");
	import->timeline = timeline;
	zones_reader_free(conversion.reader);
	perfetto_zone_stream_free(conversion.stream);
	timeline_free(conversion.timeline);
	timeline_free(conversion.declared);
	perfetto_stream_free(packets);
	free(conversion.bytes);
	return err;
}
