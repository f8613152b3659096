/*
 * The .heapprofile files of V8: the allocation sites of the memory in use, as Chrome ("allocation
 * sampling") and `node --heap-prof` write them; and CPU profiles of V8 before 2017, which are built
 * alike: a tree of nested nodes, below `head`.
 *
 *	{"head": {"callFrame": {…}, "selfSize": 0, "children": [{"callFrame": {…}, …}]}}
 *
 * Nodes are read without recursion, as starts and ends, with a stack of the open levels: a file
 * must not be able to exhaust the C stack. Members may be in any order: a node's location is made
 * at its end, after its children. Ids are made here, so that the nodes can go to cpu_nodes.c. The
 * root is no frame, as there.
 *
 * CPU profiles have lists of samples and of their times besides, by the ids of the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/chrome/cpu_nodes.h"
#include "formats/chrome/read_event.h"
#include "formats/format.h"
#include "formats/reader.h"

#define DETECTION_TOKENS 200
#define ROOT             "(root)"
/* Deeper nodes weigh at this level: folded text grows with the square of the depth. */
#define MAX_LEVELS 1000

/* A node that is not over. */
struct chrome_heap_level {
	uint64_t id;      /* from 1; ours */
	uint64_t file_id; /* 0: none */
	uint64_t bytes;
	uint64_t hits;
	uint64_t line; /* from 1; 0: unknown */
	size_t offset;
	uint32_t name; /* strings of the profile; empty: unknown */
	uint32_t url;
	bool is_truncated; /* too deep: it counts as the one around it */
};

struct chrome_heap_weight {
	uint64_t node; /* 0: the root */
	uint64_t bytes;
	uint64_t hits;
	size_t offset;
};

/* Maps an id of the file to our node. */
struct chrome_heap_id {
	uint64_t file_id;
	uint64_t node;
};

struct chrome_heap_reader {
	struct chrome_cpu_nodes nodes;
	ARRAY(struct chrome_heap_level) levels; /* outermost first */
	ARRAY(struct chrome_heap_weight) weights;
	ARRAY(struct chrome_heap_id) ids;
	size_t samples; /* offsets of the lists in the input; 0: not found */
	size_t times;
	uint64_t num_nodes;
	uint64_t num_truncated;
	bool has_head;
	bool has_own_keys; /* any that other trees do not have */
};

static struct chrome_heap_level *get_last(struct chrome_heap_reader *reader)
{
	return &reader->levels.items[reader->levels.length - 1];
}

static int start_node(struct chrome_heap_reader *reader, const struct json *json)
{
	struct chrome_heap_level *level = array_add(&reader->levels);

	if (!level)
		return -ENOMEM;
	*level = (struct chrome_heap_level){.id = ++reader->num_nodes, .offset = json->offset};
	if (reader->levels.length > MAX_LEVELS) {
		level->id = level[-1].id;
		level->is_truncated = true;
		reader->num_truncated++;
	}
	return 0;
}

/* The texts of `nodes` are those of its function. */
static int take_function(struct chrome_heap_reader *reader)
{
	struct profile *profile = reader->nodes.import->profile;
	struct chrome_heap_level *level = get_last(reader);
	int err = chrome_add_string(profile, &reader->nodes.name, &level->name);

	return err ? err : chrome_add_string(profile, &reader->nodes.url, &level->url);
}

static int add_node(struct chrome_heap_reader *reader, const struct chrome_heap_level *level)
{
	const struct profile *profile = reader->nodes.import->profile;
	/* The root is not added, so its children have no parent. */
	const uint64_t *parent = reader->levels.length ? &get_last(reader)->id : NULL;
	uint32_t location;
	int err;

	text_truncate(&reader->nodes.name, 0);
	text_truncate(&reader->nodes.url, 0);
	text_append(&reader->nodes.name, profile_get_string(profile, level->name),
		    profile_get_string_length(profile, level->name));
	text_append(&reader->nodes.url, profile_get_string(profile, level->url),
		    profile_get_string_length(profile, level->url));
	err = chrome_cpu_nodes_add_location(&reader->nodes, level->line, &location);
	return err ? err
		   : chrome_cpu_nodes_add(&reader->nodes, level->id, parent, location,
					  level->offset);
}

static int end_node(struct chrome_heap_reader *reader)
{
	const struct profile *profile = reader->nodes.import->profile;
	struct chrome_heap_level level = *get_last(reader);
	bool is_root = reader->levels.length == 1 &&
		       string_equals(profile_get_string(profile, level.name), ROOT);
	struct chrome_heap_weight *added;

	reader->levels.length--;
	if (!is_root && !level.is_truncated) {
		int err = add_node(reader, &level);

		if (err)
			return err;
	}
	if (level.file_id) {
		struct chrome_heap_id *id = array_add(&reader->ids);

		if (!id)
			return -ENOMEM;
		*id = (struct chrome_heap_id){level.file_id, is_root ? 0 : level.id};
	}
	if (!level.bytes && !level.hits)
		return 0;
	added = array_add(&reader->weights);
	if (!added)
		return -ENOMEM;
	*added = (struct chrome_heap_weight){is_root ? 0 : level.id, level.bytes, level.hits,
					     level.offset};
	return 0;
}

static int read_weight(struct chrome_heap_reader *reader, struct json *json, uint64_t *ret)
{
	size_t offset = json->offset;
	enum json_token token = json_next(json);
	bool is_good = reader_get_weight(json, token, ret, NULL);

	json_skip(json, token);
	return is_good ? 0
		       : reader_skip_byte(reader->nodes.import, offset,
					  "a node whose weight is not a number");
}

static int take_string(struct chrome_heap_reader *reader, struct json *json, uint32_t *ret)
{
	struct text *text = &reader->nodes.name;

	text_truncate(text, 0);
	json_take_string(json, text);
	return chrome_add_string(reader->nodes.import->profile, text, ret);
}

static int read_member(struct chrome_heap_reader *reader, struct json *json)
{
	struct chrome_heap_level *level = get_last(reader);

	uint64_t *weight = json_is(json, "selfSize")   ? &level->bytes
			   : json_is(json, "hitCount") ? &level->hits
						       : NULL;

	if (weight) {
		reader->has_own_keys = true;
		return read_weight(reader, json, weight);
	}
	reader->has_own_keys |= json_is(json, "callFrame") || json_is(json, "functionName");
	if (json_is(json, "children"))
		return 0; /* they are the next tokens */
	if (json_is(json, "callFrame")) {
		text_truncate(&reader->nodes.name, 0);
		text_truncate(&reader->nodes.url, 0);
		level->line = chrome_cpu_nodes_read_call_frame(&reader->nodes, json);
		return take_function(reader);
	}
	if (json_is(json, "functionName"))
		return take_string(reader, json, &level->name);
	if (json_is(json, "url"))
		return take_string(reader, json, &level->url);
	if (json_is(json, "lineNumber"))
		level->line = json_take_u64(json);
	else if (json_is(json, "id"))
		level->file_id = json_take_u64(json);
	else
		json_skip_value(json);
	return 0;
}

/* After the key `head`. */
static int read_head(struct chrome_heap_reader *reader, struct json *json)
{
	reader->has_head = true;
	do {
		enum json_token token = json_next(json);
		int err = 0;

		if (token == JSON_FAILED)
			return 0; /* the caller's next token is the same, and reported there */
		if (token == JSON_OBJECT)
			err = start_node(reader, json);
		else if (token == JSON_OBJECT_END)
			err = end_node(reader);
		else if (token == JSON_KEY)
			err = read_member(reader, json);
		if (err)
			return err;
	} while (reader->levels.length);
	return 0;
}

/* As microseconds, which samples have; 0: none, or beyond all time. */
static uint64_t take_seconds(struct json *json)
{
	enum json_token token = json_next(json);
	double seconds = json_is_number(json, token) ? json_get_double(json) : 0;

	json_skip(json, token);
	return seconds > 0 && seconds < 1e12 ? (uint64_t)(seconds * 1e6) : 0;
}

static int read_members(struct chrome_heap_reader *reader, struct json *json)
{
	struct import *import = reader->nodes.import;
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT && token != JSON_FAILED)
		return import_fail_byte(import, json->offset, "expected an object with a head");
	while ((token = json_next(json)) == JSON_KEY) {
		int err;

		if (json_is(json, "samples")) {
			json_take_position(json, 0, &reader->samples);
			continue;
		}
		if (json_is(json, "timestamps")) {
			json_take_position(json, 0, &reader->times);
			continue;
		}
		if (json_is(json, "endTime")) {
			reader->nodes.end_us = take_seconds(json);
			continue;
		}
		if (!json_is(json, "head") || reader->has_head) {
			json_skip_value(json);
			continue;
		}
		err = read_head(reader, json);
		if (err)
			return err;
	}
	/* Behind the object there must be nothing. */
	if (token != JSON_FAILED)
		token = json_next(json);
	if (token == JSON_FAILED)
		return reader_fail_json(import, json, 0);
	if (!reader->num_nodes)
		return import_fail_byte(import, 0, "expected an object with a head");
	if (!reader->has_own_keys)
		return import_fail_byte(import, 0, "expected nodes with functions and weights");
	return 0;
}

static int add_weight(struct chrome_heap_reader *reader, const struct chrome_heap_weight *weight,
		      uint32_t thread, bool is_bytes)
{
	struct import *import = reader->nodes.import;
	uint64_t value = is_bytes ? weight->bytes : weight->hits;
	uint32_t stack = STACK_EMPTY;
	uint32_t metric;
	int err;

	if (!value ||
	    (weight->node && !chrome_cpu_nodes_find_stack(&reader->nodes, weight->node, &stack)))
		return 0;
	err = profile_add_metric(import->profile, is_bytes ? "inuse_space" : "samples",
				 is_bytes ? "bytes" : "count", &metric);
	if (err)
		return err;
	return reader_add_sample(import, weight->offset, thread, stack, metric, value);
}

static int add_weights(struct chrome_heap_reader *reader)
{
	uint32_t thread;
	uint32_t metric;
	int err = chrome_cpu_nodes_build_stacks(&reader->nodes);

	if (err)
		return err;
	err = reader_add_anonymous_thread(reader->nodes.import, &thread);
	if (err)
		return err;
	/* Bytes first: if a file has both, they are the metric that is shown. */
	for (int is_bytes = 1; is_bytes >= 0; is_bytes--) {
		array_for_each (&reader->weights, weight) {
			err = add_weight(reader, weight, thread, is_bytes);
			if (err)
				return err;
		}
	}
	/* A heap without allocations is an empty profile, but not one without metrics. */
	if (!reader->weights.length)
		return profile_add_metric(reader->nodes.import->profile, "inuse_space", "bytes",
					  &metric);
	return 0;
}

static int compare_ids(const void *left, const void *right)
{
	const struct chrome_heap_id *a = left;
	const struct chrome_heap_id *b = right;

	return (a->file_id > b->file_id) - (a->file_id < b->file_id);
}

/* Both lists are read side by side. If there are fewer times, the last samples have none. */
static int read_samples(struct chrome_heap_reader *reader)
{
	const struct import *import = reader->nodes.import;
	_cleanup_(json_release) struct json samples =
		json_at(import->data, import->size, reader->samples);
	_cleanup_(json_release) struct json times =
		json_at(import->data, import->size, reader->times);
	enum json_token token;
	uint64_t time_us = 0;

	if (reader->ids.length)
		qsort(reader->ids.items, reader->ids.length, sizeof(struct chrome_heap_id),
		      compare_ids);
	if (json_next(&samples) != JSON_ARRAY || json_next(&times) != JSON_ARRAY)
		return 0;
	while ((token = json_next(&samples)) != JSON_ARRAY_END && token != JSON_FAILED) {
		struct chrome_heap_id wanted = {0};
		const struct chrome_heap_id *id = NULL;
		enum json_token time = json_next(&times);
		int err;

		if (json_is_number(&samples, token) && json_get_u64(&samples, &wanted.file_id) &&
		    reader->ids.length)
			id = bsearch(&wanted, reader->ids.items, reader->ids.length, sizeof(wanted),
				     compare_ids);
		if (json_is_number(&times, time))
			(void)json_get_u64(&times, &time_us);
		err = chrome_cpu_nodes_add_hit(&reader->nodes, id ? &id->node : NULL, time_us,
					       samples.offset);
		if (err)
			return err;
	}
	return 0;
}

/* A CPU profile whose samples have times. */
static int add_samples(struct chrome_heap_reader *reader)
{
	uint32_t thread;
	int err = reader_add_anonymous_thread(reader->nodes.import, &thread);

	return err ? err : chrome_cpu_nodes_finish(&reader->nodes, thread);
}

static void release_reader(struct chrome_heap_reader *reader)
{
	chrome_cpu_nodes_release(&reader->nodes);
	array_release(&reader->levels);
	array_release(&reader->weights);
	array_release(&reader->ids);
}

static int read_heapprofile(struct import *import)
{
	_cleanup_(release_reader) struct chrome_heap_reader reader = {.nodes.import = import};
	_cleanup_(json_release) struct json json = json_of(import->data, import->size);
	int err = read_members(&reader, &json);

	if (err)
		return err;
	err = reader.samples && reader.times ? read_samples(&reader) : 0;
	if (err)
		return err;
	err = reader.nodes.has_samples ? add_samples(&reader) : add_weights(&reader);
	if (err)
		return err;
	if (reader.num_truncated)
		import_warn(
			import,
			"%llu nodes are deeper than %d levels: their weight counts at that level",
			(unsigned long long)reader.num_truncated, MAX_LEVELS);
	return 0;
}

/* A head that weighs. */
static enum detection detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);
	bool has_head = false;

	if (json_next(&json) != JSON_OBJECT)
		return DETECTED_NOT;
	for (int i = 0; i < DETECTION_TOKENS; i++) {
		enum json_token token = json_next(&json);

		if (token == JSON_FAILED || token == JSON_END)
			return DETECTED_NOT;
		if (token != JSON_KEY)
			continue;
		has_head |= json_get_depth(&json) == 1 && json_is(&json, "head");
		if (has_head && (json_is(&json, "selfSize") || json_is(&json, "hitCount")))
			return DETECTED_SURE;
	}
	return DETECTED_NOT;
}

const struct format format_heapprofile = {
	.name = "heapprofile",
	.extension = ".heapprofile",
	.summary = "heap profiles of Chrome and Node.js",
	.producers = "Node.js 20",
	.detect = detect,
	.read = read_heapprofile,
};
