/* Zones in order of time, with how full their regions are by them. */
#include "timeline/zone_tracker.h"

#include <errno.h>
#include <string.h>

int zone_walk_init(struct zone_walk *walk, const struct timeline *timeline)
{
	size_t count = timeline_count_region(timeline);

	*walk = (struct zone_walk){.timeline = timeline};
	walk->innermost = malloc((count + 1) * sizeof(*walk->innermost));
	if (!walk->innermost)
		return -ENOMEM;
	memset(walk->innermost, 0xff, (count + 1) * sizeof(*walk->innermost));
	return 0;
}

void zone_walk_release(struct zone_walk *walk)
{
	free(walk->innermost);
	walk->innermost = NULL;
}

/*
 * The innermost open zone's pointer is taken for the stack pointer; without an open zone, no use is
 * known.
 */
static uint64_t get_fill(const struct timeline *timeline, uint32_t zone)
{
	const struct zone *innermost;

	if (zone == TIMELINE_NONE)
		return 0;
	innermost = timeline_get_zone(timeline, zone);
	return timeline_get_region(timeline, innermost->region)->end - innermost->pointer;
}

static void end_innermost(struct zone_walk *walk, uint32_t region, struct zone_step *ret)
{
	uint32_t id = walk->innermost[region];
	const struct zone *zone = timeline_get_zone(walk->timeline, id);

	walk->innermost[region] = zone->parent;
	*ret = (struct zone_step){.zone = id,
				  .is_end = true,
				  .time_ns = zone->end_ns,
				  .fill_bytes = get_fill(walk->timeline, zone->parent)};
}

/*
 * Declared regions precede guessed ones, as in a text, which declares them first: reading the text
 * again gives the same order, even if a further track of a region was declared late
 * (zone_tracker.c).
 */
static bool end_rest(struct zone_walk *walk, struct zone_step *ret)
{
	uint32_t count = timeline_count_region(walk->timeline);

	for (; walk->next_region / 2 < count; walk->next_region++) {
		uint32_t id =
			walk->next_region < count ? walk->next_region : walk->next_region - count;
		bool is_declared = timeline_get_region(walk->timeline, id)->kind == REGION_DECLARED;

		if (walk->innermost[id] == TIMELINE_NONE ||
		    is_declared != (walk->next_region < count))
			continue;
		end_innermost(walk, id, ret);
		return true;
	}
	return false;
}

/*
 * A zone that is open on the next zone's region but not around that zone ended before it started.
 */
bool zone_walk_next(struct zone_walk *walk, struct zone_step *ret)
{
	const struct zone *zone;

	if (walk->next_zone < timeline_count_zone(walk->timeline)) {
		zone = timeline_get_zone(walk->timeline, walk->next_zone);
		if (walk->innermost[zone->region] != zone->parent) {
			end_innermost(walk, zone->region, ret);
			return true;
		}
		walk->innermost[zone->region] = walk->next_zone;
		*ret = (struct zone_step){
			.zone = walk->next_zone++,
			.time_ns = zone->start_ns,
			.fill_bytes = get_fill(walk->timeline, walk->innermost[zone->region])};
		return true;
	}
	return end_rest(walk, ret);
}
