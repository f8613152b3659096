/* The tables of `report`, for people, in the width of the terminal. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/table_format.h"
#include "cli/report/report.h"
#include "formats/flat_text.h"

#define PERCENT_COLUMNS 7 /* 100.00% */
/* Deeper levels are not indented further: their depth is printed instead. */
#define MAX_INDENT       40
#define MIN_NAME_COLUMNS 20

/* Shared by all lines of a report. */
struct report_lines {
	const struct report_answer *answer;
	const struct terminal *terminal;
	struct text text;
	uint64_t sum;
	size_t value_columns;
};

static struct flat_text_opts get_text_opts(const struct report_answer *answer,
					   const struct terminal *terminal)
{
	const struct report *report = answer->report;
	const struct profile *profile = report->tree->profile;

	return (struct flat_text_opts){
		.metric_name = format_get_metric_name(profile, report->metric),
		.metric_unit = format_get_metric_unit(profile, report->metric),
		.max_rows = report->top,
		.num_columns = terminal->num_columns,
		.has_color = terminal->has_color,
	};
}

static void report_lines_release(struct report_lines *lines)
{
	text_release(&lines->text);
}

static void append_heading(struct report_lines *lines, const char *heading)
{
	text_printf(&lines->text, "%s%s%s\n", lines->terminal->has_color ? "\033[1m" : "", heading,
		    lines->terminal->has_color ? "\033[0m" : "");
}

static void append_value(struct report_lines *lines, uint64_t value)
{
	table_append_blanks(&lines->text, 2);
	table_append_count(&lines->text, value, lines->value_columns);
	table_append_blanks(&lines->text, 1);
	table_append_share(&lines->text, lines->sum ? (double)value / (double)lines->sum : 0, 2,
			   PERCENT_COLUMNS);
	table_append_blanks(&lines->text, 2);
}

/* A narrow terminal wraps the line, as the name must be shown. */
static void append_name(struct report_lines *lines, const char *name, size_t length, size_t indent)
{
	size_t used = 2 + lines->value_columns + 1 + PERCENT_COLUMNS + 2 + indent;
	size_t left = TABLE_UNLIMITED_WIDTH;

	if (lines->terminal->num_columns)
		left = lines->terminal->num_columns > used + MIN_NAME_COLUMNS
			       ? lines->terminal->num_columns - used
			       : MIN_NAME_COLUMNS;
	table_append_name(&lines->text, name, length, left);
	text_append_char(&lines->text, '\n');
}

static void append_node(struct report_lines *lines, const struct fragment_node *node, size_t depth)
{
	const struct report *report = lines->answer->report;
	size_t length = strlen(report->fragment);
	const char *name = report->fragment;
	size_t start;

	if (depth)
		name = frame_tree_get_name_text(report->tree, node->frame, &length);
	append_value(lines, node->total);
	start = lines->text.length;
	if (depth > MAX_INDENT) {
		table_append_blanks(&lines->text, (size_t)2 * MAX_INDENT);
		text_printf(&lines->text, "[%zu] ", depth);
	} else {
		table_append_blanks(&lines->text, 2 * depth);
	}
	append_name(lines, name, length, lines->text.length - start);
}

static void append_list(struct report_lines *lines, const struct fragment_tree *tree,
			const char *heading, const char *rest)
{
	const struct report *report = lines->answer->report;
	size_t count = 0;

	append_heading(lines, heading);
	for (uint32_t i = tree->nodes[0].first_child; i; i = tree->nodes[i].next_sibling) {
		const struct fragment_node *node = &tree->nodes[i];
		size_t length;
		const char *name = frame_tree_get_name_text(report->tree, node->frame, &length);

		if (report->top && count++ == report->top)
			break;
		append_value(lines, node->total);
		append_name(lines, name, length, 0);
	}
	if (tree->nodes[0].self) {
		append_value(lines, tree->nodes[0].self);
		append_name(lines, rest, strlen(rest), 0);
	}
	text_append_char(&lines->text, '\n');
}

/*
 * The next node in depth-first order; 0 after the last. Without recursion: a tree is as deep as the
 * deepest stack. --top limits the children of each node, not the lines of all.
 */
static uint32_t go_on(const struct report *report, const struct fragment_tree *tree, uint32_t node,
		      size_t *depth)
{
	uint32_t next = tree->nodes[node].first_child;

	if (next) {
		++*depth;
		return next;
	}
	while (node) {
		next = tree->nodes[node].next_sibling;
		node = tree->nodes[node].parent;
		/* Children are consecutive. */
		if (next && (!report->top || next - tree->nodes[node].first_child < report->top))
			return next;
		--*depth;
	}
	return 0;
}

static int write_tree(struct report_lines *lines, const struct fragment_tree *tree,
		      const char *heading, const struct sink *sink)
{
	const struct report *report = lines->answer->report;
	uint32_t node = 0;
	size_t depth = 0;
	int err;

	append_heading(lines, heading);
	do {
		append_node(lines, &tree->nodes[node], depth);
		err = sink_drain(sink, &lines->text);
		if (err)
			return err;
		node = go_on(report, tree, node, &depth);
	} while (node);
	return 0;
}

/* Both directions are always summed up, at least one level deep; only one is shown as a tree. */
static int write_fragment(struct report_lines *lines, const struct sink *sink)
{
	const struct report_answer *answer = lines->answer;
	const struct report *report = answer->report;
	int err;

	append_heading(lines, "the fragment, including its callees");
	append_node(lines, &answer->callees.nodes[0], 0);
	text_append_char(&lines->text, '\n');
	append_list(lines, &answer->callers, "callers", "(none: outermost in these stacks)");
	append_list(lines, &answer->callees, "callees", "(none: its own)");
	err = report->direction == FRAGMENT_CALLERS
		      ? write_tree(lines, &answer->callers, "everything that calls it", sink)
		      : write_tree(lines, &answer->callees, "everything it calls", sink);
	return err ? err : sink_flush(sink, &lines->text);
}

/* ---- who ended waits ---------------------------------------------------------------------- */

static void append_threads(struct report_lines *lines, const struct wakers_answer *wakers)
{
	const struct report *report = lines->answer->report;

	append_heading(lines, "who ended them");
	for (size_t i = 0; i < wakers->num_threads && (!report->top || i < report->top); i++) {
		size_t length;
		const char *name =
			frame_tree_get_name_text(report->tree, wakers->threads[i].frame, &length);

		append_value(lines, wakers->threads[i].total);
		append_name(lines, name, length, 0);
	}
	text_append_char(&lines->text, '\n');
}

static int write_wakers(struct report_lines *lines, const struct sink *sink)
{
	const struct wakers_answer *wakers = &lines->answer->wakers;
	int err;

	append_heading(lines, "the waits in the fragment");
	append_node(lines, &wakers->tree.nodes[0], 0);
	text_append_char(&lines->text, '\n');
	append_threads(lines, wakers);
	err = write_tree(lines, &wakers->tree, "their stacks, innermost frame first", sink);
	return err ? err : sink_flush(sink, &lines->text);
}

/* Append "ended by worker-3, for [futex 0x55d0c2a4]: futex_wake < unlock < flush_log" */
static void append_path(struct report_lines *lines, const struct waker_link *link, size_t indent)
{
	const struct frame_tree *tree = lines->answer->report->tree;
	_cleanup_(text_release) struct text path = {0};

	text_append_string(&path, "ended by ");
	text_append_string(
		&path, frame_tree_get_name_text(tree, link->frames[link->num_frames - 1], NULL));
	if (link->futex != FRAME_NONE) {
		text_append_string(&path, ", for ");
		text_append_string(&path, frame_tree_get_name_text(tree, link->futex, NULL));
	}
	for (size_t i = 0; i + 1 < link->num_frames; i++) {
		text_append_string(&path, i ? " < " : ": ");
		text_append_string(&path, frame_tree_get_name_text(tree, link->frames[i], NULL));
	}
	lines->text.failed |= path.failed;
	append_value(lines, link->ended);
	table_append_blanks(&lines->text, indent);
	append_name(lines, path.data, path.length, indent);
}

static int write_chain(struct report_lines *lines, const struct sink *sink)
{
	const struct report *report = lines->answer->report;
	const struct waker_chain *chain = &lines->answer->chain;

	append_heading(lines, "who ended most of the waits, and then most of theirs");
	for (size_t i = 0; i < chain->num_links; i++) {
		const struct waker_link *link = &chain->links[i];
		const char *waiter = i ? frame_tree_get_name_text(report->tree, link->waiter, NULL)
				       : report->fragment;

		append_value(lines, link->total);
		table_append_blanks(&lines->text, 4 * i);
		append_name(lines, waiter, strlen(waiter), 4 * i);
		append_path(lines, link, 4 * i + 2);
	}
	return sink_flush(sink, &lines->text);
}

static int write_table(const struct report_answer *answer, const struct terminal *terminal,
		       const struct sink *sink)
{
	const struct sleepers *sleepers = &answer->sleepers;
	struct flat_text_opts opts = get_text_opts(answer, terminal);
	_cleanup_(text_release) struct text note = {0};

	if (sleepers->num_threads)
		text_printf(&note, "%" PRIu64 " thread%s slept throughout", sleepers->num_threads,
			    sleepers->num_threads == 1 ? "" : "s");
	else if (sleepers->exist)
		text_append_string(&note, "some threads slept throughout");
	if (sleepers->exist) {
		text_append_string(&note, " (--sleepers show, --sleepers hide)");
		opts.note = note.data;
	}
	return note.failed ? -ENOMEM : flat_text_write(&answer->table, &opts, sink);
}

int report_write_text(const struct report_answer *answer, const struct terminal *terminal,
		      const struct sink *sink)
{
	uint64_t sum = answer->sums[answer->report->metric];
	struct flat_text_opts opts = get_text_opts(answer, terminal);
	_cleanup_(report_lines_release) struct report_lines lines = {
		.answer = answer,
		.terminal = terminal,
		.sum = sum,
		.value_columns = table_get_count_width(sum),
	};

	if (answer->report->question == REPORT_TABLE)
		return write_table(answer, terminal, sink);
	flat_text_append_sum(&lines.text, sum, &opts);
	switch (answer->report->question) {
	case REPORT_WAKERS:
		return write_wakers(&lines, sink);
	case REPORT_CHAIN:
		return write_chain(&lines, sink);
	case REPORT_FRAGMENT:
	case REPORT_TABLE:
		break;
	}
	return write_fragment(&lines, sink);
}
