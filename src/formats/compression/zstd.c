/* Frames of zstd (RFC 8878), by libzstd, without threads. */
#include <errno.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "formats/compression.h"
#include "formats/compression/codec.h"

/* As a power of 2: 128 MB, which is enough for all levels; --long=28 and above need more. */
#define MAX_WINDOW_LOG 27
_Static_assert(1u << MAX_WINDOW_LOG == DECOMPRESSOR_MAX_MB << 20, "the limit that messages name");

static void *make(void)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();

	if (context &&
	    !ZSTD_isError(ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, MAX_WINDOW_LOG)))
		return context;
	ZSTD_freeDCtx(context);
	return NULL;
}

static void release(void *state)
{
	ZSTD_freeDCtx(state);
}

static int restart(void *state)
{
	return ZSTD_isError(ZSTD_DCtx_reset(state, ZSTD_reset_session_only)) ? -ENOMEM : 0;
}

static int get_error(size_t result)
{
	switch (ZSTD_getErrorCode(result)) {
	case ZSTD_error_memory_allocation:
		return -ENOMEM;
	case ZSTD_error_frameParameter_windowTooLarge:
		return -E2BIG;
	case ZSTD_error_dictionary_wrong:
		return -ENOTSUP;
	default: /* zstd's own codes; later versions have more */
		return -EBADMSG;
	}
}

static int step(void *state, struct codec_buffers *buffers)
{
	ZSTD_inBuffer in = {buffers->in, buffers->in_left, 0};
	ZSTD_outBuffer out = {buffers->out, buffers->out_left, 0};
	size_t result = ZSTD_decompressStream(state, &out, &in);

	codec_buffers_advance(buffers, in.pos, out.pos);
	if (ZSTD_isError(result))
		return get_error(result);
	return result == 0;
}

const struct codec codec_zstd = {make, release, restart, step};
