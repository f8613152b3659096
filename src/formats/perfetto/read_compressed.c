/* The one thing of the reader that takes zlib: the page has its own (src/formats/without_libraries/perfetto_decompress.c). */
#include <errno.h>
#define ZLIB_CONST
#include <zlib.h>

#include "formats/perfetto/perfetto.h"

int perfetto_decompress(struct bytes compressed, size_t limit, struct text *ret)
{
	z_stream stream = {.next_in = compressed.data, .avail_in = (uInt)compressed.size};
	uint8_t chunk[16384];
	int state = compressed.size <= UINT32_MAX ? inflateInit(&stream) : Z_DATA_ERROR;

	text_truncate(ret, 0);
	if (state != Z_OK)
		return state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	while (state == Z_OK && ret->length <= limit && !ret->failed) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		state = inflate(&stream, Z_NO_FLUSH);
		text_append(ret, chunk, sizeof(chunk) - stream.avail_out);
	}
	inflateEnd(&stream);
	if (ret->failed || state == Z_MEM_ERROR)
		return -ENOMEM;
	if (ret->length > limit)
		return -EFBIG;
	return state == Z_STREAM_END ? 0 : -EBADMSG;
}
