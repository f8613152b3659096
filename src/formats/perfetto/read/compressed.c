/*
 * The only part of the reader that needs libraries: the page has its own
 * (src/formats/without_libraries/perfetto_decompress.c).
 */
#include <errno.h>
#define ZLIB_CONST
#include <zlib.h>

#include "formats/compression.h"
#include "formats/perfetto/perfetto.h"

#define CHUNK_BYTES 16384

static int decompress_zlib(struct bytes compressed, size_t limit, struct text *ret)
{
	z_stream stream = {.next_in = compressed.data, .avail_in = (uInt)compressed.size};
	uint8_t chunk[CHUNK_BYTES];
	int state = compressed.size <= UINT32_MAX ? inflateInit(&stream) : Z_DATA_ERROR;

	if (state != Z_OK)
		return state == Z_MEM_ERROR ? -ENOMEM : -EBADMSG;
	while (state == Z_OK && ret->length <= limit && !ret->failed) {
		stream.next_out = chunk;
		stream.avail_out = sizeof(chunk);
		state = inflate(&stream, Z_NO_FLUSH);
		text_append(ret, chunk, sizeof(chunk) - stream.avail_out);
	}
	inflateEnd(&stream);
	if (state == Z_MEM_ERROR)
		return -ENOMEM;
	return state == Z_STREAM_END || state == Z_OK ? 0 : -EBADMSG;
}

static int decompress_zstd(struct bytes compressed, size_t limit, struct text *ret)
{
	_cleanup_(decompressor_freep) struct decompressor *decompressor = NULL;
	uint8_t chunk[CHUNK_BYTES];
	int result = decompressor_new(COMPRESSION_ZSTD, &decompressor);

	while (!result && ret->length <= limit && !ret->failed) {
		size_t got;

		result = decompressor_read(decompressor, &compressed, chunk, sizeof(chunk), &got);
		text_append(ret, chunk, got);
	}
	if (result >= 0)
		return 0;
	return result == -ENOMEM ? -ENOMEM : -EBADMSG;
}

int perfetto_decompress(struct bytes compressed, bool is_zstd, size_t limit, struct text *ret)
{
	int err;

	text_truncate(ret, 0);
	err = is_zstd ? decompress_zstd(compressed, limit, ret)
		      : decompress_zlib(compressed, limit, ret);
	if (ret->failed)
		return -ENOMEM;
	if (ret->length > limit)
		return -EFBIG;
	return err;
}
