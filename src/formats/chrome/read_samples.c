/*
 * Reading traces of Chrome: samples. V8's CPU profiles come in chunks, each an event; samples of
 * other profilers name a stack frame, whose parents are its stack, or list the names of theirs.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/read.h"

#define SAMPLES_METRIC "samples"
#define MAX_METRICS    64 /* that a trace may name */
#define MAX_PROFILES   1000

/* ---- CPU profiles ---- */

bool chrome_is_chunk(const struct chrome_reader *reader)
{
	return string_equals(reader->name.data, "Profile") ||
	       string_equals(reader->name.data, "ProfileChunk") ||
	       string_equals(reader->name.data, "CpuProfile");
}

/* The thread is that of the first event: chunks come from a thread of the profiler's own. */
static int find_profile(struct chrome_reader *reader, const struct chrome_event *event,
			struct chrome_profile **ret)
{
	struct chrome_profile *found;
	uint32_t id;
	uint32_t track;
	int err = chrome_add_string(reader, &reader->id, &id);

	/* There are few: one a thread. */
	for (size_t i = reader->profiles.length; !err && i-- > 0;) {
		*ret = &reader->profiles.items[i];
		if ((*ret)->id == id && (*ret)->pid == event->pid)
			return 0;
	}
	if (!err)
		err = chrome_find_track(reader, event, false, &track);
	if (err)
		return err;
	*ret = NULL;
	if (track == HASH_INDEX_NONE)
		return 0;
	if (reader->profiles.length >= MAX_PROFILES) {
		reader->has_too_many = true;
		return 0;
	}
	found = array_add(&reader->profiles);
	if (!found)
		return -ENOMEM;
	found->id = id;
	found->pid = event->pid;
	found->track = track;
	found->nodes.import = reader->import;
	*ret = found;
	return 0;
}

static int read_cpu_profile(struct chrome_cpu_nodes *nodes, struct json *json,
			    struct chrome_cpu_sample_lists *lists)
{
	enum json_token token = json_next(json);
	int err = 0;

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (!err && json_next(json) == JSON_KEY)
		err = chrome_cpu_nodes_read_member(nodes, json, lists);
	return err;
}

static int read_data(struct chrome_cpu_nodes *nodes, struct json *json,
		     struct chrome_cpu_sample_lists *lists)
{
	enum json_token token = json_next(json);
	int err = 0;

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (!err && json_next(json) == JSON_KEY) {
		if (json_is(json, "cpuProfile"))
			err = read_cpu_profile(nodes, json, lists);
		else
			err = chrome_cpu_nodes_read_member(nodes, json, lists);
	}
	return err;
}

int chrome_read_chunk(struct chrome_reader *reader, const struct chrome_event *event)
{
	struct chrome_cpu_sample_lists lists = {0};
	struct chrome_profile *profile;
	struct json json;
	int err;

	if (event->args == CHROME_NOWHERE)
		return 0;
	err = find_profile(reader, event, &profile);
	if (err || !profile)
		return err;
	json = chrome_open(reader, event->args);
	if (json_next(&json) == JSON_OBJECT) {
		while (!err && json_next(&json) == JSON_KEY) {
			if (json_is(&json, "data"))
				err = read_data(&profile->nodes, &json, &lists);
			else
				json_skip_value(&json);
		}
	}
	json_release(&json);
	return err ? err : chrome_cpu_nodes_read_samples(&profile->nodes, &lists);
}

static int finish_profiles(struct chrome_reader *reader)
{
	int err = 0;

	for (size_t i = 0; !err && i < reader->profiles.length; i++) {
		struct chrome_profile *profile = &reader->profiles.items[i];
		uint32_t thread;

		if (!profile->nodes.nodes.length)
			continue;
		err = chrome_get_thread(reader, profile->track, &thread);
		if (!err)
			err = chrome_cpu_nodes_finish(&profile->nodes, thread);
	}
	return err;
}

/* ---- stack frames ---- */

static int add_location(struct chrome_reader *reader, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {0};
	int err = chrome_add_string(reader, &reader->category, &frame.module);

	if (!err)
		err = profile_add_frame_name(profile, reader->name.data, reader->name.length,
					     &frame.name);
	frame.full_name = frame.name;
	return err ? err : profile_add_frame_location(profile, &frame, ret);
}

/* After the key, "5": {"category": "libc.so", "name": "main", "parent": "1"} */
static int read_frame(struct chrome_reader *reader, struct json *json)
{
	size_t offset = json->offset;
	bool has_parent = false;
	enum json_token token;
	uint32_t location;
	uint32_t parent = 0;
	uint64_t parent_id;
	uint32_t id;
	int err = string_table_add(profile_get_strings(reader->import->profile), json->text,
				   json->length, &id);

	text_truncate(&reader->name, 0);
	text_append_string(&reader->name, "");
	text_truncate(&reader->category, 0);
	token = json_next(json);
	if (token != JSON_OBJECT)
		json_skip(json, token);
	while (!err && token == JSON_OBJECT && json_next(json) == JSON_KEY) {
		if (json_is(json, "name")) {
			json_take_string(json, &reader->name);
		} else if (json_is(json, "category")) {
			json_take_string(json, &reader->category);
		} else if (json_is(json, "parent")) {
			chrome_take_id(json, &reader->id);
			has_parent = reader->id.length;
			err = chrome_add_string(reader, &reader->id, &parent);
		} else {
			json_skip_value(json);
		}
	}
	if (!err)
		err = add_location(reader, &location);
	parent_id = parent;
	return err ? err
		   : chrome_cpu_nodes_add(&reader->frames, id, has_parent ? &parent_id : NULL,
					  location, offset);
}

static int read_frames(struct chrome_reader *reader)
{
	struct json json;
	int err = 0;

	reader->frames.import = reader->import;
	if (reader->frames_place == CHROME_NOWHERE)
		return 0;
	json = chrome_open(reader, reader->frames_place);
	if (json_next(&json) == JSON_OBJECT)
		while (!err && json_next(&json) == JSON_KEY)
			err = read_frame(reader, &json);
	json_release(&json);
	return err ? err : chrome_cpu_nodes_place(&reader->frames);
}

/* ---- samples ---- */

/* ["main", "f"]: the outermost comes first. */
static int read_stack(struct chrome_reader *reader, size_t place, uint32_t *ret)
{
	struct json json = chrome_open(reader, place);
	enum json_token token = json_next(&json);
	int err = 0;

	*ret = STACK_EMPTY;
	text_truncate(&reader->category, 0);
	while (!err && token == JSON_ARRAY) {
		enum json_token level = json_next(&json);
		uint32_t location;

		if (level == JSON_ARRAY_END || level == JSON_FAILED)
			break;
		text_truncate(&reader->name, 0);
		if (level == JSON_STRING || level == JSON_NUMBER)
			text_append(&reader->name, json.text, json.length);
		json_skip(&json, level);
		err = reader->name.failed ? -ENOMEM : add_location(reader, &location);
		if (!err)
			err = profile_add_stack(reader->import->profile, *ret, location, ret);
	}
	json_release(&json);
	return err;
}

static int add_sample(struct chrome_reader *reader, const struct chrome_sample *sample)
{
	struct chrome_sample *added = array_add(&reader->samples);

	if (!added)
		return -ENOMEM;
	*added = *sample;
	return 0;
}

/* What the sample is one of, if it says so. */
static int find_metric(struct chrome_reader *reader, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	bool is_named = reader->name.length && profile_count_metrics(profile) < MAX_METRICS;

	return profile_add_metric(profile, is_named ? reader->name.data : SAMPLES_METRIC, "count",
				  ret);
}

int chrome_read_sample(struct chrome_reader *reader, const struct chrome_event *event)
{
	struct chrome_sample sample = {.weight = 1, .is_placed = event->stack != CHROME_NOWHERE};
	int err = 0;

	if (!sample.is_placed && !reader->frame.length)
		return reader_skip_byte(reader->import, event->offset, "a sample without stack");
	err = chrome_find_track(reader, event, false, &sample.track);
	if (err || sample.track == HASH_INDEX_NONE)
		return err;
	err = sample.is_placed ? read_stack(reader, event->stack, &sample.frame)
			       : chrome_add_string(reader, &reader->frame, &sample.frame);
	text_truncate(&reader->name, 0); /* what such events are called is not what they count */
	if (!err)
		err = find_metric(reader, &sample.metric);
	return err ? err : add_sample(reader, &sample);
}

/* {"cpu": 0, "tid": 1, "ts": 1000, "name": "cycles:HG", "sf": 3, "weight": 1} */
static int read_global_sample(void *context, struct json *json)
{
	struct chrome_reader *reader = context;
	struct chrome_sample sample = {.weight = 1};
	uint64_t tid = 0;
	int err = 0;

	text_truncate(&reader->name, 0);
	text_truncate(&reader->frame, 0);
	while (!err && json_next(json) == JSON_KEY) {
		if (json_is(json, "tid"))
			err = chrome_take_number(reader, json, &tid);
		else if (json_is(json, "weight"))
			sample.weight = json_take_u64(json);
		else if (json_is(json, "sf"))
			chrome_take_id(json, &reader->frame);
		else if (json_is(json, "name"))
			json_take_string(json, &reader->name);
		else
			json_skip_value(json);
	}
	if (!err)
		err = chrome_find_tid(reader, tid, &sample.track);
	if (err || sample.track == HASH_INDEX_NONE)
		return err;
	err = chrome_add_string(reader, &reader->frame, &sample.frame);
	if (!err)
		err = find_metric(reader, &sample.metric);
	return err ? err : add_sample(reader, &sample);
}

int chrome_read_samples(struct chrome_reader *reader)
{
	struct json json;
	int err;

	if (reader->samples_place == CHROME_NOWHERE)
		return 0;
	json = chrome_open(reader, reader->samples_place);
	err = reader_read_objects(reader->import, &json, "a sample", read_global_sample, reader);
	json_release(&json);
	return err;
}

int chrome_finish_samples(struct chrome_reader *reader)
{
	uint64_t num_unknown = 0;
	int err = finish_profiles(reader);

	if (!err && reader->samples.length)
		err = read_frames(reader);
	for (size_t i = 0; !err && i < reader->samples.length; i++) {
		const struct chrome_sample *sample = &reader->samples.items[i];
		uint32_t stack = sample->frame;
		uint32_t thread;

		if (!sample->is_placed &&
		    !chrome_cpu_nodes_find_stack(&reader->frames, sample->frame, &stack)) {
			num_unknown++;
			continue;
		}
		err = chrome_get_thread(reader, sample->track, &thread);
		if (!err)
			err = reader_add_sample(reader->import, 0, thread, stack, sample->metric,
						sample->weight);
	}
	reader->import->counts.skipped += num_unknown;
	if (num_unknown)
		import_warn(reader->import, "%llu samples have a stack that is not there, skipping",
			    (unsigned long long)num_unknown);
	return err;
}
