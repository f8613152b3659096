/* `stackwide report`: the heaviest functions, and their callers or callees. */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/log.h"
#include "cli/files/archive_inputs.h"
#include "cli/files/inputs.h"
#include "cli/files/unused_inputs.h"
#include "cli/options/command.h"
#include "cli/options/time_filter.h"
#include "cli/report/report.h"

enum report_option {
	OPTION_TOP = 1,
	OPTION_SORT,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_WAKERS_OF,
	OPTION_CRITICAL,
	OPTION_INCLUDE,
	OPTION_EXCLUDE,
	OPTION_SLEEPERS,
	OPTION_JSON,
};

static const struct option_spec report_options[] = {
	{OPTION_TOP, 0, "top", "N",
	 "show at most N functions, or children of a frame\n"
	 "(default: all)"},
	{OPTION_SORT, 0, "sort", "self|total", "sort the table by self (default) or total"},
	{OPTION_CALLERS, 0, "callers", "FRAGMENT",
	 "instead of the table, show the callers of a\n"
	 "fragment: one function, or several joined by ;"},
	{OPTION_CALLEES, 0, "callees", "FRAGMENT",
	 "instead of the table, show the callees of a\n"
	 "fragment"},
	{OPTION_WAKERS_OF, 0, "wakers-of", "FRAGMENT",
	 "instead of the table, show who ended the waits in\n"
	 "a fragment, and how (from record --off-cpu\n"
	 "--wakers)"},
	{OPTION_CRITICAL, 0, "critical", "FRAGMENT",
	 "show who ended most of the waits in a fragment,\n"
	 "who ended most of that one's waits, and so on"},
	{OPTION_INCLUDE, 0, "include", "KIND:PATTERN",
	 "only samples that match; repeatable: a sample must\n"
	 "match all filters"},
	{OPTION_EXCLUDE, 0, "exclude", "KIND:PATTERN", "only samples that do not match"},
	{OPTION_SLEEPERS, 0, "sleepers", "group|show|hide",
	 "threads asleep throughout a recording with\n"
	 "--off-cpu: group (one row, default), show or hide"},
	{OPTION_JSON, 0, "json", NULL, "print JSON"},
	INPUT_OPTION_SPECS,
	ARCHIVE_OPTION_SPECS,
	{0},
};

struct report_command {
	struct input_options inputs;
	struct archive_inputs archive;
	struct report report;
	bool is_json;
	bool hides_sleepers;
	ARRAY(struct filter *) filters;
	struct text times; /* filters by time */
	struct profile *profile;
	struct frame_tree tree;
	struct selection selection;
	struct report_answer answer;
	struct terminal terminal;
};

/* The slot is added before the filter: release() frees its content, which is NULL until then. */
static int add_filter(struct report_command *session, const char *text, bool excludes)
{
	struct error error = {0};
	struct filter **added;
	int err;

	if (time_filter_is(text))
		return time_filter_add(&session->times, text, excludes);
	added = array_add(&session->filters);
	err = added ? filter_new(text, excludes, added, &error)
		    : error_set(&error, -ENOMEM, "out of memory");
	if (err)
		log_error("--%s: %s", excludes ? "exclude" : "include", error.message);
	return err;
}

/* option: name of the option, for messages */
static int set_fragment(struct report_command *session, const char *option, const char *fragment,
			enum report_question question)
{
	if (!*fragment) {
		log_error("--%s: expected a function, or several joined by ;", option);
		return -EINVAL;
	}
	if (session->report.fragment) {
		log_error("give only one of --callers, --callees, --wakers-of and --critical, "
			  "once");
		return -EINVAL;
	}
	session->report.question = question;
	session->report.fragment = fragment;
	return 0;
}

static int set_direction(struct report_command *session, const char *fragment,
			 enum fragment_direction direction)
{
	session->report.direction = direction;
	return set_fragment(session, direction == FRAGMENT_CALLERS ? "callers" : "callees",
			    fragment, REPORT_FRAGMENT);
}

static int set_sort(struct report_command *session, const char *value)
{
	static const char *const words[] = {"self", "total", NULL};
	int word = option_find_word(value, words);

	if (word < 0) {
		log_error("--sort '%s': expected self or total", value);
		return -EINVAL;
	}
	session->report.sorts_by_total = word == 1;
	return 0;
}

static int set_sleepers(struct report_command *session, const char *value)
{
	static const char *const words[] = {"group", "show", "hide", NULL};
	int word = option_find_word(value, words);

	if (word < 0) {
		log_error("--sleepers '%s': expected group, show or hide", value);
		return -EINVAL;
	}
	session->report.groups_sleepers = word == 0;
	session->hides_sleepers = word == 2;
	return 0;
}

static int handle(int id, const char *value, void *context)
{
	struct report_command *session = context;

	/* Shared options have ids from ranges of their own, above those of a command. */
	if (id >= (int)OPTION_ARCHIVE)
		return archive_inputs_handle(&session->archive, id, value);
	if (id >= (int)OPTION_FROM)
		return input_options_handle(&session->inputs, id, value);
	switch ((enum report_option)id) {
	case OPTION_TOP:
		return option_read_top(value, &session->report.top);
	case OPTION_SORT:
		return set_sort(session, value);
	case OPTION_CALLERS:
		return set_direction(session, value, FRAGMENT_CALLERS);
	case OPTION_CALLEES:
		return set_direction(session, value, FRAGMENT_CALLEES);
	case OPTION_WAKERS_OF:
		return set_fragment(session, "wakers-of", value, REPORT_WAKERS);
	case OPTION_CRITICAL:
		return set_fragment(session, "critical", value, REPORT_CHAIN);
	case OPTION_INCLUDE:
		return add_filter(session, value, false);
	case OPTION_EXCLUDE:
		return add_filter(session, value, true);
	case OPTION_SLEEPERS:
		return set_sleepers(session, value);
	case OPTION_JSON:
		session->is_json = true;
		return 0;
	}
	return -EINVAL;
}

/* Whether the answer contains anything. */
static bool has_weight(const struct report_answer *answer)
{
	switch (answer->report->question) {
	case REPORT_TABLE:
		break;
	case REPORT_FRAGMENT:
		return answer->callees.nodes[0].total;
	case REPORT_WAKERS:
		return answer->wakers.tree.nodes[0].total;
	case REPORT_CHAIN:
		return answer->chain.num_links;
	}
	return true;
}

/* Find a frame of the fragment that is in no stack, filtered or not. Returns 1 with a name, 0 or -ENOMEM. */
static int find_missing_frame(const struct report *report, const char **ret_name,
			      size_t *ret_length)
{
	_cleanup_(fragment_release) struct fragment fragment = {0};
	const char *start = report->fragment;
	int err = fragment_init(&fragment, report->tree, report->fragment);

	if (err)
		return err;
	for (size_t i = 0; i < fragment.num_frames; i++) {
		*ret_name = start;
		*ret_length = strcspn(start, ";");
		if (fragment.frames[i].name == STRING_NONE)
			return 1;
		start += *ret_length + 1;
	}
	return 0;
}

static void warn_of_missing_fragment(const struct report *report)
{
	const char *name = "";
	size_t length = 0;

	if (find_missing_frame(report, &name, &length) > 0)
		log_warning("no frame is named '%.*s'", (int)length, name);
	else
		log_warning("no %s%s contains '%s'",
			    report->question == REPORT_FRAGMENT ? "stack" : "wait",
			    report->selection ? " that matches the filters" : "", report->fragment);
}

/* A filter or fragment that matches nothing is more often a typo than intended. */
static void warn_of_nothing(const struct report_command *session)
{
	const struct report *report = &session->report;
	bool has_samples = false;

	for (uint32_t i = 0; !has_samples && i < profile_count_samples(session->profile); i++)
		has_samples = selection_contains(report->selection, i);
	if (!has_samples && report->selection)
		log_warning("no sample matches the filters");
	else if (!has_weight(&session->answer))
		warn_of_missing_fragment(report);
}

/* Samples outside the times have no weight, and are deselected. */
static void deselect_weightless(struct selection *selection, const struct profile *profile)
{
	for (uint32_t i = 0; i < selection->num_samples; i++)
		selection->is_selected[i] &= profile_get_sample(profile, i)->value != 0;
}

/*
 * The answer borrows from the tree, and the tree from the profile: all three live until release().
 */
static int find_answer(struct report_command *session)
{
	int err = frame_tree_init(&session->tree, session->profile);

	session->report.tree = &session->tree;
	if (err)
		return err;
	if (session->filters.length || session->times.length) {
		err = selection_init(&session->selection, &session->tree, session->filters.items,
				     session->filters.length);
		if (err)
			return err;
		if (session->times.length)
			deselect_weightless(&session->selection, session->profile);
		session->report.selection = &session->selection;
	}
	return report_answer_init(&session->answer, &session->report);
}

static int write_answer(void *context, const struct sink *sink)
{
	struct report_command *session = context;

	return session->is_json ? report_write_json(&session->answer, sink)
				: report_write_text(&session->answer, &session->terminal, sink);
}

/* Wakers are only in one metric. */
static int choose_metric(struct report_command *session)
{
	struct call_tree_opts chosen = {0};
	struct report *report = &session->report;
	int status;

	if (report->question == REPORT_WAKERS || report->question == REPORT_CHAIN) {
		report->metric = profile_find_metric(session->profile, METRIC_OFFWAKE);
		if (report->metric != METRIC_NONE) {
			unused_inputs_warn(session->profile, report->metric, METRIC_NONE, "shown");
			return EXIT_DONE;
		}
		log_error("the input does not show who ended waits (metric " METRIC_OFFWAKE
			  "); use a recording with --off-cpu --wakers");
		return EXIT_USAGE;
	}
	status = inputs_choose_metric(session->profile, &session->inputs, &chosen);
	if (status)
		return status;
	report->metric = chosen.metric;
	if (chosen.has_baseline)
		log_warning("the inputs hold a comparison: " METRIC_AFTER
			    " is shown, --metric " METRIC_BEFORE
			    " selects the other side; 'stackwide diff' compares two recordings");
	unused_inputs_warn(session->profile, chosen.metric,
			   chosen.has_baseline ? chosen.baseline : METRIC_NONE, "shown");
	return EXIT_DONE;
}

static int report(struct report_command *session, char **paths, size_t num_paths)
{
	struct error error = {0};
	int status;
	int err;

	session->profile = profile_new();
	if (!session->profile)
		return inputs_fail(NULL, -ENOMEM, NULL);
	if (session->times.length && profile_keep_timestamps(session->profile))
		return inputs_fail(NULL, -ENOMEM, NULL);
	session->inputs.is_archive = session->archive.dir;
	status = inputs_read(paths, num_paths, &session->inputs, session->profile, NULL);
	if (status)
		return status;
	if (session->times.length) {
		status = time_filter_apply(session->times.data, session->profile);
		if (status)
			return status;
	}
	status = choose_metric(session);
	if (status)
		return status;
	err = find_answer(session);
	if (err)
		return inputs_fail(session->profile, err, NULL);
	warn_of_nothing(session);
	session->terminal = terminal_get();
	if (!terminal_write(write_answer, session, &error))
		return EXIT_DONE;
	log_error("%s", error.message);
	return EXIT_FAILED;
}

static void release(struct report_command *session)
{
	array_for_each (&session->filters, filter)
		filter_free(*filter);
	array_release(&session->filters);
	text_release(&session->times);
	report_answer_release(&session->answer);
	selection_release(&session->selection);
	frame_tree_release(&session->tree);
	profile_free(session->profile);
}

static int run_report(int argc, char **argv)
{
	struct report_command session = {.report.groups_sleepers = true};
	struct input_paths paths = {0};
	int first;
	int parsed = options_parse(report_options, argc, argv, handle, &session, &first);
	int status = parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;

	if (!parsed && session.hides_sleepers)
		parsed = add_filter(&session, "function:" SLEPT_FRAME_NAME, true);
	if (!parsed && first == argc && !session.archive.dir)
		log_error(
			"expected input files ('-' is standard input); see 'stackwide help report'");
	else if (!parsed)
		status = archive_inputs_list(&session.archive, argv + first, (size_t)(argc - first),
					     "report", &paths);
	if (!status)
		status = report(&session, paths.items.items, paths.items.length);
	input_paths_release(&paths);
	release(&session);
	return status;
}

const struct command command_report = {
	.name = "report",
	.summary = "show the hottest functions, their callers and callees",
	.usage = "Usage: stackwide report IN... [OPTION...]\n"
		 "       stackwide report --dir DIR [--since TIME] [--until TIME] [OPTION...]",
	.help = "For every function the table shows its self weight (samples with it running) and\n"
		"its total weight (samples with it on the stack). Each has its share of all\n"
		"samples that match the filters. A recursive function counts once\n"
		"per sample. Functions of the same name in different modules have separate rows.\n"
		"'stackwide help formats' lists the formats that can be read; several inputs are\n"
		"merged.\n\n"
		"A FRAGMENT is a sequence of frames, each called by the previous one: malloc, or\n"
		"main;run;malloc. If it occurs several times in a stack, its caller is that of\n"
		"the first occurrence and its callee that of the last. The callers thus add up to\n"
		"the fragment's total; so do the callees and its self weight.\n\n"
		"The KIND of a filter selects what PATTERN is compared with:\n"
		"  function   the name of any frame of the stack: main; read_[k], with its\n"
		"             annotation; fib, for an element a.rb:5:fib\n"
		"  fragment   consecutive frames of the stack: main;run; or a thread and its\n"
		"             outermost frames: nginx;main; a /regex/ matches the frames of the\n"
		"             whole stack\n"
		"  thread     the thread's name or id\n"
		"  process    the process's name or id\n"
		"  file       the input, or the source file of any frame; full path or last\n"
		"             component\n"
		"  module     the program, library or kernel module of any frame; last component,\n"
		"             or full path if the input has one, as pprof does\n"
		"  time       FROM..TO, after the first sample of the input: 2s..5s, 500ms..,\n"
		"             ..1m\n"
		"PATTERN is the full name, or a regular expression between slashes that matches\n"
		"anywhere in it: POSIX extended, with \\d \\w \\s \\b, and (?i) at its start to\n"
		"ignore case. stackwide-report(1) describes them all; the page of 'stackwide\n"
		"view' has the same.\n\n"
		"Examples:\n"
		"  stackwide report a.folded --top 20             the twenty hottest functions\n"
		"  stackwide report a.folded --sort total         callers before callees\n"
		"  stackwide report a.folded --callers malloc     who allocates?\n"
		"  stackwide report a.folded --callees 'main;run' what does main;run call?\n"
		"  stackwide report waits.pb.gz --wakers-of lock_table  who let it go on?\n"
		"  stackwide report a.folded b.folded --exclude function:idle \\\n"
		"    --include 'module:/^libc/'\n"
		"  stackwide report --dir /var/lib/stackwide --since 03:00 --until 03:30\n"
		"  perf script | stackwide report - --from perf-script --json | jq .functions[0]\n\n"
		"Exit status: 0 done, 1 failed, 2 usage, 3 bad input (FILE:LINE: reason).\n",
	.options = report_options,
	.run = run_report,
};
