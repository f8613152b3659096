/*
 * The first argument chooses a command; everything else is the command's own. A command is a
 * descriptor (command.h) at the end of its file. Its help, its manual and the completions are
 * generated from that as well, so that none of them can be forgotten.
 *
 * Without arguments the help goes to standard error and the status is that of wrong usage: a script
 * that lost its arguments must not look as if it had done something.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/attributes.h"
#include "base/log.h"
#include "base/stack_limit.h"
#include "base/table_format.h"
#include "base/text.h"
#include "cli/help/document.h"
#include "cli/help/format_help.h"
#include "cli/help/topics.h"
#include "cli/options/command.h"
#include "cli/options/suggestion.h"
#include "cli/options/terminal.h"

#define HELP_INDENT  2
#define HELP_COLUMNS 80

/* The command that makes manuals and completions is for the build, and not listed. */
static const struct command *find_command(const char *name)
{
	for (const struct command *const *command = command_get_all(); *command; command++)
		if (string_equals((*command)->name, name))
			return *command;
	return string_equals(command_generate.name, name) ? &command_generate : NULL;
}

/*
 * is_for_help  whether the name of a topic would do as well
 *
 * Returns EXIT_USAGE.
 */
static int report_unknown_command(const char *name, bool is_for_help)
{
	struct suggestion suggestion = {.wanted = name};

	for (const struct command *const *command = command_get_all(); *command; command++)
		if (!(*command)->is_hidden)
			suggestion_offer(&suggestion, (*command)->name);
	suggestion_offer(&suggestion, "help");
	for (const struct topic *topic = topic_get_all(); topic->name && is_for_help; topic++)
		suggestion_offer(&suggestion, topic->name);
	if (topic_find(name))
		log_error("unknown command '%s'; it is a topic: 'stackwide help %s'", name, name);
	else if (suggestion.word)
		log_error("unknown command '%s'; did you mean '%s'? 'stackwide help' lists all "
			  "commands",
			  name, suggestion.word);
	else
		log_error("unknown command '%s'; 'stackwide help' lists all commands", name);
	return EXIT_USAGE;
}

static void print_topic_names(FILE *out)
{
	_cleanup_(text_release) struct text names = {0};
	_cleanup_(text_release) struct text lines = {0};

	for (const struct topic *topic = topic_get_all(); topic->name; topic++)
		text_printf(&names, "%s%s", names.length ? " " : "", topic->name);
	table_append_blanks(&lines, HELP_INDENT);
	if (!names.failed)
		table_append_words(&lines, names.data, HELP_INDENT, HELP_COLUMNS);
	text_append_char(&lines, '\n');
	if (!lines.failed)
		fputs(lines.data, out);
}

/* Has the 24 lines of a terminal, less that of the shell. */
static void print_commands(FILE *out)
{
	fputs("stackwide shows where a Linux machine spends its time, down to each function.\n"
	      "\n"
	      "Usage: stackwide COMMAND [OPTION...]\n\n",
	      out);
	for (const struct command *const *command = command_get_all(); *command; command++)
		if (!(*command)->is_hidden)
			fprintf(out, "  %-10s %s\n", (*command)->name, (*command)->summary);
	fputs("  help       print this, or the help of a command or a topic\n\n"
	      "First steps:\n"
	      "  sudo stackwide record -d 10              the whole machine for ten seconds\n"
	      "  sudo stackwide record -p PID -d 10       one process\n"
	      "  sudo stackwide record -- COMMAND         a command, from its start to its end\n\n"
	      "'stackwide help COMMAND' lists its options; 'stackwide help TOPIC' explains:\n",
	      out);
	print_topic_names(out);
}

static void print_command_help(const struct command *command, FILE *out)
{
	fprintf(out, "%s\n\n%s\n\n", command->summary, command->usage);
	options_print_help(command->options, out);
	if (command->help)
		fprintf(out, "\n%s", command->help);
}

static void print_topic(const struct topic *topic, FILE *out)
{
	_cleanup_(text_release) struct text text = {0};

	document_append(&text, topic->text, terminal_get());
	if (!text.failed)
		fputs(text.data, out);
}

/* "events" is a command and a topic: both are printed. */
static int run_help(const char *name)
{
	const struct command *command;
	const struct topic *topic;

	if (name && string_equals(name, "help"))
		name = NULL;
	if (!name) {
		print_commands(stdout);
		return EXIT_DONE;
	}
	/* The table of the program itself, in place of the document's. */
	if (string_equals(name, "formats")) {
		format_help_print(stdout);
		return EXIT_DONE;
	}
	command = find_command(name);
	topic = topic_find(name);
	if (!command && !topic)
		return report_unknown_command(name, true);
	if (command)
		print_command_help(command, stdout);
	if (command && topic)
		putchar('\n');
	if (topic)
		print_topic(topic, stdout);
	return EXIT_DONE;
}

/*
 * A command whose options ask for help returns EXIT_SHOW_HELP, since its descriptor is known only
 * here.
 */
static int run_command(const struct command *command, int argc, char **argv)
{
	char name[64];
	int status;

	snprintf(name, sizeof(name), "stackwide %s", command->name);
	argv[0] = name; /* the prefix of getopt_long's messages */
	status = command->run(argc, argv);
	if (status == EXIT_SHOW_HELP) {
		print_command_help(command, stdout);
		status = EXIT_DONE;
	}
	return status;
}

static void do_nothing(int number _unused_)
{
}

/*
 * A file that gets too large (ulimit -f) is a failed write with a message, not the end. Programs
 * that we start inherit ignored signals, but no handler.
 */
static void handle_large_files(void)
{
	const struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
	struct sigaction before;

	if (!sigaction(SIGXFSZ, NULL, &before) && before.sa_handler == SIG_DFL)
		(void)sigaction(SIGXFSZ, &action, NULL);
}

int main(int argc, char **argv)
{
	const char *first = argc > 1 ? argv[1] : NULL;
	const struct command *command;
	struct error error;

	handle_large_files();
	if (stack_limit_raise(&error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	if (!first) {
		print_commands(stderr);
		return EXIT_USAGE;
	}
	if (string_equals(first, "--version") || string_equals(first, "-V")) {
		puts("stackwide " STACKWIDE_VERSION);
		return EXIT_DONE;
	}
	if (string_equals(first, "help") || string_equals(first, "--help") ||
	    string_equals(first, "-h"))
		return run_help(argc > 2 ? argv[2] : NULL);
	command = find_command(first);
	if (!command)
		return report_unknown_command(first, false);
	return run_command(command, argc - 1, argv + 1);
}
