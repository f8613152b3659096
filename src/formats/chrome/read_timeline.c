/*
 * Reading traces of Chrome: zones and counters for a timeline.
 *
 * Every track gets a synthetic stack region for its zones (open_slices.h). The details of a zone,
 * beside its times, are read from its event in the input. So they need not be kept until all slices
 * are nested.
 *
 * The timeline has ids of its own for processes, locations and tracks; maps from the ids of the
 * profile to those of the timeline are filled as they are needed.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/intern.h"
#include "formats/chrome/read_slices.h"
#include "formats/chrome/read_timeline.h"
#include "formats/open_slices.h"
#include "timeline/timeline.h"

#define MAX_PARAMETERS 32u /* of a zone */

struct chrome_counter {
	uint32_t process; /* of the profile */
	uint32_t name;    /* string of the timeline */
	uint32_t track;
};
INTERN_TABLE(chrome_counters, struct chrome_counter, process, name);

struct chrome_track_region {
	uint32_t thread;
	uint32_t region;
};

struct chrome_timeline {
	struct import *import;
	struct chrome_tracks *tracks;
	struct timeline *timeline;
	/* The timeline's ids, by the profile's and by track; TIMELINE_NONE: not there yet. */
	ARRAY(uint32_t) processes;
	ARRAY(uint32_t) locations;
	ARRAY(struct chrome_track_region) track_regions;
	struct chrome_counters counters;
	struct text name;
};

struct chrome_timeline *chrome_timeline_new(struct import *import, struct chrome_tracks *tracks)
{
	struct chrome_timeline *timeline = calloc(1, sizeof(*timeline));

	if (!timeline)
		return NULL;
	timeline->import = import;
	timeline->tracks = tracks;
	timeline->timeline = import->timeline;
	return timeline;
}

void chrome_timeline_free(struct chrome_timeline *timeline)
{
	if (!timeline)
		return;
	array_release(&timeline->processes);
	array_release(&timeline->locations);
	array_release(&timeline->track_regions);
	chrome_counters_release(&timeline->counters);
	text_release(&timeline->name);
	free(timeline);
}

/* ---- from the profile to the timeline ---- */

static int copy_string(struct chrome_timeline *timeline, uint32_t string, uint32_t *ret)
{
	return profile_copy_string(timeline->import->profile, string,
				   timeline_get_strings(timeline->timeline), ret);
}

/* Its name may be anywhere in the input: chrome_timeline_finish() sets it. */
static int find_process(struct chrome_timeline *timeline, uint32_t id, uint32_t *ret)
{
	const struct profile *profile = timeline->import->profile;
	struct timeline_process process = {.pid = profile_get_process(profile, id)->pid};
	uint32_t *known;
	int err = 0;

	while (timeline->processes.length <= id) {
		known = array_add(&timeline->processes);
		if (!known)
			return -ENOMEM;
		*known = TIMELINE_NONE;
	}
	known = &timeline->processes.items[id];
	if (*known == TIMELINE_NONE)
		err = timeline_add_process(timeline->timeline, &process, known);
	*ret = *known;
	return err;
}

int chrome_timeline_finish(struct chrome_timeline *timeline)
{
	const struct profile *profile = timeline->import->profile;

	for (uint32_t i = 0; i < timeline->processes.length; i++) {
		uint32_t id = timeline->processes.items[i];
		uint32_t name;
		int err;

		if (id == TIMELINE_NONE)
			continue;
		err = copy_string(timeline, profile_get_process(profile, i)->comm, &name);
		if (err)
			return err;
		timeline_get_process(timeline->timeline, id)->name = name;
	}
	return 0;
}

static int find_location(struct chrome_timeline *timeline, uint32_t id, uint32_t *ret)
{
	const struct profile *profile = timeline->import->profile;
	const struct location *location = profile_get_location(profile, id);
	struct source_location added = {0};
	uint32_t *known;
	int err;

	while (timeline->locations.length <= id) {
		known = array_add(&timeline->locations);
		if (!known)
			return -ENOMEM;
		*known = TIMELINE_NONE;
	}
	known = &timeline->locations.items[id];
	if (*known == TIMELINE_NONE) {
		err = copy_string(timeline, profile_get_frame(profile, location->first_frame)->name,
				  &added.name);
		if (err)
			return err;
		err = timeline_add_location(timeline->timeline, &added, known);
		if (err)
			return err;
	}
	*ret = *known;
	return 0;
}

static int add_track_region(struct chrome_timeline *timeline, uint32_t id,
			    struct chrome_track_region *track_region)
{
	const struct chrome_track *track = &timeline->tracks->items.items[id];
	/* An async track has an id of its own kind, which is not a tid. */
	struct timeline_thread thread = {.tid = track->is_async ? 0 : track->id};
	struct stack_region region = open_slices_get_region(id);
	int err = find_process(timeline, track->process, &thread.process);

	if (err)
		return err;
	err = copy_string(timeline, track->name, &thread.name);
	if (err)
		return err;
	region.process = thread.process;
	region.name = thread.name;
	err = timeline_add_thread(timeline->timeline, &thread, &track_region->thread);
	if (err)
		return err;
	return timeline_add_region(timeline->timeline, &region, &track_region->region);
}

static int find_track_region(struct chrome_timeline *timeline, uint32_t track,
			     struct chrome_track_region *ret)
{
	struct chrome_track_region *track_region;
	int err = 0;

	while (timeline->track_regions.length <= track) {
		track_region = array_add(&timeline->track_regions);
		if (!track_region)
			return -ENOMEM;
		track_region->region = TIMELINE_NONE;
	}
	track_region = &timeline->track_regions.items[track];
	if (track_region->region == TIMELINE_NONE)
		err = add_track_region(timeline, track, track_region);
	*ret = *track_region;
	return err;
}

/* ---- details of an event ---- */

/* The value of a token. *ret_has_value is false when it is an object, a list or nothing. */
static int get_value(struct chrome_timeline *timeline, const struct json *json,
		     enum json_token token, struct zone_attribute *ret, bool *ret_has_value)
{
	*ret_has_value = true;
	switch (token) {
	case JSON_STRING:
		ret->type = VALUE_STRING;
		return timeline_add_bytes(timeline->timeline, json->text, json->length,
					  &ret->value.string);
	/* Whole numbers stay exact: many are ids and addresses, which a double would round. */
	case JSON_NUMBER:
		ret->type = VALUE_U64;
		if (json_get_u64(json, &ret->value.u64))
			return 0;
		ret->type = VALUE_DOUBLE;
		ret->value.number = json_get_double(json);
		*ret_has_value = isfinite(ret->value.number);
		return 0;
	case JSON_TRUE:
	case JSON_FALSE:
		ret->type = VALUE_BOOL;
		ret->value.boolean = token == JSON_TRUE;
		return 0;
	default:
		*ret_has_value = false;
		return 0;
	}
}

static int add_parameters(struct chrome_timeline *timeline, struct json *json, uint32_t zone)
{
	enum json_token token = json_next(json);
	unsigned int count = 0;

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (json_next(json) == JSON_KEY) {
		struct zone_attribute attribute = {.kind = ATTRIBUTE_PARAMETER};
		bool has_value;
		int err = timeline_add_bytes(timeline->timeline, json->text, json->length,
					     &attribute.name);

		if (err)
			return err;
		token = json_next(json);
		/* A bound for hostile traces: every event could have as many as its size allows. */
		if (count >= MAX_PARAMETERS) {
			json_skip(json, token);
			continue;
		}
		err = get_value(timeline, json, token, &attribute, &has_value);
		if (err)
			return err;
		if (has_value) {
			err = timeline_add_attribute(timeline->timeline, zone, &attribute);
			if (err)
				return err;
			count++;
		}
		json_skip(json, token);
	}
	return 0;
}

/* "blink,devtools" */
static int add_categories(struct chrome_timeline *timeline, struct json *json, uint32_t zone)
{
	struct zone_attribute attribute = {.kind = ATTRIBUTE_CATEGORY, .type = VALUE_STRING};
	const char *text;
	size_t length;
	int err;

	json_take_string(json, &timeline->name);
	if (timeline->name.failed)
		return -ENOMEM;
	text = timeline->name.length ? timeline->name.data : "";
	for (unsigned int i = 0; *text && i < MAX_PARAMETERS; i++) {
		length = strcspn(text, ",");
		if (length) {
			err = timeline_add_bytes(timeline->timeline, text, length,
						 &attribute.value.string);
			if (err)
				return err;
			err = timeline_add_attribute(timeline->timeline, zone, &attribute);
			if (err)
				return err;
		}
		text += length + (text[length] == ',');
	}
	return 0;
}

static int add_attributes(struct chrome_timeline *timeline, size_t offset, uint32_t zone)
{
	_cleanup_(json_release) struct json json = chrome_open(timeline->import, offset);

	if (json_next(&json) != JSON_OBJECT)
		return 0;
	while (json_next(&json) == JSON_KEY) {
		int err = 0;

		if (json_is(&json, "cat"))
			err = add_categories(timeline, &json, zone);
		else if (json_is(&json, "args"))
			err = add_parameters(timeline, &json, zone);
		else
			json_skip_value(&json);
		if (err)
			return err;
	}
	return 0;
}

int chrome_timeline_add_attribute(struct chrome_timeline *timeline, uint32_t zone,
				  const struct zone_attribute *attribute)
{
	return timeline_add_attribute(timeline->timeline, zone, attribute);
}

int chrome_timeline_add(struct chrome_timeline *timeline, const struct chrome_slice *slice,
			struct open_slices *open)
{
	struct zone zone = {.start_ns = slice->start_ns};
	struct chrome_track_region track_region;
	int err = find_track_region(timeline, slice->track, &track_region);

	if (err)
		return err;
	err = find_location(timeline, slice->location, &zone.location);
	if (err)
		return err;
	zone.thread = track_region.thread;
	zone.region = track_region.region;
	zone.pointer = open_slices_get_pointer(
		open, timeline_get_region(timeline->timeline, track_region.region));
	err = open_slices_add_zone(open, timeline->timeline, &zone);
	if (err)
		return err;
	return add_attributes(timeline, slice->offset, timeline_count_zone(timeline->timeline) - 1);
}

/* ---- counters ---- */

/* A counter is named by the event and, unless it is just called "value", by the member. */
static int find_counter(struct chrome_timeline *timeline, const struct chrome_event *event,
			const struct json *json, uint32_t track, uint32_t *ret)
{
	struct chrome_counter counter = {.process = timeline->tracks->items.items[track].process};
	struct counter_track added = {0};
	uint32_t id;
	int err;

	text_truncate(&timeline->name, 0);
	text_append(&timeline->name, event->name.data, event->name.length);
	if (!json_is(json, "value")) {
		text_append_char(&timeline->name, ' ');
		text_append(&timeline->name, json->text, json->length);
	}
	if (timeline->name.failed)
		return -ENOMEM;
	err = timeline_add_bytes(timeline->timeline, timeline->name.data, timeline->name.length,
				 &counter.name);
	if (err)
		return err;
	id = chrome_counters_find(&timeline->counters, &counter);
	if (id != HASH_INDEX_NONE) {
		*ret = timeline->counters.items[id].track;
		return 0;
	}
	added.name = counter.name;
	err = find_process(timeline, counter.process, &added.process);
	if (err)
		return err;
	err = timeline_add_counter_track(timeline->timeline, &added, &counter.track);
	if (err)
		return err;
	*ret = counter.track;
	return chrome_counters_add(&timeline->counters, &counter, &id);
}

static int add_counter(struct chrome_timeline *timeline, const struct chrome_event *event,
		       struct json *json, uint32_t track)
{
	struct counter_value value = {.time_ns = event->ts_ns, .type = VALUE_DOUBLE};
	enum json_token token;
	uint64_t number;
	int err = find_counter(timeline, event, json, track, &value.track);

	if (err)
		return err;
	token = json_next(json);
	if (!json_is_number(json, token)) {
		json_skip(json, token);
		return 0;
	}
	if (json_get_u64(json, &number) && number <= INT64_MAX) {
		value.type = VALUE_I64;
		value.value.i64 = (int64_t)number;
	} else {
		value.value.number = json_get_double(json);
		if (!isfinite(value.value.number))
			return 0;
	}
	return timeline_add_counter_value(timeline->timeline, &value, NULL);
}

int chrome_timeline_add_counters(struct chrome_timeline *timeline, const struct chrome_event *event)
{
	_cleanup_(json_release) struct json json = {0};
	uint32_t track;
	int err = chrome_tracks_find(timeline->tracks, event, false, &track);

	if (err || track == HASH_INDEX_NONE || event->args == CHROME_NOWHERE || !event->has_ts)
		return err;
	json = chrome_open(timeline->import, event->args);
	if (json_next(&json) != JSON_OBJECT)
		return 0;
	while (json_next(&json) == JSON_KEY) {
		err = add_counter(timeline, event, &json, track);
		if (err)
			return err;
	}
	return 0;
}
