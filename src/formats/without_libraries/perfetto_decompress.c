/* Compressed packets of Perfetto traces, without zlib and zstd. */
#include <errno.h>

#include "formats/inflate.h"
#include "formats/perfetto/perfetto.h"

int perfetto_decompress(struct bytes compressed, bool is_zstd, size_t limit, struct text *ret)
{
	if (is_zstd)
		return -ENOTSUP;
	return inflate_decompress(&compressed, INFLATE_ZLIB, limit, ret);
}
