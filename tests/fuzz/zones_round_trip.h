/*
 * Zones, text or binary: what could be read can be written as text, the text is good, and it gives
 * itself when it is read and written again. In pieces it becomes a trace, or is refused like the
 * whole.
 */
#ifndef ZONES_ROUND_TRIP_H
#define ZONES_ROUND_TRIP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
#include "formats/perfetto.h"
#include "timeline/timeline.h"

static inline void require(bool condition)
{
	if (!condition)
		abort();
}

static inline int append(void *context, const void *data, size_t size)
{
	text_append(context, data, size);
	return 0;
}

/* Whether the bytes are good; then *ret is what is written of them, and the caller's. */
static inline bool rewrite(const void *data, size_t size, bool is_lenient, struct text *ret)
{
	struct sink sink = {.write = append, .context = ret};
	struct format_opts opts = {0};
	struct import import = {.name = "x", .data = data, .size = size, .is_lenient = is_lenient};
	int err;

	import.profile = profile_new();
	import.timeline = timeline_new();
	require(import.profile && import.timeline);
	err = format_zones.read(&import);
	require(!err || import.error.message[0]);
	opts.timeline = import.timeline;
	if (!err)
		require(format_zones.write(import.profile, &opts, &sink) == 0);
	profile_free(import.profile);
	timeline_free(import.timeline);
	return !err;
}

struct chunks {
	const uint8_t *data;
	size_t size;
	size_t offset;
};

static inline int rewind_chunks(void *context)
{
	((struct chunks *)context)->offset = 0;
	return 0;
}

/* Pieces of different sizes, so that records are cut everywhere. */
static inline int read_chunk(void *context, void *data, size_t size, size_t *ret_size)
{
	struct chunks *chunks = context;
	size_t left = chunks->size - chunks->offset;
	size_t wanted = 1 + chunks->offset % 61;

	*ret_size = wanted < size ? wanted : size;
	if (*ret_size > left)
		*ret_size = left;
	memcpy(data, chunks->data + chunks->offset, *ret_size);
	chunks->offset += *ret_size;
	return 0;
}

/* Whether the bytes, a piece at a time, become a trace. */
static inline bool convert_chunks(const void *data, size_t size, bool is_lenient)
{
	struct chunks chunks = {.data = data, .size = size};
	struct zones_source source = {rewind_chunks, read_chunk, &chunks};
	struct import import = {.name = "x", .is_lenient = is_lenient};
	struct text trace = {0};
	struct sink sink = {.write = append, .context = &trace};
	int err = perfetto_write_zones(&import, &source, NULL, false, &sink);

	require(!err == !import.error.message[0]);
	text_release(&trace);
	return !err;
}

static inline void zones_round_trip(const void *data, size_t size, bool is_lenient)
{
	struct text once = {0};
	struct text twice = {0};

	if (rewrite(data, size, is_lenient, &once)) {
		require(convert_chunks(data, size, is_lenient));
		require(rewrite(once.data, once.length, false, &twice));
		require(once.length == twice.length);
		require(!once.length || memcmp(once.data, twice.data, once.length) == 0);
	} else {
		/* Whether times add up to too much is a question of the profile. */
		(void)convert_chunks(data, size, is_lenient);
	}
	text_release(&once);
	text_release(&twice);
}

#endif
