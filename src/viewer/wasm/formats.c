/*
 * Formats whose writers need libraries that the module does without: there they are only read.
 * Packed records of perf end the reading.
 */
#include <errno.h>

#include "base/inflate.h"
#include "formats/format.h"
#include "formats/perf_data.h"
#include "formats/perfetto.h"
#include "formats/pprof.h"

const struct format format_pprof = {
	.name = "pprof",
	.extension = ".pb.gz",
	.summary = "pprof's profile: compressed, with addresses, lines, threads",
	.detect = pprof_detect,
	.read = pprof_read,
};

const struct format format_pftrace = {
	.name = "pftrace",
	.extension = ".pftrace",
	.summary = "Perfetto's trace: what happened when",
	.detect = perfetto_detect,
	.read = perfetto_read,
};

int perfetto_decompress(struct bytes compressed, size_t limit, struct text *ret)
{
	return inflate_decompress(&compressed, INFLATE_ZLIB, limit, ret);
}

int perf_decompressor_new(struct perf_decompressor **ret)
{
	(void)ret;
	return -ENOTSUP;
}

void perf_decompressor_free(struct perf_decompressor *decompressor)
{
	(void)decompressor;
}

int perf_decompressor_add(struct perf_decompressor *decompressor, struct bytes compressed,
			  size_t max_bytes, struct perf_chunk *chunk)
{
	(void)decompressor;
	(void)compressed;
	(void)max_bytes;
	(void)chunk;
	return -ENOTSUP;
}
