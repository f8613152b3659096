/*
 * `stackwide unwind-table`, for developers and the curious: the content of a file's unwind table,
 * and the functions whose call-frame information it cannot express, so that stacks end there.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/options/command.h"
#include "objfile/objfile.h"
#include "unwind/unwind_table.h"

static const struct option_spec no_options[] = {{0}};

static void append_unsupported(struct text *text, struct objfile *objfile,
			       const struct unwind_table *table)
{
	for (size_t i = 0; i < table->unsupported.length; i++) {
		const struct unwind_unsupported *function = &table->unsupported.items[i];
		struct symbol symbol;
		bool has_name = !objfile_find_symbol(objfile, function->elf_address, &symbol);

		text_printf(text, "    0x%" PRIx64 "  %" PRIu64 " rows  %s\n",
			    function->elf_address, function->num_rows,
			    has_name ? symbol.name : "(no symbol)");
	}
}

static void append_table(struct text *text, const char *path, struct objfile *objfile,
			 const struct unwind_table *table)
{
	const struct unwind_statistics *statistics = &table->statistics;
	uint64_t size = unwind_table_get_size_bytes(table);

	text_printf(text, "%s\n", path);
	text_printf(text,
		    "  functions    %" PRIu64 ", of %" PRIu64 " bytes of code %" PRIu64
		    " are described\n",
		    statistics->num_functions, statistics->text_bytes, statistics->covered_bytes);
	text_printf(text, "  table        %u rows, %u rules, %" PRIu64 " bytes", table->num_rows,
		    table->num_rules, size);
	if (table->num_rows)
		text_printf(text, " (%.2f a row)", (double)size / table->num_rows);
	text_printf(text, "\n  built        in %.2f ms from %" PRIu64 " bytes\n",
		    (double)statistics->build_ns / 1e6, statistics->input_bytes);
	text_printf(text,
		    "  left out     %" PRIu64 " broken entries, %" PRIu64
		    " outside the code, %" PRIu64 " lost registers\n",
		    statistics->num_malformed, statistics->num_outside,
		    statistics->num_lost_registers);
	text_printf(text, "  unsupported  %" PRIu64 " rows, in %zu functions\n",
		    statistics->num_unsupported_rows, table->unsupported.length);
	append_unsupported(text, objfile, table);
}

static int show_open_file(const char *path, int fd, struct error *error)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_(unwind_table_freep) struct unwind_table *table = NULL;
	_cleanup_(objfile_unrefp) struct objfile *objfile = NULL;
	int err = objfile_open(fd, path, "/usr/lib/debug", &objfile, error);

	if (err)
		return err;
	err = unwind_table_new(objfile, &table, error);
	if (err)
		return err;
	append_table(&text, path, objfile, table);
	if (text.failed)
		return -ENOMEM;
	fwrite(text.data, 1, text.length, stdout);
	return 0;
}

static int show_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct error error = {0};
	int err;

	if (fd < 0) {
		log_error("%s: %s", path, strerror(errno));
		return EXIT_FAILED;
	}
	err = show_open_file(path, fd, &error);
	if (!err)
		return EXIT_DONE;
	if (error.message[0])
		log_error("%s", error.message); /* it names the file */
	else
		log_error("%s: %s", path, strerror(-err));
	return err == -ENOMEM ? EXIT_FAILED : EXIT_BAD_INPUT;
}

static int refuse(int id _unused_, const char *value _unused_, void *context _unused_)
{
	return -EINVAL; /* there are no options of its own */
}

static int run_unwind_table(int argc, char **argv)
{
	int first_operand;
	int parsed = options_parse(no_options, argc, argv, refuse, NULL, &first_operand);
	int status = EXIT_DONE;

	if (parsed)
		return parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;
	if (first_operand == argc) {
		log_error("expected input files; see 'stackwide help unwind-table'");
		return EXIT_USAGE;
	}
	for (int i = first_operand; i < argc; i++) {
		int shown = show_file(argv[i]);

		if (shown)
			status = shown;
	}
	return status;
}

const struct command command_unwind_table = {
	.name = "unwind-table",
	.summary = "show the unwind table of a file",
	.usage = "Usage: stackwide unwind-table FILE...",
	.help = "Stacks end in functions whose call-frame information the table cannot express.\n"
		"These are listed as unsupported.\n",
	.options = no_options,
	.is_hidden = true,
	.run = run_unwind_table,
};
