/*
 * Zones, text or binary: what could be read can be written as text, the text is good, and it gives
 * itself when it is read and written again.
 */
#ifndef ZONES_ROUND_TRIP_H
#define ZONES_ROUND_TRIP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "formats/format.h"
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

static inline void zones_round_trip(const void *data, size_t size, bool is_lenient)
{
	struct text once = {0};
	struct text twice = {0};

	if (rewrite(data, size, is_lenient, &once)) {
		require(rewrite(once.data, once.length, false, &twice));
		require(once.length == twice.length);
		require(!once.length || memcmp(once.data, twice.data, once.length) == 0);
	}
	text_release(&once);
	text_release(&twice);
}

#endif
