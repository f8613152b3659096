#include <errno.h>

#include "formats/perf_data.h"

int perf_unpacker_new(struct perf_unpacker **ret)
{
	*ret = NULL;
	return -ENOTSUP;
}

void perf_unpacker_free(struct perf_unpacker *unpacker _unused_)
{
}

int perf_unpacker_add(struct perf_unpacker *unpacker _unused_, struct bytes packed _unused_,
		      size_t max_bytes _unused_, struct perf_chunk *chunk _unused_)
{
	return -ENOTSUP;
}
