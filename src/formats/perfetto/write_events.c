/*
 * Events are written track kind by track kind, each on a sequence of its own, mostly in order of
 * time. Readers sort; on one track an end must come before a begin of the same moment.
 */
#include "formats/perfetto/write_events.h"

#include <errno.h>

#include "base/array.h"
#include "formats/perfetto/write_slices.h"
#include "formats/perfetto/write_waits.h"
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

static int begin_zone(struct perfetto_events_writer *writer, const struct zone_step *step)
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
 * depths  how many zones are open, by region. The depth is counted for zones that are left out,
 * too, so that an end is left out just where its begin was.
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
	return begin_zone(writer, step);
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
	err = perfetto_event_writer_begin_sequence(&writer->events, SEQUENCE_EVENTS);
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

/*
 * By occupancy: the next one of its region, if another thread's. Backwards, so that the following
 * occupancy of each region is known: those of one region are in order.
 */
static uint32_t *find_hand_overs(const struct timeline *timeline)
{
	uint32_t count = timeline_count_occupancy(timeline);
	size_t num_regions = timeline_count_region(timeline);
	_cleanup_free_ uint32_t *later = malloc((num_regions + 1) * sizeof(*later));
	uint32_t *next = malloc(((size_t)count + 1) * sizeof(*next));

	if (!later || !next) {
		free(next);
		return NULL;
	}
	memset(later, 0xff, (num_regions + 1) * sizeof(*later));
	for (uint32_t i = count; i-- > 0;) {
		const struct occupancy *occupancy = timeline_get_occupancy(timeline, i);
		uint32_t *following = &later[occupancy->region];

		next[i] = TIMELINE_NONE;
		if (*following != TIMELINE_NONE &&
		    timeline_get_occupancy(timeline, *following)->thread != occupancy->thread)
			next[i] = *following;
		*following = i;
	}
	return next;
}

/*
 * A flow's number is the occupancy's that it comes from, with a mark in the upper half that no
 * program is likely to use for its own flows.
 */
/* Of a process that is shown with others, what it was on would be tracks for nothing. */
static bool is_left_out(const struct perfetto_events_writer *writer, uint32_t region)
{
	return perfetto_tracks_is_grouped(writer->tracks,
					  timeline_get_region(writer->timeline, region)->process);
}

static int begin_slices(struct perfetto_events_writer *writer, uint32_t id, bool is_handed_over,
			uint64_t *flow_in)
{
	const struct occupancy *occupancy = timeline_get_occupancy(writer->timeline, id);
	uint32_t name = timeline_get_thread(writer->timeline, occupancy->thread)->name;
	uint64_t flow_out = is_handed_over ? HAND_OVER_FLOW | id : 0;
	int err = perfetto_begin_region_slice(&writer->events, writer->tracks, occupancy,
					      timeline_get_string(writer->timeline, name),
					      flow_in[occupancy->region], flow_out);

	if (err)
		return err;
	flow_in[occupancy->region] = flow_out;
	return perfetto_begin_thread_slice(&writer->events, writer->tracks, occupancy);
}

static int end_slices(struct perfetto_events_writer *writer, uint32_t id)
{
	const struct occupancy *occupancy = timeline_get_occupancy(writer->timeline, id);
	int err = perfetto_end_region_slice(&writer->events, writer->tracks, occupancy->region, 0,
					    occupancy->end_ns);

	if (err)
		return err;
	return perfetto_end_thread_slice(&writer->events, writer->tracks, occupancy->thread,
					 occupancy->end_ns);
}

/* The begin of an occupancy is step 2 * id, its end the step behind. */
static uint64_t get_step_time(const struct timeline *timeline, uint64_t step)
{
	const struct occupancy *occupancy = timeline_get_occupancy(timeline, (uint32_t)(step / 2));

	return step % 2 ? occupancy->end_ns : occupancy->begin_ns;
}

/*
 * At one moment a thread leaves the region that it was on, is on others for no time, and comes to the
 * next: in this order, whatever that of the occupancies is.
 */
static unsigned int get_step_rank(const struct timeline *timeline, uint64_t step)
{
	const struct occupancy *occupancy = timeline_get_occupancy(timeline, (uint32_t)(step / 2));

	if (occupancy->begin_ns == occupancy->end_ns)
		return 1;
	return step % 2 ? 0 : 2;
}

static int compare_steps(const void *a, const void *b, void *timeline)
{
	uint64_t left = *(const uint64_t *)a;
	uint64_t right = *(const uint64_t *)b;
	uint64_t left_ns = get_step_time(timeline, left);
	uint64_t right_ns = get_step_time(timeline, right);
	unsigned int left_rank = get_step_rank(timeline, left);
	unsigned int right_rank = get_step_rank(timeline, right);

	if (left_ns != right_ns)
		return left_ns < right_ns ? -1 : 1;
	if (left_rank != right_rank)
		return left_rank < right_rank ? -1 : 1;
	return (left > right) - (left < right);
}

/*
 * Events of a sequence should be in order of time, for each that comes late has a longer timestamp.
 */
static uint64_t *sort_steps(const struct timeline *timeline, size_t count)
{
	uint64_t *steps = malloc((count + 1) * sizeof(*steps));

	if (!steps)
		return NULL;
	for (size_t i = 0; i < count; i++)
		steps[i] = i;
	qsort_r(steps, count, sizeof(*steps), compare_steps,
		(struct timeline *)(uintptr_t)timeline);
	return steps;
}

static int write_occupancies(struct perfetto_events_writer *writer)
{
	size_t count = (size_t)timeline_count_occupancy(writer->timeline) * 2;
	_cleanup_free_ uint32_t *next = find_hand_overs(writer->timeline);
	_cleanup_free_ uint64_t *steps = sort_steps(writer->timeline, count);
	_cleanup_free_ uint64_t *flow_in =
		calloc(timeline_count_region(writer->timeline) + 1u, sizeof(*flow_in));
	int err;

	if (!count)
		return 0;
	if (!next || !steps || !flow_in)
		return -ENOMEM;
	err = perfetto_event_writer_begin_sequence(&writer->events, SEQUENCE_OCCUPANCIES);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		uint32_t id = (uint32_t)(steps[i] / 2);

		if (is_left_out(writer, timeline_get_occupancy(writer->timeline, id)->region))
			continue;
		err = steps[i] % 2 ? end_slices(writer, id)
				   : begin_slices(writer, id, next[id] != TIMELINE_NONE, flow_in);
		if (err)
			return err;
	}
	return 0;
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
	err = perfetto_event_writer_begin_sequence(&writer->events, SEQUENCE_FILLS);
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
	err = perfetto_event_writer_begin_sequence(&writer->events, SEQUENCE_TOTALS);
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
	err = perfetto_event_writer_begin_sequence(&writer->events, SEQUENCE_COUNTERS);
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
	uint32_t count = timeline_count_task_event(writer->timeline);
	int err;

	if (!count)
		return 0;
	err = perfetto_event_writer_begin_sequence(&writer->events, SEQUENCE_TASKS);
	if (err)
		return err;
	for (uint32_t i = 0; i < count; i++) {
		const struct task_event *task = timeline_get_task_event(writer->timeline, i);

		if (perfetto_tracks_is_grouped(
			    writer->tracks,
			    timeline_get_thread(writer->timeline, task->thread)->process))
			continue;
		err = perfetto_write_task_event(&writer->events, writer->tracks, task);
		if (err)
			return err;
	}
	return 0;
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
	err = perfetto_event_writer_begin_sequence(&writer->events, SEQUENCE_WAITS);
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
