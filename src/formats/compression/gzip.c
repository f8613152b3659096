/* gzip members (RFC 1952), by zlib. */
#include <errno.h>
#include <stdlib.h>
#define ZLIB_CONST
#include <zlib.h>

#include "formats/compression/codec.h"

/* The largest window, and 16 for a gzip header (zlib.h). */
#define GZIP_WINDOW (15 + 16)

static void *make(void)
{
	z_stream *stream = calloc(1, sizeof(*stream));

	if (stream && inflateInit2(stream, GZIP_WINDOW) == Z_OK)
		return stream;
	free(stream);
	return NULL;
}

static void release(void *state)
{
	inflateEnd(state);
	free(state);
}

static int restart(void *state)
{
	return inflateReset(state) == Z_OK ? 0 : -ENOMEM;
}

static int step(void *state, struct codec_buffers *buffers)
{
	z_stream *stream = state;
	unsigned int in = codec_cap(buffers->in_left);
	unsigned int out = codec_cap(buffers->out_left);
	int result;

	stream->next_in = buffers->in;
	stream->avail_in = in;
	stream->next_out = buffers->out;
	stream->avail_out = out;
	result = inflate(stream, Z_NO_FLUSH);
	codec_buffers_advance(buffers, in - stream->avail_in, out - stream->avail_out);
	switch (result) {
	case Z_OK:
	case Z_BUF_ERROR: /* no progress */
		return 0;
	case Z_STREAM_END:
		return 1;
	case Z_MEM_ERROR:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

const struct codec codec_gzip = {make, release, restart, step};
