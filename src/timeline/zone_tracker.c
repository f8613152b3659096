/*
 * A zone is known by its pointer, an address on the stack. No two open zones of a process have the
 * same one, so it joins an end to its start. The pointer also gives the region, by the region map.
 *
 * A region has one chain of open zones, the innermost first, through zone.parent. A new zone is put
 * in front; an end must be of the innermost, or is refused: the reader handles lost ends, as it
 * knows its format.
 *
 * If time goes back on a region, its zones would not nest. Such zones go to further tracks of it:
 * regions whose addresses are those of the first, moved out of the range of programs. So they are
 * like any other for readers of the timeline. The zone has the moved pointer; the index of open
 * zones goes by the program's own.
 *
 * Beside zones there are two results. First, a zone that starts on a region shows that its thread
 * is there. When a region's outermost zone ends, its thread goes back to the calling region: a
 * fiber that is resumed from a zone of the thread's own stack, and is done. Second, the time of
 * each region's first start and last end gives the number of regions in use at a time, and their
 * bytes. These are collected and summed up at the end, because events of different regions may be
 * in any order.
 */
#include "timeline/zone_tracker.h"

#include <errno.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

struct zone_region_state {
	uint64_t last_ns;     /* time of its last event */
	uint32_t innermost;   /* open zone; TIMELINE_NONE */
	uint32_t called_from; /* region that its thread was on before the outermost zone started */
	uint64_t moved_by;    /* of a further track: its distance above the program's addresses */
};

/* A region's first zone starts, or its last one ends. */
struct use_change {
	uint64_t time_ns;
	uint64_t bytes; /* of a declared region */
	bool is_start;
};

struct zone_tracker {
	struct timeline *timeline;
	struct region_map *regions;
	struct occupancy_tracker *occupancies;
	ARRAY(struct zone_region_state) states; /* by region */
	ARRAY(struct use_change) changes;
	bool changes_are_unordered;
	bool has_high_pointers; /* of the program's own, where tracks would be */
	struct hash_index open; /* zone by pointer */
};

/* Programs have no addresses as high as that; those of tracks are distinguished by the bits above. */
#define TRACK_SHIFT 56

struct zone_tracker *zone_tracker_new(struct timeline *timeline, struct region_map *regions,
				      struct occupancy_tracker *occupancies)
{
	struct zone_tracker *tracker = calloc(1, sizeof(*tracker));

	if (!tracker)
		return NULL;
	tracker->timeline = timeline;
	tracker->regions = regions;
	tracker->occupancies = occupancies;
	return tracker;
}

void zone_tracker_free(struct zone_tracker *tracker)
{
	if (!tracker)
		return;
	array_release(&tracker->states);
	array_release(&tracker->changes);
	hash_index_release(&tracker->open);
	free(tracker);
}

static uint64_t hash_pointer(uint64_t pointer)
{
	return hash_mix(0, pointer);
}

/* As the program knows it. */
static uint64_t get_pointer(const struct zone_tracker *tracker, const struct zone *zone)
{
	return zone->pointer - tracker->states.items[zone->region].moved_by;
}

static bool is_zone(const void *owner, uint32_t item, const void *key)
{
	const struct zone_tracker *tracker = owner;

	return get_pointer(tracker, timeline_get_zone(tracker->timeline, item)) ==
	       *(const uint64_t *)key;
}

uint32_t zone_tracker_find_open(const struct zone_tracker *tracker, uint64_t pointer)
{
	return hash_index_find(&tracker->open, hash_pointer(pointer), is_zone, tracker, &pointer);
}

size_t zone_tracker_count_open(const struct zone_tracker *tracker)
{
	return tracker->open.num_items;
}

static struct zone_region_state *find_state(struct zone_tracker *tracker, uint32_t region)
{
	while (tracker->states.length <= region) {
		struct zone_region_state *state = array_add(&tracker->states);

		if (!state)
			return NULL;
		*state = (struct zone_region_state){.innermost = TIMELINE_NONE,
						    .called_from = TIMELINE_NONE};
	}
	return &tracker->states.items[region];
}

static int note_use(struct zone_tracker *tracker, uint32_t region, uint64_t time_ns, bool is_start)
{
	const struct stack_region *used = timeline_get_region(tracker->timeline, region);
	const struct timeline_consumer *consumer = timeline_get_consumer(tracker->timeline);
	size_t count = tracker->changes.length;
	struct use_change *change;

	if (tracker->states.items[region].moved_by)
		return 0; /* the memory is that of another region */
	/* A consumer sums up by itself: its items are too many to be kept here. */
	if (consumer)
		return consumer->change_use(consumer->context, region, time_ns, is_start);
	change = array_add(&tracker->changes);
	if (!change)
		return -ENOMEM;
	change->time_ns = time_ns;
	change->bytes = used->kind == REGION_DECLARED ? used->end - used->start : 0;
	change->is_start = is_start;
	if (count && change[-1].time_ns > time_ns)
		tracker->changes_are_unordered = true;
	return 0;
}

/*
 * The region whose code has called into this one: the one that the thread was on, inside a zone of
 * its own.
 */
static uint32_t find_caller(const struct zone_tracker *tracker, uint32_t thread)
{
	uint32_t region = occupancy_tracker_find_region(tracker->occupancies, thread);
	uint32_t innermost;

	if (region >= tracker->states.length)
		return TIMELINE_NONE;
	innermost = tracker->states.items[region].innermost;
	if (innermost == TIMELINE_NONE ||
	    timeline_get_zone(tracker->timeline, innermost)->thread != thread)
		return TIMELINE_NONE;
	return region;
}

static int emit_start(struct zone_tracker *tracker, uint32_t id)
{
	const struct timeline_consumer *consumer = timeline_get_consumer(tracker->timeline);

	return consumer ? consumer->start_zone(consumer->context, id) : 0;
}

/* Everything that can fail for want of memory is before the changes of state. */
static int push_zone(struct zone_tracker *tracker, struct zone_region_state *state,
		     struct zone *zone)
{
	uint32_t caller = find_caller(tracker, zone->thread);
	uint32_t id;
	int err = 0;

	zone->parent = state->innermost;
	if (zone->parent == TIMELINE_NONE) {
		err = note_use(tracker, zone->region, zone->start_ns, true);
		state->called_from = caller;
	}
	if (err)
		return err;
	err = timeline_add_zone(tracker->timeline, zone, &id);
	if (err)
		return err;
	err = hash_index_add(&tracker->open, hash_pointer(get_pointer(tracker, zone)), id);
	if (err)
		return err;
	/*
	 * The zone is open from here on, whatever the consumer or the occupancy tracker returns:
	 * their errors end the work.
	 */
	state->innermost = id;
	state->last_ns = zone->start_ns;
	err = emit_start(tracker, id);
	return err ? err
		   : occupancy_tracker_enter(tracker->occupancies, zone->thread, zone->region,
					     zone->pointer, zone->start_ns);
}

/* Whether the zone would start before the last event of its region. */
static bool is_late(const struct zone_tracker *tracker, uint32_t region, uint64_t time_ns)
{
	return region < tracker->states.length && time_ns < tracker->states.items[region].last_ns;
}

/*
 * Until it ends, a zone's end is its start, so that no duration in a truncated timeline is
 * negative.
 */
static int start_on_region(struct zone_tracker *tracker, const struct zone *zone, uint64_t moved_by)
{
	struct zone_region_state *state = find_state(tracker, zone->region);
	struct zone added = *zone;

	if (!state)
		return -ENOMEM;
	/* A program with such high pointers of its own gets no tracks there, nor the reverse. */
	if (state->moved_by != moved_by && (state->last_ns || state->innermost != TIMELINE_NONE))
		return -ERANGE;
	if (is_late(tracker, zone->region, zone->start_ns))
		return -ERANGE;
	state->moved_by = moved_by;
	added.end_ns = zone->start_ns;
	added.name = timeline_get_location(tracker->timeline, zone->location)->name;
	added.last_attribute = TIMELINE_NONE;
	return push_zone(tracker, state, &added);
}

/* A region without bounds does not grow for a zone that is too late for it. */
int zone_tracker_start(struct zone_tracker *tracker, uint64_t pointer, uint32_t thread,
		       uint64_t time_ns, uint32_t location)
{
	struct zone zone = {
		.start_ns = time_ns, .pointer = pointer, .thread = thread, .location = location};
	bool is_inside = false;

	if (zone_tracker_find_open(tracker, pointer) != TIMELINE_NONE)
		return -EBUSY;
	tracker->has_high_pointers |= pointer >> TRACK_SHIFT != 0;
	if (region_map_find_known(tracker->regions, pointer, &zone.region)) {
		if (is_late(tracker, zone.region, time_ns))
			return -ERANGE;
		is_inside = timeline_get_region(tracker->timeline, zone.region)->start <= pointer;
	}
	if (!is_inside && region_map_find(tracker->regions, pointer, &zone.region))
		return -ENOMEM;
	return start_on_region(tracker, &zone, 0);
}

/* "worker, track 2" */
static int name_track(struct zone_tracker *tracker, uint32_t region, unsigned int number,
		      uint32_t *ret)
{
	_cleanup_(text_release) struct text name = {0};
	const struct string_table *strings = timeline_get_strings(tracker->timeline);
	uint32_t string = timeline_get_region(tracker->timeline, region)->name;

	text_append(&name, string_table_get(strings, string),
		    string_table_get_length(strings, string));
	text_printf(&name, ", track %u", number);
	return name.failed ? -ENOMEM
			   : timeline_add_bytes(tracker->timeline, name.data, name.length, ret);
}

/*
 * Make a further track of a region: declared, if that is, else found by its pointers, as that was.
 * -ERANGE if the program itself has declared such addresses.
 */
static int make_track(struct zone_tracker *tracker, uint32_t region, unsigned int number,
		      uint64_t pointer, uint64_t moved_by, uint32_t *ret)
{
	struct stack_region known = *timeline_get_region(tracker->timeline, region);
	uint32_t name;
	int err = name_track(tracker, region, number, &name);

	if (err)
		return err;
	if (known.kind == REGION_DECLARED) {
		if (known.end >> TRACK_SHIFT)
			return -ERANGE;
		err = region_map_declare(tracker->regions, known.start + moved_by,
					 known.end + moved_by, name, ret);
		return err == -EEXIST ? -ERANGE : err;
	}
	err = region_map_find(tracker->regions, pointer + moved_by, ret);
	if (err)
		return err;
	timeline_get_region(tracker->timeline, *ret)->name = name;
	return 0;
}

int zone_tracker_start_on_track(struct zone_tracker *tracker, uint64_t pointer, uint32_t thread,
				uint64_t time_ns, uint32_t location, bool *ret_is_new)
{
	struct zone zone = {.start_ns = time_ns, .thread = thread, .location = location};
	uint32_t region;
	int err;

	if (pointer >> TRACK_SHIFT || !region_map_find_known(tracker->regions, pointer, &region))
		return -ERANGE;
	for (unsigned int number = 2; number <= ZONE_TRACKS_MAX; number++) {
		uint64_t moved_by = (uint64_t)(number - 1) << TRACK_SHIFT;

		zone.pointer = pointer + moved_by;
		*ret_is_new = !region_map_find_known(tracker->regions, zone.pointer, &zone.region);
		if (*ret_is_new) {
			/*
			 * Its zones could be taken for those of the track, whose bounds are written
			 * first.
			 */
			if (tracker->has_high_pointers)
				return -ERANGE;
			err = make_track(tracker, region, number, pointer, moved_by, &zone.region);
			if (err)
				return err;
			return start_on_region(tracker, &zone, moved_by);
		}
		if (is_late(tracker, zone.region, time_ns))
			continue;
		/* A track without bounds grows as its region does. */
		err = region_map_find(tracker->regions, zone.pointer, &zone.region);
		return err ? err : start_on_region(tracker, &zone, moved_by);
	}
	return -ERANGE;
}

/*
 * The outermost zone of a region has ended. If its thread was inside a zone of its own on another
 * region before, it is back there, unless another thread is.
 */
static int return_to_caller(struct zone_tracker *tracker, uint32_t region, uint32_t thread,
			    uint64_t time_ns)
{
	uint32_t caller = tracker->states.items[region].called_from;
	uint32_t innermost;
	const struct zone *zone;

	if (caller == TIMELINE_NONE || caller == region ||
	    occupancy_tracker_find_thread(tracker->occupancies, region) != thread ||
	    occupancy_tracker_find_thread(tracker->occupancies, caller) != TIMELINE_NONE)
		return 0;
	innermost = tracker->states.items[caller].innermost;
	if (innermost == TIMELINE_NONE)
		return 0;
	zone = timeline_get_zone(tracker->timeline, innermost);
	if (zone->thread != thread)
		return 0;
	return occupancy_tracker_enter(tracker->occupancies, thread, caller, zone->pointer,
				       time_ns);
}

/* Forget a zone that the consumer has taken. */
static int hand_over(struct zone_tracker *tracker, uint32_t id)
{
	const struct timeline_consumer *consumer = timeline_get_consumer(tracker->timeline);
	int err = consumer ? consumer->end_zone(consumer->context, id) : 0;

	return err || !consumer ? err : timeline_remove_zone(tracker->timeline, id);
}

/*
 * The consumer gets the zone while the one around it is still known as its parent. The zone may be
 * read afterwards although it is removed: its id is free, but nothing is added meanwhile that could
 * take it.
 */
static int pop_zone(struct zone_tracker *tracker, uint32_t id, uint64_t time_ns)
{
	struct zone *zone = timeline_get_zone(tracker->timeline, id);
	struct zone_region_state *state = &tracker->states.items[zone->region];
	int err;

	zone->end_ns = time_ns;
	err = hand_over(tracker, id);
	if (err)
		return err;
	state->innermost = zone->parent;
	state->last_ns = time_ns;
	hash_index_remove(&tracker->open, hash_pointer(get_pointer(tracker, zone)), id);
	occupancy_tracker_touch(tracker->occupancies, zone->region, time_ns);
	if (zone->parent != TIMELINE_NONE)
		return 0;
	err = note_use(tracker, zone->region, time_ns, false);
	return err ? err : return_to_caller(tracker, zone->region, zone->thread, time_ns);
}

int zone_tracker_end(struct zone_tracker *tracker, uint64_t pointer, uint64_t time_ns)
{
	uint32_t id = zone_tracker_find_open(tracker, pointer);
	const struct zone_region_state *state;

	if (id == TIMELINE_NONE)
		return -ENOENT;
	state = &tracker->states.items[timeline_get_zone(tracker->timeline, id)->region];
	if (state->innermost != id)
		return -EINVAL;
	return time_ns < state->last_ns ? -ERANGE : pop_zone(tracker, id, time_ns);
}

/* End the innermost zone of a region, not before the last event there. */
static int pop_innermost(struct zone_tracker *tracker, uint32_t region, uint64_t time_ns)
{
	const struct zone_region_state *state = &tracker->states.items[region];

	return pop_zone(tracker, state->innermost,
			time_ns > state->last_ns ? time_ns : state->last_ns);
}

int zone_tracker_end_inside(struct zone_tracker *tracker, uint64_t pointer, uint64_t time_ns,
			    uint64_t *ret_num)
{
	uint32_t id = zone_tracker_find_open(tracker, pointer);
	uint32_t region;

	*ret_num = 0;
	if (id == TIMELINE_NONE)
		return 0;
	region = timeline_get_zone(tracker->timeline, id)->region;
	while (tracker->states.items[region].innermost != id) {
		int err = pop_innermost(tracker, region, time_ns);

		if (err)
			return err;
		++*ret_num;
	}
	return 0;
}

static int compare_changes(const void *left, const void *right)
{
	const struct use_change *a = left;
	const struct use_change *b = right;

	return (a->time_ns > b->time_ns) - (a->time_ns < b->time_ns);
}

/* Running sums over the changes; those of one moment are one step. */
static int add_uses(struct zone_tracker *tracker, uint32_t process)
{
	const struct timeline_consumer *consumer = timeline_get_consumer(tracker->timeline);
	struct regions_in_use use = {.process = process};
	size_t count = tracker->changes.length;

	if (consumer)
		return consumer->finish_uses(consumer->context, process);
	if (tracker->changes_are_unordered)
		qsort(tracker->changes.items, count, sizeof(struct use_change), compare_changes);
	for (size_t i = 0; i < count; i++) {
		const struct use_change *change = &tracker->changes.items[i];

		use.time_ns = change->time_ns;
		use.number += change->is_start ? 1u : -1u;
		use.bytes += change->is_start ? change->bytes : -change->bytes;
		if (i + 1 < count && change[1].time_ns == change->time_ns)
			continue;
		if (timeline_add_in_use(tracker->timeline, &use, NULL))
			return -ENOMEM;
	}
	return 0;
}

/* A region's last event may be later than the given end; no zone may end before it. */
int zone_tracker_finish(struct zone_tracker *tracker, uint64_t time_ns)
{
	for (uint32_t region = 0; region < tracker->states.length; region++) {
		struct zone_region_state *state = &tracker->states.items[region];

		while (state->innermost != TIMELINE_NONE) {
			int err = pop_innermost(tracker, region, time_ns);

			if (err)
				return err;
		}
	}
	return add_uses(tracker, region_map_get_process(tracker->regions));
}
