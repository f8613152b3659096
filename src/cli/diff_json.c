#include <inttypes.h>
#include <string.h>

#include "base/json.h"
#include "cli/diff_report.h"

static void append_string(struct text *text, const char *string)
{
	json_append_string(text, string, strlen(string));
}

static void append_side(struct text *text, const char *name, const struct diff_input *side,
			uint64_t sum)
{
	text_printf(text, "  \"%s\": {\"name\": ", name);
	append_string(text, side->path);
	text_printf(text, ", \"total\": %" PRIu64 ", \"samples\": %" PRIu64 "},\n", sum,
		    side->num_samples ? side->num_samples : sum);
}

static void append_change(struct text *text, const char *name, const struct diff_change *change)
{
	text_printf(text,
		    ",\n     \"%s\": {\"before\": %" PRIu64 ", \"after\": %" PRIu64
		    ", \"before_percent\": %.4f, \"after_percent\": %.4f, \"change\": %.4f, "
		    "\"low\": %.4f, \"high\": %.4f, \"noise\": %s}",
		    name, change->before, change->after, 100 * change->before_share,
		    100 * change->after_share, 100 * change->change, 100 * change->low,
		    100 * change->high, change->is_noise ? "true" : "false");
}

static void append_row(struct text *text, const struct diff_row *row)
{
	text_append_string(text, "{\"name\": ");
	json_append_string(text, row->function, row->function_length);
	text_append_string(text, ", \"module\": ");
	append_string(text, row->module);
	text_printf(text, ", \"noise\": %s", row->is_noise ? "true" : "false");
	append_change(text, "self", &row->self);
	append_change(text, "total", &row->total);
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
	text_append_string(&text, "{\n  \"metric\": {\"name\": ");
	append_string(&text, report->after->metric_name);
	text_append_string(&text, ", \"unit\": ");
	append_string(&text, report->after->metric_unit);
	text_append_string(&text, "},\n  \"confidence\": 0.95,\n");
	append_side(&text, "before", report->before, table->before_sum);
	append_side(&text, "after", report->after, table->after_sum);
	text_append_string(&text, "  \"functions\": [");
	for (size_t i = 0; i < count; i++) {
		text_append_string(&text, i ? ",\n    " : "\n    ");
		append_row(&text, &table->rows[i]);
		err = sink_drain(sink, &text);
		if (err)
			return err;
	}
	text_append_string(&text, count ? "\n  ]\n}\n" : "]\n}\n");
	return sink_flush(sink, &text);
}
