#include "formats/perfetto_zones.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "formats/perfetto/write_slices.h"
#include "formats/perfetto/write_zone_stream.h"
#include "formats/zones/read_lines.h"

#define PIECE_BYTES (256u << 10)
/* That tell text and binary apart. */
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

/* ---- pieces ------------------------------------------------------------------------------- */

/* More bytes behind what there is; a record may be longer than a piece. */
static int add_bytes(struct perfetto_zones_conversion *conversion, struct zones_piece *piece)
{
	size_t got;
	int err = 0;

	if (conversion->capacity - piece->size < PIECE_BYTES / 2)
		err = array_reserve_bytes(&conversion->bytes, &conversion->capacity,
					  piece->size + PIECE_BYTES, 1);
	if (!err)
		err = conversion->source->read(conversion->source->context,
					       conversion->bytes + piece->size,
					       conversion->capacity - piece->size, &got);
	if (err)
		return err;
	piece->data = conversion->bytes;
	piece->size += got;
	piece->is_last = !got;
	return 0;
}

static int read_through(struct perfetto_zones_conversion *conversion,
			int (*take)(struct zones_reader *reader, const struct zones_piece *piece,
				    size_t *ret_used))
{
	struct zones_piece piece = {0};
	int err = conversion->source->rewind(conversion->source->context);

	while (!err && !piece.is_last) {
		size_t used;

		err = add_bytes(conversion, &piece);
		if (!err && !piece.is_last && piece.size < KIND_BYTES)
			continue;
		if (!err && !conversion->reader)
			conversion->reader =
				zones_reader_new(conversion->import, piece.data, piece.size);
		if (!err)
			err = conversion->reader ? take(conversion->reader, &piece, &used)
						 : -ENOMEM;
		if (err)
			break;
		piece.size -= used;
		piece.offset += used;
		memmove(conversion->bytes, conversion->bytes + used, piece.size);
	}
	return err;
}

/* ---- passes ------------------------------------------------------------------------------- */

/* All zones once, into a timeline with a consumer. */
static int read_zones(struct perfetto_zones_conversion *conversion, struct timeline *timeline)
{
	struct zones_builder *builder;
	int err;

	conversion->import->timeline = timeline;
	builder = zones_builder_new(conversion->import);
	err = builder ? zones_reader_begin(conversion->reader, builder) : -ENOMEM;
	if (!err)
		err = read_through(conversion, zones_reader_read);
	if (!err)
		err = zones_builder_finish(builder);
	zones_builder_free(builder);
	return err;
}

/* What there is to tell has been told when the zones are read once more. */
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

	perfetto_zone_stream_survey(conversion->stream, conversion->declared);
	if (!err)
		err = read_zones(conversion, conversion->declared);
	if (err)
		return err;
	err = perfetto_zone_stream_write(conversion->stream, conversion->timeline, packets);
	if (!err)
		err = read_zones_again(conversion);
	if (!err)
		err = perfetto_zone_stream_finish(conversion->stream, &num_left_out);
	if (!err && num_left_out)
		import_warn(conversion->import,
			    "%" PRIu64 " zones are left out of the trace: they lie more than %d "
			    "deep in others, and Perfetto takes no deeper ones",
			    num_left_out, MAX_SLICE_DEPTH);
	return err;
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
