/* Output of `diff --json`. */
#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "cli/report/diff_report.h"

static void append_string(struct text *text, const char *string)
{
	json_append_string(text, string, strlen(string));
}

static void append_side(struct text *text, const char *name, const struct diff_input *side,
			uint64_t sum, size_t num_slices, const char *doubt)
{
	text_printf(text, "  \"%s\": {\"name\": ", name);
	append_string(text, side->path);
	text_printf(text, ", \"total\": %" PRIu64 ", \"samples\": ", sum);
	if (doubt)
		text_append_string(text, "null");
	else
		text_printf(text, "%" PRIu64, side->num_samples ? side->num_samples : sum);
	text_printf(text, ", \"runs\": %zu, \"slices\": %zu},\n", side->num_runs, num_slices);
}

static void append_change(struct text *text, const char *name, const struct diff_change *change,
			  const char *doubt)
{
	text_printf(text,
		    ",\n     \"%s\": {\"before\": %" PRIu64 ", \"after\": %" PRIu64
		    ", \"before_percent\": %.4f, \"after_percent\": %.4f, \"change\": %.4f, ",
		    name, change->before, change->after, 100 * change->before_share,
		    100 * change->after_share, 100 * change->change);
	if (doubt)
		text_append_string(text, "\"low\": null, \"high\": null");
	else
		text_printf(text, "\"low\": %.4f, \"high\": %.4f", 100 * change->low,
			    100 * change->high);
	text_printf(text, ", \"noise\": %s}", change->is_noise ? "true" : "false");
}

static void append_confidence(struct text *text, const char *doubt)
{
	if (!doubt) {
		text_append_string(text, "  \"confidence\": 0.95,\n");
		return;
	}
	text_append_string(text, "  \"confidence\": null,\n  \"reason\": ");
	append_string(text, doubt);
	text_append_string(text, ",\n");
}

static void append_row(struct text *text, const struct diff_row *row, const char *doubt)
{
	text_append_string(text, "{\"name\": ");
	json_append_string(text, row->function, row->function_length);
	text_append_string(text, ", \"module\": ");
	append_string(text, row->module);
	text_printf(text, ", \"noise\": %s", row->is_noise ? "true" : "false");
	append_change(text, "self", &row->self, doubt);
	append_change(text, "total", &row->total, doubt);
	text_append_char(text, '}');
}

int diff_report_write_json(const struct diff_report *report, const struct sink *sink)
{
	const struct diff_table *table = report->table;
	_cleanup_(text_release) struct text text = {0};
	size_t count = table->num_rows;
	int err;

	if (report->top && report->top < count)
		count = report->top;
	text_append_string(&text, "{\n  \"version\": \"" STACKWIDE_VERSION
				  "\",\n  \"metric\": {\"name\": ");
	append_string(&text, report->after->metric_name);
	text_append_string(&text, ", \"unit\": ");
	append_string(&text, report->after->metric_unit);
	text_append_string(&text, "},\n");
	append_confidence(&text, report->doubt);
	append_side(&text, "before", report->before, table->before_sum, table->before_slices,
		    report->doubt);
	append_side(&text, "after", report->after, table->after_sum, table->after_slices,
		    report->doubt);
	text_append_string(&text, "  \"functions\": [");
	for (size_t i = 0; i < count; i++) {
		text_append_string(&text, i ? ",\n    " : "\n    ");
		append_row(&text, &table->rows[i], report->doubt);
		err = sink_drain(sink, &text);
		if (err)
			return err;
	}
	text_append_string(&text, count ? "\n  ]\n}\n" : "]\n}\n");
	return sink_flush(sink, &text);
}
