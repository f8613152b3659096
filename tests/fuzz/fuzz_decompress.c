/* Decompression by each library: bounded, and the same in steps of any size. */
#include "formats/compression.h"
#include "require.h"

#include "base/text.h"

#define LIMIT     (1u << 20)
#define MAX_STEPS 4096 /* of one byte: enough for small inputs */

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Returns as decompressor_read(), or 0 at the limit. */
static int decompress(enum compression compression, const uint8_t *data, size_t size, size_t step,
		      size_t limit, struct text *ret)
{
	static uint8_t room[65536];
	struct decompressor *decompressor;
	struct bytes compressed = bytes_of(data, size);
	int result = 0;

	require(!decompressor_new(compression, &decompressor));
	while (!result && ret->length < limit) {
		size_t got = SIZE_MAX;

		result = decompressor_read(decompressor, &compressed, room, step, &got);
		require(got <= step && (got || result));
		require(compressed.offset <= size);
		text_append(ret, room, got);
	}
	decompressor_free(decompressor);
	return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	enum compression compression = compression_detect(data, size);
	struct text whole = {0};
	struct text steps = {0};
	int result;
	int again;

	if (compression == COMPRESSION_NONE)
		return 0;
	result = decompress(compression, data, size, 65536, LIMIT, &whole);
	again = decompress(compression, data, size, 1, MAX_STEPS, &steps);
	require(steps.length <= whole.length || result);
	/* An error may come earlier when the library has more room. */
	if (steps.length && steps.length <= whole.length)
		require(!memcmp(whole.data, steps.data, steps.length));
	require(result != 1 || again == 1 || steps.length == MAX_STEPS);
	text_release(&whole);
	text_release(&steps);
	return 0;
}
