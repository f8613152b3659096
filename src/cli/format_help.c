/*
 * Three tables: what there is, what comes back of a profile that was written, and whose files were
 * tried. What they say stands with each format (formats/format.h).
 */
#include "cli/format_help.h"

#include "cli/format_list.h"

static void print_format(const struct format *format, void *out)
{
	const char *verbs = !format->read ? "write" : !format->write ? "read" : "read, write";

	fprintf(out, "  %-14s %-16s %-11s %s\n", format->name, format->extension, verbs,
		format->summary);
}

static const char *say(bool is_preserved)
{
	return is_preserved ? "yes" : "-";
}

/* Of profiles: zones are about time alone, and what is not read brings nothing back. */
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
	if (format->producers)
		fprintf(out, "  %-14s %s\n", format->name, format->producers);
}

void format_help_print(FILE *out)
{
	fputs("Formats, by the name that --to and --from take:\n\n", out);
	format_list_for_each(print_format, out);
	fputs("\nWhat is read is recognised by its content, then by the extension of its name;\n"
	      "what is written, by the extension. Input may be compressed by gzip, zstd, xz, bzip2 or\n"
	      "lz4; text may be UTF-16. Output is compressed when .gz or .zst follows the extension, as\n"
	      "in x.folded.zst; pprof and html are compressed anyway.\n\n"
	      "Beside names and stacks, a file that was written keeps:\n\n"
	      "                 metrics  threads  lines  addresses  times of samples\n",
	      out);
	format_list_for_each(print_preserved, out);
	fputs("\nAn svg shows one metric and holds all. With --root, threads are the first frames of\n"
	      "stacks, which folded text and trees keep.\n\n"
	      "Files of other programs that were read, beside what the documents of these formats\n"
	      "describe:\n\n",
	      out);
	format_list_for_each(print_producers, out);
	fputs("\nCounts of folded text that is read may have decimals (1.5): then all counts are\n"
	      "multiplied by the same power of ten, at most 1000000, and a warning says by which.\n"
	      "What is beyond six decimals is rounded. What is written are whole numbers.\n",
	      out);
}
