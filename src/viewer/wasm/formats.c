/*
 * Formats whose writers need libraries that the module does without: there they are only read.
 * Packed records of perf end the reading.
 */
#include <errno.h>

#include "base/inflate.h"
#include "formats/format.h"
#include "formats/perf_data.h"
#include "formats/perfetto_reader.h"
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

int perfetto_unpack(struct bytes packed, size_t limit, struct text *ret)
{
	return inflate_unpack(&packed, INFLATE_ZLIB, limit, ret);
}

int perf_unpacker_new(struct perf_unpacker **ret)
{
	(void)ret;
	return -ENOTSUP;
}

void perf_unpacker_free(struct perf_unpacker *unpacker)
{
	(void)unpacker;
}

int perf_unpacker_add(struct perf_unpacker *unpacker, struct bytes packed, size_t max_bytes,
		      struct perf_chunk *chunk)
{
	(void)unpacker;
	(void)packed;
	(void)max_bytes;
	(void)chunk;
	return -ENOTSUP;
}
