/*
 * `stackwide history`: the captures of an archive, a line for each.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "cli/files/archive_inputs.h"
#include "cli/options/command.h"
#include "cli/options/terminal.h"
#include "cli/options/time_spec.h"
#include "cli/report/history_index.h"
#include "cli/report/history_row.h"

/* Fewer bars are useless. */
#define MIN_CHART_COLUMNS 20

/* Lines are written immediately; the rest of the output needs all rows. */
struct history {
	struct archive_inputs inputs;
	struct history_index index;
	bool is_json;
	size_t num_columns; /* of the terminal; 0: no terminal */
	ARRAY(struct history_row) rows;
	uint32_t num_unreadable;
};

enum history_option { OPTION_JSON = 900 };

static const struct option_spec history_options[] = {
	ARCHIVE_OPTION_SPECS,
	{OPTION_JSON, 0, "json", NULL, "print JSON"},
	{0},
};

static int handle(int id, const char *value, void *context)
{
	struct history *history = context;

	if (id != (int)OPTION_JSON)
		return archive_inputs_handle(&history->inputs, id, value);
	history->is_json = true;
	return 0;
}

static void print_row(const struct history *history, const struct history_row *row)
{
	_cleanup_(text_release) struct text text = {0};

	if (history->is_json) {
		text_append_string(&text, history->rows.length > 1 ? ",\n    " : "\n    ");
		history_row_print_json(row, &text);
	} else {
		if (history->rows.length == 1)
			history_print_heading(&text, history->num_columns);
		history_row_print(row, &text, history->num_columns);
	}
	fwrite(text.data, 1, text.length, stdout);
}

/* A capture: from the index, or read. Reading errors have been reported. */
static int add_capture(struct history *history, const struct archive_capture *capture)
{
	_cleanup_free_ char *path = NULL;
	struct history_row *row;
	bool is_final;
	int err;

	if (asprintf(&path, "%s/%s", history->inputs.dir, capture->name) < 0) {
		path = NULL;
		return -ENOMEM;
	}
	row = array_add(&history->rows);
	if (!row)
		return -ENOMEM;
	if (!history_index_find(&history->index, capture, path, row)) {
		err = history_row_read(row, path, capture->time_s, NULL, &is_final);
		if (err)
			return err;
		if (is_final)
			history_index_add(&history->index, capture, row);
	}
	history->num_unreadable += row->is_damaged;
	print_row(history, row);
	return 0;
}

static void print_end(const struct history *history)
{
	_cleanup_(text_release) struct text text = {0};

	if (history->is_json) {
		fputs(history->rows.length ? "\n  ]\n}\n" : "]\n}\n", stdout);
		return;
	}
	if (history->num_columns < MIN_CHART_COLUMNS || history->rows.length < 2)
		return;
	text_append_string(&text, "\nload over time:\n");
	history_print_sparkline(history->rows.items, history->rows.length, history->num_columns - 1,
				&text);
	fwrite(text.data, 1, text.length, stdout);
}

static int show_list(struct history *history, const struct archive_list *list)
{
	if (history->is_json)
		fputs("{\n  \"version\": \"" STACKWIDE_VERSION "\",\n  \"captures\": [", stdout);
	array_for_each (&list->captures, capture) {
		if (!add_capture(history, capture))
			continue;
		log_error("out of memory");
		return EXIT_FAILED;
	}
	print_end(history);
	return history->num_unreadable ? EXIT_BAD_INPUT : EXIT_DONE;
}

static int show(struct history *history)
{
	_cleanup_(archive_freep) struct archive *archive = NULL;
	_cleanup_(archive_list_release) struct archive_list list = {0};
	int status = archive_inputs_open(&history->inputs, &archive, &list);

	if (status)
		return status;
	if (history_index_init(&history->index, archive)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	status = show_list(history, &list);
	history_index_release(&history->index);
	return status;
}

static int run_history(int argc, char **argv)
{
	struct history history = {.num_columns = terminal_get().num_columns};
	int first_operand;
	int parsed = options_parse(history_options, argc, argv, handle, &history, &first_operand);
	int status = parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;

	if (!parsed && first_operand < argc)
		log_error("unexpected '%s'; see 'stackwide help history'", argv[first_operand]);
	else if (!parsed && !history.inputs.dir)
		log_error("expected --dir DIR, the directory of the archive; see 'stackwide help "
			  "history'");
	else if (!parsed)
		status = show(&history);
	array_for_each (&history.rows, row)
		history_row_release(row);
	array_release(&history.rows);
	return status;
}

const struct command command_history = {
	.name = "history",
	.summary = "list the captures of an archive",
	.usage = "Usage: stackwide history --dir DIR [--since TIME] [--until TIME] [--json]",
	.help = "Shows the start of each capture (local time), its duration, its samples, the\n"
		"average number of busy CPUs, the share of complete user stacks, and its hottest\n"
		"process and function. On a terminal, also shows the load over time as a line of\n"
		"bars. A capture that cannot be read is listed as damaged, and the exit status is\n"
		"3.\n\n"
		"Each capture is read once: DIR/.stackwide.index keeps its row, if the directory\n"
		"is writable. A capture that has changed since is read again. The index may be\n"
		"removed at any time.\n\n" TIME_SPEC_HELP "\n"
		"Examples:\n"
		"  stackwide history --dir /var/lib/stackwide --since yesterday --until today\n"
		"  stackwide history --dir /var/lib/stackwide --since -2h --json\n",
	.options = history_options,
	.run = run_history,
};
