/*
 * Events are written track kind by track kind, each on a sequence of its own, mostly in order of
 * time. Readers sort; on one track an end must precede a start of the same moment.
 */
#include "formats/perfetto/write/events.h"

#include <errno.h>

#include "base/array.h"
#include "formats/perfetto/write/slices.h"
#include "formats/perfetto/write/waits.h"
#include "timeline/occupancy_walk.h"
#include "timeline/zone_tracker.h"

struct perfetto_events_writer {
	const struct timeline *timeline;
	struct perfetto_tracks *tracks;
	struct perfetto_event_writer events;
};

/* ---- zones -------------------------------------------------------------------------------- */

static int add_attribute(struct perfetto_event_writer *events,
			 const struct zone_attribute *attribute)
{
	struct perfetto_event_string string = {.id = attribute->value.string};

	switch ((enum attribute_kind)attribute->kind) {
	case ATTRIBUTE_PARAMETER:
		return perfetto_event_writer_add_parameter(events, attribute, &string);
	case ATTRIBUTE_CATEGORY:
		return perfetto_event_writer_add_category(events, &string);
	case ATTRIBUTE_FLOW:
		return perfetto_event_writer_add_flow(events, attribute->value.u64, false);
	case ATTRIBUTE_TERMINATING_FLOW:
		return perfetto_event_writer_add_flow(events, attribute->value.u64, true);
	}
	return -EINVAL;
}

static int start_zone(struct perfetto_events_writer *writer, const struct zone_step *step)
{
	const struct zone *zone = timeline_get_zone(writer->timeline, step->zone);
	const struct zone_attribute *attribute = NULL;
	struct perfetto_event_string name = {.id = zone->name};
	int err = perfetto_start_zone(&writer->events, writer->tracks, zone, step->fill_bytes);

	if (err)
		return err;
	err = perfetto_event_writer_set_name(&writer->events, &name);
	if (err)
		return err;
	while ((attribute = timeline_next_attribute(writer->timeline, step->zone, attribute))) {
		err = add_attribute(&writer->events, attribute);
		if (err)
			return err;
	}
	err = perfetto_event_writer_close_parameters(&writer->events);
	if (err)
		return err;
	return perfetto_event_writer_add(&writer->events, step->time_ns);
}

/*
 * depths  number of open zones, by region. The depth is counted for skipped zones, too, so that an
 *         end is skipped exactly if its start was.
 */
static int write_zone_step(struct perfetto_events_writer *writer, const struct zone_step *step,
			   uint32_t *depths)
{
	uint32_t region = timeline_get_zone(writer->timeline, step->zone)->region;
	uint32_t depth = step->is_end ? --depths[region] : depths[region]++;

	if (depth >= MAX_SLICE_DEPTH)
		return perfetto_write_fill(&writer->events, writer->tracks, region,
					   step->fill_bytes, step->time_ns);
	if (step->is_end)
		return perfetto_end_zone(&writer->events, writer->tracks, region, step->fill_bytes,
					 step->time_ns);
	return start_zone(writer, step);
}

static int write_zones(struct perfetto_events_writer *writer)
{
	_cleanup_free_ uint32_t *depths =
		calloc(timeline_count_region(writer->timeline) + 1u, sizeof(*depths));
	_cleanup_(zone_walk_release) struct zone_walk walk = {0};
	struct zone_step step;
	int err;

	if (!timeline_count_zone(writer->timeline))
		return 0;
	if (!depths)
		return -ENOMEM;
	err = zone_walk_init(&walk, writer->timeline);
	if (err)
		return err;
	err = perfetto_event_writer_start_sequence(&writer->events, SEQUENCE_EVENTS);
	if (err)
		return err;
	while (zone_walk_next(&walk, &step)) {
		err = write_zone_step(writer, &step, depths);
		if (err)
			return err;
	}
	return 0;
}

/* ---- occupancies -------------------------------------------------------------------------- */

/* If a process is shown with others, the tracks of its regions would be useless. */
static bool is_left_out(const struct perfetto_events_writer *writer, uint32_t region)
{
	return perfetto_tracks_is_grouped(writer->tracks,
					  timeline_get_region(writer->timeline, region)->process);
}

/*
 * A flow's number is that of the occupancy it leaves. It has a mark in the upper half that no
 * program is likely to use for its own flows.
 *
 * flow_in  the one that leads to the region's next slice
 */
static int start_slices(struct perfetto_events_writer *writer,
			const struct numbered_occupancy *numbered, uint64_t *flow_in)
{
	const struct occupancy *occupancy = &numbered->occupancy;
	uint32_t name = timeline_get_thread(writer->timeline, occupancy->thread)->name;
	uint64_t flow_out = numbered->is_handed_over ? HAND_OVER_FLOW | numbered->number : 0;
	int err = perfetto_start_region_slice(&writer->events, writer->tracks, occupancy,
					      timeline_get_string(writer->timeline, name), *flow_in,
					      flow_out);

	if (err)
		return err;
	*flow_in = flow_out;
	return perfetto_start_thread_slice(&writer->events, writer->tracks, occupancy);
}

static int end_slices(struct perfetto_events_writer *writer, const struct occupancy *occupancy)
{
	int err = perfetto_end_region_slice(&writer->events, writer->tracks, occupancy->region, 0,
					    occupancy->end_ns);

	if (err)
		return err;
	return perfetto_end_thread_slice(&writer->events, writer->tracks, occupancy->thread,
					 occupancy->end_ns);
}

/*
 * In order of time, as a late event has a longer timestamp.
 *
 * flows_in  by region
 */
static int write_steps(struct perfetto_events_writer *writer, struct occupancy_walk *walk,
		       uint64_t *flows_in)
{
	struct occupancy_step step;
	int got = occupancy_walk_next(walk, &step);
	int err;

	if (got <= 0)
		return got;
	err = perfetto_event_writer_start_sequence(&writer->events, SEQUENCE_OCCUPANCIES);
	if (err)
		return err;
	for (; got > 0; got = occupancy_walk_next(walk, &step)) {
		const struct occupancy *occupancy = &step.of.occupancy;

		if (is_left_out(writer, occupancy->region))
			continue;
		err = step.is_end ? end_slices(writer, occupancy)
				  : start_slices(writer, &step.of, &flows_in[occupancy->region]);
		if (err)
			return err;
	}
	return got;
}

static int write_occupancies(struct perfetto_events_writer *writer)
{
	_cleanup_free_ uint64_t *flows_in =
		calloc(timeline_count_region(writer->timeline) + 1u, sizeof(*flows_in));
	_cleanup_(occupancy_walk_release) struct occupancy_walk walk = {0};
	int err = flows_in ? occupancy_walk_init(&walk, writer->timeline) : -ENOMEM;

	return err ? err : write_steps(writer, &walk, flows_in);
}

/* ---- counters ----------------------------------------------------------------------------- */

static int write_fills(struct perfetto_events_writer *writer)
{
	struct region_fill fill;
	uint64_t position = 0;
	int got = timeline_next_fill(writer->timeline, &position, &fill);
	int err;

	if (got <= 0)
		return got;
	err = perfetto_event_writer_start_sequence(&writer->events, SEQUENCE_FILLS);
	if (err)
		return err;
	for (; got > 0; got = timeline_next_fill(writer->timeline, &position, &fill)) {
		uint64_t track;

		if (is_left_out(writer, fill.region))
			continue;
		err = perfetto_tracks_use_fill(writer->tracks, fill.region, &track);
		if (err)
			return err;
		err = perfetto_event_writer_add_counter(&writer->events, track, fill.time_ns,
							(int64_t)fill.bytes);
		if (err)
			return err;
	}
	return got;
}

static int write_totals(struct perfetto_events_writer *writer)
{
	uint32_t count = timeline_count_in_use(writer->timeline);
	int err;

	if (!count)
		return 0;
	err = perfetto_event_writer_start_sequence(&writer->events, SEQUENCE_TOTALS);
	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++) {
		err = perfetto_write_use(&writer->events, writer->tracks,
					 timeline_get_in_use(writer->timeline, i));
		if (err)
			return err;
	}
	return 0;
}

static int write_counters(struct perfetto_events_writer *writer)
{
	uint32_t count = timeline_count_counter_value(writer->timeline);
	int err;

	if (!count)
		return 0;
	err = perfetto_event_writer_start_sequence(&writer->events, SEQUENCE_COUNTERS);
	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++) {
		const struct counter_value *value = timeline_get_counter_value(writer->timeline, i);
		uint64_t track;

		err = perfetto_tracks_use_counter(writer->tracks, value->track, &track);
		if (err)
			return err;
		err = perfetto_event_writer_add_value(&writer->events, track, value);
		if (err)
			return err;
	}
	return 0;
}

/* ---- threads ------------------------------------------------------------------------------ */

static int write_task_events(struct perfetto_events_writer *writer)
{
	struct task_event task;
	uint64_t position = 0;
	int got = timeline_next_task_event(writer->timeline, &position, &task);
	int err;

	if (got <= 0)
		return got;
	err = perfetto_event_writer_start_sequence(&writer->events, SEQUENCE_TASKS);
	if (err)
		return err;
	for (; got > 0; got = timeline_next_task_event(writer->timeline, &position, &task)) {
		if (perfetto_tracks_is_grouped(
			    writer->tracks,
			    timeline_get_thread(writer->timeline, task.thread)->process))
			continue;
		err = perfetto_write_task_event(&writer->events, writer->tracks, &task);
		if (err)
			return err;
	}
	return got;
}

static int write_waits(struct perfetto_events_writer *writer, const struct profile *profile)
{
	struct timeline_wait wait;
	uint64_t position = 0;
	uint64_t flow = WAKEUP_FLOW;
	int got = timeline_next_wait(writer->timeline, &position, &wait);
	int err;

	if (got <= 0)
		return got;
	err = perfetto_event_writer_start_sequence(&writer->events, SEQUENCE_WAITS);
	if (err)
		return err;
	for (; got > 0; got = timeline_next_wait(writer->timeline, &position, &wait)) {
		if (perfetto_tracks_is_grouped(
			    writer->tracks,
			    timeline_get_thread(writer->timeline, wait.thread)->process))
			continue;
		err = perfetto_write_wait(&writer->events, writer->tracks, profile, &wait, flow++);
		if (err)
			return err;
	}
	return got;
}

static void events_writer_release(struct perfetto_events_writer *writer)
{
	perfetto_event_writer_release(&writer->events);
}

int perfetto_write_events(const struct profile *profile, const struct timeline *timeline,
			  struct perfetto_tracks *tracks, struct perfetto_stacks *stacks,
			  struct perfetto_stream *stream)
{
	_cleanup_(events_writer_release) struct perfetto_events_writer writer = {
		.timeline = timeline, .tracks = tracks};
	int err = perfetto_event_writer_init(&writer.events, timeline, stream);

	if (err)
		return err;
	writer.events.stacks = stacks;
	err = write_zones(&writer);
	if (err)
		return err;
	err = write_occupancies(&writer);
	if (err)
		return err;
	err = write_fills(&writer);
	if (err)
		return err;
	err = write_totals(&writer);
	if (err)
		return err;
	err = write_counters(&writer);
	if (err)
		return err;
	err = write_task_events(&writer);
	return err ? err : write_waits(&writer, profile);
}
