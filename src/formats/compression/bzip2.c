/* Streams of bzip2, by libbz2, which takes 4 MB at most. */
#include <bzlib.h>
#include <errno.h>
#include <stdlib.h>

#include "formats/compression/codec.h"

static int start(bz_stream *stream)
{
	*stream = (bz_stream){0};
	return BZ2_bzDecompressInit(stream, 0, 0) == BZ_OK ? 0 : -ENOMEM;
}

static void *make(void)
{
	bz_stream *stream = calloc(1, sizeof(*stream));

	if (stream && !start(stream))
		return stream;
	free(stream);
	return NULL;
}

/* After a failed restart there is nothing to end, which libbz2 detects itself. */
static void release(void *state)
{
	(void)BZ2_bzDecompressEnd(state);
	free(state);
}

static int restart(void *state)
{
	(void)BZ2_bzDecompressEnd(state);
	return start(state);
}

static int step(void *state, struct codec_buffers *buffers)
{
	bz_stream *stream = state;
	unsigned int in = codec_cap(buffers->in_left);
	unsigned int out = codec_cap(buffers->out_left);
	int result;

	stream->next_in = (char *)(uintptr_t)buffers->in; /* not written to */
	stream->avail_in = in;
	stream->next_out = (char *)buffers->out;
	stream->avail_out = out;
	result = BZ2_bzDecompress(stream);
	codec_buffers_advance(buffers, in - stream->avail_in, out - stream->avail_out);
	switch (result) {
	case BZ_OK:
		return 0;
	case BZ_STREAM_END:
		return 1;
	case BZ_MEM_ERROR:
		return -ENOMEM;
	default:
		return -EBADMSG;
	}
}

const struct codec codec_bzip2 = {make, release, restart, step};
