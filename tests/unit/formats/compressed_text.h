/* One text, compressed by each library, for tests of decompression. */
#ifndef COMPRESSED_TEXT_H
#define COMPRESSED_TEXT_H

#include <bzlib.h>
#include <lz4frame.h>
#include <lzma.h>
#include <stdint.h>
#define ZLIB_CONST
#include <zlib.h>
#include <zstd.h>

#include "formats/compression.h"

/* Returns the size, 0 when it does not fit. */
static inline size_t compress_gzip(const void *text, size_t size, uint8_t *ret, size_t room)
{
	z_stream stream = {.next_in = text, .avail_in = (uInt)size};
	int state;

	if (deflateInit2(&stream, 9, Z_DEFLATED, 15 + 16, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return 0;
	stream.next_out = ret;
	stream.avail_out = (uInt)room;
	state = deflate(&stream, Z_FINISH);
	deflateEnd(&stream);
	return state == Z_STREAM_END ? room - stream.avail_out : 0;
}

static inline size_t compress_zstd(const void *text, size_t size, uint8_t *ret, size_t room)
{
	ZSTD_CCtx *context = ZSTD_createCCtx();
	size_t result = ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);

	if (!ZSTD_isError(result))
		result = ZSTD_compress2(context, ret, room, text, size);
	ZSTD_freeCCtx(context);
	return ZSTD_isError(result) ? 0 : result;
}

static inline size_t compress_xz(const void *text, size_t size, uint8_t *ret, size_t room)
{
	size_t written = 0;

	return lzma_easy_buffer_encode(1, LZMA_CHECK_CRC32, NULL, text, size, ret, &written,
				       room) == LZMA_OK
		       ? written
		       : 0;
}

static inline size_t compress_bzip2(const void *text, size_t size, uint8_t *ret, size_t room)
{
	unsigned int written = (unsigned int)room;

	return BZ2_bzBuffToBuffCompress((char *)ret, &written, (char *)(uintptr_t)text,
					(unsigned int)size, 9, 0, 0) == BZ_OK
		       ? written
		       : 0;
}

static inline size_t compress_lz4(const void *text, size_t size, uint8_t *ret, size_t room)
{
	const LZ4F_preferences_t preferences = {
		.frameInfo = {.contentChecksumFlag = LZ4F_contentChecksumEnabled},
	};
	size_t result = LZ4F_compressFrame(ret, room, text, size, &preferences);

	return LZ4F_isError(result) ? 0 : result;
}

static const struct compressed_kind {
	enum compression compression;
	size_t (*compress)(const void *text, size_t size, uint8_t *ret, size_t room);
} compressed_kinds[] = {
	{COMPRESSION_GZIP, compress_gzip}, {COMPRESSION_ZSTD, compress_zstd},
	{COMPRESSION_XZ, compress_xz},     {COMPRESSION_BZIP2, compress_bzip2},
	{COMPRESSION_LZ4, compress_lz4},
};

#define NUM_COMPRESSED_KINDS (sizeof(compressed_kinds) / sizeof(*compressed_kinds))

#endif
