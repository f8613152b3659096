/* Frames of lz4, by liblz4, which takes some 8 MB at most. Its legacy format, of lz4 -l, is another one. */
#include <errno.h>
#include <lz4frame.h>

#include "base/text.h"
#include "formats/compression/codec.h"

static void *make(void)
{
	LZ4F_dctx *context;

	return LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)) ? NULL
										     : context;
}

static void release(void *state)
{
	LZ4F_freeDecompressionContext(state);
}

static int restart(void *state)
{
	LZ4F_resetDecompressionContext(state);
	return 0;
}

/* Only the names of liblz4's errors are part of its stable interface. */
static int get_error(size_t result)
{
	const char *name = LZ4F_getErrorName(result);

	if (string_equals(name, "ERROR_allocation_failed"))
		return -ENOMEM;
	if (string_equals(name, "ERROR_frameType_unknown") ||
	    string_equals(name, "ERROR_headerVersion_wrong"))
		return -ENOTSUP;
	return -EBADMSG;
}

static int step(void *state, struct codec_buffers *buffers)
{
	size_t in = buffers->in_left;
	size_t out = buffers->out_left;
	size_t result = LZ4F_decompress(state, buffers->out, &out, buffers->in, &in, NULL);

	if (LZ4F_isError(result))
		return get_error(result);
	codec_buffers_advance(buffers, in, out);
	return result == 0;
}

const struct codec codec_lz4 = {make, release, restart, step};
