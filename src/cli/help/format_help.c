/*
 * Three tables: all formats, the parts of a profile that survive writing and reading, and the
 * producers whose files were tried. Each format has its own texts (formats/format.h).
 */
#include "cli/help/format_help.h"

#include "base/table_format.h"
#include "cli/files/format_list.h"
#include "cli/options/terminal.h"

#define SUMMARY_COLUMN   46
#define PRODUCERS_COLUMN 17

/* Uses as many lines as the terminal needs. */
static void print_words(FILE *out, const char *words, size_t column)
{
	_cleanup_(text_release) struct text text = {0};

	table_append_words(&text, words, column, terminal_get().num_columns);
	text_append_char(&text, '\n');
	if (!text.failed)
		fputs(text.data, out);
}

static void print_format(const struct format *format, void *out)
{
	const char *verbs = !format->read ? "write" : !format->write ? "read" : "read, write";

	fprintf(out, "  %-14s %-16s %-11s ", format->name, format->extension, verbs);
	print_words(out, format->summary, SUMMARY_COLUMN);
}

static const char *say(bool is_preserved)
{
	return is_preserved ? "yes" : "-";
}

/* For profiles only: zones have just times, and formats that are not read preserve nothing. */
static void print_preserved(const struct format *format, void *out)
{
	if (!format->write || !format->read || format == &format_zones)
		return;
	fprintf(out, "  %-14s %-8s %-8s %-6s %-10s %s\n", format->name,
		format->has_all_metrics         ? "all"
		: format == &format_diff_folded ? "two"
						: "one",
		say(format->has_threads), say(format->has_lines), say(format->has_addresses),
		say(format->has_times || format->has_timestamps));
}

static void print_producers(const struct format *format, void *out)
{
	if (!format->producers)
		return;
	fprintf(out, "  %-14s ", format->name);
	print_words(out, format->producers, PRODUCERS_COLUMN);
}

void format_help_print(FILE *out)
{
	fputs("Formats, by the name that --to and --from take:\n\n", out);
	format_list_for_each(print_format, out);
	fputs("\n"
	      "Inputs are recognized by content, then by extension; outputs by "
	      "extension. Input\n"
	      "may be compressed by gzip, zstd, xz, bzip2 or lz4; text may be "
	      "UTF-16. Output is\n"
	      "compressed if .gz or .zst follows the extension, as in x.folded.zst; "
	      "pprof and\n"
	      "html are always compressed.\n"
	      "\n"
	      "Besides names and stacks, written files keep:\n"
	      "\n"
	      "                 metrics  threads  lines  addresses  times of samples\n",
	      out);
	format_list_for_each(print_preserved, out);
	fputs("\n"
	      "An svg shows one metric and holds all. With --root, threads are the "
	      "first\n"
	      "frames of stacks, which folded text and trees keep.\n"
	      "\n"
	      "Readers were tested with files of these programs, besides the "
	      "documents of the\n"
	      "formats:\n"
	      "\n",
	      out);
	format_list_for_each(print_producers, out);
	fputs("\n"
	      "Counts of folded text may have decimals (1.5): all counts are then "
	      "multiplied by\n"
	      "the same power of ten, at most 1000000, which a warning reports. More "
	      "than six\n"
	      "decimals are rounded. Counts are written as whole numbers.\n",
	      out);
}
