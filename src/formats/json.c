/*
 * The flame graph as a JSON tree, as d3-flame-graph and its relatives read it:
 *
 *	{"meta":{…},"name":"all","value":12,"children":[{"name":"main","value":12,"children":[…]}]}
 *
 * A value is that of the whole subtree. In a comparison every node also has `baseline`, the value
 * before, and `delta`, the change. `meta.root` says that the first level is threads, and how they
 * are written, so that they can be read as threads again.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/array.h"
#include "base/json.h"
#include "formats/format.h"
#include "formats/reader.h"

struct item {
	const char *label;
	size_t length;
	uint32_t node;
	bool is_first; /* among its siblings */
	bool is_end;   /* the brackets that end the node */
};

struct writer {
	const struct profile *profile;
	const struct format_opts *opts;
	const struct sink *sink;
	const struct call_tree *tree;
	uint64_t *totals; /* by node, of the whole subtree */
	uint64_t *baselines;
	uint32_t *first_child; /* by node; 0: none, as the root is no child */
	uint32_t *next_sibling;
	ARRAY(struct item) items; /* what is to be written; the next one is the last */
	struct text text;
};

static int add_up(struct writer *writer)
{
	uint32_t count = call_tree_get_count(writer->tree);

	writer->totals = calloc(count, sizeof(*writer->totals));
	writer->baselines = calloc(count, sizeof(*writer->baselines));
	writer->first_child = calloc(count, sizeof(*writer->first_child));
	writer->next_sibling = calloc(count, sizeof(*writer->next_sibling));
	if (!writer->totals || !writer->baselines || !writer->first_child || !writer->next_sibling)
		return -ENOMEM;
	for (uint32_t node = count; node-- > 0;) {
		uint64_t *total = &writer->totals[node];
		uint64_t *baseline = &writer->baselines[node];
		uint32_t parent;

		if (__builtin_add_overflow(*total, call_tree_get_self(writer->tree, node), total) ||
		    __builtin_add_overflow(*baseline, call_tree_get_baseline(writer->tree, node),
					   baseline))
			return -EOVERFLOW;
		if (node == CALL_TREE_ROOT)
			break;
		parent = call_tree_get_parent(writer->tree, node);
		writer->next_sibling[node] = writer->first_child[parent];
		writer->first_child[parent] = node;
		if (__builtin_add_overflow(writer->totals[parent], *total,
					   &writer->totals[parent]) ||
		    __builtin_add_overflow(writer->baselines[parent], *baseline,
					   &writer->baselines[parent]))
			return -EOVERFLOW;
	}
	return 0;
}

/* The last in order first, as the items are taken from the end. */
static int compare_items(const void *left, const void *right)
{
	const struct item *a = left;
	const struct item *b = right;
	size_t common = a->length < b->length ? a->length : b->length;
	int order = memcmp(b->label, a->label, common);

	return order ? order : (a->length < b->length) - (a->length > b->length);
}

static int push_children(struct writer *writer, uint32_t parent)
{
	size_t first = writer->items.length;

	for (uint32_t node = writer->first_child[parent]; node; node = writer->next_sibling[node]) {
		struct item *item = array_add(&writer->items);

		if (!item)
			return -ENOMEM;
		item->node = node;
		item->label = call_tree_get_label(writer->tree, node, &item->length);
	}
	qsort(writer->items.items + first, writer->items.length - first, sizeof(struct item),
	      compare_items);
	writer->items.items[writer->items.length - 1].is_first = true;
	return 0;
}

static void append_values(struct writer *writer, uint32_t node)
{
	uint64_t value = writer->totals[node];
	uint64_t before = writer->baselines[node];

	text_printf(&writer->text, ",\"value\":%" PRIu64, value);
	if (writer->opts->tree.has_baseline)
		text_printf(&writer->text, ",\"baseline\":%" PRIu64 ",\"delta\":%s%" PRIu64, before,
			    value < before ? "-" : "",
			    value < before ? before - value : value - before);
}

static int push_end(struct writer *writer, uint32_t node)
{
	struct item *item = array_add(&writer->items);

	if (!item)
		return -ENOMEM;
	item->node = node;
	item->is_end = true;
	return 0;
}

static int write_children(struct writer *writer, uint32_t node)
{
	int err;

	if (!writer->first_child[node]) {
		text_append_char(&writer->text, '}');
		return 0;
	}
	text_append_string(&writer->text, ",\"children\":[");
	err = push_end(writer, node);
	return err ? err : push_children(writer, node);
}

static int write_item(struct writer *writer, struct item item)
{
	int err = sink_drain(writer->sink, &writer->text);

	if (err)
		return err;
	if (item.is_end) {
		text_append_string(&writer->text, "]}");
		return 0;
	}
	text_append_string(&writer->text, item.is_first ? "{\"name\":" : ",{\"name\":");
	json_append_string(&writer->text, item.label, item.length);
	append_values(writer, item.node);
	return write_children(writer, item.node);
}

static void append_member(struct writer *writer, const char *key, const char *value)
{
	text_printf(&writer->text, ",\"%s\":", key);
	json_append_string(&writer->text, value, strlen(value));
}

/* NULL when the first level is not threads, or not of all stacks. */
static const char *get_root(const struct writer *writer)
{
	static const char *const names[] = {
		[TREE_ROOT_COMM] = "comm",
		[TREE_ROOT_PID] = "pid",
		[TREE_ROOT_TID] = "tid",
		[TREE_ROOT_NONE] = NULL,
	};
	const struct profile *profile = writer->profile;

	for (uint32_t i = 0; i < profile_count_threads(profile); i++) {
		const struct thread *thread = profile_get_thread(profile, i);

		if (thread->comm == STRING_EMPTY && !thread->tid &&
		    !profile_get_process(profile, thread->process)->pid)
			return NULL;
	}
	return names[writer->opts->tree.root];
}

static int write_root(struct writer *writer)
{
	const struct call_tree_opts *tree = &writer->opts->tree;
	const char *root = get_root(writer);

	text_append_string(&writer->text, "{\"meta\":{\"tool\":\"stackwide\"");
	append_member(writer, "version", STACKWIDE_VERSION);
	append_member(writer, "metric", format_get_metric_name(writer->profile, tree->metric));
	append_member(writer, "unit", format_get_metric_unit(writer->profile, tree->metric));
	if (tree->has_baseline)
		append_member(writer, "baseline",
			      format_get_metric_name(writer->profile, tree->baseline));
	if (root)
		append_member(writer, "root", root);
	text_printf(&writer->text, ",\"total\":%" PRIu64 "},\n\"name\":\"all\"",
		    writer->totals[CALL_TREE_ROOT]);
	append_values(writer, CALL_TREE_ROOT);
	return write_children(writer, CALL_TREE_ROOT);
}

static int write_tree(struct writer *writer)
{
	int err = add_up(writer);

	if (!err)
		err = write_root(writer);
	while (!err && writer->items.length)
		err = write_item(writer, writer->items.items[--writer->items.length]);
	text_append_char(&writer->text, '\n');
	return err ? err : sink_flush(writer->sink, &writer->text);
}

static int write_json(const struct profile *profile, const struct format_opts *opts,
		      const struct sink *sink)
{
	struct writer writer = {.profile = profile, .opts = opts, .sink = sink};
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	int err = call_tree_new(profile, &opts->tree, &tree);

	writer.tree = tree;
	if (!err)
		err = write_tree(&writer);

	free(writer.totals);
	free(writer.baselines);
	free(writer.first_child);
	free(writer.next_sibling);
	array_release(&writer.items);
	text_release(&writer.text);
	return err;
}

const struct format format_json = {
	.name = "json",
	.extension = ".json",
	.summary = "the flame graph as a tree, as d3-flame-graph reads it",
	.write = write_json,
	.detect = detect_json,
	.read = read_json,
};
