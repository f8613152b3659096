/*
 * A tree of nodes is read in three steps, because a node may name a later parent, in another chunk
 * of the trace.
 *
 *  1. Nodes are added in file order, with the id of their parent, or parents with lists of the ids
 *     of their children: V8 writes `parent` in traces and `children` in files.
 *  2. link_nodes() turns ids into indices; chrome_cpu_nodes_build_stacks() gives every node a stack.
 *     Ids are foreign, so that there may be cycles; they are broken at the node where they close.
 *  3. Samples refer to nodes by id and add to their counts and times, and every node that has any
 *     becomes a sample of the profile. (They may be read before the stacks are there.)
 *
 * Of two nodes with one id both stay in the array, but the index knows only the first: the two are
 * therefore no INTERN_TABLE().
 */
#include "formats/chrome/cpu_nodes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "formats/json_table.h"
#include "formats/reader.h"

#define ANONYMOUS "(anonymous)"
#define ROOT      "(root)"
#define NO_NODE   UINT32_MAX

void chrome_cpu_nodes_release(struct chrome_cpu_nodes *nodes)
{
	array_release(&nodes->nodes);
	array_release(&nodes->children);
	array_release(&nodes->path);
	array_release(&nodes->hits);
	hash_index_release(&nodes->index);
	text_release(&nodes->name);
	text_release(&nodes->url);
}

static bool is_node(const void *owner, uint32_t item, const void *key)
{
	const struct chrome_cpu_nodes *nodes = owner;
	const uint64_t *id = key;

	return nodes->nodes.items[item].id == *id;
}

static uint32_t find_node(const struct chrome_cpu_nodes *nodes, uint64_t id)
{
	return hash_index_find(&nodes->index, hash_mix(0, id), is_node, nodes, &id);
}

/* ---- nodes ---- */

static bool take_number(struct json *json, uint64_t *ret)
{
	enum json_token token = json_next(json);

	json_skip(json, token);
	return json_is_number(json, token) && json_get_u64(json, ret);
}

/* The number of hits that a node itself reports. */
static int read_hit_count(struct chrome_cpu_nodes *nodes, struct json *json, size_t offset,
			  uint64_t *ret)
{
	enum json_token token = json_next(json);
	bool is_good = reader_get_weight(json, token, ret, NULL);

	nodes->has_hits = true;
	json_skip(json, token);
	return is_good ? 0
		       : reader_skip_byte(nodes->import, offset,
					  "a node whose hits are not a number");
}

/*
 * The children's nodes may be later: only their ids are kept. The parent is the node that is being
 * read, the last one.
 */
static int read_children(struct chrome_cpu_nodes *nodes, struct json *json)
{
	enum json_token token = json_next(json);

	if (token != JSON_ARRAY) {
		json_skip(json, token);
		return 0;
	}
	while ((token = json_next(json)) != JSON_ARRAY_END && token != JSON_FAILED) {
		struct chrome_cpu_child child = {.parent = (uint32_t)nodes->nodes.length - 1};
		struct chrome_cpu_child *added;

		json_skip(json, token);
		if (!json_is_number(json, token) || !json_get_u64(json, &child.id))
			continue;
		added = array_add(&nodes->children);
		if (!added)
			return -ENOMEM;
		*added = child;
	}
	return 0;
}

/*
 * The texts are those of `nodes`, used again for every node; a name or url that is missing leaves
 * them empty.
 */
uint64_t chrome_cpu_nodes_read_call_frame(struct chrome_cpu_nodes *nodes, struct json *json)
{
	enum json_token token = json_next(json);
	uint64_t line = 0; /* counted from 0; -1: no line */

	if (token != JSON_OBJECT) {
		json_skip(json, token);
		return 0;
	}
	nodes->has_frames = true;
	while (json_next(json) == JSON_KEY) {
		if (json_is(json, "functionName")) {
			json_take_string(json, &nodes->name);
		} else if (json_is(json, "url")) {
			json_take_string(json, &nodes->url);
		} else if (json_is(json, "lineNumber")) {
			token = json_next(json);
			if (json_is_number(json, token) && json_get_u64(json, &line) &&
			    line < UINT32_MAX)
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

int chrome_cpu_nodes_add_location(struct chrome_cpu_nodes *nodes, uint64_t line, uint32_t *ret)
{
	struct profile *profile = nodes->import->profile;
	struct frame frame = {0};
	int err;

	if (nodes->name.failed || nodes->url.failed)
		return -ENOMEM;
	if (nodes->name.length)
		err = profile_add_frame_name(profile, nodes->name.data, nodes->name.length,
					     &frame.name);
	else
		err = profile_add_string(profile, ANONYMOUS, &frame.name);
	if (err)
		return err;
	/* A line is one of a file; native functions have neither. */
	if (nodes->url.length) {
		err = string_table_add(profile_get_strings(profile), nodes->url.data,
				       nodes->url.length, &frame.file);
		if (err)
			return err;
		frame.line = line <= UINT32_MAX ? (uint32_t)line : 0;
	}
	frame.full_name = frame.name;
	return profile_add_frame_location(profile, &frame, ret);
}

/* Index the node that was added last. If its id is taken, it stays without samples. */
static int index_node(struct chrome_cpu_nodes *nodes, size_t offset)
{
	uint32_t id = (uint32_t)nodes->nodes.length - 1;
	const struct chrome_cpu_node *node = &nodes->nodes.items[id];

	if (find_node(nodes, node->id) != NO_NODE)
		return reader_skip_byte(nodes->import, offset, "a node with a duplicate id");
	return hash_index_add(&nodes->index, hash_mix(0, node->id), id);
}

static int read_node(void *context, struct json *json)
{
	struct chrome_cpu_nodes *nodes = context;
	size_t offset = json->offset;
	struct chrome_cpu_node *node = array_add(&nodes->nodes);
	uint64_t line = 0;
	int err;

	if (!node)
		return -ENOMEM;
	text_truncate(&nodes->name, 0);
	text_truncate(&nodes->url, 0);
	while (json_next(json) == JSON_KEY) {
		if (json_is(json, "id")) {
			node->id = json_take_u64(json);
		} else if (json_is(json, "hitCount")) {
			err = read_hit_count(nodes, json, offset, &node->hit_count);
			if (err)
				return err;
		} else if (json_is(json, "parent")) {
			node->has_parent = take_number(json, &node->parent_id);
		} else if (json_is(json, "callFrame")) {
			line = chrome_cpu_nodes_read_call_frame(nodes, json);
		} else if (json_is(json, "children")) {
			err = read_children(nodes, json);
			if (err)
				return err;
		} else {
			json_skip_value(json);
		}
	}
	node->parent = NO_NODE;
	node->is_root = nodes->name.length && string_equals(nodes->name.data, ROOT);
	err = chrome_cpu_nodes_add_location(nodes, line, &node->location);
	if (err)
		return err;
	return index_node(nodes, offset);
}

int chrome_cpu_nodes_add(struct chrome_cpu_nodes *nodes, uint64_t id, const uint64_t *parent_id,
			 uint32_t location, size_t offset)
{
	struct chrome_cpu_node *node = array_add(&nodes->nodes);

	if (!node)
		return -ENOMEM;
	node->id = id;
	node->has_parent = parent_id;
	node->parent_id = parent_id ? *parent_id : 0;
	node->parent = NO_NODE;
	node->location = location;
	return index_node(nodes, offset);
}

int chrome_cpu_nodes_read_member(struct chrome_cpu_nodes *nodes, struct json *json,
				 struct chrome_cpu_sample_lists *lists)
{
	if (json_is(json, "nodes"))
		return reader_read_objects(nodes->import, json, "a node", read_node, nodes);
	if (json_is(json, "samples"))
		json_take_position(json, 0, &lists->samples);
	else if (json_is(json, "timeDeltas"))
		json_take_position(json, 0, &lists->deltas);
	else if (json_is(json, "startTime"))
		nodes->start_us = json_take_u64(json);
	else if (json_is(json, "endTime"))
		nodes->end_us = json_take_u64(json);
	else
		json_skip_value(json);
	return 0;
}

/* From ids to indices. A node that names its parent needs no list of children. */
static void link_nodes(struct chrome_cpu_nodes *nodes)
{
	array_for_each (&nodes->nodes, node) {
		uint32_t parent = node->has_parent ? find_node(nodes, node->parent_id) : NO_NODE;

		if (parent != NO_NODE && &nodes->nodes.items[parent] != node)
			node->parent = parent;
	}
	array_for_each (&nodes->children, child) {
		uint32_t id = find_node(nodes, child->id);

		if (id != HASH_INDEX_NONE && id != child->parent &&
		    nodes->nodes.items[id].parent == NO_NODE)
			nodes->nodes.items[id].parent = child->parent;
	}
}

/*
 * The stack of a node, after those of its parents; a cycle is broken. Goes up the parents until one
 * is built or was met on this very way (is_open), then down again. is_open is never cleared: open
 * nodes are built at the end.
 */
static int build_stack(struct chrome_cpu_nodes *nodes, uint32_t id)
{
	struct chrome_cpu_node *items = nodes->nodes.items;
	uint32_t stack = STACK_EMPTY;

	nodes->path.length = 0;
	for (; id != NO_NODE && !items[id].has_stack && !items[id].is_open; id = items[id].parent) {
		uint32_t *level = array_add(&nodes->path);

		if (!level)
			return -ENOMEM;
		*level = id;
		items[id].is_open = true;
	}
	if (id != NO_NODE && items[id].has_stack)
		stack = items[id].stack;
	while (nodes->path.length) {
		struct chrome_cpu_node *node = &items[nodes->path.items[--nodes->path.length]];

		if (!node->is_root) {
			int err = profile_add_stack(nodes->import->profile, stack, node->location,
						    &stack);

			if (err)
				return err;
		}
		node->stack = stack;
		node->has_stack = true;
	}
	return 0;
}

int chrome_cpu_nodes_build_stacks(struct chrome_cpu_nodes *nodes)
{
	int err;

	link_nodes(nodes);
	for (uint32_t id = 0; id < nodes->nodes.length; id++) {
		err = build_stack(nodes, id);
		if (err)
			return err;
	}
	return 0;
}

bool chrome_cpu_nodes_find_stack(const struct chrome_cpu_nodes *nodes, uint64_t id, uint32_t *ret)
{
	uint32_t node = find_node(nodes, id);

	if (node != NO_NODE)
		*ret = nodes->nodes.items[node].stack;
	return node != NO_NODE;
}

/* ---- samples ---- */

/* A skipped sample takes its time with it: the owner of the time is unknown. */
int chrome_cpu_nodes_add_hit(struct chrome_cpu_nodes *nodes, const uint64_t *id, uint64_t time_us,
			     size_t offset)
{
	struct chrome_cpu_hit *hit = array_add(&nodes->hits);

	if (!hit)
		return -ENOMEM;
	*hit = (struct chrome_cpu_hit){.time_us = time_us,
				       .node = id ? find_node(nodes, *id) : NO_NODE,
				       .order = (uint32_t)(nodes->hits.length - 1)};
	nodes->has_samples = true;
	if (!id)
		return reader_skip_byte(nodes->import, offset,
					"a sample without a node of that id");
	if (hit->node == NO_NODE)
		return reader_skip_byte(nodes->import, offset, "a sample of a missing node");
	nodes->nodes.items[hit->node].samples++;
	nodes->import->counts.records++;
	return 0;
}

/* A number, perhaps below 0. */
static bool get_delta(struct json *deltas, enum json_token token, int64_t *ret)
{
	uint64_t forward;
	double number;

	if (reader_get_weight(deltas, token, &forward, NULL) && forward <= INT64_MAX) {
		*ret = (int64_t)forward;
		return true;
	}
	number = json_is_number(deltas, token) ? json_get_double(deltas) : 0;
	if (!(number < 0))
		return false;
	*ret = number > -9e18 ? (int64_t)number : INT64_MIN;
	return true;
}

static int read_delta(struct chrome_cpu_nodes *nodes, struct json *deltas, bool *has_delta)
{
	enum json_token token = json_next(deltas);
	int64_t delta = 0;
	bool is_good;

	*has_delta = token != JSON_ARRAY_END && token != JSON_FAILED;
	if (!*has_delta)
		return 0;
	is_good = get_delta(deltas, token, &delta);
	json_skip(deltas, token);
	if (!is_good)
		return reader_skip_byte(nodes->import, deltas->offset,
					"a time that is not a number");
	if (__builtin_add_overflow(nodes->passed_us, delta, &nodes->passed_us))
		nodes->passed_us = delta < 0 ? INT64_MIN : INT64_MAX;
	return 0;
}

/* The current time, saturated at 0 and at 64 bits. */
static uint64_t get_now(const struct chrome_cpu_nodes *nodes)
{
	uint64_t back_us = nodes->passed_us < 0 ? -(uint64_t)nodes->passed_us : 0;
	uint64_t now_us;

	if (back_us)
		return nodes->start_us > back_us ? nodes->start_us - back_us : 0;
	return __builtin_add_overflow(nodes->start_us, (uint64_t)nodes->passed_us, &now_us)
		       ? UINT64_MAX
		       : now_us;
}

/*
 * Both lists are read side by side. A list of deltas may be shorter: the rest of the samples has no
 * time.
 */
static int read_hits(struct chrome_cpu_nodes *nodes, struct json *samples, struct json *deltas)
{
	bool has_delta = deltas && json_next(deltas) == JSON_ARRAY;
	enum json_token token;
	int err;

	if (json_next(samples) != JSON_ARRAY)
		return 0;
	nodes->has_samples = true;
	while ((token = json_next(samples)) != JSON_ARRAY_END) {
		uint64_t id;
		bool has_id;

		if (token == JSON_FAILED)
			return reader_fail_json(nodes->import, samples, 0);
		err = has_delta ? read_delta(nodes, deltas, &has_delta) : 0;
		if (err)
			return err;
		has_id = json_is_number(samples, token) && json_get_u64(samples, &id);
		json_skip(samples, token);
		err = chrome_cpu_nodes_add_hit(nodes, has_id ? &id : NULL, get_now(nodes),
					       samples->offset);
		if (err)
			return err;
	}
	return 0;
}

static int compare_hits(const void *left, const void *right)
{
	const struct chrome_cpu_hit *a = left;
	const struct chrome_cpu_hit *b = right;

	if (a->time_us != b->time_us)
		return a->time_us < b->time_us ? -1 : 1;
	return (a->order > b->order) - (a->order < b->order);
}

/*
 * The duration of the last one, no longer than another one lasted: the profile may have ended hours
 * after it.
 */
static uint64_t find_last_duration(const struct chrome_cpu_nodes *nodes, uint64_t longest_us)
{
	size_t count = nodes->hits.length;
	uint64_t last_us = nodes->hits.items[count - 1].time_us;
	uint64_t left_us = nodes->end_us > last_us ? nodes->end_us - last_us : 0;

	return count > 1 && left_us > longest_us ? longest_us : left_us;
}

static int pass_time(struct chrome_cpu_nodes *nodes)
{
	size_t count = nodes->hits.length;
	uint64_t longest_us = 0;

	if (!count)
		return 0;
	qsort(nodes->hits.items, count, sizeof(nodes->hits.items[0]), compare_hits);
	for (size_t i = 0; i < count; i++) {
		struct chrome_cpu_hit *hit = &nodes->hits.items[i];
		uint64_t *sum;

		hit->duration_us = i + 1 < count ? hit[1].time_us - hit->time_us
						 : find_last_duration(nodes, longest_us);
		if (hit->duration_us > longest_us)
			longest_us = hit->duration_us;
		if (hit->node == NO_NODE)
			continue;
		sum = &nodes->nodes.items[hit->node].time_us;
		if (__builtin_add_overflow(*sum, hit->duration_us, sum))
			return import_fail_byte(nodes->import, 0, "the times exceed 64 bits");
	}
	return 0;
}

int chrome_cpu_nodes_read_samples(struct chrome_cpu_nodes *nodes,
				  const struct chrome_cpu_sample_lists *lists)
{
	const struct import *import = nodes->import;
	_cleanup_(json_release) struct json samples = {0};
	_cleanup_(json_release) struct json deltas = {0};

	if (!lists->samples)
		return 0;
	samples = json_at(import->data, import->size, lists->samples);
	if (!lists->deltas)
		return read_hits(nodes, &samples, NULL);
	deltas = json_at(import->data, import->size, lists->deltas);
	return read_hits(nodes, &samples, &deltas);
}

/* hitCount counts the same samples as the list, if there is one. */
static int add_node(struct chrome_cpu_nodes *nodes, const struct chrome_cpu_node *node,
		    uint32_t thread, uint32_t metric, uint32_t time_metric)
{
	struct profile *profile = nodes->import->profile;
	uint64_t count = nodes->has_samples ? node->samples : node->hit_count;
	uint64_t time_ns;
	int err;

	if (count) {
		err = profile_add_sample(profile, thread, node->stack, metric, count);
		nodes->import->counts.records += !nodes->has_samples;
		if (err == -EOVERFLOW)
			return import_fail_byte(nodes->import, 0,
						"the weights of a stack exceed 64 bits");
		if (err)
			return err;
	}
	if (!node->time_us)
		return 0;
	if (__builtin_mul_overflow(node->time_us, 1000, &time_ns))
		time_ns = UINT64_MAX;
	err = profile_add_sample(profile, thread, node->stack, time_metric, time_ns);
	if (err == -EOVERFLOW)
		return import_fail_byte(nodes->import, 0, "the times exceed 64 bits");
	return err;
}

/* Add the times of the samples of both metrics; times beyond 64 bits are left out. */
static int add_timestamps(struct chrome_cpu_nodes *nodes, uint32_t thread, uint32_t metric,
			  uint32_t time_metric)
{
	struct profile *profile = nodes->import->profile;
	int err;

	if (!profile_get_timestamps(profile))
		return 0;
	for (size_t i = 0; i < nodes->hits.length; i++) {
		const struct chrome_cpu_hit *hit = &nodes->hits.items[i];
		const struct chrome_cpu_node *node;

		if (hit->node == NO_NODE)
			continue;
		node = &nodes->nodes.items[hit->node];
		if (hit->time_us > UINT64_MAX / 1000 || node->time_us > UINT64_MAX / 1000)
			continue;
		err = profile_add_timestamp(profile, thread, node->stack, metric, 1,
					    hit->time_us * 1000);
		if (err)
			return err;
		err = profile_add_timestamp(profile, thread, node->stack, time_metric,
					    hit->duration_us * 1000, hit->time_us * 1000);
		if (err)
			return err;
	}
	return 0;
}

int chrome_cpu_nodes_finish(struct chrome_cpu_nodes *nodes, uint32_t thread)
{
	struct profile *profile = nodes->import->profile;
	uint32_t metric;
	uint32_t time_metric = 0;
	int err = profile_add_metric(profile, "samples", "count", &metric);

	if (err)
		return err;
	if (nodes->has_samples) {
		err = profile_add_metric(profile, "time", "nanoseconds", &time_metric);
		if (err)
			return err;
	}
	err = pass_time(nodes);
	if (err)
		return err;
	err = chrome_cpu_nodes_build_stacks(nodes);
	if (err)
		return err;
	for (size_t i = 0; i < nodes->nodes.length; i++) {
		err = add_node(nodes, &nodes->nodes.items[i], thread, metric, time_metric);
		if (err)
			return err;
	}
	return add_timestamps(nodes, thread, metric, time_metric);
}
