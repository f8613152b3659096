/*
 * Plain arrays of events, and a table of strings. Three things are more than that:
 *
 * Attributes of a zone are a ring through one array: the zone knows the last, the last knows the
 * first. So one number in the zone is enough for adding at the end and for reading from the start.
 * A zone may have a parameter of one name only once; since a zone may have any number, they are
 * found by an index over all zones.
 *
 * A zone's id is used again after timeline_remove_zone(), which is called only if a consumer takes
 * the zones: then there are never more ids than zones were open at one time. Ids of zones that are
 * kept never change.
 *
 * Arrays that grow with time may go on in a source (a spool on disk). A recording of an hour may
 * have more items than memory holds. Readers do not see where the array ends and the source starts.
 */
#include "timeline/timeline.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"

/* Every array is indexed by ids of the public header. */
struct timeline {
	struct string_table *strings;
	struct timeline_system system;
	struct timeline_source schedule; /* next is NULL: none */
	struct timeline_source samples;
	struct timeline_source fills;
	struct timeline_source waits;
	struct timeline_source kworks;
	struct timeline_source task_events;
	struct timeline_source occupancies;
	const struct timeline_consumer *consumer;
	ARRAY(uint32_t) removed_zones; /* ids that are free */
	ARRAY(struct timeline_process) process;
	ARRAY(struct timeline_thread) thread;
	ARRAY(struct thread_name) thread_name;
	ARRAY(struct stack_region) region;
	ARRAY(struct source_location) location;
	ARRAY(struct zone) zone;
	ARRAY(struct zone_attribute) attribute;
	ARRAY(uint32_t) attribute_zone; /* by attribute */
	struct hash_index parameters;   /* attribute by zone and name */
	ARRAY(struct occupancy) occupancy;
	ARRAY(struct region_fill) fill;
	ARRAY(struct regions_in_use) in_use;
	ARRAY(struct counter_track) counter_track;
	ARRAY(struct counter_value) counter_value;
	ARRAY(struct task_event) task_event;
	ARRAY(struct sched_switch) switches;
	ARRAY(struct sched_waking) wakeup;
	ARRAY(struct timeline_kwork) kwork;
	ARRAY(struct timeline_sample) sample;
	ARRAY(struct timeline_wait) wait;
	ARRAY(struct clock_snapshot) clock;
};

struct timeline *timeline_new(void)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->strings = string_table_new();
	if (!timeline->strings) {
		timeline_free(timeline);
		return NULL;
	}
	return timeline;
}

static void release_source(struct timeline_source *source)
{
	if (source->free)
		source->free(source->context);
	*source = (struct timeline_source){0};
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	release_source(&timeline->schedule);
	release_source(&timeline->samples);
	release_source(&timeline->fills);
	release_source(&timeline->waits);
	release_source(&timeline->kworks);
	release_source(&timeline->task_events);
	release_source(&timeline->occupancies);
	string_table_free(timeline->strings);
	array_release(&timeline->removed_zones);
	array_release(&timeline->process);
	array_release(&timeline->thread);
	array_release(&timeline->thread_name);
	array_release(&timeline->region);
	array_release(&timeline->location);
	array_release(&timeline->zone);
	array_release(&timeline->attribute);
	array_release(&timeline->attribute_zone);
	hash_index_release(&timeline->parameters);
	array_release(&timeline->occupancy);
	array_release(&timeline->fill);
	array_release(&timeline->in_use);
	array_release(&timeline->counter_track);
	array_release(&timeline->counter_value);
	array_release(&timeline->task_event);
	array_release(&timeline->switches);
	array_release(&timeline->wakeup);
	array_release(&timeline->kwork);
	array_release(&timeline->sample);
	array_release(&timeline->wait);
	array_release(&timeline->clock);
	free(timeline);
}

int timeline_add_string(struct timeline *timeline, const char *string, uint32_t *ret)
{
	return string_table_add(timeline->strings, string, strlen(string), ret);
}

int timeline_rename_thread(struct timeline *timeline, uint32_t id, const char *name,
			   uint64_t time_ns)
{
	struct timeline_thread *thread = timeline_get_thread(timeline, id);
	struct thread_name earlier = {.thread = id, .name = thread->name, .until_ns = time_ns};
	int err;

	if (thread->named_ns > time_ns)
		return 0;
	thread->named_ns = time_ns;
	err = timeline_add_string(timeline, name, &thread->name);
	if (err || earlier.name == STRING_EMPTY || earlier.name == thread->name)
		return err;
	return timeline->thread_name.length < TIMELINE_MAX_THREAD_NAMES
		       ? timeline_add_thread_name(timeline, &earlier, NULL)
		       : 1;
}

int timeline_add_bytes(struct timeline *timeline, const char *string, size_t length, uint32_t *ret)
{
	return string_table_add(timeline->strings, string, length, ret);
}

const char *timeline_get_string(const struct timeline *timeline, uint32_t id)
{
	return string_table_get(timeline->strings, id);
}

struct string_table *timeline_get_strings(const struct timeline *timeline)
{
	return timeline->strings;
}

/* add, get and count of one kind of item. */
#define ITEMS(name, type, array)                                                                   \
	int timeline_add_##name(struct timeline *timeline, const struct type *item, uint32_t *ret) \
	{                                                                                          \
		struct type *added;                                                                \
                                                                                                   \
		added = timeline->array.length < TIMELINE_NONE ? array_add(&timeline->array)       \
							       : NULL;                             \
		if (!added)                                                                        \
			return -ENOMEM;                                                            \
		*added = *item;                                                                    \
		if (ret)                                                                           \
			*ret = (uint32_t)(timeline->array.length - 1);                             \
		return 0;                                                                          \
	}                                                                                          \
                                                                                                   \
	ADDED_ITEMS(name, type, array)

/* Those that something else adds. */
#define ADDED_ITEMS(name, type, array)                                                 \
	struct type *timeline_get_##name(const struct timeline *timeline, uint32_t id) \
	{                                                                              \
		return &timeline->array.items[id];                                     \
	}                                                                              \
                                                                                       \
	uint32_t timeline_count_##name(const struct timeline *timeline)                \
	{                                                                              \
		return (uint32_t)timeline->array.length;                               \
	}

ITEMS(process, timeline_process, process)
ITEMS(thread, timeline_thread, thread)
ITEMS(thread_name, thread_name, thread_name)
ITEMS(region, stack_region, region)
ITEMS(location, source_location, location)
ADDED_ITEMS(zone, zone, zone)
ITEMS(occupancy, occupancy, occupancy)
ITEMS(fill, region_fill, fill)
ITEMS(in_use, regions_in_use, in_use)
ITEMS(counter_track, counter_track, counter_track)
ITEMS(counter_value, counter_value, counter_value)
ITEMS(task_event, task_event, task_event)
ITEMS(switch, sched_switch, switches)
ITEMS(wakeup, sched_waking, wakeup)
ITEMS(kwork, timeline_kwork, kwork)
ITEMS(sample, timeline_sample, sample)
ITEMS(wait, timeline_wait, wait)
ITEMS(clock, clock_snapshot, clock)

/* The last removed id is the first to be used again: its memory is most likely in the cache. */
int timeline_add_zone(struct timeline *timeline, const struct zone *zone, uint32_t *ret)
{
	uint32_t id = (uint32_t)timeline->zone.length;

	if (timeline->removed_zones.length)
		id = timeline->removed_zones.items[--timeline->removed_zones.length];
	else if (id == TIMELINE_NONE || !array_add(&timeline->zone))
		return -ENOMEM;
	timeline->zone.items[id] = *zone;
	if (ret)
		*ret = id;
	return 0;
}

/*
 * When nothing is open, all ids are free, and the array can start again, which also empties the
 * list of free ids. Their memory stays for the next zones.
 */
int timeline_remove_zone(struct timeline *timeline, uint32_t zone)
{
	uint32_t *removed = array_add(&timeline->removed_zones);

	if (!removed)
		return -ENOMEM;
	*removed = zone;
	if (timeline->removed_zones.length == timeline->zone.length)
		timeline->removed_zones.length = timeline->zone.length = 0;
	return 0;
}

void timeline_set_consumer(struct timeline *timeline, const struct timeline_consumer *consumer)
{
	timeline->consumer = consumer;
}

const struct timeline_consumer *timeline_get_consumer(const struct timeline *timeline)
{
	return timeline->consumer;
}

struct parameter_key {
	uint32_t zone;
	uint32_t name;
};

static bool is_parameter(const void *owner, uint32_t item, const void *key)
{
	const struct timeline *timeline = owner;
	const struct parameter_key *wanted = key;

	return timeline->attribute_zone.items[item] == wanted->zone &&
	       timeline->attribute.items[item].name == wanted->name;
}

/*
 * Put a new attribute at the end of its zone's ring; its id, or TIMELINE_NONE. Room is made in both
 * arrays before either grows: they have the same length at all times.
 */
static uint32_t append_attribute(struct timeline *timeline, uint32_t zone,
				 const struct zone_attribute *attribute)
{
	struct zone *owner = &timeline->zone.items[zone];
	uint32_t id = (uint32_t)timeline->attribute.length;
	struct zone_attribute *added;
	uint32_t *added_zone;

	if (id == TIMELINE_NONE || array_reserve(&timeline->attribute, (size_t)id + 1))
		return TIMELINE_NONE;
	added_zone = array_add(&timeline->attribute_zone);
	if (!added_zone)
		return TIMELINE_NONE;
	added = array_add(&timeline->attribute);
	*added = *attribute;
	*added_zone = zone;
	if (owner->last_attribute == TIMELINE_NONE) {
		added->next = id;
	} else {
		struct zone_attribute *last = &timeline->attribute.items[owner->last_attribute];

		added->next = last->next;
		last->next = id;
	}
	owner->last_attribute = id;
	return id;
}

/* Categories and flows may occur several times and have no name to be found by. */
int timeline_add_attribute(struct timeline *timeline, uint32_t zone,
			   const struct zone_attribute *attribute)
{
	struct parameter_key key = {zone, attribute->name};
	uint64_t hash = hash_mix(zone, attribute->name);
	bool is_named = attribute->kind == ATTRIBUTE_PARAMETER;
	uint32_t id = HASH_INDEX_NONE;

	if (is_named)
		id = hash_index_find(&timeline->parameters, hash, is_parameter, timeline, &key);
	if (id != HASH_INDEX_NONE) {
		timeline->attribute.items[id].value = attribute->value;
		timeline->attribute.items[id].type = attribute->type;
		return 0;
	}
	id = append_attribute(timeline, zone, attribute);
	if (id == TIMELINE_NONE)
		return -ENOMEM;
	return is_named ? hash_index_add(&timeline->parameters, hash, id) : 0;
}

const struct zone_attribute *timeline_next_attribute(const struct timeline *timeline, uint32_t zone,
						     const struct zone_attribute *attribute)
{
	uint32_t last = timeline->zone.items[zone].last_attribute;
	const struct zone_attribute *items = timeline->attribute.items;

	if (last == TIMELINE_NONE || attribute == &items[last])
		return NULL;
	return &items[attribute ? attribute->next : items[last].next];
}

void timeline_set_system(struct timeline *timeline, const struct timeline_system *system)
{
	timeline->system = *system;
}

const struct timeline_system *timeline_get_system(const struct timeline *timeline)
{
	return &timeline->system;
}

/* ---- sources ------------------------------------------------------------------------------ */

static void set_source(struct timeline_source *target, const struct timeline_source *source)
{
	release_source(target);
	*target = *source;
}

void timeline_set_schedule(struct timeline *timeline, const struct timeline_source *source)
{
	set_source(&timeline->schedule, source);
}

void timeline_set_samples(struct timeline *timeline, const struct timeline_source *source)
{
	set_source(&timeline->samples, source);
}

void timeline_set_fills(struct timeline *timeline, const struct timeline_source *source)
{
	set_source(&timeline->fills, source);
}

void timeline_set_waits(struct timeline *timeline, const struct timeline_source *source)
{
	set_source(&timeline->waits, source);
}

void timeline_set_kworks(struct timeline *timeline, const struct timeline_source *source)
{
	set_source(&timeline->kworks, source);
}

void timeline_set_task_events(struct timeline *timeline, const struct timeline_source *source)
{
	set_source(&timeline->task_events, source);
}

void timeline_set_occupancies(struct timeline *timeline, const struct timeline_source *source)
{
	array_release(&timeline->occupancy);
	set_source(&timeline->occupancies, source);
}

const struct timeline_source *timeline_get_schedule(const struct timeline *timeline)
{
	return timeline->schedule.next ? &timeline->schedule : NULL;
}

const struct timeline_source *timeline_get_occupancies(const struct timeline *timeline)
{
	return timeline->occupancies.next ? &timeline->occupancies : NULL;
}

/* The next item behind `count` added ones; only the first of them moves the position. */
static int next_of_source(const struct timeline_source *source, uint64_t count, uint64_t *position,
			  void *ret)
{
	int err = 0;

	if (!source->next)
		return 0;
	if (*position == count)
		err = source->rewind(source->context);
	*position = count + 1;
	return err ? err : source->next(source->context, ret);
}

/*
 * The position counts the added items; the one behind means "in the source", whose own position is
 * the reader's. Therefore there can be only one reader at a time.
 */
int timeline_next_sample(const struct timeline *timeline, uint64_t *position,
			 struct timeline_sample *ret)
{
	if (*position >= timeline->sample.length)
		return next_of_source(&timeline->samples, timeline->sample.length, position, ret);
	*ret = timeline->sample.items[(*position)++];
	return 1;
}

int timeline_next_fill(const struct timeline *timeline, uint64_t *position, struct region_fill *ret)
{
	if (*position >= timeline->fill.length)
		return next_of_source(&timeline->fills, timeline->fill.length, position, ret);
	*ret = timeline->fill.items[(*position)++];
	return 1;
}

int timeline_next_wait(const struct timeline *timeline, uint64_t *position,
		       struct timeline_wait *ret)
{
	if (*position >= timeline->wait.length)
		return next_of_source(&timeline->waits, timeline->wait.length, position, ret);
	*ret = timeline->wait.items[(*position)++];
	return 1;
}

int timeline_next_kwork(const struct timeline *timeline, uint64_t *position,
			struct timeline_kwork *ret)
{
	if (*position >= timeline->kwork.length)
		return next_of_source(&timeline->kworks, timeline->kwork.length, position, ret);
	*ret = timeline->kwork.items[(*position)++];
	return 1;
}

int timeline_next_task_event(const struct timeline *timeline, uint64_t *position,
			     struct task_event *ret)
{
	if (*position >= timeline->task_event.length)
		return next_of_source(&timeline->task_events, timeline->task_event.length, position,
				      ret);
	*ret = timeline->task_event.items[(*position)++];
	return 1;
}

int timeline_next_occupancy(const struct timeline *timeline, uint64_t *position,
			    struct occupancy *ret)
{
	struct numbered_occupancy numbered;
	int got;

	if (*position < timeline->occupancy.length) {
		*ret = timeline->occupancy.items[(*position)++];
		return 1;
	}
	got = next_of_source(&timeline->occupancies, timeline->occupancy.length, position,
			     &numbered);
	if (got > 0)
		*ret = numbered.occupancy;
	return got;
}

bool timeline_is_empty(const struct timeline *timeline)
{
	return !timeline->zone.length && !timeline->counter_value.length &&
	       !timeline->task_event.length && !timeline->occupancy.length &&
	       !timeline->switches.length && !timeline->sample.length && !timeline->schedule.next &&
	       !timeline->samples.next && !timeline->occupancies.next &&
	       !timeline->task_events.next;
}
