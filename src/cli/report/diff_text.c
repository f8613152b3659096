/*
 * The table of a comparison. If a terminal is too narrow for both intervals, that of the total is
 * hidden.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/table_format.h"
#include "cli/report/diff_report.h"

/* Columns before the names, with both intervals and without the second. */
#define ROW_COLUMNS        87
#define NARROW_ROW_COLUMNS 54
#define WIDE_COLUMNS       110
#define MIN_NAME_COLUMNS   20
#define MAX_NAME_COLUMNS   60
#define MAX_MODULE_COLUMNS 24

#define BOLD   "\033[1m"
#define DIM    "\033[2m"
#define NORMAL "\033[0m"

struct diff_layout {
	size_t num_rows;
	size_t name;       /* columns used by names */
	size_t name_limit; /* limit for truncation */
	size_t module;
	size_t module_limit;
	bool *is_shared;    /* by row: another row has the same name; NULL while modules have a
			       column */
	size_t num_columns; /* of the terminal; 0: none */
	bool is_wide;
	bool has_color;
	bool has_modules;
	bool has_intervals; /* else they are unknown */
};

static void layout_release(struct diff_layout *layout)
{
	free(layout->is_shared);
}

/*
 * Fit names, and modules if possible, into the remaining width of the terminal. Modules lose their
 * column first: names are more useful. MIN_NAME_COLUMNS may make a line longer than the terminal.
 */
static void fit(struct diff_layout *layout, size_t num_columns)
{
	size_t used = layout->is_wide ? ROW_COLUMNS : NARROW_ROW_COLUMNS;
	size_t left = num_columns > used ? num_columns - used : 0;
	size_t least = layout->name < MIN_NAME_COLUMNS ? layout->name : MIN_NAME_COLUMNS;

	layout->module_limit =
		layout->module < MAX_MODULE_COLUMNS ? layout->module : MAX_MODULE_COLUMNS;
	if (layout->module_limit < strlen("module"))
		layout->module_limit = strlen("module");
	layout->has_modules &= left >= least + 2 + layout->module_limit;
	if (layout->has_modules)
		left -= layout->module_limit + 2;
	layout->name_limit = left > MIN_NAME_COLUMNS ? left : MIN_NAME_COLUMNS;
	if (layout->name > layout->name_limit)
		layout->name = layout->name_limit;
}

static int compare_names(const void *left, const void *right)
{
	const struct diff_row *a = *(const struct diff_row *const *)left;
	const struct diff_row *b = *(const struct diff_row *const *)right;
	size_t length =
		a->function_length < b->function_length ? a->function_length : b->function_length;
	int order = memcmp(a->function, b->function, length);

	return order ? order
		     : (a->function_length > b->function_length) -
			       (a->function_length < b->function_length);
}

/* Find rows with the same name; without a module column, the module must distinguish them. */
static int find_shared_names(struct diff_layout *layout, const struct diff_table *table)
{
	_cleanup_free_ const struct diff_row **rows = calloc(layout->num_rows + 1, sizeof(*rows));

	layout->is_shared = calloc(layout->num_rows + 1, sizeof(*layout->is_shared));
	if (!rows || !layout->is_shared)
		return -ENOMEM;
	for (size_t i = 0; i < layout->num_rows; i++)
		rows[i] = &table->rows[i];
	qsort(rows, layout->num_rows, sizeof(*rows), compare_names);
	for (size_t i = 1; i < layout->num_rows; i++) {
		if (compare_names(&rows[i - 1], &rows[i]))
			continue;
		layout->is_shared[rows[i - 1] - table->rows] = true;
		layout->is_shared[rows[i] - table->rows] = true;
	}
	return 0;
}

static int get_layout(struct diff_layout *ret, const struct diff_report *report,
		      const struct terminal *terminal)
{
	const struct diff_table *table = report->table;
	struct diff_layout layout = {
		.num_rows = table->num_rows,
		.name = strlen("function"),
		.name_limit = TABLE_UNLIMITED_WIDTH,
		.module_limit = TABLE_UNLIMITED_WIDTH,
		.num_columns = terminal->num_columns,
		.is_wide = !terminal->num_columns || terminal->num_columns >= WIDE_COLUMNS,
		.has_color = terminal->has_color,
		.has_intervals = !report->doubt,
	};

	if (report->top && report->top < layout.num_rows)
		layout.num_rows = report->top;
	for (size_t i = 0; i < layout.num_rows; i++) {
		const struct diff_row *row = &table->rows[i];
		size_t width = table_get_name_width(row->function, row->function_length);

		if (width > layout.name)
			layout.name = width;
		width = table_get_name_width(row->module, strlen(row->module));
		if (width > layout.module)
			layout.module = width;
	}
	layout.has_modules = layout.module > 0;
	if (layout.name > MAX_NAME_COLUMNS)
		layout.name = MAX_NAME_COLUMNS;
	if (terminal->num_columns)
		fit(&layout, terminal->num_columns);
	*ret = layout;
	return layout.has_modules || !layout.module ? 0 : find_shared_names(ret, table);
}

/* ".25", or nothing. scale  at most 1000000 */
static void append_fraction(struct text *text, uint64_t sum, uint64_t scale)
{
	if (sum % scale == 0)
		return;
	text_append_char(text, '.');
	for (uint64_t rest = sum % scale; rest; rest %= scale) {
		scale /= 10;
		text_append_char(text, (char)('0' + rest / scale));
	}
}

/*
 * The number of samples is shown if it is not simply the weight, because every interval depends on
 * it.
 */
static void append_side(struct text *text, const char *name, const struct diff_input *side,
			uint64_t sum)
{
	bool is_count = !*side->metric_unit || string_equals(side->metric_unit, "count");
	const char *what = is_count ? side->metric_name : side->metric_unit;

	text_printf(text, "%-7s ", name);
	table_append_count(text, sum / side->scale, 0);
	append_fraction(text, sum, side->scale);
	text_append_char(text, ' ');
	table_append_name(text, what, strlen(what), TABLE_UNLIMITED_WIDTH);
	text_append_string(text, " in ");
	if (side->num_runs > 1)
		text_printf(text, "%zu runs: ", side->num_runs);
	table_append_name(text, side->path, strlen(side->path), TABLE_UNLIMITED_WIDTH);
	if (side->num_samples && side->num_samples != sum / side->scale) {
		text_append_string(text, ", equivalent to ");
		table_append_count(text, side->num_samples, 0);
		text_append_string(text, " independent samples");
	}
	text_append_char(text, '\n');
}

static void append_slices(struct text *text, const struct diff_table *table)
{
	size_t before = table->before_slices;
	size_t after = table->after_slices;

	if (!before && !after)
		return;
	text_printf(text, "intervals and ~ follow from the differences among %zu time slices",
		    before > after ? before : after);
	if (!before || !after)
		text_printf(text, "; %s has no times and is assumed to differ as much",
			    before ? "after" : "before");
	text_append_char(text, '\n');
}

/* The base of intervals and verdicts. */
static void append_basis(struct text *text, const struct diff_report *report)
{
	bool is_first_single = report->before->num_runs < 2;
	bool is_second_single = report->after->num_runs < 2;

	if (report->doubt) {
		text_append_string(text, "no change can be proven: ");
		table_append_name(text, report->doubt, strlen(report->doubt),
				  TABLE_UNLIMITED_WIDTH);
		text_append_char(text, '\n');
		return;
	}
	if (is_first_single && is_second_single) {
		append_slices(text, report->table);
		return;
	}
	text_append_string(text, "intervals and ~ follow from the differences between runs");
	if (is_first_single || is_second_single)
		text_printf(text, "; the single run %s is assumed to differ as much",
			    is_first_single ? "before" : "after");
	text_append_char(text, '\n');
}

static void append_heading(struct text *text, const struct diff_layout *layout)
{
	const char *bold = layout->has_color ? BOLD : "";
	const char *normal = layout->has_color ? NORMAL : "";

	text_append_char(text, '\n');
	table_append_words(text,
			   "shares in percent, changes in percentage points with their 95 % "
			   "interval; ~ may be noise",
			   0, layout->num_columns);
	text_append_string(text, "\n\n");
	text_printf(text, "%s  %-42s%s%s\n", bold, "self", "total", normal);
	text_printf(text, "%s  %6s  %6s  %7s  %-16s ", bold, "before", "after", "change",
		    "interval");
	if (layout->is_wide)
		text_printf(text, "%6s  %6s  %7s  %-16s ", "before", "after", "change", "interval");
	else
		text_printf(text, "%7s  ", "change");
	text_append_string(text, " function");
	if (layout->has_modules) {
		table_append_blanks(text, layout->name - strlen("function"));
		text_append_string(text, "  module");
	}
	text_printf(text, "%s\n", normal);
}

/* Red is more, blue is less, as in differential flame graphs. Possible noise has no colour. */
static void append_change(struct text *text, const struct diff_change *change,
			  const struct diff_layout *layout)
{
	bool is_colored = layout->has_color && !change->is_noise;

	if (is_colored)
		text_append_string(text, change->change > 0 ? "\033[31m" : "\033[34m");
	text_printf(text, "%+7.2f", 100 * change->change);
	if (is_colored)
		text_append_string(text, NORMAL);
	text_append_char(text, change->is_noise ? '~' : ' ');
}

static void append_shares(struct text *text, const struct diff_change *change)
{
	text_printf(text, "%6.2f  %6.2f  ", 100 * change->before_share, 100 * change->after_share);
}

static void append_interval(struct text *text, const struct diff_change *change,
			    const struct diff_layout *layout)
{
	if (!layout->has_intervals)
		text_printf(text, "[%7s,%7s] ", "?", "?");
	else
		text_printf(text, "[%+7.2f,%+7.2f] ", 100 * change->low, 100 * change->high);
}

/*
 * Append "main (libfoo.so)", in the width of a name: half of it for the module, or the rest behind
 * the name.
 */
static void append_shared_name(struct text *text, const struct diff_row *row,
			       const struct diff_layout *layout)
{
	size_t left = layout->name_limit - strlen(" ()");
	size_t name = table_get_name_width(row->function, row->function_length);
	size_t module = table_get_name_width(row->module, strlen(row->module));

	if (module > left / 2 && module > left - (name < left ? name : left))
		module = name < left / 2 ? left - name : left / 2;
	table_append_name(text, row->function, row->function_length, left - module);
	text_append_string(text, " (");
	table_append_name(text, row->module, strlen(row->module), module);
	text_append_char(text, ')');
}

static void append_name(struct text *text, const struct diff_row *row, size_t i,
			const struct diff_layout *layout)
{
	size_t columns;

	if (layout->is_shared && layout->is_shared[i] && *row->module) {
		append_shared_name(text, row, layout);
		return;
	}
	columns = table_append_name(text, row->function, row->function_length, layout->name_limit);
	if (!layout->has_modules || !*row->module)
		return;
	if (columns < layout->name)
		table_append_blanks(text, layout->name - columns);
	text_append_string(text, "  ");
	table_append_name(text, row->module, strlen(row->module), layout->module_limit);
}

/* i  number of the row */
static void append_row(struct text *text, const struct diff_table *table, size_t i,
		       const struct diff_layout *layout)
{
	const struct diff_row *row = &table->rows[i];
	bool is_dim = layout->has_color && row->is_noise;

	text_append_string(text, is_dim ? DIM "  " : "  ");
	append_shares(text, &row->self);
	append_change(text, &row->self, layout);
	append_interval(text, &row->self, layout);
	if (layout->is_wide) {
		append_shares(text, &row->total);
		append_change(text, &row->total, layout);
		append_interval(text, &row->total, layout);
	} else {
		append_change(text, &row->total, layout);
		text_append_char(text, ' ');
	}
	text_append_char(text, ' ');
	append_name(text, row, i, layout);
	text_append_string(text, is_dim ? NORMAL "\n" : "\n");
}

int diff_report_write_text(const struct diff_report *report, const struct terminal *terminal,
			   const struct sink *sink)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_(layout_release) struct diff_layout layout = {0};
	int err = get_layout(&layout, report, terminal);

	if (err)
		return err;
	append_side(&text, "before:", report->before, report->table->before_sum);
	append_side(&text, "after:", report->after, report->table->after_sum);
	append_basis(&text, report);
	append_heading(&text, &layout);
	for (size_t i = 0; i < layout.num_rows; i++) {
		append_row(&text, report->table, i, &layout);
		err = sink_drain(sink, &text);
		if (err)
			return err;
	}
	return sink_flush(sink, &text);
}
