/*
 * The flat table as text: self and total weight and percent of every function, and its module.
 */
#include <errno.h>
#include <string.h>

#include "base/table_format.h"
#include "formats/flat_text.h"

#define PERCENT_COLUMNS 7 /* 100.00% */
/* Names are never truncated below this, however narrow the terminal. */
#define MIN_NAME_COLUMNS 20
/* A few long names do not push all modules to the right. */
#define MAX_NAME_COLUMNS   60
#define MAX_MODULE_COLUMNS 24

struct text_layout {
	size_t num_rows;
	size_t value;  /* columns of a weight */
	size_t name;   /* columns that names fill */
	size_t module; /* 0: no row has one */
	bool is_truncated;
};

static void append_percent(struct text *text, uint64_t part, uint64_t whole)
{
	table_append_blanks(text, 1);
	table_append_share(text, whole ? (double)part / (double)whole : 0, 2, PERCENT_COLUMNS);
	table_append_blanks(text, 2);
}

static size_t max(size_t a, size_t b)
{
	return a > b ? a : b;
}

static size_t min(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Without a terminal nothing is truncated: programs and editors get whole names. */
static struct text_layout get_layout(const struct flat_table *table,
				     const struct flat_text_opts *opts)
{
	struct text_layout layout = {
		.num_rows = opts->max_rows ? min(opts->max_rows, table->num_rows) : table->num_rows,
		.value = max(table_get_count_width(table->sum), strlen("total")),
		.name = strlen("function"),
		.is_truncated = opts->num_columns,
	};
	size_t used = 2 * (layout.value + 1 + PERCENT_COLUMNS) + 4;

	for (size_t i = 0; i < layout.num_rows; i++) {
		const struct flat_row *row = &table->rows[i];

		layout.name =
			max(layout.name, table_get_name_width(row->function, row->function_length));
		layout.module = max(layout.module, strlen(row->module));
	}
	layout.name = min(layout.name, MAX_NAME_COLUMNS);
	if (layout.module)
		layout.module = max(layout.module, strlen("module"));
	if (!layout.is_truncated)
		return layout;
	layout.module = min(layout.module, MAX_MODULE_COLUMNS);
	if (layout.module)
		used += layout.module + 2;
	layout.name =
		max(MIN_NAME_COLUMNS, opts->num_columns > used ? opts->num_columns - used : 0);
	return layout;
}

void flat_text_append_sum(struct text *text, uint64_t sum, const struct flat_text_opts *opts)
{
	bool is_count = !*opts->metric_unit || string_equals(opts->metric_unit, "count");

	text_append_string(text, "total: ");
	table_append_count(text, sum, 0);
	text_append_char(text, ' ');
	if (!is_count) {
		table_append_name(text, opts->metric_unit, strlen(opts->metric_unit),
				  TABLE_UNLIMITED_WIDTH);
		text_append_string(text, " (");
	}
	table_append_name(text, opts->metric_name, strlen(opts->metric_name),
			  TABLE_UNLIMITED_WIDTH);
	text_append_string(text, is_count ? "\n" : ")\n");
	if (opts->note)
		text_printf(text, "%s\n", opts->note);
	text_append_char(text, '\n');
}

static void append_heading(struct text *text, const struct text_layout *layout,
			   const struct flat_text_opts *opts)
{
	int value = (int)layout->value;

	if (opts->has_color)
		text_append_string(text, "\033[1m");
	text_printf(text, "%*s %*s  %*s %*s  function", value, "self", PERCENT_COLUMNS, "self%",
		    value, "total", PERCENT_COLUMNS, "total%");
	if (layout->module) {
		table_append_blanks(text, layout->name - strlen("function"));
		text_append_string(text, "  module");
	}
	text_append_string(text, opts->has_color ? "\033[0m\n" : "\n");
}

static void append_row(struct text *text, const struct flat_row *row, uint64_t sum,
		       const struct text_layout *layout)
{
	size_t columns;

	table_append_count(text, row->self, layout->value);
	append_percent(text, row->self, sum);
	table_append_count(text, row->total, layout->value);
	append_percent(text, row->total, sum);
	columns = table_append_name(text, row->function, row->function_length,
				    layout->is_truncated ? layout->name : TABLE_UNLIMITED_WIDTH);
	if (*row->module) {
		if (columns < layout->name)
			table_append_blanks(text, layout->name - columns);
		text_append_string(text, "  ");
		table_append_name(text, row->module, strlen(row->module),
				  layout->is_truncated ? layout->module : TABLE_UNLIMITED_WIDTH);
	}
	text_append_char(text, '\n');
}

int flat_text_write(const struct flat_table *table, const struct flat_text_opts *opts,
		    const struct sink *sink)
{
	_cleanup_(text_release) struct text output = {0};
	struct text_layout layout = get_layout(table, opts);
	int err;

	flat_text_append_sum(&output, table->sum, opts);
	append_heading(&output, &layout, opts);
	for (size_t i = 0; i < layout.num_rows; i++) {
		append_row(&output, &table->rows[i], table->sum, &layout);
		err = sink_drain(sink, &output);
		if (err)
			return err;
	}
	return sink_flush(sink, &output);
}

static int write_text(const struct profile *profile, const struct format_opts *opts,
		      const struct sink *sink)
{
	_cleanup_(flat_table_release) struct flat_table table;
	struct flat_text_opts text_opts = {
		.metric_name = format_get_metric_name(profile, opts->tree.metric),
		.metric_unit = format_get_metric_unit(profile, opts->tree.metric),
	};
	int err = flat_table_init_profile(&table, profile, opts->tree.metric);

	if (err)
		return err;
	return flat_text_write(&table, &text_opts, sink);
}

const struct format format_text = {
	.name = "text",
	.extension = ".txt",
	.summary = "flat table: self, total, function, module",
	.write = write_text,
};
