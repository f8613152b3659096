#include "cli/options/unknown_option.h"

#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/options/suggestion.h"

/* Options of other tools, without dashes, and their equivalents here. */
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

/*
 * Options, with the first of these commands that has them. Using the tables of the commands would
 * be a circle of includes: commands parse their options with this file. A test compares the list
 * with the tables.
 */
static const struct {
	const char *command;
	const char *options; /* with a blank on both sides of each */
} owners[] = {
	{"convert",
	 " output to from metric strict lenient all-frames symbols common-names dir since until root "
	 "no-annotations compress title subtitle notes count-name width min-width colors reverse "
	 "inverted negate no-profile "},
	{"record",
	 " all pid children no-children tid cgroup frequency duration user-stacks runtime-frames "
	 "kernel-stacks no-cache no-inline symbolize-limit symbolize-user event filter count faults "
	 "syscalls io alloc live user off-cpu wakers futexes locks period min-block sched flush "
	 "zones stats "},
	{"report", " top sort callers callees wakers-of critical include exclude sleepers json "},
	{"diff", " normalize strip-addresses exact-names before after "},
	{"capture", " keep max-size min-free random-delay config "},
};

static const struct option_spec *find_spec(const struct option_spec *specs, const char *name)
{
	for (; specs->name; specs++)
		if (specs->help && string_equals(specs->name, name))
			return specs;
	return NULL;
}

const char *unknown_option_find_command(const char *name)
{
	size_t length = strlen(name);

	for (size_t i = 0; length && i < ARRAY_LENGTH(owners); i++)
		for (const char *found = strstr(owners[i].options, name); found;
		     found = strstr(found + 1, name))
			if (found[-1] == ' ' && found[length] == ' ')
				return owners[i].command;
	return NULL;
}

/* Append "use --min-width PIXELS", or the command that has it. */
static void append_option(struct text *text, const struct option_spec *specs, const char *name)
{
	const struct option_spec *spec = find_spec(specs, name);
	const char *command = spec ? NULL : unknown_option_find_command(name);

	if (command) {
		text_printf(text, "'stackwide %s' has --%s", command, name);
		return;
	}
	text_printf(text, "use --%s", name);
	if (spec && spec->argument)
		text_printf(text, " %s", spec->argument);
}

/* The index in `others`; its length if no other tool has the option. */
static size_t find_other(const char *name)
{
	size_t i = 0;

	while (i < ARRAY_LENGTH(others) && !string_equals(others[i].name, name))
		i++;
	return i;
}

bool unknown_option_is_of_other_tool(const char *name)
{
	return find_other(name) < ARRAY_LENGTH(others);
}

/* Append the advice for an option of another tool. False if no tool has it. */
static bool append_other(struct text *text, const struct option_spec *specs, const char *name)
{
	size_t i = find_other(name);

	if (i == ARRAY_LENGTH(others))
		return false;
	text_printf(text, " (of %s): ", others[i].tool);
	if (others[i].advice)
		text_append_string(text, others[i].advice);
	else
		append_option(text, specs, others[i].option);
	return true;
}

static void append_similar(struct text *text, const struct option_spec *specs, const char *name)
{
	static const char *const common[] = {"help", "quiet", "verbose"}; /* of all commands */
	struct suggestion suggestion = {.wanted = name};

	for (; specs->name; specs++)
		if (specs->help)
			suggestion_offer(&suggestion, specs->name);
	for (size_t i = 0; i < ARRAY_LENGTH(common); i++)
		suggestion_offer(&suggestion, common[i]);
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
	if (unknown_option_find_command(name)) {
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
