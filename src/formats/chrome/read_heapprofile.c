/*
 * The .heapprofile files of V8: what the memory in use was allocated by, as Chrome ("allocation
 * sampling") and `node --heap-prof` write it; and CPU profiles of V8 before 2017, which are built
 * alike: a tree of nodes in each other, below `head`.
 *
 *	{"head": {"callFrame": {…}, "selfSize": 0, "children": [{"callFrame": {…}, …}]}}
 *
 * Nodes are read without recursion, as begins and ends, with a stack of the levels that are open: a
 * file must not be able to exhaust the C stack. A node's location is made when its children begin,
 * because the texts of its function are kept in one place for all; its weight at its end. Ids are
 * made here, so that the nodes can go to cpu_nodes.c. The root is no frame, as there.
 */
#include <errno.h>
#include <string.h>

#include "formats/chrome/cpu_nodes.h"
#include "formats/format.h"
#include "formats/reader.h"

#define DETECTION_TOKENS 200
#define ROOT             "(root)"
/* What lies deeper weighs at this level: folded text grows with the square of the depth. */
#define MAX_LEVELS 1000

/* A node that is not over. */
struct chrome_heap_level {
	uint64_t id; /* from 1; ours */
	uint64_t bytes;
	uint64_t hits;
	uint64_t line; /* from 1; 0: unknown */
	size_t offset;
	uint32_t location;
	bool has_location;
	bool is_root;
	bool is_truncated; /* too deep: it counts as the one around it */
};

struct chrome_heap_weight {
	uint64_t node; /* 0: the root */
	uint64_t bytes;
	uint64_t hits;
	size_t offset;
};

struct chrome_heap_reader {
	struct chrome_cpu_nodes nodes;
	ARRAY(struct chrome_heap_level) levels; /* outermost first */
	ARRAY(struct chrome_heap_weight) weights;
	uint64_t num_nodes;
	uint64_t num_truncated;
	bool has_head;
	bool has_own_keys; /* any that other trees do not have */
};

static struct chrome_heap_level *get_last(struct chrome_heap_reader *reader)
{
	return &reader->levels.items[reader->levels.length - 1];
}

static int begin_node(struct chrome_heap_reader *reader, const struct json *json)
{
	struct chrome_heap_level *level = array_add(&reader->levels);

	if (!level)
		return -ENOMEM;
	*level = (struct chrome_heap_level){.id = ++reader->num_nodes, .offset = json->offset};
	if (reader->levels.length > MAX_LEVELS) {
		level->id = level[-1].id;
		level->is_truncated = level->has_location = true;
		reader->num_truncated++;
	}
	text_truncate(&reader->nodes.name, 0);
	text_truncate(&reader->nodes.url, 0);
	return 0;
}

/*
 * The members of a function are all known when its children begin or when it ends, whichever is
 * first: V8 writes them before the children.
 */
static int settle_function(struct chrome_heap_reader *reader)
{
	struct chrome_heap_level *level = get_last(reader);
	const struct text *name = &reader->nodes.name;

	if (level->has_location)
		return 0;
	level->has_location = true;
	level->is_root = reader->levels.length == 1 && name->length == strlen(ROOT) &&
			 !memcmp(name->data, ROOT, name->length);
	return chrome_cpu_nodes_add_location(&reader->nodes, level->line, &level->location);
}

static int end_node(struct chrome_heap_reader *reader)
{
	int err = settle_function(reader);
	struct chrome_heap_level level = *get_last(reader);
	const struct chrome_heap_level *parent =
		reader->levels.length > 1 ? get_last(reader) - 1 : NULL;
	struct chrome_heap_weight *added;

	if (err)
		return err;
	reader->levels.length--;
	if (!level.is_root && !level.is_truncated) {
		err = chrome_cpu_nodes_add(&reader->nodes, level.id,
					   parent && !parent->is_root ? &parent->id : NULL,
					   level.location, level.offset);
		if (err)
			return err;
	}
	if (!level.bytes && !level.hits)
		return 0;
	added = array_add(&reader->weights);
	if (!added)
		return -ENOMEM;
	*added = (struct chrome_heap_weight){level.is_root ? 0 : level.id, level.bytes, level.hits,
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
					  "a node whose weight is no number");
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
		return settle_function(reader); /* they are the next tokens */
	if (json_is(json, "callFrame"))
		level->line = chrome_cpu_nodes_read_call_frame(&reader->nodes, json);
	else if (json_is(json, "functionName"))
		json_take_string(json, &reader->nodes.name);
	else if (json_is(json, "url"))
		json_take_string(json, &reader->nodes.url);
	else if (json_is(json, "lineNumber"))
		level->line = json_take_u64(json);
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
			err = begin_node(reader, json);
		else if (token == JSON_OBJECT_END)
			err = end_node(reader);
		else if (token == JSON_KEY)
			err = read_member(reader, json);
		if (err)
			return err;
	} while (reader->levels.length);
	return 0;
}

static int read_members(struct chrome_heap_reader *reader, struct json *json)
{
	struct import *import = reader->nodes.import;
	enum json_token token = json_next(json);

	if (token != JSON_OBJECT && token != JSON_FAILED)
		return import_fail_byte(import, json->offset, "expected an object with a head");
	while ((token = json_next(json)) == JSON_KEY) {
		int err;

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
		return import_fail_byte(import, 0,
					"expected nodes with functions and what they weigh");
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
	/* Bytes first: where a file has both, they are the metric that is shown. */
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

static void release_reader(struct chrome_heap_reader *reader)
{
	chrome_cpu_nodes_release(&reader->nodes);
	array_release(&reader->levels);
	array_release(&reader->weights);
}

static int read_heapprofile(struct import *import)
{
	_cleanup_(release_reader) struct chrome_heap_reader reader = {.nodes.import = import};
	_cleanup_(json_release) struct json json = json_of(import->data, import->size);
	int err = read_members(&reader, &json);

	if (err)
		return err;
	err = add_weights(&reader);
	if (err)
		return err;
	if (reader.num_truncated)
		import_warn(import, "%llu nodes lie deeper than %d levels: they weigh there",
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
