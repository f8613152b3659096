/*
 * A sink in front of a sink. zlib's gzip header has time 0 and no name unless they are set, so the
 * output is reproducible.
 */
#include "formats/format.h"

#include <errno.h>
#include <limits.h>
#define ZLIB_CONST
#include <zlib.h>

#define CHUNK_BYTES 65536
/* zlib: the largest window, and 16 for a gzip header in place of zlib's. */
#define GZIP_WINDOW (15 + 16)
#define MEMORY      9

struct gzip_sink {
	struct sink sink;
	const struct sink *target;
	z_stream stream;
	uint8_t chunk[CHUNK_BYTES];
};

static void give_room(struct gzip_sink *gzip)
{
	gzip->stream.next_out = gzip->chunk;
	gzip->stream.avail_out = sizeof(gzip->chunk);
}

/* Pass on the output of zlib. Returns 0 or the error of the target. */
static int pass_on(struct gzip_sink *gzip)
{
	size_t made = sizeof(gzip->chunk) - gzip->stream.avail_out;

	return made ? gzip->target->write(gzip->target->context, gzip->chunk, made) : 0;
}

/*
 * Compress the stream's input; with Z_FINISH, also flush and write the trailer. Goes on until the
 * chunk is not filled any more: then zlib has taken all of its input.
 */
static int deflate_input(struct gzip_sink *gzip, int flush)
{
	do {
		int err;

		give_room(gzip);
		(void)deflate(&gzip->stream, flush); /* fails only if the stream is misused */
		err = pass_on(gzip);
		if (err)
			return err;
	} while (gzip->stream.avail_out == 0);
	return 0;
}

static int write_compressed(void *context, const void *data, size_t size)
{
	struct gzip_sink *gzip = context;
	const Bytef *left = data;

	while (size) {
		size_t part = size < INT_MAX ? size : INT_MAX;
		int err;

		gzip->stream.next_in = left;
		gzip->stream.avail_in = (uInt)part;
		err = deflate_input(gzip, Z_NO_FLUSH);
		if (err)
			return err;
		left += part;
		size -= part;
	}
	return 0;
}

struct gzip_sink *gzip_sink_new(const struct sink *target)
{
	struct gzip_sink *gzip = calloc(1, sizeof(*gzip));

	if (!gzip)
		return NULL;
	if (deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	gzip->target = target;
	gzip->sink = (struct sink){.write = write_compressed, .context = gzip};
	return gzip;
}

void gzip_sink_free(struct gzip_sink *gzip)
{
	if (!gzip)
		return;
	deflateEnd(&gzip->stream);
	free(gzip);
}

const struct sink *gzip_sink_get(const struct gzip_sink *gzip)
{
	return &gzip->sink;
}

/*
 * zlib compresses its pending input before it changes; if the output does not fit the chunk, zlib
 * must be called again.
 */
int gzip_sink_set_repetitive(struct gzip_sink *gzip, bool is_repetitive)
{
	int result;

	gzip->stream.next_in = NULL;
	gzip->stream.avail_in = 0;
	do {
		int err;

		give_room(gzip);
		result = deflateParams(&gzip->stream, Z_DEFAULT_COMPRESSION,
				       is_repetitive ? Z_DEFAULT_STRATEGY : Z_HUFFMAN_ONLY);
		err = pass_on(gzip);
		if (err)
			return err;
	} while (result == Z_BUF_ERROR && !gzip->stream.avail_out);
	return 0;
}

int gzip_sink_finish(struct gzip_sink *gzip)
{
	gzip->stream.next_in = NULL;
	gzip->stream.avail_in = 0;
	return deflate_input(gzip, Z_FINISH);
}
