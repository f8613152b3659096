/* Unpacking as zlib unpacks: the same bytes, or both find damage. */
#include "formats/inflate.h"
#include "require.h"

#include <stdbool.h>

#include <zlib.h>

#define LIMIT (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Negative when it is damaged or longer than the room. */
static long decompress_by_zlib(const uint8_t *data, size_t size, uint8_t *room)
{
	z_stream stream = {.next_in = (unsigned char *)(uintptr_t)data, .avail_in = (uInt)size};
	int state;

	require(inflateInit2(&stream, -15) == Z_OK);
	stream.next_out = room;
	stream.avail_out = LIMIT;
	state = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	return state == Z_STREAM_END ? (long)stream.total_out : -1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t room[LIMIT];
	struct bytes bytes = bytes_of(data, size);
	struct text text = {0};
	long wanted = decompress_by_zlib(data, size, room);
	int err = inflate_decompress(&bytes, INFLATE_RAW, LIMIT, &text);

	require((wanted < 0) == (err != 0));
	require(text.length <= LIMIT);
	if (!err)
		require(text.length == (size_t)wanted && !memcmp(text.data, room, text.length));
	text_release(&text);
	for (int wrapper = INFLATE_ZLIB; wrapper <= INFLATE_GZIP; wrapper++) {
		bytes = bytes_of(data, size);
		err = inflate_decompress(&bytes, (enum inflate_wrapper)wrapper, LIMIT, &text);
		text_release(&text);
	}
	return 0;
}
