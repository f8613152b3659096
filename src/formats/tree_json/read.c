/*
 * Flame graphs as JSON trees, as d3-flame-graph and its relatives use them. Nobody has specified the
 * format; write.c shows ours. All agree on nodes with a name, a value and children. Keys are long
 * (name, value, children) or short (n, v, c), in any order; others are skipped.
 *
 * Producers differ, so the reader has to guess:
 *
 * - Some write the value of the whole subtree, some that of the node alone, unmarked. Values are
 *   the nodes' own if the children of the root together exceed it, or those of more than one node
 *   in a hundred exceed theirs. (A few exceed it by rounding.)
 * - The root represents all stacks and is no frame if it has a name like "all" and no samples of
 *   its own. There may be several trees in an array.
 *
 * Nodes are stored in preorder: a node's parent has a smaller index. So subtrees are added up from
 * the last node to the first, and stacks are made from the first to the last. Depth costs no
 * recursion.
 */
#include <errno.h>
#include <string.h>

#include "base/arithmetic.h"
#include "base/array.h"
#include "base/json.h"
#include "base/script_name.h"
#include "formats/reader.h"

#define NO_NODE           UINT32_MAX
#define DETECTION_TOKENS  4000
#define BROKEN_NODE_SHARE 100 /* of one in so many nodes the children may exceed the value */

struct tree_json_node {
	uint32_t parent;   /* NO_NODE: outermost */
	uint32_t name;     /* string */
	uint64_t value;    /* of the subtree, or of the node alone: see has_self_values */
	uint64_t children; /* sum of their values, saturated */
	uint8_t kind;      /* enum frame_kind */
	bool is_inlined;
	bool has_value;
	bool has_children;
	uint32_t stack;
	uint32_t thread;
};

struct tree_json_reader {
	struct import *import;
	struct json json;
	ARRAY(struct tree_json_node) nodes;
	ARRAY(uint64_t) baselines; /* by node; empty unless it is a comparison */
	uint32_t current;          /* the innermost open node */
	bool is_own;               /* we wrote it */
	bool has_names;
	bool has_values;
	bool has_self_values;
	bool has_decimals;
	enum tree_root root; /* the kind of the first level */
	uint32_t thread;     /* of stacks without thread */
	struct processes processes;
	struct text metric;
	struct text unit;
	struct text baseline;
};

static int fail(struct tree_json_reader *reader)
{
	return reader_fail_json(reader->import, &reader->json, 0);
}

static int fail_expected(struct tree_json_reader *reader, const char *expected)
{
	return import_fail_byte(reader->import, reader->json.offset, "expected %s", expected);
}

static int add_node(struct tree_json_reader *reader)
{
	struct tree_json_node *node =
		reader->nodes.length < NO_NODE ? array_add(&reader->nodes) : NULL;

	if (!node)
		return -ENOMEM;
	node->parent = reader->current;
	reader->current = (uint32_t)(reader->nodes.length - 1);
	return 0;
}

static struct tree_json_node *get_current(struct tree_json_reader *reader)
{
	return &reader->nodes.items[reader->current];
}

/* ---- members of a node ---- */

/*
 * Our own names are taken as they were in the profile; foreign ones may hold a semicolon or a line
 * break.
 */
static int read_name(struct tree_json_reader *reader)
{
	enum json_token token = json_next(&reader->json);
	struct profile *profile = reader->import->profile;
	struct tree_json_node *node = get_current(reader);
	struct frame frame = {0};
	size_t length = reader->json.length;
	int err;

	if (token == JSON_FAILED)
		return fail(reader);
	if (token != JSON_STRING)
		return fail_expected(reader, "the name of a frame in quotes");
	reader->has_names = true;
	err = reader_strip_annotation(profile, reader->json.text, &length, &frame);
	if (err)
		return err;
	node->kind = frame.kind;
	node->is_inlined = frame.is_inlined;
	if (reader->is_own)
		return string_table_add(profile_get_strings(profile), reader->json.text, length,
					&node->name);
	return profile_add_frame_name(profile, reader->json.text, length, &node->name);
}

static int read_number(struct tree_json_reader *reader, uint64_t *ret)
{
	enum json_token token = json_next(&reader->json);

	if (token == JSON_FAILED)
		return fail(reader);
	*ret = 0;
	if (token == JSON_NULL)
		return 0;
	if (!json_is_number(&reader->json, token))
		return fail_expected(reader, "a number");
	if (!reader_get_weight(&reader->json, token, ret, &reader->has_decimals))
		return fail_expected(reader, "a number from 0 to 2^64");
	return 0;
}

static int read_value(struct tree_json_reader *reader)
{
	uint64_t value;
	struct tree_json_node *node;
	int err = read_number(reader, &value);

	if (err)
		return err;
	node = get_current(reader);
	node->value = value;
	node->has_value = reader->has_values = true;
	return 0;
}

/*
 * An array of its own, because only comparisons have it. Nodes without one have 0: they were not
 * there before.
 */
static int read_baseline(struct tree_json_reader *reader)
{
	uint64_t value;
	int err = read_number(reader, &value);

	if (err)
		return err;
	while (reader->baselines.length <= reader->current) {
		if (!array_add(&reader->baselines))
			return -ENOMEM;
	}
	reader->baselines.items[reader->current] = value;
	return 0;
}

static int read_text(struct tree_json_reader *reader, struct text *text)
{
	enum json_token token = json_next(&reader->json);

	if (token == JSON_FAILED)
		return fail(reader);
	text_truncate(text, 0);
	if (token == JSON_STRING)
		text_append(text, reader->json.text, reader->json.length);
	else
		json_skip(&reader->json, token);
	return text->failed ? -ENOMEM : 0;
}

static int read_root_kind(struct tree_json_reader *reader)
{
	enum json_token token = json_next(&reader->json);

	if (token == JSON_FAILED)
		return fail(reader);
	json_skip(&reader->json, token);
	if (token != JSON_STRING || !reader->is_own)
		return 0;
	if (json_is(&reader->json, "comm"))
		reader->root = TREE_ROOT_COMM;
	else if (json_is(&reader->json, "script"))
		reader->root = TREE_ROOT_SCRIPT;
	else if (json_is(&reader->json, "pid"))
		reader->root = TREE_ROOT_PID;
	else if (json_is(&reader->json, "tid"))
		reader->root = TREE_ROOT_TID;
	return 0;
}

static int read_tool(struct tree_json_reader *reader)
{
	enum json_token token = json_next(&reader->json);

	if (token == JSON_FAILED)
		return fail(reader);
	json_skip(&reader->json, token);
	reader->is_own = token == JSON_STRING && json_is(&reader->json, "stackwide");
	return 0;
}

static int read_meta_member(struct tree_json_reader *reader)
{
	if (json_is(&reader->json, "tool"))
		return read_tool(reader);
	if (json_is(&reader->json, "metric"))
		return read_text(reader, &reader->metric);
	if (json_is(&reader->json, "unit"))
		return read_text(reader, &reader->unit);
	if (json_is(&reader->json, "baseline"))
		return read_text(reader, &reader->baseline);
	if (json_is(&reader->json, "root"))
		return read_root_kind(reader);
	json_skip_value(&reader->json);
	return 0;
}

/*
 * Our own mark, in the first node. It decides how the names behind it are read, so that the writer
 * puts it first.
 */
static int read_meta(struct tree_json_reader *reader)
{
	enum json_token token = json_next(&reader->json);
	int err;

	if (token != JSON_OBJECT) {
		json_skip(&reader->json, token);
		return 0;
	}
	while ((token = json_next(&reader->json)) == JSON_KEY) {
		err = read_meta_member(reader);
		if (err)
			return err;
	}
	return token == JSON_FAILED ? fail(reader) : 0;
}

static int read_library_type(struct tree_json_reader *reader)
{
	enum json_token token = json_next(&reader->json);
	struct tree_json_node *node = get_current(reader);

	if (token == JSON_FAILED)
		return fail(reader);
	json_skip(&reader->json, token);
	if (token != JSON_STRING)
		return 0;
	if (json_is(&reader->json, "kernel"))
		node->kind = FRAME_KERNEL;
	else if (json_is(&reader->json, "jit"))
		node->kind = FRAME_JIT;
	else if (json_is(&reader->json, "inlined"))
		node->is_inlined = true;
	return 0;
}

/* Only the bracket: the children are the tokens that read_nodes() gets next. */
static int read_children(struct tree_json_reader *reader)
{
	enum json_token token = json_next(&reader->json);

	if (token == JSON_FAILED)
		return fail(reader);
	if (token != JSON_ARRAY && token != JSON_NULL)
		return fail_expected(reader, "the children in an array");
	return 0;
}

static bool is_key(const struct tree_json_reader *reader, const char *name, const char *short_name)
{
	return json_is(&reader->json, name) || json_is(&reader->json, short_name);
}

static int read_member(struct tree_json_reader *reader)
{
	if (reader->current == NO_NODE)
		return fail_expected(reader, "a tree of names and values");
	if (is_key(reader, "name", "n"))
		return read_name(reader);
	if (is_key(reader, "value", "v"))
		return read_value(reader);
	if (is_key(reader, "children", "c"))
		return read_children(reader);
	if (is_key(reader, "libtype", "l"))
		return read_library_type(reader);
	if (json_is(&reader->json, "baseline"))
		return read_baseline(reader);
	if (json_is(&reader->json, "meta") && reader->current == 0)
		return read_meta(reader);
	json_skip_value(&reader->json);
	return 0;
}

/* A single loop for all depths: '{' opens a child of `current`, '}' returns to its parent. */
static int read_nodes(struct tree_json_reader *reader)
{
	for (;;) {
		enum json_token token = json_next(&reader->json);
		int err = 0;

		if (token == JSON_END)
			return 0;
		if (token == JSON_OBJECT)
			err = add_node(reader);
		else if (token == JSON_OBJECT_END)
			reader->current = get_current(reader)->parent;
		else if (token == JSON_KEY)
			err = read_member(reader);
		else if (token == JSON_FAILED)
			err = fail(reader);
		else if (token != JSON_ARRAY_END &&
			 !(token == JSON_ARRAY && json_get_depth(&reader->json) == 1))
			err = fail_expected(reader, "a node, which is an object");
		if (err)
			return err;
	}
}

/* ---- the meaning of nodes ---- */

/*
 * Sums are saturated: a file whose values add up to more than 64 bits mostly has children above
 * their parent's value, and is recognised by that.
 */
static void add_up(struct tree_json_reader *reader)
{
	uint64_t num_parents = 0;
	uint64_t num_broken = 0;

	for (size_t i = reader->nodes.length; i-- > 0;) {
		struct tree_json_node *node = &reader->nodes.items[i];
		struct tree_json_node *parent;

		if (!node->has_value)
			node->value = node->children;
		num_parents += node->has_children;
		num_broken += node->children > node->value;
		if (node->parent == NO_NODE) {
			if (node->children > node->value && !reader->is_own)
				reader->has_self_values = true;
			continue;
		}
		parent = &reader->nodes.items[node->parent];
		parent->children = add_saturated(parent->children, node->value);
		parent->has_children = true;
	}
	if (num_broken > num_parents / BROKEN_NODE_SHARE && !reader->is_own)
		reader->has_self_values = true;
}

/*
 * In values of subtrees rounding may make the children exceed their parent by a little: there is no
 * negative time.
 */
static uint64_t get_self(const struct tree_json_reader *reader, const struct tree_json_node *node)
{
	if (reader->has_self_values)
		return node->has_value ? node->value : 0;
	return node->value > node->children ? node->value - node->children : 0;
}

/*
 * Whether a root only represents all stacks. A root with samples of its own is a frame, whatever
 * its name: leaving it out would lose them.
 */
static bool is_all(const struct tree_json_reader *reader, const struct tree_json_node *node)
{
	static const char *const names[] = {"all",   "root",      "(root)", "[root]",
					    "total", "[unknown]", "",       "flamegraph"};
	const char *name = profile_get_string(reader->import->profile, node->name);

	if (node->parent != NO_NODE || get_self(reader, node))
		return false;
	if (!node->has_children)
		return reader->is_own; /* of an empty profile */
	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (string_equals(name, names[i]))
			return true;
	return false;
}

/* Take "-812" or "/815" off the end of a thread's name; "-?" is an id that is not known. */
static bool take_id(const char *name, size_t *length, char mark, uint32_t *ret)
{
	const char *found = memrchr(name, mark, *length);
	size_t start = found ? (size_t)(found - name) : 0;
	uint64_t id;

	if (!found)
		return false;
	if (*length - start == 2 && found[1] == '?')
		id = 0;
	else if (!parse_u64(found + 1, *length - start - 1, &id) || id > UINT32_MAX)
		return false;
	*length = start;
	*ret = (uint32_t)id;
	return true;
}

/* "python3 (manage.py)": of a process of its own, as each script has a node. */
static int add_script_thread(struct tree_json_reader *reader, struct tree_json_node *node,
			     bool *ret_has_script)
{
	struct profile *profile = reader->import->profile;
	struct thread thread = {.source = reader->import->source};
	const char *script;
	size_t script_length;
	size_t comm_length;
	uint32_t name;
	int err;

	*ret_has_script = script_name_find_in_label(profile_get_string(profile, node->name),
						    profile_get_string_length(profile, node->name),
						    &comm_length, &script, &script_length);
	if (!*ret_has_script)
		return 0;
	err = profile_add_frame_name(profile, script, script_length, &name);
	if (err)
		return err;
	err = string_table_add(profile_get_strings(profile),
			       profile_get_string(profile, node->name), comm_length, &thread.comm);
	if (err)
		return err;
	err = profile_add_process(profile, 0, thread.comm, &thread.process);
	if (err)
		return err;
	profile_set_process_script(profile, thread.process, name);
	return profile_add_thread(profile, &thread, &node->thread);
}

/* A node of the first level that our writer made of a thread: "java-812/815". */
static int add_thread(struct tree_json_reader *reader, struct tree_json_node *node)
{
	struct profile *profile = reader->import->profile;
	const char *name = profile_get_string(profile, node->name);
	size_t length = profile_get_string_length(profile, node->name);
	struct thread thread = {.source = reader->import->source};
	uint32_t pid = 0;
	int err;

	if (reader->root == TREE_ROOT_SCRIPT) {
		bool has_script;

		err = add_script_thread(reader, node, &has_script);
		if (err || has_script)
			return err;
	}
	if (reader->root == TREE_ROOT_TID)
		(void)take_id(name, &length, '/', &thread.tid); /* it has none then */
	if (reader->root == TREE_ROOT_PID || reader->root == TREE_ROOT_TID)
		(void)take_id(name, &length, '-', &pid);
	err = string_table_add(profile_get_strings(profile), name, length, &thread.comm);
	if (err)
		return err;
	err = reader_find_process(&reader->processes, profile, pid, thread.comm, &thread.process);
	if (err)
		return err;
	return profile_add_thread(profile, &thread, &node->thread);
}

static int add_stack(struct tree_json_reader *reader, struct tree_json_node *node)
{
	struct profile *profile = reader->import->profile;
	struct frame frame = {.name = node->name,
			      .full_name = node->name,
			      .kind = node->kind,
			      .is_inlined = node->is_inlined};
	const struct tree_json_node *parent = NULL;
	int err = 0;

	if (node->parent != NO_NODE)
		parent = &reader->nodes.items[node->parent];
	node->stack = parent ? parent->stack : STACK_EMPTY;
	node->thread = parent ? parent->thread : reader->thread;
	if (is_all(reader, node))
		return 0;
	if (reader->root != TREE_ROOT_NONE && parent && parent->parent == NO_NODE)
		return add_thread(reader, node);
	if (frame.kind == FRAME_KERNEL)
		err = profile_add_string(profile, "[kernel]", &frame.module);
	if (err)
		return err;
	return profile_extend_stack(profile, &frame, &node->stack);
}

/* A leaf of value 0 is kept: the file has it, and our writer writes it again. */
static int add_weight(struct tree_json_reader *reader, const struct tree_json_node *node,
		      uint32_t metric)
{
	uint64_t self = get_self(reader, node);

	if (!self && (node->has_children || !node->has_value || node->stack == STACK_EMPTY))
		return 0;
	return reader_add_sample(reader->import, 0, node->thread, node->stack, metric, self);
}

static int add_metric(struct tree_json_reader *reader, const struct text *name, uint32_t *ret)
{
	return profile_add_metric(reader->import->profile, name->length ? name->data : "samples",
				  reader->unit.length ? reader->unit.data : "count", ret);
}

static int add_samples(struct tree_json_reader *reader, uint32_t metric)
{
	int err;

	for (size_t i = 0; i < reader->nodes.length; i++) {
		err = add_weight(reader, &reader->nodes.items[i], metric);
		if (err)
			return err;
	}
	return 0;
}

static int add_stacks(struct tree_json_reader *reader)
{
	int err;

	for (size_t i = 0; i < reader->nodes.length; i++) {
		err = add_stack(reader, &reader->nodes.items[i]);
		if (err)
			return err;
	}
	return 0;
}

/* The same once more with the values of before in place of those of after. */
static int add_baselines(struct tree_json_reader *reader, uint32_t metric)
{
	for (size_t i = 0; i < reader->nodes.length; i++) {
		struct tree_json_node *node = &reader->nodes.items[i];

		node->value = i < reader->baselines.length ? reader->baselines.items[i] : 0;
		node->has_value = true;
		node->children = 0;
	}
	add_up(reader);
	return add_samples(reader, metric);
}

static int add_weights(struct tree_json_reader *reader)
{
	bool is_comparison = reader->baselines.length && reader->baseline.length;
	uint32_t before;
	uint32_t after;
	int err;

	if (is_comparison) {
		err = add_metric(reader, &reader->baseline, &before);
		if (err)
			return err;
	}
	err = add_metric(reader, &reader->metric, &after);
	if (err)
		return err;
	err = add_samples(reader, after);
	if (err)
		return err;
	return is_comparison ? add_baselines(reader, before) : 0;
}

static int read_tree(struct tree_json_reader *reader)
{
	struct import *import = reader->import;
	int err = read_nodes(reader);

	if (err)
		return err;
	if (!reader->has_names || !reader->has_values)
		return import_fail_byte(import, 0, "expected a tree of names and values");
	err = reader_add_anonymous_thread(import, &reader->thread);
	if (err)
		return err;
	add_up(reader);
	err = add_stacks(reader);
	if (err)
		return err;
	return add_weights(reader);
}

static void tree_json_reader_release(struct tree_json_reader *reader)
{
	json_release(&reader->json);
	array_release(&reader->nodes);
	array_release(&reader->baselines);
	processes_release(&reader->processes);
	text_release(&reader->metric);
	text_release(&reader->unit);
	text_release(&reader->baseline);
}

int tree_json_read(struct import *import)
{
	_cleanup_(tree_json_reader_release) struct tree_json_reader reader = {
		.import = import,
		.json = json_of(import->data, import->size),
		.current = NO_NODE,
		.root = TREE_ROOT_NONE};
	int err = read_tree(&reader);

	if (err)
		return err;
	if (reader.has_decimals)
		import_warn(import, "values with decimals are rounded");
	return 0;
}

/* Keys of other JSON formats that are near the start of their files. */
static bool is_foreign_key(const struct json *json)
{
	static const char *const keys[] = {"$schema",     "shared", "profiles", "nodes",
					   "traceEvents", "ph",     "frames",   "timeDeltas",
					   "threads",     "libs",   "samples"};

	for (size_t i = 0; i < ARRAY_LENGTH(keys); i++)
		if (json_is(json, keys[i]))
			return true;
	return false;
}

/* json_skip() with a limit. */
static void skip(struct json *json, enum json_token token, int *num_tokens)
{
	size_t depth = json_get_depth(json);

	if (token != JSON_OBJECT && token != JSON_ARRAY)
		return;
	while (json_get_depth(json) >= depth && token != JSON_FAILED && (*num_tokens)-- > 0)
		token = json_next(json);
}

/*
 * "name" and "value" are keys of many JSON files. Those of a tree are in the outermost object, in
 * one of the outermost list, or in children of these. A trace or another profile may have them
 * there, too, but with one of the foreign keys first. The number of tokens limits the search in a
 * large file that has neither.
 */
enum detection tree_json_detect(const uint8_t *data, size_t size)
{
	_cleanup_(json_release) struct json json = json_of(data, size);
	enum json_token token = json_next(&json);
	bool has_name = false;
	bool has_value = false;

	if (token != JSON_OBJECT && token != JSON_ARRAY)
		return DETECTED_NOT;
	for (int num_tokens = DETECTION_TOKENS; num_tokens > 0; num_tokens--) {
		bool is_name;
		bool is_value;
		bool is_children;

		token = json_next(&json);
		if (token == JSON_FAILED || token == JSON_END)
			return DETECTED_NOT;
		if (token != JSON_KEY)
			continue;
		if (is_foreign_key(&json))
			return DETECTED_NOT;
		is_name = json_is(&json, "name") || json_is(&json, "n");
		is_value = json_is(&json, "value") || json_is(&json, "v");
		is_children = json_is(&json, "children") || json_is(&json, "c");
		token = json_next(&json);
		has_name |= is_name && token == JSON_STRING;
		has_value |= is_value && json_is_number(&json, token);
		if (has_name && has_value)
			return DETECTED_SURE;
		if (!is_children || token != JSON_ARRAY)
			skip(&json, token, &num_tokens);
	}
	return DETECTED_NOT;
}
