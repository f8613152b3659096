/* Streams of xz, by liblzma, without threads. */
#include <errno.h>
#include <lzma.h>
#include <stdlib.h>

#include "formats/compression.h"
#include "formats/compression/codec.h"

/* A dictionary of 64 MB (xz -9) takes 65 MB. */
#define MEMORY_LIMIT ((uint64_t)DECOMPRESSOR_MAX_MB << 20)

static int restart(void *state)
{
	return lzma_stream_decoder(state, MEMORY_LIMIT, 0) == LZMA_OK ? 0 : -ENOMEM;
}

/* An lzma_stream that is all zero is LZMA_STREAM_INIT. */
static void *make(void)
{
	lzma_stream *stream = calloc(1, sizeof(*stream));

	if (stream && !restart(stream))
		return stream;
	free(stream);
	return NULL;
}

static void release(void *state)
{
	lzma_end(state);
	free(state);
}

static int step(void *state, struct codec_buffers *buffers)
{
	lzma_stream *stream = state;
	lzma_ret result;

	stream->next_in = buffers->in;
	stream->avail_in = buffers->in_left;
	stream->next_out = buffers->out;
	stream->avail_out = buffers->out_left;
	result = lzma_code(stream, LZMA_RUN);
	codec_buffers_advance(buffers, buffers->in_left - stream->avail_in,
			      buffers->out_left - stream->avail_out);
	switch (result) {
	case LZMA_OK:
	case LZMA_BUF_ERROR: /* no progress */
		return 0;
	case LZMA_STREAM_END:
		return 1;
	case LZMA_MEM_ERROR:
		return -ENOMEM;
	case LZMA_MEMLIMIT_ERROR:
		return -E2BIG;
	case LZMA_OPTIONS_ERROR: /* a filter that this liblzma does not have */
		return -ENOTSUP;
	default: /* liblzma's own codes; later versions have more */
		return -EBADMSG;
	}
}

const struct codec codec_xz = {make, release, restart, step};
