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
	return profile_add_string(conversion->import->profile,
				  timeline_get_string(conversion->timeline, string), ret);
}

static int find_process(struct zones_conversion *conversion, uint32_t id, uint32_t *ret)
{
	const struct timeline_process *process = timeline_get_process(conversion->timeline, id);
	uint32_t comm;
	int err = 0;

	if (conversion->processes[id] == TIMELINE_NONE) {
		err = copy_string(conversion, process->name, &comm);
		if (!err)
			err = profile_add_process(conversion->import->profile, process->pid, comm,
						  &conversion->processes[id]);
	}
	*ret = conversion->processes[id];
	return err;
}

static int find_thread(struct zones_conversion *conversion, uint32_t id, uint32_t *ret)
{
	const struct timeline_thread *thread = timeline_get_thread(conversion->timeline, id);
	struct thread added = {.tid = (uint32_t)thread->tid, .source = conversion->import->source};
	int err = 0;

	if (conversion->threads[id] == TIMELINE_NONE) {
		err = copy_string(conversion, thread->name, &added.comm);
		if (!err)
			err = find_process(conversion, thread->process, &added.process);
		if (!err)
			err = profile_add_thread(conversion->import->profile, &added,
						 &conversion->threads[id]);
	}
	*ret = conversion->threads[id];
	return err;
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

	if (!err)
		err = copy_string(conversion, source->file, &frame.file);
	frame.full_name = frame.name;
	return err ? err : profile_add_frame_location(conversion->import->profile, &frame, ret);
}

/* A zone that has its location's name has its frame, too. */
static int find_location(struct zones_conversion *conversion, const struct zone *zone,
			 uint32_t *ret)
{
	uint32_t *known = &conversion->locations[zone->location];
	int err = 0;

	if (timeline_get_location(conversion->timeline, zone->location)->name != zone->name)
		return add_location(conversion, zone, ret);
	if (*known == TIMELINE_NONE)
		err = add_location(conversion, zone, known);
	*ret = *known;
	return err;
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
	conversion->self_ns[index] = zone->end_ns - zone->begin_ns;
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

	return err ? err
		   : profile_add_sample(conversion->import->profile, thread,
					conversion->stacks[index], conversion->metric,
					conversion->self_ns[index]);
}

int zones_profile_add(struct import *import, const struct timeline *timeline, uint32_t first_zone)
{
	struct zones_conversion conversion = {
		.import = import, .timeline = timeline, .first_zone = first_zone};
	uint32_t count = timeline_count_zone(timeline);
	int err = count > first_zone ? conversion_init(&conversion) : 0;

	for (uint32_t id = first_zone; !err && id < count; id++)
		err = add_stack(&conversion, id);
	for (uint32_t id = first_zone; !err && id < count; id++)
		err = add_sample(&conversion, id);
	if (err == -EOVERFLOW)
		err = error_set(&import->error, err,
				"%.200s: the times of the zones add up to more "
				"than 64 bits hold",
				import->name);
	import->counts.records += count - first_zone;
	conversion_release(&conversion);
	return err;
}
