/*
 * Two passes over the zones: parents precede their children, so that the first one can add a zone's
 * stack below its parent's and subtract its duration from that. The remainder is each zone's own
 * time, which the second pass adds as samples.
 */
#include "formats/zones/read_profile.h"

#include <errno.h>
#include <string.h>

/* The profile's ids by those of the timeline; TIMELINE_NONE: not there yet. */
struct zones_conversion {
	struct import *import;
	const struct timeline *timeline;
	uint32_t first_zone;
	uint32_t metric;
	uint64_t *self_ns; /* by zone, from first_zone on */
	uint32_t *stacks;  /* the same */
	uint32_t *threads;
	uint32_t *processes;
	uint32_t *locations;
};

/* All bytes 0xff are TIMELINE_NONE. */
static uint32_t *new_ids(uint32_t count)
{
	uint32_t *ids = malloc(((size_t)count + 1) * sizeof(*ids));

	if (ids)
		memset(ids, 0xff, ((size_t)count + 1) * sizeof(*ids));
	return ids;
}

static int conversion_init(struct zones_conversion *conversion)
{
	const struct timeline *timeline = conversion->timeline;
	size_t count = timeline_count_zone(timeline) - conversion->first_zone;

	conversion->self_ns = calloc(count + 1, sizeof(*conversion->self_ns));
	conversion->stacks = new_ids((uint32_t)count);
	conversion->threads = new_ids(timeline_count_thread(timeline));
	conversion->processes = new_ids(timeline_count_process(timeline));
	conversion->locations = new_ids(timeline_count_location(timeline));
	if (!conversion->self_ns || !conversion->stacks || !conversion->threads ||
	    !conversion->processes || !conversion->locations)
		return -ENOMEM;
	return profile_add_metric(conversion->import->profile, ZONES_METRIC_NAME, ZONES_METRIC_UNIT,
				  &conversion->metric);
}

static void conversion_release(struct zones_conversion *conversion)
{
	free(conversion->self_ns);
	free(conversion->stacks);
	free(conversion->threads);
	free(conversion->processes);
	free(conversion->locations);
}

static int copy_string(const struct zones_conversion *conversion, uint32_t string, uint32_t *ret)
{
	return string_table_copy(timeline_get_strings(conversion->timeline), string,
				 profile_get_strings(conversion->import->profile), ret);
}

/* Only items that zones refer to get into the profile: a timeline may hold other inputs. */
static int find_process(struct zones_conversion *conversion, uint32_t id, uint32_t *ret)
{
	const struct timeline_process *process = timeline_get_process(conversion->timeline, id);
	uint32_t *known = &conversion->processes[id];
	uint32_t comm;
	int err;

	if (*known == TIMELINE_NONE) {
		err = copy_string(conversion, process->name, &comm);
		if (err)
			return err;
		err = profile_add_process(conversion->import->profile, process->pid, comm, known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

static int find_thread(struct zones_conversion *conversion, uint32_t id, uint32_t *ret)
{
	const struct timeline_thread *thread = timeline_get_thread(conversion->timeline, id);
	struct thread added = {.tid = (uint32_t)thread->tid, .source = conversion->import->source};
	uint32_t *known = &conversion->threads[id];
	int err;

	if (*known == TIMELINE_NONE) {
		err = copy_string(conversion, thread->name, &added.comm);
		if (err)
			return err;
		err = find_process(conversion, thread->process, &added.process);
		if (err)
			return err;
		err = profile_add_thread(conversion->import->profile, &added, known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

static int add_location(struct zones_conversion *conversion, const struct zone *zone, uint32_t *ret)
{
	const struct source_location *source =
		timeline_get_location(conversion->timeline, zone->location);
	struct string_table *strings = timeline_get_strings(conversion->timeline);
	struct frame frame = {.line = source->line};
	int err = profile_add_frame_name(conversion->import->profile,
					 string_table_get(strings, zone->name),
					 string_table_get_length(strings, zone->name), &frame.name);

	if (err)
		return err;
	err = copy_string(conversion, source->file, &frame.file);
	if (err)
		return err;
	frame.full_name = frame.name;
	return profile_add_frame_location(conversion->import->profile, &frame, ret);
}

/* A zone that has its location's name has its frame, too. */
static int find_location(struct zones_conversion *conversion, const struct zone *zone,
			 uint32_t *ret)
{
	uint32_t *known = &conversion->locations[zone->location];

	if (timeline_get_location(conversion->timeline, zone->location)->name != zone->name)
		return add_location(conversion, zone, ret);
	if (*known == TIMELINE_NONE) {
		int err = add_location(conversion, zone, known);

		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

static int add_stack(struct zones_conversion *conversion, uint32_t id)
{
	const struct zone *zone = timeline_get_zone(conversion->timeline, id);
	uint32_t index = id - conversion->first_zone;
	uint32_t parent = STACK_EMPTY;
	uint32_t location;
	int err = find_location(conversion, zone, &location);

	if (err)
		return err;
	/*
	 * Zones of a region nest, so that the sum of the inner ones is never more than the outer
	 * one's time.
	 */
	conversion->self_ns[index] = zone->end_ns - zone->start_ns;
	if (zone->parent != TIMELINE_NONE) {
		parent = conversion->stacks[zone->parent - conversion->first_zone];
		conversion->self_ns[zone->parent - conversion->first_zone] -=
			conversion->self_ns[index];
	}
	return profile_add_stack(conversion->import->profile, parent, location,
				 &conversion->stacks[index]);
}

static int add_sample(struct zones_conversion *conversion, uint32_t id)
{
	const struct zone *zone = timeline_get_zone(conversion->timeline, id);
	uint32_t index = id - conversion->first_zone;
	uint32_t thread;
	int err = find_thread(conversion, zone->thread, &thread);

	if (err)
		return err;
	return profile_add_sample(conversion->import->profile, thread, conversion->stacks[index],
				  conversion->metric, conversion->self_ns[index]);
}

int zones_profile_add(struct import *import, const struct timeline *timeline, uint32_t first_zone)
{
	_cleanup_(conversion_release) struct zones_conversion conversion = {
		.import = import, .timeline = timeline, .first_zone = first_zone};
	uint32_t count = timeline_count_zone(timeline);
	int err;

	if (count <= first_zone)
		return 0;
	err = conversion_init(&conversion);
	if (err)
		return err;
	for (uint32_t id = first_zone; id < count; id++) {
		err = add_stack(&conversion, id);
		if (err)
			return err;
	}
	/* A zone's own time is known only when all zones inside it are there. */
	for (uint32_t id = first_zone; id < count; id++) {
		err = add_sample(&conversion, id);
		if (err == -EOVERFLOW)
			return error_set(
				&import->error, err,
				"%.200s: the sum of the times of the zones exceeds 64 bits",
				import->name);
		if (err)
			return err;
	}
	import->counts.records += count - first_zone;
	return 0;
}
