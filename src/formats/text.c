/*
 * The flat table as text: self and total weight and percent of every function, and its module.
 */
#include <errno.h>
#include <inttypes.h>

#include "analysis/flat_table.h"
#include "formats/format.h"

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* Names come from foreign programs: nothing in them may move a terminal's cursor. */
static void append_name(struct text *output, const char *name)
{
	size_t start = output->length;

	text_append_string(output, *name ? name : "-");
	if (output->failed)
		return;
	for (size_t i = start; i < output->length; i++) {
		unsigned char c = (unsigned char)output->data[i];

		if (c < ' ' || c == 0x7f)
			output->data[i] = ' ';
	}
}

static int write_text(const struct profile *profile, const struct format_opts *opts,
		      const struct sink *sink)
{
	_cleanup_(text_release) struct text output = {0};
	_cleanup_(flat_table_release) struct flat_table table;
	int err = flat_table_init(&table, profile, opts->tree.metric);

	if (err)
		return err;
	text_printf(&output, "total: %" PRIu64 " %s\n\n", table.sum,
		    format_get_metric_name(profile, opts->tree.metric));
	text_printf(&output, "%12s %7s %12s %7s  %-40s %s\n", "self", "self%", "total", "total%",
		    "function", "module");
	for (size_t i = 0; !err && i < table.num_rows; i++) {
		const struct flat_row *row = &table.rows[i];
		size_t start;

		text_printf(&output, "%12" PRIu64 " %6.2f%% %12" PRIu64 " %6.2f%%  ", row->self,
			    percent(row->self, table.sum), row->total,
			    percent(row->total, table.sum));
		start = output.length;
		append_name(&output, row->function);
		for (size_t width = output.length - start; width < 40; width++)
			text_append_char(&output, ' ');
		text_append_char(&output, ' ');
		append_name(&output, row->module);
		text_append_char(&output, '\n');
		err = sink_drain(sink, &output);
	}
	return err ? err : sink_flush(sink, &output);
}

const struct format format_text = {
	.name = "text",
	.extension = ".txt",
	.summary = "a flat table: self, total, function, module",
	.write = write_text,
};
