/*
 * Completions for bash, zsh and fish. The table's name for an option's value gives its kind: FILE,
 * DIR, FORMAT, PID, EVENT, or a list of words, "on|off".
 */
#include <string.h>

#include "base/text.h"
#include "cli/files/format_list.h"
#include "cli/help/generated_text.h"
#include "cli/help/topics.h"

/* Shell command for the machine's events: the first name of "  page-faults, faults   memory…". */
#define LIST_EVENTS "stackwide events 2>/dev/null | sed -n 's/^  \\([^ ,]*\\).*/\\1/p'"

/* Options without help work but are hidden. */
static bool is_shown(const struct option_spec *option)
{
	return option->help != NULL;
}

/*
 * The help on one line, without characters that are special to the shell. Dropping a character is
 * enough: the text is for reading.
 */
static void print_help(const struct option_spec *option, const char *special, FILE *out)
{
	for (const char *c = option->help; *c; c++) {
		if (*c == '\n')
			fputc(' ', out);
		else if (!strchr(special, *c))
			fputc(*c, out);
	}
}

/* "on|off" becomes "on off"; placeholders in capitals are skipped. Returns the number of words. */
static size_t print_words(const char *argument, FILE *out)
{
	size_t count = 0;

	while (*argument) {
		int length = (int)strcspn(argument, "|");

		if (*argument >= 'a' && *argument <= 'z') {
			if (out)
				fprintf(out, "%s%.*s", count ? " " : "", length, argument);
			count++;
		}
		argument += length;
		argument += *argument == '|';
	}
	return count;
}

/* Formats as values of an option. */
struct format_words {
	const struct command *command;
	bool is_read; /* --from; else --to */
	size_t count;
	FILE *out;
};

static void print_format_name(const struct format *format, void *context)
{
	struct format_words *words = context;
	bool (*takes)(const struct format *format) = words->command->takes_format;

	if (words->is_read ? !format->read : !format->write || (takes && !takes(format)))
		return;
	fprintf(words->out, "%s%s", words->count++ ? " " : "", format->name);
}

static void print_formats(const struct command *command, const struct option_spec *option,
			  FILE *out)
{
	struct format_words words = {
		.command = command, .is_read = string_equals(option->name, "from"), .out = out};

	format_list_for_each(print_format_name, &words);
}

static bool is_kind(const struct option_spec *option, const char *kind)
{
	return option->argument && string_starts_with(option->argument, kind);
}

static bool has_words(const struct option_spec *option)
{
	return option->argument && strchr(option->argument, '|') &&
	       print_words(option->argument, NULL);
}

/* Call print() for every visible option of a command, common ones too. */
static void for_each_option(const struct command *command,
			    void (*print)(const struct command *command,
					  const struct option_spec *option, FILE *out),
			    FILE *out)
{
	for (const struct option_spec *option = command->options; option->name; option++)
		if (is_shown(option))
			print(command, option, out);
	for (const struct option_spec *option = options_get_common(); option->name; option++)
		print(command, option, out);
}

static void print_command_names(const struct command *const *commands, FILE *out)
{
	for (; *commands; commands++)
		if (!(*commands)->is_hidden)
			fprintf(out, "%s ", (*commands)->name);
	fputs("help", out);
}

/* Names of commands are left out. */
static void print_topics(const struct command *const *commands, FILE *out)
{
	for (const struct topic *topic = topic_get_all(); topic->name; topic++) {
		const struct command *const *command = commands;

		while (*command && !string_equals((*command)->name, topic->name))
			command++;
		if (!*command)
			fprintf(out, " %s", topic->name);
	}
}

static void print_bash_name(const struct command *command _unused_,
			    const struct option_spec *option, FILE *out)
{
	fprintf(out, " --%s", option->name);
	if (option->short_name)
		fprintf(out, " -%c", option->short_name);
}

/* Print a case that completes the value of an option. */
static void print_bash_value(const struct command *command, const struct option_spec *option,
			     FILE *out)
{
	if (!option->argument)
		return;
	fprintf(out, "    '%s '--%s", command->name, option->name);
	if (option->short_name)
		fprintf(out, " | '%s '-%c", command->name, option->short_name);
	fputs(") ", out);
	if (is_kind(option, "FILE"))
		fputs("mapfile -t COMPREPLY < <(compgen -f -- \"$current\")", out);
	else if (is_kind(option, "DIR") || is_kind(option, "PATH"))
		fputs("mapfile -t COMPREPLY < <(compgen -d -- \"$current\")", out);
	else if (is_kind(option, "FORMAT")) {
		fputs("words='", out);
		print_formats(command, option, out);
		fputs("'", out);
	} else if (is_kind(option, "PID") || is_kind(option, "TID"))
		fputs("words=$(cd /proc && echo [0-9]*)", out);
	else if (is_kind(option, "EVENT"))
		fputs("_stackwide_events", out);
	else if (has_words(option)) {
		fputs("words='", out);
		print_words(option->argument, out);
		fputs("'", out);
	}
	fputs(" ;;\n", out);
}

void completions_print_bash(const struct command *const *commands, FILE *out)
{
	fputs("# bash completion for stackwide; made from its option tables.\n"
	      "_stackwide_events() {\n"
	      "    local before=${typed%\"${typed##*,}\"} colon=''\n"
	      "    mapfile -t COMPREPLY < <(compgen -P \"$before\" -W \"$(" LIST_EVENTS
	      ")\" -- \"${typed##*,}\")\n"
	      "    [[ $COMP_WORDBREAKS != *:* ]] || colon=${typed%\"${typed##*:}\"}\n"
	      "    COMPREPLY=(\"${COMPREPLY[@]#\"$colon\"}\")\n"
	      "}\n"
	      "_stackwide() {\n"
	      "    local current=${COMP_WORDS[COMP_CWORD]} typed=${COMP_WORDS[COMP_CWORD]} previous i=$COMP_CWORD\n"
	      "    # A word with colons is several ones to bash, which replaces the last.\n"
	      "    while ((i > 1)) && [[ ${COMP_WORDS[i]} = : || ${COMP_WORDS[i - 1]} = : ]]; do\n"
	      "        typed=${COMP_WORDS[--i]}$typed\n"
	      "    done\n"
	      "    previous=${COMP_WORDS[i - 1]}\n"
	      "    local command=${COMP_WORDS[1]} words=''\n    COMPREPLY=()\n    if ((COMP_CWORD == 1)) || [[ $COMP_CWORD = 2 && $command = help ]]; then\n"
	      "        words='",
	      out);
	print_command_names(commands, out);
	fputs("'\n        ((COMP_CWORD == 1)) && words+=' --version' || words+='", out);
	print_topics(commands, out);
	fputs("'\n        mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	      "        return\n    fi\n    case \"$command $previous\" in\n",
	      out);
	for (const struct command *const *command = commands; *command; command++)
		if (!(*command)->is_hidden)
			for_each_option(*command, print_bash_value, out);
	fputs("    *)\n        if [[ $current = -* ]]; then\n            case $command in\n", out);
	for (const struct command *const *command = commands; *command; command++) {
		if ((*command)->is_hidden)
			continue;
		fprintf(out, "            %s) words='", (*command)->name);
		for_each_option(*command, print_bash_name, out);
		fputs("' ;;\n", out);
	}
	fputs("            esac\n        else\n"
	      "            mapfile -t COMPREPLY < <(compgen -f -- \"$current\")\n"
	      "        fi\n        ;;\n    esac\n"
	      "    [[ -z $words ]] || mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$current\")\n"
	      "}\ncomplete -o filenames -F _stackwide stackwide\n",
	      out);
}

static void print_zsh_action(const struct command *command, const struct option_spec *option,
			     FILE *out)
{
	if (!option->argument)
		return;
	fputs(":value:", out);
	if (is_kind(option, "FILE"))
		fputs("_files", out);
	else if (is_kind(option, "DIR") || is_kind(option, "PATH"))
		fputs("_files -/", out);
	else if (is_kind(option, "PID"))
		fputs("_pids", out);
	else if (is_kind(option, "EVENT"))
		fputs("_stackwide_events", out);
	else if (is_kind(option, "FORMAT") || has_words(option)) {
		fputc('(', out);
		if (has_words(option))
			print_words(option->argument, out);
		else
			print_formats(command, option, out);
		fputc(')', out);
	}
}

static void print_zsh_option(const struct command *command, const struct option_spec *option,
			     FILE *out)
{
	if (option->short_name)
		fprintf(out, "            '*'{-%c,--%s}'[", option->short_name, option->name);
	else
		fprintf(out, "            '*--%s[", option->name);
	print_help(option, "[]:'\\", out);
	fputc(']', out);
	print_zsh_action(command, option, out);
	fputs("' \\\n", out);
}

void completions_print_zsh(const struct command *const *commands, FILE *out)
{
	fputs("#compdef stackwide\n# Made from the option tables of stackwide.\n"
	      "_stackwide_events() { _sequence compadd - ${(f)\"$(" LIST_EVENTS ")\"} }\n"
	      "if ((CURRENT == 2)); then\n    local -a commands=(\n",
	      out);
	for (const struct command *const *command = commands; *command; command++)
		if (!(*command)->is_hidden)
			fprintf(out, "        '%s:%s'\n", (*command)->name, (*command)->summary);
	fputs("        'help:show help'\n    )\n    _describe command commands\n    return\nfi\n"
	      "local command=$words[2]\n"
	      "shift words\n((CURRENT--))\ncase $command in\n",
	      out);
	for (const struct command *const *command = commands; *command; command++) {
		if ((*command)->is_hidden)
			continue;
		fprintf(out, "    %s)\n        _arguments -s \\\n", (*command)->name);
		for_each_option(*command, print_zsh_option, out);
		fputs("            '*:file:_files'\n        ;;\n", out);
	}
	fputs("    help) _values command ", out);
	print_command_names(commands, out);
	print_topics(commands, out);
	fputs(" ;;\nesac\n", out);
}

static void print_fish_option(const struct command *command, const struct option_spec *option,
			      FILE *out)
{
	fprintf(out, "complete -c stackwide -n '__fish_seen_subcommand_from %s' -l %s",
		command->name, option->name);
	if (option->short_name)
		fprintf(out, " -s %c", option->short_name);
	if (is_kind(option, "FILE") || is_kind(option, "DIR") || is_kind(option, "PATH"))
		fputs(" -r -F", out);
	else if (is_kind(option, "FORMAT") || has_words(option)) {
		fputs(" -x -a '", out);
		if (has_words(option))
			print_words(option->argument, out);
		else
			print_formats(command, option, out);
		fputc('\'', out);
	} else if (is_kind(option, "PID"))
		fputs(" -x -a '(__fish_complete_pids)'", out);
	else if (is_kind(option, "EVENT"))
		fputs(" -x -a '(__fish_complete_list , __stackwide_events)'", out);
	else if (option->argument)
		fputs(" -x", out);
	fputs(" -d '", out);
	print_help(option, "'\\", out);
	fputs("'\n", out);
}

void completions_print_fish(const struct command *const *commands, FILE *out)
{
	fputs("# fish completion for stackwide; made from its option tables.\n"
	      "function __stackwide_events\n    " LIST_EVENTS "\nend\n",
	      out);
	for (const struct command *const *command = commands; *command; command++) {
		if ((*command)->is_hidden)
			continue;
		fprintf(out, "complete -c stackwide -n __fish_use_subcommand -f -a %s -d '%s'\n",
			(*command)->name, (*command)->summary);
		for_each_option(*command, print_fish_option, out);
	}
	fputs("complete -c stackwide -n __fish_use_subcommand -f -a help -d 'show help'\n"
	      "complete -c stackwide -n '__fish_seen_subcommand_from help' -f -a '",
	      out);
	print_command_names(commands, out);
	print_topics(commands, out);
	fputs("'\n", out);
}
