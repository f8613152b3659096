/*
 * The report as JSON. Its shape is a contract:
 *
 *	{"version", "metric": {"name", "unit"}, "total": n, "metrics": [{"name", "unit", "total"}...],
 *	 "functions": [{"name", "module", "self", "total"}...]}
 *
 * with "slept_throughout": {"threads", "total"} before the functions if such threads are one row of
 * them (threads: null, if the input does not distinguish them),
 *
 * or, instead of functions,
 *
 *	"fragment": [...], "inclusive": n, "exclusive": n, "callers": [{"name", "value"}...],
 *	"callees": [...], "tree": {"name", "value", "children": [...]}
 *
 * or, for wakers,
 *
 *	"fragment": [...], "inclusive": n, "wakers": [{"name", "value"}...], "tree": {...}
 *	"fragment": [...], "chain": [{"waiter" (null: the fragment), "total": n, "waker",
 *	                              "ended": n, "futex" (if known),
 *	                              "frames": [from the inside out...]}...]
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "cli/report/report.h"

static void append_string(struct text *text, const char *string)
{
	json_append_string(text, string, strlen(string));
}

static void append_metric(struct text *text, const struct profile *profile, uint32_t metric)
{
	text_append_string(text, "\"name\": ");
	append_string(text, format_get_metric_name(profile, metric));
	text_append_string(text, ", \"unit\": ");
	append_string(text, format_get_metric_unit(profile, metric));
}

static void append_metrics(struct text *text, const struct report_answer *answer)
{
	const struct report *report = answer->report;
	const struct profile *profile = report->tree->profile;

	text_append_string(text, "{\n  \"version\": \"" STACKWIDE_VERSION "\",\n  \"metric\": {");
	append_metric(text, profile, report->metric);
	text_printf(text, "},\n  \"total\": %" PRIu64 ",\n  \"metrics\": [",
		    answer->sums[report->metric]);
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++) {
		text_append_string(text, i ? ",\n    {" : "\n    {");
		append_metric(text, profile, i);
		text_printf(text, ", \"total\": %" PRIu64 "}", answer->sums[i]);
	}
	text_append_string(text, profile_count_metrics(profile) ? "\n  ],\n" : "],\n");
}

static void append_sleepers(struct text *text, const struct sleepers *sleepers)
{
	if (!sleepers->exist)
		return;
	text_append_string(text, "  \"slept_throughout\": {\"threads\": ");
	if (sleepers->num_threads)
		text_printf(text, "%" PRIu64, sleepers->num_threads);
	else
		text_append_string(text, "null");
	text_printf(text, ", \"total\": %" PRIu64 "},\n", sleepers->weight);
}

static int write_functions(const struct report_answer *answer, struct text *text,
			   const struct sink *sink)
{
	const struct flat_table *table = &answer->table;
	size_t top = answer->report->top;
	int err;

	append_sleepers(text, &answer->sleepers);
	text_append_string(text, "  \"functions\": [");
	for (size_t i = 0; i < table->num_rows && (!top || i < top); i++) {
		const struct flat_row *row = &table->rows[i];

		text_append_string(text, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
		json_append_string(text, row->function, row->function_length);
		text_append_string(text, ", \"module\": ");
		append_string(text, row->module);
		text_printf(text, ", \"self\": %" PRIu64 ", \"total\": %" PRIu64 "}", row->self,
			    row->total);
		err = sink_drain(sink, text);
		if (err)
			return err;
	}
	text_append_string(text, table->num_rows ? "\n  ]\n}\n" : "]\n}\n");
	return 0;
}

/* Append the name and weight of a node, without a closing brace. */
static void append_node(struct text *text, const struct report *report,
			const struct fragment_node *node)
{
	size_t length;
	const char *name = frame_tree_get_name_text(report->tree, node->frame, &length);

	text_append_string(text, "{\"name\": ");
	json_append_string(text, name, length);
	text_printf(text, ", \"value\": %" PRIu64, node->total);
}

static int write_list(const struct report_answer *answer, const struct fragment_tree *tree,
		      struct text *text, const struct sink *sink)
{
	const struct report *report = answer->report;
	size_t count = 0;
	int err;

	for (uint32_t i = tree->nodes[0].first_child; i; i = tree->nodes[i].next_sibling, count++) {
		if (report->top && count == report->top)
			break;
		text_append_string(text, count ? ",\n    " : "\n    ");
		append_node(text, report, &tree->nodes[i]);
		text_append_char(text, '}');
		err = sink_drain(sink, text);
		if (err)
			return err;
	}
	/* Stacks that start with the fragment are a caller of their own, so that callers add up. */
	if (tree == &answer->callers && tree->nodes[0].self)
		text_printf(text,
			    "%s\n    {\"name\": \"" FRAGMENT_NO_CALLER "\", \"value\": %" PRIu64
			    "}",
			    count++ ? "," : "", tree->nodes[0].self);
	text_append_string(text, count ? "\n  ],\n" : "],\n");
	return 0;
}

/* The next node in depth-first order; closes the nodes that end before it. 0: that was the last. */
static uint32_t go_on(const struct report *report, const struct fragment_tree *tree, uint32_t node,
		      struct text *text)
{
	uint32_t next = tree->nodes[node].first_child;

	if (next) {
		text_append_string(text, "\n");
		return next;
	}
	for (;;) {
		text_append_string(text, "]}");
		if (!node)
			return 0;
		next = tree->nodes[node].next_sibling;
		node = tree->nodes[node].parent;
		/* Children are consecutive. */
		if (next && (!report->top || next - tree->nodes[node].first_child < report->top)) {
			text_append_string(text, ",\n");
			return next;
		}
	}
}

/* Trees may be as deep as stacks: no recursion, no indentation. */
static int write_tree(const struct report *report, const struct fragment_tree *tree,
		      struct text *text, const struct sink *sink)
{
	uint32_t node = 0;
	int err;

	text_append_string(text, "  \"tree\": {\"name\": ");
	append_string(text, report->fragment);
	text_printf(text, ", \"value\": %" PRIu64 ", \"children\": [", tree->nodes[0].total);
	while ((node = go_on(report, tree, node, text))) {
		append_node(text, report, &tree->nodes[node]);
		text_append_string(text, ", \"children\": [");
		err = sink_drain(sink, text);
		if (err)
			return err;
	}
	text_append_string(text, "\n}\n");
	return 0;
}

static void append_fragment(struct text *text, const char *fragment)
{
	text_append_string(text, "  \"fragment\": [");
	for (;; fragment++) {
		size_t length = strcspn(fragment, ";");

		json_append_string(text, fragment, length);
		fragment += length;
		if (!*fragment)
			break;
		text_append_string(text, ", ");
	}
	text_append_string(text, "],\n");
}

static int write_fragment(const struct report_answer *answer, struct text *text,
			  const struct sink *sink)
{
	const struct report *report = answer->report;
	const struct fragment_node *callees = &answer->callees.nodes[0];
	int err;

	append_fragment(text, report->fragment);
	text_printf(text, "  \"inclusive\": %" PRIu64 ",\n  \"exclusive\": %" PRIu64 ",\n",
		    callees->total, callees->self);
	text_append_string(text, "  \"callers\": [");
	err = write_list(answer, &answer->callers, text, sink);
	if (err)
		return err;
	text_append_string(text, "  \"callees\": [");
	err = write_list(answer, &answer->callees, text, sink);
	if (err)
		return err;
	return write_tree(
		report, report->direction == FRAGMENT_CALLERS ? &answer->callers : &answer->callees,
		text, sink);
}

static void append_frame_name(struct text *text, const struct frame_tree *tree, uint32_t frame)
{
	size_t length;
	const char *name = frame_tree_get_name_text(tree, frame, &length);

	json_append_string(text, name, length);
}

static int write_wakers(const struct report_answer *answer, struct text *text,
			const struct sink *sink)
{
	const struct report *report = answer->report;
	const struct wakers_answer *wakers = &answer->wakers;

	append_fragment(text, report->fragment);
	text_printf(text, "  \"inclusive\": %" PRIu64 ",\n  \"wakers\": [",
		    wakers->tree.nodes[0].total);
	for (size_t i = 0; i < wakers->num_threads && (!report->top || i < report->top); i++) {
		text_append_string(text, i ? ",\n    {\"name\": " : "\n    {\"name\": ");
		append_frame_name(text, report->tree, wakers->threads[i].frame);
		text_printf(text, ", \"value\": %" PRIu64 "}", wakers->threads[i].total);
	}
	text_append_string(text, wakers->num_threads ? "\n  ],\n" : "],\n");
	return write_tree(report, &wakers->tree, text, sink);
}

static void append_link(struct text *text, const struct frame_tree *tree,
			const struct waker_link *link)
{
	text_append_string(text, "{\"waiter\": ");
	if (link->waiter == FRAME_NONE)
		text_append_string(text, "null");
	else
		append_frame_name(text, tree, link->waiter);
	text_printf(text, ", \"total\": %" PRIu64 ", \"waker\": ", link->total);
	append_frame_name(text, tree, link->frames[link->num_frames - 1]);
	text_printf(text, ", \"ended\": %" PRIu64, link->ended);
	if (link->futex != FRAME_NONE) {
		text_append_string(text, ", \"futex\": ");
		append_frame_name(text, tree, link->futex);
	}
	text_append_string(text, ", \"frames\": [");
	for (size_t i = 0; i + 1 < link->num_frames; i++) {
		text_append_string(text, i ? ", " : "");
		append_frame_name(text, tree, link->frames[i]);
	}
	text_append_string(text, "]}");
}

static int write_chain(const struct report_answer *answer, struct text *text)
{
	const struct waker_chain *chain = &answer->chain;

	append_fragment(text, answer->report->fragment);
	text_append_string(text, "  \"chain\": [");
	for (size_t i = 0; i < chain->num_links; i++) {
		text_append_string(text, i ? ",\n    " : "\n    ");
		append_link(text, answer->report->tree, &chain->links[i]);
	}
	text_append_string(text, chain->num_links ? "\n  ]\n}\n" : "]\n}\n");
	return 0;
}

static int write_answer(const struct report_answer *answer, struct text *text,
			const struct sink *sink)
{
	switch (answer->report->question) {
	case REPORT_TABLE:
		return write_functions(answer, text, sink);
	case REPORT_FRAGMENT:
		return write_fragment(answer, text, sink);
	case REPORT_WAKERS:
		return write_wakers(answer, text, sink);
	case REPORT_CHAIN:
		return write_chain(answer, text);
	}
	return 0;
}

int report_write_json(const struct report_answer *answer, const struct sink *sink)
{
	_cleanup_(text_release) struct text text = {0};
	int err;

	append_metrics(&text, answer);
	err = write_answer(answer, &text, sink);
	return err ? err : sink_flush(sink, &text);
}
