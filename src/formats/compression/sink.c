/* Sinks that compress: gzip by gzip_sink.c, zstd here. */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>

#include "formats/compression.h"
#include "formats/format.h"

#define CHUNK_BYTES 65536

struct compressing_sink {
	struct sink sink; /* zstd's */
	const struct sink *target;
	struct gzip_sink *gzip; /* NULL: another compression */
	ZSTD_CCtx *zstd;        /* NULL: likewise */
	uint8_t chunk[CHUNK_BYTES];
};

/* Until zstd has taken the input; at the end, until it has written all that it holds. */
static int compress(struct compressing_sink *compressing, const void *data, size_t size,
		    ZSTD_EndDirective directive)
{
	const struct sink *target = compressing->target;
	ZSTD_inBuffer in = {data, size, 0};
	size_t left = 0;

	do {
		ZSTD_outBuffer out = {compressing->chunk, sizeof(compressing->chunk), 0};
		int err;

		left = ZSTD_compressStream2(compressing->zstd, &out, &in, directive);
		if (ZSTD_isError(left)) /* only of an allocation */
			return -ENOMEM;
		err = out.pos ? target->write(target->context, out.dst, out.pos) : 0;
		if (err)
			return err;
	} while (directive == ZSTD_e_end ? left > 0 : in.pos < in.size);
	return 0;
}

static int write_zstd(void *context, const void *data, size_t size)
{
	return compress(context, data, size, ZSTD_e_continue);
}

/* With a checksum, as the zstd program has it by default. */
static bool start_zstd(struct compressing_sink *compressing)
{
	compressing->sink = (struct sink){write_zstd, compressing};
	compressing->zstd = ZSTD_createCCtx();
	return compressing->zstd &&
	       !ZSTD_isError(ZSTD_CCtx_setParameter(compressing->zstd, ZSTD_c_checksumFlag, 1));
}

int compressing_sink_new(enum compression compression, const struct sink *target,
			 struct compressing_sink **ret)
{
	struct compressing_sink *compressing = calloc(1, sizeof(*compressing));
	bool is_made = compressing != NULL;

	if (is_made) {
		compressing->target = target;
		if (compression == COMPRESSION_GZIP)
			is_made = (compressing->gzip = gzip_sink_new(target)) != NULL;
		else if (compression == COMPRESSION_ZSTD)
			is_made = start_zstd(compressing);
	}
	if (!is_made) {
		compressing_sink_free(compressing);
		return -ENOMEM;
	}
	*ret = compressing;
	return 0;
}

void compressing_sink_free(struct compressing_sink *compressing)
{
	if (!compressing)
		return;
	gzip_sink_free(compressing->gzip);
	ZSTD_freeCCtx(compressing->zstd);
	free(compressing);
}

const struct sink *compressing_sink_get(const struct compressing_sink *compressing)
{
	if (compressing->gzip)
		return gzip_sink_get(compressing->gzip);
	return compressing->zstd ? &compressing->sink : compressing->target;
}

int compressing_sink_finish(struct compressing_sink *compressing)
{
	if (compressing->gzip)
		return gzip_sink_finish(compressing->gzip);
	return compressing->zstd ? compress(compressing, NULL, 0, ZSTD_e_end) : 0;
}
