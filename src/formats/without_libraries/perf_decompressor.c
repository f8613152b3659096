/* Packed records of perf.data, without zstd: they end the reading. */
#include <errno.h>

#include "formats/perf/data.h"

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
