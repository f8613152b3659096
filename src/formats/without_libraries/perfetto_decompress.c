/* Packed packets of Perfetto traces, where there is no zlib. */
#include "formats/inflate.h"
#include "formats/perfetto/perfetto.h"

int perfetto_decompress(struct bytes compressed, size_t limit, struct text *ret)
{
	return inflate_decompress(&compressed, INFLATE_ZLIB, limit, ret);
}
