/*
 * `stackwide generate`, for the build: completions and manual pages out of the tables.
 */
#include <errno.h>
#include <stdio.h>

#include "base/log.h"
#include "base/text.h"
#include "cli/help/generated_text.h"
#include "cli/options/command.h"

static const struct option_spec no_options[] = {{0}};

static int refuse(int id _unused_, const char *value _unused_, void *context _unused_)
{
	return -EINVAL; /* there are no options of its own */
}

static int print_manual(const char *name)
{
	for (const struct command *const *command = command_get_all(); *command; command++) {
		if (string_equals((*command)->name, name)) {
			manual_print(*command, stdout);
			return EXIT_DONE;
		}
	}
	log_error("unknown command '%s'", name);
	return EXIT_USAGE;
}

static int print_names(void)
{
	for (const struct command *const *command = command_get_all(); *command; command++)
		if (!(*command)->is_hidden)
			puts((*command)->name);
	return EXIT_DONE;
}

static int run_generate(int argc, char **argv)
{
	int first;
	int parsed = options_parse(no_options, argc, argv, refuse, NULL, &first);
	const char *what = parsed || first == argc ? "" : argv[first];

	if (parsed)
		return parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;
	if (string_equals(what, "manual") && first + 2 == argc)
		return print_manual(argv[first + 1]);
	if (string_equals(what, "commands"))
		return print_names();
	if (string_equals(what, "bash"))
		completions_print_bash(command_get_all(), stdout);
	else if (string_equals(what, "zsh"))
		completions_print_zsh(command_get_all(), stdout);
	else if (string_equals(what, "fish"))
		completions_print_fish(command_get_all(), stdout);
	else if (string_equals(what, "formats"))
		manual_print_formats(stdout);
	else {
		log_error("expected bash, zsh, fish, commands, formats, or manual COMMAND");
		return EXIT_USAGE;
	}
	return EXIT_DONE;
}

const struct command command_generate = {
	.name = "generate",
	.summary = "print completions and manual pages",
	.usage = "Usage: stackwide generate bash|zsh|fish|commands|formats\n"
		 "       stackwide generate manual COMMAND",
	.options = no_options,
	.is_hidden = true,
	.run = run_generate,
};
