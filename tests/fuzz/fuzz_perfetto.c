/*
 * Perfetto traces: whatever is read can be written, and what was written reads as it was.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "formats/perfetto/perfetto.h"
#include "formats/reader.h"
#include "require.h"
#include "timeline/timeline.h"

/* Names may be short and stacks of them long. */
#define MAX_TEXT_BYTES (1u << 24)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int append(void *context, const void *data, size_t size)
{
	struct text *text = context;

	text_append(text, data, size);
	return text->length > MAX_TEXT_BYTES ? -EFBIG : 0;
}

static struct text write_as(const struct format *format, const struct profile *profile,
			    const struct timeline *timeline, int *ret)
{
	struct format_opts opts = {.timeline = timeline, .is_compressed = timeline != NULL};
	struct text text = {0};
	struct sink sink = {.write = append, .context = &text};

	*ret = format->write(profile, &opts, &sink);
	return text;
}

/* What was written can be read. NULL when it could not be written. */
static struct profile *go_round(const struct profile *profile, const struct timeline *timeline)
{
	struct import import = {.name = "again"};
	int err;
	struct text written = write_as(&format_pftrace, profile, timeline, &err);

	require(err == 0 || err == -EFBIG);
	if (!err && written.length) {
		import.profile = profile_new();
		import.data = (const uint8_t *)written.data;
		import.size = written.length;
		require(import.profile != NULL);
		require(perfetto_detect(import.data, import.size) == DETECTED_SURE);
		err = perfetto_read(&import);
		require(err == 0 || err == -EOVERFLOW); /* names that become one */
	}
	text_release(&written);
	if (!err)
		return import.profile;
	profile_free(import.profile);
	return NULL;
}

static void require_same(const struct profile *a, const struct profile *b)
{
	int err_a;
	int err_b;
	struct text text_a = write_as(&format_folded, a, NULL, &err_a);
	struct text text_b = write_as(&format_folded, b, NULL, &err_b);

	require(err_a == err_b);
	require(text_a.length == text_b.length);
	require(!text_a.length || !memcmp(text_a.data, text_b.data, text_a.length));
	text_release(&text_a);
	text_release(&text_b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct import import = {.name = "fuzz", .data = data, .size = size};
	enum detection detection = perfetto_detect(data, size);
	struct profile *second = NULL;
	struct profile *third = NULL;
	int err;

	require(size || detection == DETECTED_NOT);
	import.profile = profile_new();
	import.timeline = timeline_new();
	require(import.profile && import.timeline);
	err = perfetto_read(&import);
	require(err == 0 || err == -EBADMSG || err == -EOVERFLOW);
	require(err == 0 || import.error.message[0]);
	if (!err) {
		profile_free(go_round(import.profile, import.timeline));
		second = go_round(import.profile, NULL); /* its names are UTF-8 */
	}
	if (second)
		third = go_round(second, NULL);
	if (third)
		require_same(second, third);
	profile_free(import.profile);
	timeline_free(import.timeline);
	profile_free(second);
	profile_free(third);
	return 0;
}
