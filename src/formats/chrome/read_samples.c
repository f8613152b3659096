/*
 * Reading traces of Chrome: three kinds of samples.
 *
 *	V8's CPU profiles are split into chunks, each an event with nodes and samples; cpu_nodes.c.
 *	Samples as events have their stack in them, a list of names, or the id of a stack frame.
 *	Samples in a list `samples` beside that of the events have the id of a stack frame.
 *
 * Stack frames are in an object `stackFrames`, each with the id of its parent. So they are a tree
 * like V8's nodes, and treated alike. The object may follow the samples: until all is read, a
 * sample has the id alone.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/read_samples.h"
#include "formats/reader.h"

#define SAMPLES_METRIC "samples"
#define MAX_METRICS    64 /* metrics that a trace may name */
#define MAX_PROFILES   1000

void chrome_samples_init(struct chrome_samples *samples, struct import *import,
			 struct chrome_tracks *tracks)
{
	*samples = (struct chrome_samples){
		.import = import,
		.tracks = tracks,
		.frames_position = CHROME_NOWHERE,
		.samples_position = CHROME_NOWHERE,
	};
}

void chrome_samples_release(struct chrome_samples *samples)
{
	array_for_each (&samples->profiles, profile)
		chrome_cpu_nodes_release(&profile->nodes);
	array_release(&samples->profiles);
	array_release(&samples->items);
	signed_sums_release(&samples->signed_sums);
	array_release(&samples->instants);
	array_release(&samples->levels);
	chrome_cpu_nodes_release(&samples->frames);
	text_release(&samples->name);
	text_release(&samples->module);
	text_release(&samples->id);
}

/* ---- CPU profiles ---- */

bool chrome_is_chunk(const struct chrome_event *event)
{
	return string_equals(event->name.data, "Profile") ||
	       string_equals(event->name.data, "ProfileChunk") ||
	       string_equals(event->name.data, "CpuProfile");
}

/*
 * The profile of a chunk. Its thread is that of the first event: the other chunks are from a thread
 * of the profiler's own.
 */
static int find_profile(struct chrome_samples *samples, const struct chrome_event *event,
			struct chrome_profile **ret)
{
	struct chrome_profile *found;
	uint32_t id;
	uint32_t track;
	int err = chrome_add_string(samples->import->profile, &event->id, &id);

	if (err)
		return err;
	/* There are few, one a thread, and a chunk is mostly of one of the last. */
	for (size_t i = samples->profiles.length; i-- > 0;) {
		*ret = &samples->profiles.items[i];
		if ((*ret)->id == id && (*ret)->pid == event->pid)
			return 0;
	}
	err = chrome_tracks_find(samples->tracks, event, false, &track);
	if (err)
		return err;
	*ret = NULL;
	if (track == HASH_INDEX_NONE)
		return 0;
	/* Profiles are searched one by one: a hostile trace must not have many. */
	if (samples->profiles.length >= MAX_PROFILES) {
		samples->has_too_many = true;
		return 0;
	}
	found = array_add(&samples->profiles);
	if (!found)
		return -ENOMEM;
	found->id = id;
	found->pid = event->pid;
	found->track = track;
	found->nodes.import = samples->import;
	*ret = found;
	return 0;
}

static int read_cpu_profile(struct chrome_cpu_nodes *nodes, struct json *json,
			    struct chrome_cpu_sample_lists *lists)
{
	enum json_token token = json_next(json);
	int err;

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (json_next(json) == JSON_KEY) {
		err = chrome_cpu_nodes_read_member(nodes, json, lists);
		if (err)
			return err;
	}
	return 0;
}

/* {"cpuProfile": {"nodes": […], "samples": […]}, "timeDeltas": […]} */
static int read_data(struct chrome_cpu_nodes *nodes, struct json *json,
		     struct chrome_cpu_sample_lists *lists)
{
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (json_next(json) == JSON_KEY) {
		int err = json_is(json, "cpuProfile")
				  ? read_cpu_profile(nodes, json, lists)
				  : chrome_cpu_nodes_read_member(nodes, json, lists);

		if (err)
			return err;
	}
	return 0;
}

int chrome_samples_read_chunk(struct chrome_samples *samples, const struct chrome_event *event)
{
	_cleanup_(json_release) struct json json = {0};
	struct chrome_cpu_sample_lists lists = {0};
	struct chrome_profile *profile;
	int err;

	if (event->args == CHROME_NOWHERE)
		return 0;
	err = find_profile(samples, event, &profile);
	if (err || !profile)
		return err;
	json = chrome_open(samples->import, event->args);
	if (json_next(&json) == JSON_OBJECT) {
		while (json_next(&json) == JSON_KEY) {
			if (!json_is(&json, "data")) {
				json_skip_value(&json);
				continue;
			}
			err = read_data(&profile->nodes, &json, &lists);
			if (err)
				return err;
		}
	}
	return chrome_cpu_nodes_read_samples(&profile->nodes, &lists);
}

static int finish_profiles(struct chrome_samples *samples)
{
	int err;

	for (size_t i = 0; i < samples->profiles.length; i++) {
		struct chrome_profile *profile = &samples->profiles.items[i];
		uint32_t thread;

		if (!profile->nodes.nodes.length)
			continue;
		err = chrome_tracks_get_thread(samples->tracks, profile->track, &thread);
		if (err)
			return err;
		err = chrome_cpu_nodes_finish(&profile->nodes, thread);
		if (err)
			return err;
	}
	return 0;
}

/* ---- stack frames ---- */

static int add_location(struct chrome_samples *samples, uint32_t *ret)
{
	struct profile *profile = samples->import->profile;
	struct frame frame = {0};
	int err = chrome_add_string(samples->import->profile, &samples->module, &frame.module);

	if (err)
		return err;
	err = profile_add_frame_name(profile, samples->name.data, samples->name.length,
				     &frame.name);
	if (err)
		return err;
	frame.full_name = frame.name;
	return profile_add_frame_location(profile, &frame, ret);
}

/*
 * After the key, "5": {"category": "libc.so", "name": "main", "parent": "1"}. Ids are interned as
 * strings of the profile, and the numbers of these strings are the ids of nodes.
 */
static int read_frame(struct chrome_samples *samples, struct json *json)
{
	size_t offset = json->offset;
	bool has_parent = false;
	enum json_token token;
	uint32_t location;
	uint32_t parent = 0;
	uint64_t parent_id;
	uint32_t id;
	int err = string_table_add(profile_get_strings(samples->import->profile), json->text,
				   json->length, &id);

	if (err)
		return err;
	text_truncate(&samples->name, 0);
	text_append_string(&samples->name, "");
	text_truncate(&samples->module, 0);
	token = json_next(json);
	if (token != JSON_OBJECT)
		json_skip(json, token);
	while (token == JSON_OBJECT && json_next(json) == JSON_KEY) {
		if (json_is(json, "name")) {
			json_take_string(json, &samples->name);
		} else if (json_is(json, "category")) {
			json_take_string(json, &samples->module);
		} else if (json_is(json, "parent")) {
			chrome_take_id(json, &samples->id);
			has_parent = samples->id.length;
			err = chrome_add_string(samples->import->profile, &samples->id, &parent);
			if (err)
				return err;
		} else {
			json_skip_value(json);
		}
	}
	err = add_location(samples, &location);
	if (err)
		return err;
	parent_id = parent;
	return chrome_cpu_nodes_add(&samples->frames, id, has_parent ? &parent_id : NULL, location,
				    offset);
}

static int read_frames(struct chrome_samples *samples)
{
	_cleanup_(json_release) struct json json = {0};

	samples->frames.import = samples->import;
	if (samples->frames_position == CHROME_NOWHERE)
		return 0;
	json = chrome_open(samples->import, samples->frames_position);
	if (json_next(&json) == JSON_OBJECT) {
		while (json_next(&json) == JSON_KEY) {
			int err = read_frame(samples, &json);

			if (err)
				return err;
		}
	}
	return chrome_cpu_nodes_build_stacks(&samples->frames);
}

/* ---- samples ---- */

/* ["main", "f"]: outermost first. */
static int read_stack(struct chrome_samples *samples, size_t position, uint32_t *ret)
{
	_cleanup_(json_release) struct json json = chrome_open(samples->import, position);

	*ret = STACK_EMPTY;
	text_truncate(&samples->module, 0);
	if (json_next(&json) != JSON_ARRAY)
		return 0;
	for (;;) {
		enum json_token level = json_next(&json);
		uint32_t location;
		int err;

		if (level == JSON_ARRAY_END || level == JSON_FAILED)
			return 0;
		text_truncate(&samples->name, 0);
		if (level == JSON_STRING || level == JSON_NUMBER)
			text_append(&samples->name, json.text, json.length);
		json_skip(&json, level);
		if (samples->name.failed)
			return -ENOMEM;
		err = add_location(samples, &location);
		if (err)
			return err;
		err = profile_add_stack(samples->import->profile, *ret, location, ret);
		if (err)
			return err;
	}
}

/* Kept until the end: the stack frames may follow the samples. */
static int add_sample(struct chrome_samples *samples, const struct chrome_sample *sample)
{
	struct chrome_sample *added = array_add(&samples->items);

	if (!added)
		return -ENOMEM;
	*added = *sample;
	return 0;
}

/* The metric of the sample, if it names one. */
static int find_metric(struct chrome_samples *samples, const char *name, uint32_t *ret)
{
	struct profile *profile = samples->import->profile;
	bool is_named = *name && profile_count_metrics(profile) < MAX_METRICS;

	return profile_add_metric(profile, is_named ? name : SAMPLES_METRIC, "count", ret);
}

int chrome_samples_read_event(struct chrome_samples *samples, const struct chrome_event *event)
{
	struct chrome_sample sample = {.weight = 1, .has_stack = event->stack != CHROME_NOWHERE};
	int err;

	if (!sample.has_stack && !event->frame.length)
		return reader_skip_byte(samples->import, event->offset, "a sample without a stack");
	err = chrome_tracks_find(samples->tracks, event, false, &sample.track);
	if (err || sample.track == HASH_INDEX_NONE)
		return err;
	err = sample.has_stack
		      ? read_stack(samples, event->stack, &sample.frame)
		      : chrome_add_string(samples->import->profile, &event->frame, &sample.frame);
	if (err)
		return err;
	/* The name of such an event is not its unit. */
	err = find_metric(samples, "", &sample.metric);
	if (err)
		return err;
	return add_sample(samples, &sample);
}

/* {"cpu": 0, "tid": 1, "ts": 1000, "name": "cycles:HG", "sf": 3, "weight": 1} */
static int read_global_sample(void *context, struct json *json)
{
	struct chrome_samples *samples = context;
	struct chrome_sample sample = {.weight = 1};
	size_t offset = json->offset;
	bool has_bad_weight = false;
	uint64_t tid = 0;
	int err;

	text_truncate(&samples->name, 0);
	text_truncate(&samples->id, 0);
	while (json_next(json) == JSON_KEY) {
		if (json_is(json, "tid")) {
			err = chrome_take_number(samples->import->profile, json, &tid);
			if (err)
				return err;
		} else if (json_is(json, "weight")) {
			enum json_token token = json_next(json);

			has_bad_weight = !reader_get_signed_weight(json, token, &sample.weight,
								   &sample.is_negative,
								   &samples->has_decimals);
			json_skip(json, token);
		} else if (json_is(json, "sf")) {
			chrome_take_id(json, &samples->id);
		} else if (json_is(json, "name")) {
			json_take_string(json, &samples->name);
		} else {
			json_skip_value(json);
		}
	}
	if (has_bad_weight)
		return reader_skip_byte(samples->import, offset, "a sample without a weight");
	err = chrome_tracks_find_tid(samples->tracks, tid, &sample.track);
	if (err || sample.track == HASH_INDEX_NONE)
		return err;
	err = chrome_add_string(samples->import->profile, &samples->id, &sample.frame);
	if (err)
		return err;
	err = find_metric(samples, samples->name.length ? samples->name.data : "", &sample.metric);
	if (err)
		return err;
	return add_sample(samples, &sample);
}

int chrome_samples_read_list(struct chrome_samples *samples)
{
	_cleanup_(json_release) struct json json = {0};

	if (samples->samples_position == CHROME_NOWHERE)
		return 0;
	json = chrome_open(samples->import, samples->samples_position);
	return reader_read_objects(samples->import, &json, "a sample", read_global_sample, samples);
}

static int add_samples(struct chrome_samples *samples, const struct chrome_sample *items,
		       size_t num_items)
{
	uint64_t num_unknown = 0;
	int err = read_frames(samples);

	if (err)
		return err;
	for (const struct chrome_sample *sample = items; sample < items + num_items; sample++) {
		uint32_t stack = sample->frame;
		uint32_t thread;

		if (!sample->has_stack &&
		    !chrome_cpu_nodes_find_stack(&samples->frames, sample->frame, &stack)) {
			num_unknown++;
			continue;
		}
		err = chrome_tracks_get_thread(samples->tracks, sample->track, &thread);
		if (err)
			return err;
		err = signed_sums_add(&samples->signed_sums, samples->import, 0,
				      &(struct negative_sum){.thread = thread,
							     .stack = stack,
							     .metric = sample->metric,
							     .amount = sample->weight},
				      sample->is_negative);
		if (err)
			return err;
	}
	samples->import->counts.skipped += num_unknown;
	if (num_unknown)
		import_warn_counted(
			samples->import, num_unknown,
			"{sample refers to a missing stack|samples refer to missing stacks}, "
			"skipping");
	return 0;
}

int chrome_samples_finish(struct chrome_samples *samples)
{
	int err = finish_profiles(samples);

	if (err || !samples->items.length)
		return err;
	err = add_samples(samples, samples->items.items, samples->items.length);
	if (err)
		return err;
	if (samples->has_decimals)
		import_warn(samples->import, "weights with decimals are rounded");
	return 0;
}

/* ---- instants ---- */

/* {"functionName": "f", "url": "https://a.b/c.js", "lineNumber": 3} */
static int read_call_frame(void *context, struct json *json)
{
	struct chrome_samples *samples = context;
	struct profile *profile = samples->import->profile;
	struct frame frame = {0};
	uint64_t line = 0;
	uint32_t *added = array_add(&samples->levels);
	int err;

	if (!added)
		return -ENOMEM;
	text_truncate(&samples->name, 0);
	text_truncate(&samples->module, 0);
	while (json_next(json) == JSON_KEY) {
		if (json_is(json, "functionName"))
			json_take_string(json, &samples->name);
		else if (json_is(json, "url"))
			json_take_string(json, &samples->module);
		else if (json_is(json, "lineNumber"))
			line = json_take_u64(json);
		else
			json_skip_value(json);
	}
	if (!samples->name.length)
		text_append_string(&samples->name, "(anonymous)");
	if (samples->name.failed)
		return -ENOMEM;
	frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
	err = chrome_add_string(profile, &samples->module, &frame.file);
	if (err)
		return err;
	err = profile_add_frame_name(profile, samples->name.data, samples->name.length,
				     &frame.name);
	if (err)
		return err;
	frame.full_name = frame.name;
	return profile_add_frame_location(profile, &frame, added);
}

/* {"data": {"stackTrace": [innermost, …]}} */
static int read_stack_trace(struct chrome_samples *samples, size_t position, uint32_t *ret)
{
	_cleanup_(json_release) struct json json = chrome_open(samples->import, position);
	int err;

	samples->levels.length = 0;
	if (json_next(&json) != JSON_OBJECT)
		return 0;
	while (json_next(&json) == JSON_KEY) {
		enum json_token token;

		if (!json_is(&json, "data") && !json_is(&json, "beginData")) {
			json_skip_value(&json);
			continue;
		}
		token = json_next(&json);
		if (token != JSON_OBJECT) {
			json_skip(&json, token);
			continue;
		}
		while (json_next(&json) == JSON_KEY) {
			if (!json_is(&json, "stackTrace") || samples->levels.length) {
				json_skip_value(&json);
				continue;
			}
			err = reader_read_objects(samples->import, &json, "a frame",
						  read_call_frame, samples);
			if (err)
				return err;
		}
	}
	for (size_t i = samples->levels.length; i-- > 0;) {
		err = profile_add_stack(samples->import->profile, *ret, samples->levels.items[i],
					ret);
		if (err)
			return err;
	}
	return 0;
}

int chrome_samples_read_instant(struct chrome_samples *samples, const struct chrome_event *event)
{
	struct chrome_sample sample = {
		.weight = 1, .frame = STACK_EMPTY, .has_stack = !event->frame.length};
	struct chrome_sample *added;
	int err = 0;

	samples->num_instants++;
	if (!sample.has_stack)
		err = chrome_add_string(samples->import->profile, &event->frame, &sample.frame);
	else if (event->stack != CHROME_NOWHERE)
		err = read_stack(samples, event->stack, &sample.frame);
	else if (event->args != CHROME_NOWHERE)
		err = read_stack_trace(samples, event->args, &sample.frame);
	if (err || (sample.has_stack && sample.frame == STACK_EMPTY))
		return err;
	err = chrome_tracks_find(samples->tracks, event, false, &sample.track);
	if (err || sample.track == HASH_INDEX_NONE)
		return err;
	added = array_add(&samples->instants);
	if (!added)
		return -ENOMEM;
	*added = sample;
	return 0;
}

int chrome_samples_finish_instants(struct chrome_samples *samples)
{
	struct import *import = samples->import;
	uint32_t metric;
	int err;

	if (!samples->instants.length) {
		if (samples->num_instants && !import->is_for_trace)
			import_warn(
				import,
				"the trace has only %llu instants without stacks, no durations: a "
				"trace (-o FILE.pftrace) shows them",
				(unsigned long long)samples->num_instants);
		return 0;
	}
	err = find_metric(samples, "", &metric);
	if (err)
		return err;
	array_for_each (&samples->instants, sample)
		sample->metric = metric;
	if (!import->is_for_trace)
		import_warn(import,
			    "the trace has no durations: %zu instants with stacks are read as "
			    "samples",
			    samples->instants.length);
	return add_samples(samples, samples->instants.items, samples->instants.length);
}
