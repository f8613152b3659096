/*
 * `perf record -z` compresses its output as one zstd stream, flushed at the end of each record that
 * has a chunk of it. A chunk therefore decompresses to its whole input, but needs the chunks before
 * it, and the records inside need not start and end with it. The decompressor and its window live
 * as long as the file is read.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "formats/perf/data.h"

/* Limit on a stream's window, as a power of 2: enough for levels up to 20 of 22. */
#define MAX_WINDOW_LOG 25
#define STEP_BYTES     65536 /* free space for each call */

struct perf_decompressor {
	ZSTD_DStream *stream;
};

int perf_decompressor_new(struct perf_decompressor **ret)
{
	struct perf_decompressor *decompressor = calloc(1, sizeof(*decompressor));

	if (!decompressor)
		return -ENOMEM;
	decompressor->stream = ZSTD_createDStream();
	if (!decompressor->stream ||
	    ZSTD_isError(ZSTD_DCtx_setParameter(decompressor->stream, ZSTD_d_windowLogMax,
						MAX_WINDOW_LOG))) {
		perf_decompressor_free(decompressor);
		return -ENOMEM;
	}
	*ret = decompressor;
	return 0;
}

void perf_decompressor_free(struct perf_decompressor *decompressor)
{
	if (!decompressor)
		return;
	ZSTD_freeDStream(decompressor->stream);
	free(decompressor);
}

static int get_error(size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge:
		return -EFBIG;
	default: /* zstd's own codes; later versions have more */
		return -EBADMSG;
	}
}

/* Room for another step behind the chunk's bytes. */
static int reserve(struct perf_chunk *chunk, size_t *capacity)
{
	size_t wanted =
		*capacity * 2 > chunk->size + STEP_BYTES ? *capacity * 2 : chunk->size + STEP_BYTES;
	uint8_t *grown;

	if (*capacity >= chunk->size + STEP_BYTES)
		return 0;
	grown = realloc(chunk->data, wanted);
	if (!grown)
		return -ENOMEM;
	chunk->data = grown;
	*capacity = wanted;
	return 0;
}

int perf_decompressor_add(struct perf_decompressor *decompressor, struct bytes compressed,
			  size_t max_bytes, struct perf_chunk *chunk)
{
	ZSTD_inBuffer in = {compressed.data, compressed.size, 0};
	size_t limit = chunk->size + max_bytes;
	size_t capacity = chunk->size;
	bool is_full = false;

	/* As long as the output is full, earlier input may have more output. */
	while (in.pos < in.size || is_full) {
		ZSTD_outBuffer out;
		size_t result;
		int err = reserve(chunk, &capacity);

		if (err)
			return err;
		out = (ZSTD_outBuffer){chunk->data, capacity, chunk->size};
		result = ZSTD_decompressStream(decompressor->stream, &out, &in);
		if (ZSTD_isError(result))
			return get_error(result);
		is_full = out.pos == out.size;
		chunk->size = out.pos;
		if (chunk->size > limit)
			return -EFBIG;
	}
	return 0;
}
