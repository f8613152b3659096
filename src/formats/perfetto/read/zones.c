/*
 * Reading Perfetto traces: zones from the starts and ends of slices, when all are read.
 *
 * A timeline's zones are on stack regions. Our own traces have a track for each region, whose
 * slices tell which thread was on it when a zone started. Every other track with slices gets a
 * synthetic region (open_slices.h).
 *
 * An end with no slice open is skipped; slices that are open at the end of the trace end with its
 * last event.
 */
#include "formats/perfetto/read/zones.h"

#include <errno.h>
#include <stdlib.h>

#include "formats/open_slices.h"
#include "formats/perfetto/read/owners.h"
#include "formats/perfetto/read/regions.h"
#include "formats/zones/read_profile.h"

struct perfetto_finisher {
	struct perfetto_slices *slices;
	struct open_slices open; /* zones of the track */
	ARRAY(uint32_t) sorted;  /* events of the track */
	uint32_t num_regions;    /* invented regions */
};

/* ---- order -------------------------------------------------------------------------------- */

static int compare_events(const void *left, const void *right, void *context)
{
	const struct perfetto_event *events = context;
	uint32_t a = *(const uint32_t *)left;
	uint32_t b = *(const uint32_t *)right;

	if (events[a].time_ns != events[b].time_ns)
		return events[a].time_ns < events[b].time_ns ? -1 : 1;
	/* The longer of two complete events is around the other. */
	if (events[a].end_ns && events[b].end_ns && events[a].end_ns != events[b].end_ns)
		return events[a].end_ns > events[b].end_ns ? -1 : 1;
	return a < b ? -1 : a > b;
}

/*
 * Events with the same timestamp keep the order of the file. Sorts only tracks whose events are out
 * of order: most are not.
 */
static int sort_events(struct perfetto_finisher *finisher, struct perfetto_track *track)
{
	struct perfetto_event *events = finisher->slices->events.items;
	uint32_t following = PERFETTO_NONE;

	finisher->sorted.length = 0;
	for (uint32_t e = track->first_event; e != PERFETTO_NONE; e = events[e].next) {
		uint32_t *added = array_add(&finisher->sorted);

		if (!added)
			return -ENOMEM;
		*added = e;
	}
	qsort_r(finisher->sorted.items, finisher->sorted.length, sizeof(*finisher->sorted.items),
		compare_events, events);
	for (size_t i = finisher->sorted.length; i-- > 0;) {
		events[finisher->sorted.items[i]].next = following;
		following = finisher->sorted.items[i];
	}
	track->first_event = following;
	return 0;
}

/* ---- regions ------------------------------------------------------------------------------ */

/* A region for a track that is about none. */
static int make_region(struct perfetto_finisher *finisher, struct perfetto_track *track)
{
	struct perfetto_slices *slices = finisher->slices;
	const struct stack_region region = open_slices_get_region(finisher->num_regions++);
	uint32_t owner;
	int err = perfetto_owners_find_thread(slices->tracks, track, &owner);

	if (err)
		return err;
	if (track->name == STRING_EMPTY)
		track->name = timeline_get_thread(slices->trace->timeline, owner)->name;
	track->region_start = region.start;
	track->region_end = region.end;
	return perfetto_regions_use(slices, track);
}

/* ---- occupancies -------------------------------------------------------------------------- */

/*
 * The thread that a slice is named after: "worker [1001]". Our writer's names have the tid in
 * brackets; a name may hold brackets itself, so the last one counts.
 */
static int find_occupant(struct perfetto_slices *slices, const struct perfetto_track *track,
			 const struct perfetto_event *event, uint32_t *ret)
{
	const struct source_location *location =
		timeline_get_location(slices->trace->timeline, event->location);
	const char *name = timeline_get_string(slices->trace->timeline, location->name);
	const char *digits = strrchr(name, '[');
	unsigned long long tid = digits ? strtoull(digits + 1, NULL, 10) : 0;

	return perfetto_threads_find(slices->tracks->threads,
				     perfetto_owners_get_pid(slices->tracks, track), (uint32_t)tid,
				     event->time_ns, ret);
}

static int start_occupancy(struct perfetto_slices *slices, struct perfetto_track *track,
			   const struct perfetto_event *event)
{
	struct occupancy occupancy = {
		.start_ns = event->time_ns, .end_ns = event->time_ns, .region = track->item};
	int err = find_occupant(slices, track, event, &occupancy.thread);

	if (err)
		return err;
	for (uint32_t i = event->attribute; i;) {
		const struct zone_attribute *attribute = &slices->attributes.items[i - 1].attribute;
		const char *name = timeline_get_string(slices->trace->timeline, attribute->name);

		i = attribute->next;
		if (attribute->kind != ATTRIBUTE_PARAMETER || attribute->type != VALUE_U64)
			continue;
		if (string_equals(name, "sp"))
			occupancy.pointer = attribute->value.u64;
		else if (string_equals(name, "tid")) /* programs may have larger ones */
			timeline_get_thread(slices->trace->timeline, occupancy.thread)->tid =
				attribute->value.u64;
	}
	track->num_occupancies++;
	return timeline_add_occupancy(slices->trace->timeline, &occupancy, NULL);
}

/* Slices of a region's track do not nest: the next one ends the one before. */
static int finish_occupancies(struct perfetto_finisher *finisher, struct perfetto_track *track)
{
	struct perfetto_slices *slices = finisher->slices;
	uint32_t open = TIMELINE_NONE;
	uint32_t e = track->first_event;
	int err;

	if (e == PERFETTO_NONE)
		return 0;
	err = perfetto_regions_use(slices, track);
	if (err)
		return err;
	track->first_occupancy = timeline_count_occupancy(slices->trace->timeline);
	for (; e != PERFETTO_NONE; e = slices->events.items[e].next) {
		const struct perfetto_event *event = &slices->events.items[e];

		if (open != TIMELINE_NONE)
			timeline_get_occupancy(slices->trace->timeline, open)->end_ns =
				event->time_ns;
		open = TIMELINE_NONE;
		if (event->location == TIMELINE_NONE)
			continue;
		open = timeline_count_occupancy(slices->trace->timeline);
		err = start_occupancy(slices, track, event);
		if (err)
			return err;
	}
	if (open != TIMELINE_NONE)
		timeline_get_occupancy(slices->trace->timeline, open)->end_ns = slices->last_ns;
	return 0;
}

/* ---- zones -------------------------------------------------------------------------------- */

/* Attributes were linked while they were read, the last one first: reverse the list in place. */
static int add_attributes(struct perfetto_slices *slices, uint32_t zone, uint32_t last)
{
	struct perfetto_attribute *items = slices->attributes.items;
	uint32_t reversed = 0;
	int err = 0;

	while (last) {
		uint32_t before = items[last - 1].attribute.next;

		items[last - 1].attribute.next = reversed;
		reversed = last;
		last = before;
	}
	for (; reversed; reversed = items[reversed - 1].attribute.next) {
		err = timeline_add_attribute(slices->trace->timeline, zone,
					     &items[reversed - 1].attribute);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Find the thread on the region; *place moves on through its occupancies. Both are in order of
 * time, so one pass over the occupancies serves all zones.
 */
static bool find_on_region(const struct perfetto_slices *slices,
			   const struct perfetto_track *region, uint64_t time_ns, uint32_t *place,
			   uint32_t *ret)
{
	uint32_t end = region->first_occupancy + region->num_occupancies;

	while (*place + 1 < end &&
	       timeline_get_occupancy(slices->trace->timeline, *place + 1)->start_ns <= time_ns)
		++*place;
	if (!region->num_occupancies)
		return false;
	*ret = timeline_get_occupancy(slices->trace->timeline, *place)->thread;
	return true;
}

static int start_zone(struct perfetto_finisher *finisher, const struct perfetto_track *region,
		      const struct perfetto_event *event, uint32_t thread)
{
	struct timeline *timeline = finisher->slices->trace->timeline;
	const struct open_slice slice = {.end_ns = event->end_ns, .has_end = event->end_ns != 0};
	struct zone zone = {
		.start_ns = event->time_ns,
		.pointer = region->region_end - event->fill_bytes,
		.region = region->item,
		.thread = thread,
		.location = event->location,
	};
	struct open_slice *opened;
	int err = open_slices_start(&finisher->open, &slice, &opened);

	if (err)
		return err;
	if (region->role != PERFETTO_REGION)
		zone.pointer = open_slices_get_pointer(&finisher->open,
						       timeline_get_region(timeline, region->item));
	return open_slices_add_zone(&finisher->open, timeline, &zone);
}

/* Attributes may be in the end as well as in the start event. */
static int finish_slice(struct perfetto_finisher *finisher, const struct perfetto_track *region,
			const struct perfetto_event *event, uint32_t thread)
{
	struct perfetto_slices *slices = finisher->slices;
	uint32_t zone;
	int err;

	if (event->location == TIMELINE_NONE) {
		if (!open_slices_end(&finisher->open, &zone))
			return 0;
		timeline_get_zone(slices->trace->timeline, zone)->end_ns = event->time_ns;
		return add_attributes(slices, zone, event->attribute);
	}
	zone = timeline_count_zone(slices->trace->timeline);
	err = start_zone(finisher, region, event, thread);
	if (err)
		return err;
	return add_attributes(slices, zone, event->attribute);
}

static int finish_track(struct perfetto_finisher *finisher, struct perfetto_track *track)
{
	struct perfetto_slices *slices = finisher->slices;
	struct perfetto_track *region =
		track->role == PERFETTO_ZONES
			? perfetto_track_table_get_parent(slices->tracks, track)
			: track;
	uint32_t place = region->first_occupancy;
	uint32_t owner;
	uint32_t zone;
	int err;

	if (track->first_event == PERFETTO_NONE)
		return 0;
	err = region == track ? make_region(finisher, track) : perfetto_regions_use(slices, region);
	if (err)
		return err;
	for (uint32_t e = track->first_event; e != PERFETTO_NONE;
	     e = slices->events.items[e].next) {
		const struct perfetto_event *event = &slices->events.items[e];

		while (open_slices_leave(&finisher->open, event->time_ns))
			;
		if (event->location != TIMELINE_NONE &&
		    !find_on_region(slices, region, event->time_ns, &place, &owner))
			err = perfetto_owners_find_thread(slices->tracks, track, &owner);
		if (err)
			return err;
		err = finish_slice(finisher, region, event, owner);
		if (err)
			return err;
	}
	while (open_slices_take_unterminated(&finisher->open, &zone))
		timeline_get_zone(slices->trace->timeline, zone)->end_ns = slices->last_ns;
	return 0;
}

/* Regions first: a zone's thread is the one that is on its region at the time. */
static int finish_tracks(struct perfetto_finisher *finisher)
{
	struct perfetto_track_table *tracks = finisher->slices->tracks;
	int err = 0;

	array_for_each (&tracks->items, track) {
		if (track->is_unsorted)
			err = sort_events(finisher, track);
		if (err)
			return err;
	}
	array_for_each (&tracks->items, track) {
		if (track->role == PERFETTO_REGION)
			err = finish_occupancies(finisher, track);
		if (err)
			return err;
	}
	array_for_each (&tracks->items, track) {
		if (track->role != PERFETTO_REGION)
			err = finish_track(finisher, track);
		if (err)
			return err;
	}
	return 0;
}

int perfetto_slices_finish(struct perfetto_slices *slices)
{
	struct perfetto_finisher finisher = {.slices = slices};
	int err = finish_tracks(&finisher);

	open_slices_release(&finisher.open);
	array_release(&finisher.sorted);
	if (err)
		return err;
	slices->num_skipped += finisher.open.num_strays;
	if (finisher.open.num_unterminated)
		import_warn_counted(slices->trace->import, finisher.open.num_unterminated,
				    "{slice was|slices were} still open at the end");
	/* The next step takes memory, too. */
	array_release(&slices->events);
	array_release(&slices->attributes);
	return zones_profile_add(slices->trace->import, slices->trace->timeline,
				 slices->first_zone);
}

void perfetto_slices_release(struct perfetto_slices *slices)
{
	array_release(&slices->events);
	array_release(&slices->attributes);
	hash_index_release(&slices->locations);
	text_release(&slices->text);
}
