/* Traces in the JSON of Chrome, with a timeline and without. */
#include "import_fuzz.h"
#include "timeline/timeline.h"

/* The zones of a timeline must be whole: each inside the one around it. */
static void check_zones(const struct timeline *timeline)
{
	for (uint32_t i = 0; i < timeline_count_zone(timeline); i++) {
		const struct zone *zone = timeline_get_zone(timeline, i);
		const struct zone *parent;

		require(zone->start_ns <= zone->end_ns);
		if (zone->parent == TIMELINE_NONE)
			continue;
		require(zone->parent < i);
		parent = timeline_get_zone(timeline, zone->parent);
		require(parent->region == zone->region && parent->start_ns <= zone->start_ns &&
			zone->end_ns <= parent->end_ns);
	}
}

static void read_with_timeline(const uint8_t *data, size_t size)
{
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct import import = {.name = "FILE",
				.data = data,
				.size = size,
				.profile = profile,
				.timeline = timeline,
				.warn = fuzz_warn};

	require(profile && timeline);
	require(profile_add_source(profile, STRING_EMPTY, &import.source) == 0);
	if (!format_chrome_trace.read(&import))
		check_zones(timeline);
	timeline_free(timeline);
	profile_free(profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	read_with_timeline(data, size);
	return fuzz_import(&format_chrome_trace, data, size);
}
