/*
 * The flame graph as a JSON tree, as d3-flame-graph and its relatives read it:
 *
 *	{"meta":{…},"name":"all","value":12,"children":[{"name":"main","value":12,"children":[…]}]}
 *
 * A value is that of the whole subtree. In a comparison every node also has `baseline`, the value
 * before, and `delta`, the change. If the first level is threads, `meta.root` has the form of their
 * names, so that they can be read as threads again. Libraries skip the keys that they do not know.
 */
#include <errno.h>
#include <inttypes.h>

#include "base/json.h"
#include "formats/format.h"
#include "formats/reader.h"

struct tree_json_writer {
	const struct profile *profile;
	const struct format_opts *opts;
	const struct sink *sink;
	const struct call_tree *tree;
	uint64_t *totals; /* by node, of the whole subtree */
	uint64_t *baselines;
	struct text text;
};

static int add_up(struct tree_json_writer *writer)
{
	uint32_t count = call_tree_get_count(writer->tree);

	writer->totals = calloc(count, sizeof(*writer->totals));
	writer->baselines = calloc(count, sizeof(*writer->baselines));
	if (!writer->totals || !writer->baselines)
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
		if (__builtin_add_overflow(writer->totals[parent], *total,
					   &writer->totals[parent]) ||
		    __builtin_add_overflow(writer->baselines[parent], *baseline,
					   &writer->baselines[parent]))
			return -EOVERFLOW;
	}
	return 0;
}

static void append_values(struct tree_json_writer *writer, uint32_t node)
{
	uint64_t value = writer->totals[node];
	uint64_t before = writer->baselines[node];

	text_printf(&writer->text, ",\"value\":%" PRIu64, value);
	if (writer->opts->tree.has_baseline)
		text_printf(&writer->text, ",\"baseline\":%" PRIu64 ",\"delta\":%s%" PRIu64, before,
			    value < before ? "-" : "",
			    value < before ? before - value : value - before);
}

static void open_node(struct tree_json_writer *writer, uint32_t node)
{
	size_t length;
	const char *label = call_tree_get_label(writer->tree, node, &length);

	text_append_string(&writer->text, "{\"name\":");
	json_append_string(&writer->text, label, length);
	append_values(writer, node);
}

/*
 * Write the text after the values of a node: the opening bracket of its children or, if it has
 * none, the closing brackets up to the next node in preorder. Returns that node; the root after the
 * last.
 */
static uint32_t go_on(struct tree_json_writer *writer, uint32_t node)
{
	uint32_t next = call_tree_get_first_child(writer->tree, node);

	if (next != CALL_TREE_NONE) {
		text_append_string(&writer->text, ",\"children\":[");
		return next;
	}
	text_append_char(&writer->text, '}');
	while (node != CALL_TREE_ROOT) {
		next = call_tree_get_next_sibling(writer->tree, node);
		if (next != CALL_TREE_NONE) {
			text_append_char(&writer->text, ',');
			return next;
		}
		text_append_string(&writer->text, "]}");
		node = call_tree_get_parent(writer->tree, node);
	}
	return CALL_TREE_ROOT;
}

static void append_member(struct tree_json_writer *writer, const char *key, const char *value)
{
	text_printf(&writer->text, ",\"%s\":", key);
	json_append_string(&writer->text, value, strlen(value));
}

/* How the first level names threads. NULL when it does not, or when some stack has no thread. */
static const char *get_root(const struct tree_json_writer *writer)
{
	static const char *const names[] = {
		[TREE_ROOT_COMM] = "comm", [TREE_ROOT_SCRIPT] = "script", [TREE_ROOT_PID] = "pid",
		[TREE_ROOT_TID] = "tid",   [TREE_ROOT_NONE] = NULL,
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

static void open_root(struct tree_json_writer *writer)
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
}

static int write_tree(struct tree_json_writer *writer)
{
	uint32_t node = CALL_TREE_ROOT;
	int err = add_up(writer);

	if (err)
		return err;
	open_root(writer);
	for (node = go_on(writer, node); node != CALL_TREE_ROOT; node = go_on(writer, node)) {
		open_node(writer, node);
		err = sink_drain(writer->sink, &writer->text);
		if (err)
			return err;
	}
	text_append_char(&writer->text, '\n');
	return sink_flush(writer->sink, &writer->text);
}

static void tree_json_writer_release(struct tree_json_writer *writer)
{
	free(writer->totals);
	free(writer->baselines);
	text_release(&writer->text);
}

static int tree_json_write(const struct profile *profile, const struct format_opts *opts,
			   const struct sink *sink)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	int err = call_tree_new(profile, &opts->tree, &tree);
	_cleanup_(tree_json_writer_release) struct tree_json_writer writer = {
		.profile = profile, .opts = opts, .sink = sink, .tree = tree};

	if (err)
		return err;
	return write_tree(&writer);
}

const struct format format_json = {
	.name = "json",
	.extension = ".json",
	.summary = "flame graph as a tree, for d3-flame-graph",
	.producers = "d3-flame-graph's examples",
	.holds_comparison = true,
	.write = tree_json_write,
	.detect = tree_json_detect,
	.read = tree_json_read,
};
