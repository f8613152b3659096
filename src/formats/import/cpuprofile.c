/*
 * The .cpuprofile files of V8, which Chrome and Node.js write: a list of nodes, each with its
 * function and the ids of its children, and, for every sample, the id of the node that it hit and
 * the microseconds since the sample before.
 *
 * Two metrics: how many samples, and the time, which is that up to the next sample. Files without
 * a list of samples have a count at each node, and no time. The root is no frame; (program),
 * (idle) and (garbage collector) are.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "formats/format.h"
#include "formats/reader.h"

#define ANONYMOUS        "(anonymous)"
#define ROOT             "(root)"
#define NO_NODE          UINT32_MAX
#define DETECTION_TOKENS 200

struct node {
	uint64_t id;
	uint64_t hits;
	uint32_t location;
	uint32_t parent;
	uint32_t stack; /* known when is_placed */
	bool is_root;
	bool is_placed;
	bool is_open; /* while its parents are placed */
};

struct child {
	uint64_t id;
	uint32_t parent;
};

struct reader {
	struct import *import;
	ARRAY(struct node) nodes;
	ARRAY(struct child) children;
	ARRAY(uint32_t) path;
	struct hash_index index; /* by id */
	size_t samples;          /* where the lists stand; 0: nowhere */
	size_t deltas;
	uint64_t start_time;
	uint64_t end_time;
	uint32_t thread;
	uint32_t metric;
	uint32_t time_metric;
	struct text name;
	struct text url;
};

static bool is_node(const void *owner, uint32_t item, const void *key)
{
	const struct reader *reader = owner;
	const uint64_t *id = key;

	return reader->nodes.items[item].id == *id;
}

static uint32_t find_node(const struct reader *reader, uint64_t id)
{
	return hash_index_find(&reader->index, hash_mix(0, id), is_node, reader, &id);
}

/* ---- nodes ---- */

static int read_children(struct reader *reader, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_ARRAY) {
		json_skip(json, token);
		return 0;
	}
	while ((token = json_next(json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		struct child child = {.parent = (uint32_t)reader->nodes.length - 1};
		struct child *added;

		json_skip(json, token);
		if (token != JSON_NUMBER || !json_get_u64(json, &child.id))
			continue;
		added = array_add(&reader->children);
		if (!added)
			return -ENOMEM;
		*added = child;
	}
	return 0;
}

/* Lines count from 0; -1 is none. */
static uint64_t read_call_frame(struct reader *reader, struct json *json)
{
	enum json_token token = json_next(json);
	uint64_t line = 0;

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	while (json_next(json) == JSON_KEY) {
		if (json_is(json, "functionName")) {
			json_take_string(json, &reader->name);
		} else if (json_is(json, "url")) {
			json_take_string(json, &reader->url);
		} else if (json_is(json, "lineNumber")) {
			token = json_next(json);
			if (token == JSON_NUMBER && json_get_u64(json, &line) && line < UINT32_MAX)
				line++;
			else
				line = 0;
			json_skip(json, token);
		} else {
			json_skip_value(json);
		}
	}
	return line;
}

static int add_location(struct reader *reader, uint64_t line, uint32_t *ret)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {0};
	int err = reader->name.failed || reader->url.failed ? -ENOMEM : 0;

	if (!err && reader->name.length)
		err = profile_add_frame_name(profile, reader->name.data, reader->name.length,
					     &frame.name);
	else if (!err)
		err = profile_add_string(profile, ANONYMOUS, &frame.name);
	if (!err && reader->url.length) {
		err = string_table_add(profile_get_strings(profile), reader->url.data,
				       reader->url.length, &frame.file);
		frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
	}
	frame.full_name = frame.name;
	return err ? err : profile_add_frame_location(profile, &frame, ret);
}

static int read_node(void *context, struct json *json)
{
	struct reader *reader = context;
	size_t offset = json->offset;
	struct node *node = array_add(&reader->nodes);
	uint32_t id = (uint32_t)reader->nodes.length - 1;
	uint64_t line = 0;
	int err = node ? 0 : -ENOMEM;

	text_truncate(&reader->name, 0);
	text_truncate(&reader->url, 0);
	while (!err && json_next(json) == JSON_KEY) {
		node = &reader->nodes.items[id];
		if (json_is(json, "id"))
			node->id = json_take_u64(json);
		else if (json_is(json, "hitCount"))
			node->hits = json_take_u64(json);
		else if (json_is(json, "callFrame"))
			line = read_call_frame(reader, json);
		else if (json_is(json, "children"))
			err = read_children(reader, json);
		else
			json_skip_value(json);
	}
	if (err)
		return err;
	node = &reader->nodes.items[id];
	node->parent = NO_NODE;
	node->is_root = reader->name.length && string_equals(reader->name.data, ROOT);
	err = add_location(reader, line, &node->location);
	if (err)
		return err;
	if (find_node(reader, node->id) != id && find_node(reader, node->id) != HASH_INDEX_NONE)
		return reader_skip_byte(reader->import, offset, "a node whose id another one has");
	return hash_index_add(&reader->index, hash_mix(0, node->id), id);
}

static int read_nodes(struct reader *reader, struct json *json)
{
	return reader_read_objects(reader->import, json, "a node", read_node, reader);
}

static void link_nodes(struct reader *reader)
{
	array_for_each (&reader->children, child) {
		uint32_t id = find_node(reader, child->id);

		if (id != HASH_INDEX_NONE && id != child->parent &&
		    reader->nodes.items[id].parent == NO_NODE)
			reader->nodes.items[id].parent = child->parent;
	}
}

/* The stack of a node, after those of its parents; a circle of them is cut. */
static int place_node(struct reader *reader, uint32_t id)
{
	struct node *nodes = reader->nodes.items;
	uint32_t stack = STACK_EMPTY;
	int err = 0;

	reader->path.length = 0;
	for (; id != NO_NODE && !nodes[id].is_placed && !nodes[id].is_open; id = nodes[id].parent) {
		uint32_t *level = array_add(&reader->path);

		if (!level)
			return -ENOMEM;
		*level = id;
		nodes[id].is_open = true;
	}
	if (id != NO_NODE && nodes[id].is_placed)
		stack = nodes[id].stack;
	while (!err && reader->path.length) {
		struct node *node = &nodes[reader->path.items[--reader->path.length]];

		if (!node->is_root)
			err = profile_add_stack(reader->import->profile, stack, node->location,
						&stack);
		node->stack = stack;
		node->is_placed = true;
	}
	return err;
}

static int place_nodes(struct reader *reader)
{
	int err = 0;

	link_nodes(reader);
	for (uint32_t id = 0; !err && id < reader->nodes.length; id++)
		err = place_node(reader, id);
	return err;
}

/* ---- samples ---- */

static int add_hit(struct reader *reader, size_t offset, uint64_t id, uint64_t duration_us)
{
	struct profile *profile = reader->import->profile;
	uint32_t node = find_node(reader, id);
	uint32_t stack;
	uint64_t duration_ns;
	int err;

	if (node == HASH_INDEX_NONE)
		return reader_skip_byte(reader->import, offset,
					"a sample of a node that does not exist");
	stack = reader->nodes.items[node].stack;
	err = reader_add_sample(reader->import, offset, reader->thread, stack, reader->metric, 1);
	if (err || !duration_us)
		return err;
	if (__builtin_mul_overflow(duration_us, 1000, &duration_ns))
		duration_ns = UINT64_MAX;
	err = profile_add_sample(profile, reader->thread, stack, reader->time_metric, duration_ns);
	return err == -EOVERFLOW
		       ? import_fail_byte(reader->import, offset, "the times exceed 64 bits")
		       : err;
}

/* The time of the next sample. Clocks that went back give the same time again. */
static uint64_t read_delta(struct json *deltas, bool *ret_has_one)
{
	enum json_token token = json_next(deltas);
	uint64_t delta = 0;

	*ret_has_one = token == JSON_NUMBER;
	if (token == JSON_NUMBER)
		(void)json_get_u64(deltas, &delta); /* one below 0 is 0 */
	json_skip(deltas, token);
	return delta;
}

static int read_hits(struct reader *reader, struct json *samples, struct json *deltas)
{
	uint64_t now = reader->start_time;
	bool has_delta = reader->deltas && json_next(deltas) == JSON_ARRAY;
	enum json_token token;
	uint64_t id;
	int err = 0;

	if (json_next(samples) != JSON_ARRAY)
		return 0;
	if (has_delta)
		now += read_delta(deltas, &has_delta);
	while (!err && (token = json_next(samples)) != JSON_ARRAY_END) {
		uint64_t delta = 0;

		if (token == JSON_FAILED)
			return reader_fail_json(reader->import, samples, reader->samples);
		json_skip(samples, token);
		if (has_delta) {
			delta = read_delta(deltas, &has_delta);
			if (!has_delta && reader->end_time > now) /* the last sample */
				delta = reader->end_time - now;
			now += delta;
		}
		if (token != JSON_NUMBER || !json_get_u64(samples, &id))
			err = reader_skip_byte(reader->import, reader->samples + samples->offset,
					       "a sample that is no node's id");
		else
			err = add_hit(reader, reader->samples + samples->offset, id, delta);
	}
	return err;
}

static int read_samples(struct reader *reader)
{
	const struct import *import = reader->import;
	struct json samples =
		json_of(import->data + reader->samples, import->size - reader->samples);
	struct json deltas = json_of(import->data + reader->deltas, import->size - reader->deltas);
	int err = profile_add_metric(import->profile, "time", "nanoseconds", &reader->time_metric);

	if (!err)
		err = read_hits(reader, &samples, &deltas);
	json_release(&samples);
	json_release(&deltas);
	return err;
}

static int add_hit_counts(struct reader *reader)
{
	int err = 0;

	for (size_t i = 0; !err && i < reader->nodes.length; i++)
		if (reader->nodes.items[i].hits)
			err = reader_add_sample(reader->import, 0, reader->thread,
						reader->nodes.items[i].stack, reader->metric,
						reader->nodes.items[i].hits);
	return err;
}

static void take_place(struct json *json, size_t *place)
{
	enum json_token token = json_next(json);

	*place = json->offset;
	json_skip(json, token);
}

static int read_members(struct reader *reader, struct json *json)
{
	enum json_token token = json_next(json);
	int err = 0;

	if (token != JSON_OBJECT && token != JSON_FAILED)
		return import_fail_byte(reader->import, json->offset,
					"expected an object with nodes");
	while (!err && (token = json_next(json)) == JSON_KEY) {
		if (json_is(json, "nodes"))
			err = read_nodes(reader, json);
		else if (json_is(json, "samples"))
			take_place(json, &reader->samples);
		else if (json_is(json, "timeDeltas"))
			take_place(json, &reader->deltas);
		else if (json_is(json, "startTime"))
			reader->start_time = json_take_u64(json);
		else if (json_is(json, "endTime"))
			reader->end_time = json_take_u64(json);
		else
			json_skip_value(json);
	}
	if (!err && token != JSON_FAILED)
		token = json_next(json);
	if (!err && token == JSON_FAILED)
		err = reader_fail_json(reader->import, json, 0);
	if (!err && !reader->nodes.length)
		err = import_fail_byte(reader->import, 0, "expected an object with nodes");
	return err;
}

static int read_cpuprofile(struct import *import)
{
	struct reader reader = {.import = import};
	struct json json = json_of(import->data, import->size);
	int err = read_members(&reader, &json);

	if (!err)
		err = reader_add_nameless_thread(import, &reader.thread);
	if (!err)
		err = profile_add_metric(import->profile, "samples", "count", &reader.metric);
	if (!err)
		err = place_nodes(&reader);
	if (!err)
		err = reader.samples ? read_samples(&reader) : add_hit_counts(&reader);
	json_release(&json);
	array_release(&reader.nodes);
	array_release(&reader.children);
	array_release(&reader.path);
	hash_index_release(&reader.index);
	text_release(&reader.name);
	text_release(&reader.url);
	return err;
}

/* Nodes with call frames. */
static enum detection detect(const uint8_t *data, size_t size)
{
	struct json json = json_of(data, size);
	bool has_nodes = false;
	bool has_frame = false;

	if (json_next(&json) == JSON_OBJECT) {
		for (int i = 0; i < DETECTION_TOKENS && !(has_nodes && has_frame); i++) {
			enum json_token token = json_next(&json);

			if (token == JSON_FAILED || token == JSON_END)
				break;
			has_nodes |= token == JSON_KEY && json_is(&json, "nodes");
			has_frame |= token == JSON_KEY && json_is(&json, "callFrame");
		}
	}
	json_release(&json);
	return has_nodes && has_frame ? DETECTED_SURE : DETECTED_NOT;
}

const struct format format_cpuprofile = {
	.name = "cpuprofile",
	.extension = ".cpuprofile",
	.summary = "CPU profiles of Chrome and Node.js",
	.detect = detect,
	.read = read_cpuprofile,
};
