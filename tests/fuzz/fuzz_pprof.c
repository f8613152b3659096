/*
 * pprof's profiles: whatever is read can be written, and what was written reads as it was.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <zlib.h>

#include "formats/pprof/pprof.h"
#include "require.h"

/* Names may be short and stacks of them long. */
#define MAX_TEXT_BYTES (1u << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append(void *context, const void *data, size_t size)
{
	struct text *text = context;

	text_append(text, data, size);
	return text->length > MAX_TEXT_BYTES ? -EFBIG : 0;
}

static struct text write_as(const struct format *format, const struct profile *profile, int *ret)
{
	struct format_opts opts = {0};
	struct text text = {0};
	struct sink sink = {.write = append, .context = &text};

	*ret = format->write(profile, &opts, &sink);
	return text;
}

static struct text gunzip(const struct text *packed)
{
	z_stream stream = {.next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->length};
	struct text plain = {0};
	char chunk[4096];
	int err = inflateInit2(&stream, 15 + 16);

	while (err == Z_OK) {
		stream.next_out = (Bytef *)chunk;
		stream.avail_out = sizeof(chunk);
		err = inflate(&stream, Z_NO_FLUSH);
		text_append(&plain, chunk, sizeof(chunk) - stream.avail_out);
	}
	require(err == Z_STREAM_END && !plain.failed);
	inflateEnd(&stream);
	return plain;
}

/* A profile written and read again; NULL when it cannot be written. */
static struct profile *go_round(const struct profile *profile)
{
	struct import import = {.name = "again"};
	struct text plain;
	int err;
	struct text packed = write_as(&format_pprof, profile, &err);

	require(err == 0 || err == -EOVERFLOW || err == -EFBIG);
	if (err) {
		text_release(&packed);
		return NULL;
	}
	plain = gunzip(&packed);
	import.profile = profile_new();
	import.data = (const uint8_t *)plain.data;
	import.size = plain.length;
	require(import.profile && pprof_read(&import) == 0);
	text_release(&packed);
	text_release(&plain);
	return import.profile;
}

static void require_same(const struct profile *a, const struct profile *b)
{
	int err_a;
	int err_b;
	struct text text_a = write_as(&format_folded, a, &err_a);
	struct text text_b = write_as(&format_folded, b, &err_b);

	require(err_a == err_b);
	require(text_a.length == text_b.length);
	require(!text_a.length || !memcmp(text_a.data, text_b.data, text_a.length));
	text_release(&text_a);
	text_release(&text_b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import import = {.name = "fuzz", .data = data, .size = size};
	enum detection detection = pprof_detect(data, size);
	struct profile *second = NULL;
	struct profile *third = NULL;
	int err;

	require(size || detection == DETECTED_NOT);
	import.profile = profile_new();
	require(import.profile);
	err = pprof_read(&import);
	require(err == 0 || err == -EBADMSG || err == -EOVERFLOW);
	require(err == 0 || import.error.message[0]);
	if (!err)
		second = go_round(import.profile); /* its names are UTF-8 */
	if (second)
		third = go_round(second);
	if (third)
		require_same(second, third);
	profile_free(import.profile);
	profile_free(second);
	profile_free(third);
	return 0;
}
