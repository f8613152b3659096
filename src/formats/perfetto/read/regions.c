/* Stack regions of our own traces, from tracks and their counters. */
#include "formats/perfetto/read/regions.h"

#include "formats/perfetto/read/owners.h"

int perfetto_regions_use(struct perfetto_slices *slices, struct perfetto_track *track)
{
	struct stack_region region = {
		.start = track->region_start,
		.end = track->region_end,
		.name = track->name,
		.kind = track->region_kind,
	};
	int err;

	if (track->item != TIMELINE_NONE)
		return 0;
	err = perfetto_owners_find_process(slices->tracks, track, &region.process);
	if (err)
		return err;
	return timeline_add_region(slices->trace->timeline, &region, &track->item);
}

int perfetto_slices_add_fill(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			     uint64_t bytes, struct perfetto_track *track)
{
	struct perfetto_track *region = perfetto_track_table_get_parent(slices->tracks, track);
	struct region_fill fill = {.time_ns = packet->time_ns, .bytes = bytes};
	int err = perfetto_regions_use(slices, region);

	if (err)
		return err;
	fill.region = region->item;
	return timeline_add_fill(slices->trace->timeline, &fill, NULL);
}

/* Number and size are in two events, in this order. */
int perfetto_slices_add_in_use(struct perfetto_slices *slices, const struct perfetto_packet *packet,
			       uint64_t value, const struct perfetto_track *track)
{
	struct regions_in_use use = {.time_ns = packet->time_ns, .number = (uint32_t)value};
	uint32_t count = timeline_count_in_use(slices->trace->timeline);
	struct regions_in_use *last =
		count ? timeline_get_in_use(slices->trace->timeline, count - 1) : NULL;
	int err = perfetto_owners_find_process(slices->tracks, track, &use.process);

	if (err)
		return err;
	if (track->role == PERFETTO_NUM_STACKS)
		return timeline_add_in_use(slices->trace->timeline, &use, NULL);
	if (last && last->time_ns == use.time_ns && last->process == use.process)
		last->bytes = value;
	return 0;
}
