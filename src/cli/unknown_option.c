#include "cli/unknown_option.h"

#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/suggestion.h"

/* An option of another tool, without dashes, and what does the same here. */
static const struct {
	const char *tool;
	const char *name;
	const char *option; /* of ours; NULL: see advice */
	const char *advice;
} others[] = {
	{"flamegraph.pl", "minwidth", "min-width", NULL},
	{"flamegraph.pl", "countname", "count-name", NULL},
	{"flamegraph.pl", "flamechart", NULL, "the page of 'stackwide view' shows stacks by time"},
	{"flamegraph.pl", "hash", NULL, "colors are made from names already"},
	{"perf", "g", NULL, "stacks are always recorded"},
	{"perf", "call-graph", NULL, "stacks are always recorded; --user-stacks chooses how"},
	{"perf", "stdio", NULL, "'stackwide report' prints text"},
	{"perf", "stdio2", NULL, "'stackwide report' prints text"},
	{"perf", "tui", NULL, "'stackwide view' opens a page"},
	{"perf", "gtk", NULL, "'stackwide view' opens a page"},
	{"perf", "i", NULL, "name the input without an option"},
	{"perf", "input", NULL, "name the input without an option"},
	{"perf", "s", "sort", NULL},
	{"perf", "freq", "frequency", NULL},
	{"perf", "all-cpus", "all", NULL},
	{"perf", "percent-limit", "top", NULL},
	{"perf", "comms", NULL, "use --include thread:NAME"},
	{"perf", "comm", NULL, "use --include thread:NAME"},
	{"perf", "dsos", NULL, "use --include module:NAME"},
	{"perf", "dso", NULL, "use --include module:NAME"},
	{"perf", "symbol-filter", NULL, "use --include function:NAME"},
	{"perf", "parent", "callers", NULL},
	{"pprof", "top", "top", NULL},
	{"pprof", "cum", NULL, "use --sort total"},
	{"pprof", "flat", NULL, "use --sort self"},
	{"pprof", "focus", NULL, "use --include function:/REGEX/"},
	{"pprof", "ignore", NULL, "use --exclude function:/REGEX/"},
	{"pprof", "peek", NULL, "use --callers FUNCTION and --callees FUNCTION"},
	{"pprof", "http", NULL, "use 'stackwide view FILE'"},
	{"pprof", "web", NULL, "use 'stackwide view FILE'"},
	{"pprof", "svg", NULL, "use 'stackwide convert FILE -o FILE.svg'"},
	{"pprof", "proto", NULL, "use 'stackwide convert FILE -o FILE.pb.gz'"},
	{"pprof", "raw", NULL, "use 'stackwide convert FILE -o FILE.folded'"},
	{"pprof", "text", NULL, "'stackwide report' prints text"},
	{"pprof", "nodecount", "top", NULL},
	{"pprof", "sample_index", "metric", NULL},
	{"pprof", "base", NULL, "use 'stackwide diff BEFORE AFTER'"},
	{"pprof", "diff_base", NULL, "use 'stackwide diff BEFORE AFTER'"},
	{"pprof", "seconds", "duration", NULL},
};

static const struct option_spec *find_spec(const struct option_spec *specs, const char *name)
{
	for (; specs->name; specs++)
		if (specs->help && string_equals(specs->name, name))
			return specs;
	return NULL;
}

/* A command that has it: `convert`, which takes any file, if it can be; else the first. NULL: none has. */
static const struct command *find_command(const char *name)
{
	if (find_spec(command_convert.options, name))
		return &command_convert;
	for (const struct command *const *command = command_get_all(); *command; command++)
		if (!(*command)->is_hidden && find_spec((*command)->options, name))
			return *command;
	return NULL;
}

bool unknown_option_is_known(const char *name)
{
	return find_command(name);
}

/* "use --min-width", or the command that has it. */
static void append_option(struct text *text, const struct option_spec *specs, const char *name)
{
	const struct option_spec *spec = find_spec(specs, name);
	const struct command *command = spec ? NULL : find_command(name);

	if (command) {
		spec = find_spec(command->options, name);
		text_printf(text, "'stackwide %s' has --%s", command->name, name);
	} else {
		text_printf(text, "use --%s", name);
	}
	if (spec && spec->argument)
		text_printf(text, " %s", spec->argument);
}

/* Whether another tool has it, and what was said of it. */
static bool append_other(struct text *text, const struct option_spec *specs, const char *name)
{
	for (size_t i = 0; i < ARRAY_LENGTH(others); i++) {
		if (!string_equals(others[i].name, name))
			continue;
		text_printf(text, " (of %s): ", others[i].tool);
		if (others[i].advice)
			text_append_string(text, others[i].advice);
		else
			append_option(text, specs, others[i].option);
		return true;
	}
	return false;
}

static void append_similar(struct text *text, const struct option_spec *specs, const char *name)
{
	struct suggestion suggestion = {.wanted = name};

	for (; specs->name; specs++)
		if (specs->help)
			suggestion_offer(&suggestion, specs->name);
	for (specs = options_get_common(); specs->name; specs++)
		suggestion_offer(&suggestion, specs->name);
	if (suggestion.word && strlen(name) > 1)
		text_printf(text, "; did you mean --%s?", suggestion.word);
}

void unknown_option_report(const char *command, const struct option_spec *specs, const char *word)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_free_ char *name = strdup(word + strspn(word, "-"));
	const char *subcommand = strchr(command, ' ');

	if (!name) {
		log_error("unknown option '%s'", word);
		return;
	}
	name[strcspn(name, "=")] = '\0';
	text_append_string(&text, "");
	if (append_other(&text, specs, name)) {
		log_error("unknown option '%s'%s", word, text.data ? text.data : "");
		return;
	}
	if (find_command(name)) {
		text_append_string(&text, ": ");
		append_option(&text, specs, name);
	} else {
		append_similar(&text, specs, name);
	}
	log_error("unknown option '%s'%s%s see 'stackwide help%s'", word,
		  text.data ? text.data : "",
		  string_ends_with(text.data ? text.data : "", "?") ? "" : ";",
		  subcommand ? subcommand : "");
}
