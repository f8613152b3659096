/*
 * `stackwide diff`: the changes between two recordings, or between two sets of several.
 *
 * All are read into one profile, so that equal frames and stacks have equal ids. The metrics of the
 * first one are renamed meanwhile, because importers would merge metrics of equal name. The source
 * of a thread tells its run and side.
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#include "analysis/normalize.h"
#include "analysis/sample_counts.h"
#include "base/log.h"
#include "cli/files/archive_inputs.h"
#include "cli/files/inputs.h"
#include "cli/files/output_options.h"
#include "cli/files/outputs.h"
#include "cli/options/command.h"
#include "cli/report/diff_report.h"
#include "profile/profile.h"

/* A prefix that no importer uses for a metric. */
#define ASIDE_PREFIX "\001before "
enum diff_option {
	OPTION_NORMALIZE = 1,
	OPTION_STRIP_ADDRESSES,
	OPTION_EXACT_NAMES,
	OPTION_TOP,
	OPTION_JSON,
	OPTION_BEFORE,
	OPTION_AFTER,
};

static const struct option_spec diff_options[] = {
	OUTPUT_FILE_SPECS,
	{OPTION_NORMALIZE, 'n', "normalize", NULL,
	 "scale BEFORE to the total of AFTER in files of -o\n"
	 "(the table always compares shares)"},
	{OPTION_STRIP_ADDRESSES, 's', "strip-addresses", NULL,
	 "merge names that differ only in addresses: 0x1f30\n"
	 "becomes 0x..."},
	{OPTION_EXACT_NAMES, 0, "exact-names", NULL,
	 "do not match clones that compilers number anew in\n"
	 "each build: foo.constprop.0, {lambda#1},\n"
	 "main.f.func1"},
	{OPTION_TOP, 0, "top", "N", "show at most N functions (default: all)"},
	{OPTION_JSON, 0, "json", NULL, "print the table as JSON"},
	INPUT_OPTION_SPECS,
	{OPTION_ARCHIVE, 0, "dir", "DIR", "compare captures of an archive instead of files"},
	{OPTION_BEFORE, 0, "before", "FILE...",
	 "files of several runs instead of BEFORE; with\n"
	 "--dir a time range FROM..TO: -2h..-1h or\n"
	 "yesterday 03:00..yesterday 04:00"},
	{OPTION_AFTER, 0, "after", "FILE...", "the same for AFTER"},
	OUTPUT_FRAME_SPECS,
	SVG_OPTION_SPECS,
	{0},
};

/* Indexes of the pairs. */
enum { BEFORE, AFTER };

struct diff_command {
	struct input_options inputs;
	struct output_options options;
	struct outputs outputs;
	bool normalizes;
	bool strips_addresses;
	bool has_exact_names;
	bool is_json;
	size_t top;
	struct profile *profile;
	struct diff_input recordings[2];
	struct archive_inputs archive;
	struct input_paths values[2]; /* of --before and --after: files, or a range of time */
	struct input_paths paths[2];  /* of the files of each */
	struct text names[2];         /* of these, for the report */
	ARRAY(struct diff_run) runs[2];
	struct text doubt;   /* reason why the number of samples cannot be known; empty: it can */
	uint32_t metrics[2]; /* of the profile */
	bool has_waits;      /* either is a recording of waits */
	struct diff_table table;
	struct terminal terminal;
};

static bool prints_table(const struct diff_command *session)
{
	return !session->outputs.length || session->is_json;
}

/* The table uses the times of samples. A page written without it gets no times. */
static struct profile *make_profile(const struct diff_command *session)
{
	struct profile *profile = profile_new();

	if (!profile || !prints_table(session) || !profile_keep_timestamps(profile))
		return profile;
	profile_free(profile);
	return NULL;
}

static int add_value(struct input_paths *values, const char *value)
{
	char **added = array_add(&values->items);

	if (added)
		*added = strdup(value);
	if (added && *added)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

static int handle(int id, const char *value, void *context)
{
	struct diff_command *session = context;

	if (id >= (int)OPTION_ARCHIVE)
		return archive_inputs_handle(&session->archive, id, value);
	if (id >= (int)OPTION_FROM)
		return input_options_handle(&session->inputs, id, value);
	if (id >= (int)OPTION_OUTPUT)
		return output_options_handle(&session->options, id, value, "diff");
	switch ((enum diff_option)id) {
	case OPTION_NORMALIZE:
		session->normalizes = true;
		return 0;
	case OPTION_STRIP_ADDRESSES:
		session->strips_addresses = true;
		return 0;
	case OPTION_EXACT_NAMES:
		session->has_exact_names = true;
		return 0;
	case OPTION_TOP:
		return option_read_top(value, &session->top);
	case OPTION_JSON:
		session->is_json = true;
		return 0;
	case OPTION_BEFORE:
	case OPTION_AFTER:
		return add_value(&session->values[id == OPTION_AFTER], value);
	}
	return -EINVAL;
}

static int report(int status, const struct error *error)
{
	log_error("%s", error->message);
	return status;
}

/*
 * The metric `name` among those from `first` on; without a name METRIC_AFTER, else all time of a recording
 * of waits, else the first.
 */
static uint32_t find_metric(const struct profile *profile, uint32_t first, const char *name)
{
	uint32_t count = profile_count_metrics(profile);
	const char *wanted = name ? name : METRIC_AFTER;
	uint32_t wall;

	for (uint32_t i = first; i < count; i++)
		if (string_equals(format_get_metric_name(profile, i), wanted))
			return i;
	if (name || first == count)
		return METRIC_NONE;
	wall = profile_find_wall_metric(profile, first);
	return wall != METRIC_NONE ? wall : first;
}

static void append_metrics(struct text *text, const struct profile *profile, uint32_t first)
{
	for (uint32_t i = first; i < profile_count_metrics(profile); i++)
		text_printf(text, "%s%s", i > first ? ", " : "",
			    format_get_metric_name(profile, i));
}

/* An input without samples has no metric: add an empty one. */
static int choose_metric(struct diff_command *session, uint32_t first,
			 const struct diff_input *recording, uint32_t *ret)
{
	_cleanup_(text_release) struct text names = {0};
	struct profile *profile = session->profile;
	const char *name = session->inputs.metric;

	*ret = find_metric(profile, first, name);
	append_metrics(&names, profile, first);
	if (*ret == METRIC_NONE && first == profile_count_metrics(profile))
		return profile_add_metric(profile, name ? name : "samples", "count", ret)
			       ? inputs_fail(NULL, -ENOMEM, NULL)
			       : EXIT_DONE;
	if (*ret == METRIC_NONE) {
		log_error("no metric '%s' in '%s'; it has: %s", name, recording->path,
			  names.data ? names.data : "none");
		return EXIT_USAGE;
	}
	if (!name && profile_count_metrics(profile) > first + 1)
		log_warning("'%s' has several metrics (%s): using %s; --metric selects another",
			    recording->path, names.data ? names.data : "",
			    format_get_metric_name(profile, *ret));
	return EXIT_DONE;
}

/* The reason for the lack of confidence values, with the affected files. */
static int append_doubt(struct text *doubt, const char *path)
{
	static const char reason[] =
		": most stacks weigh 1000 or more: they are not counts of samples, and "
		"the number of samples is unknown";

	/* Both files share one reason. */
	if (doubt->length) {
		text_truncate(doubt, doubt->length - strlen(reason));
		text_append_string(doubt, " and ");
	}
	text_append_string(doubt, path);
	text_append_string(doubt, reason);
	return doubt->failed ? -ENOMEM : 0;
}

/* Each file is a run; a group of experiments has several sources. */
static int read_runs(struct diff_command *session, size_t i)
{
	array_for_each (&session->paths[i].items, path) {
		struct diff_run *run = array_add(&session->runs[i]);
		int status;

		if (!run)
			return inputs_fail(NULL, -ENOMEM, NULL);
		run->first_source = profile_count_sources(session->profile);
		status = inputs_read(path, 1, &session->inputs, session->profile, NULL);
		if (status)
			return status;
		run->end_source = profile_count_sources(session->profile);
	}
	return EXIT_DONE;
}

/*
 * A service varies over the day: differences among its captures are noise, too. They are in order
 * of time, and each is at most one source.
 */
static int divide_captures(struct diff_command *session, size_t i, uint32_t first_source)
{
	uint32_t num_captures = profile_count_sources(session->profile) - first_source;
	uint32_t num_slices = num_captures < DIFF_SLICES ? num_captures : DIFF_SLICES;

	for (uint32_t j = 0; num_slices >= DIFF_MIN_SLICES && j < num_slices; j++) {
		struct diff_run *slice = array_add(&session->runs[i]);

		if (!slice)
			return -ENOMEM;
		slice->first_source =
			first_source + (uint32_t)((uint64_t)num_captures * j / num_slices);
		slice->end_source =
			first_source + (uint32_t)((uint64_t)num_captures * (j + 1) / num_slices);
	}
	return 0;
}

/*
 * Read all files of one side; captures into a profile of their own, as damaged ones are removed
 * again.
 */
static int read_files(struct diff_command *session, size_t i)
{
	const struct input_paths *paths = &session->paths[i];
	uint32_t first_source = profile_count_sources(session->profile);
	_cleanup_(profile_freep) struct profile *captures = NULL;
	int status;
	int err;

	session->inputs.is_archive = session->archive.dir;
	if (!session->inputs.is_archive)
		return read_runs(session, i);
	captures = make_profile(session);
	if (!captures)
		return inputs_fail(NULL, -ENOMEM, NULL);
	status = inputs_read(paths->items.items, paths->items.length, &session->inputs, captures,
			     NULL);
	if (status)
		return status;
	err = profile_merge(session->profile, captures);
	if (!err)
		err = divide_captures(session, i, first_source);
	return err ? inputs_fail(captures, err, NULL) : EXIT_DONE;
}

static bool has_weight(const struct profile *profile, uint32_t metric, const struct diff_run *run)
{
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t source = profile_get_thread(profile, sample->thread)->source;

		if (sample->metric == metric && sample->value && source >= run->first_source &&
		    source < run->end_source)
			return true;
	}
	return false;
}

/* A run without weight tells nothing about the variation of runs. */
static void leave_out_empty_runs(struct diff_command *session, size_t i)
{
	size_t num_kept = 0;

	if (session->runs[i].length < 2)
		return;
	for (size_t j = 0; j < session->runs[i].length; j++) {
		struct diff_run run = session->runs[i].items[j];

		if (has_weight(session->profile, session->metrics[i], &run))
			session->runs[i].items[num_kept++] = run;
		else
			log_warning("'%s' has no weight in %s and does not count as a run",
				    session->paths[i].items.items[j],
				    session->recordings[i].metric_name);
	}
	session->runs[i].length = num_kept;
}

/*
 * Compute the base of the table's confidence, which takes several walks over all samples.
 *
 * first  of the recording's metrics
 */
static int find_confidence(struct diff_command *session, size_t i, uint32_t first)
{
	struct diff_input *recording = &session->recordings[i];
	struct sample_counts counts;
	int err = sample_counts_find(session->profile, session->metrics[i], first, NULL, &counts);

	if (err)
		return inputs_fail(NULL, err, NULL);
	recording->num_samples = counts.num_samples;
	if (counts.period > 1)
		log_warning("'%s': all counts are multiples of %" PRIu64
			    ": taken as periods of %" PRIu64 " samples",
			    recording->path, counts.period, counts.num_samples);
	if (counts.is_doubtful)
		err = append_doubt(&session->doubt, recording->path);
	return err ? inputs_fail(NULL, err, NULL) : EXIT_DONE;
}

static int read_recording(struct diff_command *session, size_t i)
{
	struct profile *profile = session->profile;
	struct diff_input *recording = &session->recordings[i];
	uint32_t first = profile_count_metrics(profile);
	uint32_t metric;
	int status = read_files(session, i);

	if (status)
		return status;
	status = choose_metric(session, first, recording, &metric);
	if (status)
		return status;
	recording->metric_name = strdup(format_get_metric_name(profile, metric));
	recording->metric_unit = strdup(format_get_metric_unit(profile, metric));
	if (!recording->metric_name || !recording->metric_unit)
		return inputs_fail(NULL, -ENOMEM, NULL);
	session->metrics[i] = metric;
	session->has_waits |= profile_find_wall_metric(profile, first) != METRIC_NONE;
	status = prints_table(session) ? find_confidence(session, i, first) : EXIT_DONE;
	if (status)
		return status;
	recording->num_runs = 1;
	if (session->archive.dir)
		return EXIT_DONE;
	leave_out_empty_runs(session, i);
	recording->num_runs = session->runs[i].length;
	return EXIT_DONE;
}

/* The number of samples in counts with decimals, at least 1 if there are any. */
static uint64_t sum_whole(const struct profile *profile, uint32_t metric, uint64_t scale)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		if (sample->metric == metric && __builtin_add_overflow(sum, sample->value, &sum))
			return 0;
	}
	return sum && sum < scale ? 1 : sum / scale;
}

static uint64_t get_scale(uint8_t decimals)
{
	uint64_t scale = 1;

	while (decimals--)
		scale *= 10;
	return scale;
}

/*
 * If one side's counts have decimals, they are multiplied: the other side's must be, too. The
 * number of samples does not change on either side.
 */
static int unify_decimals(struct diff_command *session)
{
	struct profile *profile = session->profile;
	uint8_t decimals[2];
	uint8_t most;
	int err;

	for (size_t i = 0; i < 2; i++)
		decimals[i] = profile_get_metric(profile, session->metrics[i])->decimals;
	most = decimals[decimals[1] > decimals[0]];
	for (size_t i = 0; i < 2; i++) {
		struct diff_input *recording = &session->recordings[i];

		recording->scale = get_scale(most);
		if (!most)
			continue;
		if (!recording->num_samples)
			recording->num_samples =
				sum_whole(profile, session->metrics[i], get_scale(decimals[i]));
		err = profile_multiply_samples(profile, session->metrics[i], 0, UINT32_MAX,
					       get_scale((uint8_t)(most - decimals[i])));
		if (err)
			return err;
	}
	return 0;
}

/* From now on the metrics of the second input are new ones, whatever their names. */
static int set_aside(struct profile *profile)
{
	int err;

	for (uint32_t i = 0; i < profile_count_metrics(profile); i++) {
		_cleanup_(text_release) struct text name = {0};

		text_printf(&name, ASIDE_PREFIX "%s", format_get_metric_name(profile, i));
		err = name.failed ? -ENOMEM
				  : profile_rename_metric(profile, i, name.data,
							  format_get_metric_unit(profile, i));
		if (err)
			return err;
	}
	return 0;
}

/* Copy both metrics into a new profile, if the inputs have more, or names must become canonical. */
static int extract(struct diff_command *session)
{
	const struct merged_metric metrics[] = {
		{session->metrics[BEFORE], METRIC_BEFORE, session->recordings[BEFORE].metric_unit},
		{session->metrics[AFTER], METRIC_AFTER, session->recordings[AFTER].metric_unit},
	};
	struct profile_merge_opts opts = {
		.metrics = metrics,
		.num_metrics = ARRAY_LENGTH(metrics),
		.change_name = session->strips_addresses ? stripped_name_append : NULL,
	};
	struct profile *comparison = make_profile(session);
	int err = comparison ? profile_merge_with(comparison, session->profile, &opts) : -ENOMEM;

	if (err) {
		profile_free(comparison);
		return err;
	}
	profile_free(session->profile);
	session->profile = comparison;
	session->metrics[0] = 0;
	session->metrics[1] = 1;
	return 0;
}

/*
 * In the common case (one metric each, unchanged names) renaming is enough and nothing is copied.
 */
static int make_comparison(struct diff_command *session)
{
	struct profile *profile = session->profile;
	const struct diff_input *before = &session->recordings[BEFORE];
	const struct diff_input *after = &session->recordings[AFTER];
	int err;

	if (!string_equals(before->metric_unit, after->metric_unit))
		log_warning("'%s' has %s of %s, '%s' has %s of %s: only shares can be compared",
			    before->path, before->metric_unit, before->metric_name, after->path,
			    after->metric_unit, after->metric_name);
	if (profile_count_metrics(profile) > 2 || session->strips_addresses)
		return extract(session);
	err = profile_rename_metric(profile, session->metrics[BEFORE], METRIC_BEFORE,
				    before->metric_unit);
	return err ? err
		   : profile_rename_metric(profile, session->metrics[AFTER], METRIC_AFTER,
					   after->metric_unit);
}

/* Folded text has functions without modules. */
static int share_modules(struct diff_command *session)
{
	enum missing_modules missing;
	int err = shared_modules_apply(session->profile, session->metrics[BEFORE],
				       session->metrics[AFTER], &missing);

	if (err || missing == MODULES_SHARED)
		return err;
	log_warning("'%s' has no modules: functions are compared by name only",
		    session->recordings[missing == MODULES_MISSING_AFTER].path);
	return 0;
}

/* Builds may have different file names: app-1.2 and app-1.3. */
static int match_modules(struct diff_command *session)
{
	struct moved_modules moved;
	int err = moved_modules_match(session->profile, session->metrics[BEFORE],
				      session->metrics[AFTER], &moved);

	if (err || !moved.num_functions)
		return err;
	log_warning("compared %zu function%s by name whose modules the other side lacks "
		    "('%s' before, '%s' after); --exact-names keeps them apart",
		    moved.num_functions, moved.num_functions == 1 ? "" : "s", moved.before,
		    moved.after);
	return 0;
}

/* Another build may have foo.constprop.1 instead of foo.constprop.0. */
static int match_clones(struct diff_command *session)
{
	_cleanup_(text_release) struct text names = {0};
	struct clone_matches matches;
	int err = clone_names_match(session->profile, session->metrics[BEFORE],
				    session->metrics[AFTER], &matches);

	if (err || !matches.num_names)
		return err;
	for (size_t i = 0; i < matches.num_names && i < CLONE_EXAMPLES; i++)
		text_printf(&names, "%s%s", i ? ", " : "", matches.examples[i]);
	if (matches.num_names > CLONE_EXAMPLES)
		text_append_string(&names, ", ...");
	if (names.failed)
		return -ENOMEM;
	log_warning(
		"matched %zu name%s of one side with clones of the same functions on the other: "
		"%s; --exact-names keeps them apart",
		matches.num_names, matches.num_names == 1 ? "" : "s", names.data);
	return 0;
}

static int read_recordings(struct diff_command *session)
{
	int status;
	int err;

	session->profile = make_profile(session);
	if (!session->profile)
		return inputs_fail(NULL, -ENOMEM, NULL);
	status = read_recording(session, BEFORE);
	if (status)
		return status;
	err = set_aside(session->profile);
	if (err)
		return inputs_fail(session->profile, err, NULL);
	status = read_recording(session, AFTER);
	if (status)
		return status;
	err = unify_decimals(session);
	if (err)
		return inputs_fail(session->profile, err, NULL);
	err = make_comparison(session);
	if (err)
		return inputs_fail(session->profile, err, NULL);
	err = share_modules(session);
	if (err)
		return inputs_fail(session->profile, err, NULL);
	if (session->has_exact_names)
		return EXIT_DONE;
	err = match_modules(session);
	if (!err)
		err = match_clones(session);
	return err ? inputs_fail(session->profile, err, NULL) : EXIT_DONE;
}

/* A format with one number for each stack would silently drop one of the two. */
static bool holds_comparison(const struct format *format)
{
	return format->holds_comparison;
}

static int open_outputs(struct diff_command *session)
{
	const struct output_request *requests = session->options.requests.items;
	struct error error = {0};
	mode_t mode = OUTPUT_MODE;

	if (!session->options.requests.length)
		return EXIT_DONE;
	for (size_t i = 0; i < ARRAY_LENGTH(session->paths); i++)
		mode &= inputs_get_output_mode(session->paths[i].items.items,
					       session->paths[i].items.length);
	if (outputs_init(&session->outputs, requests, session->options.requests.length, &error))
		return report(EXIT_USAGE, &error);
	output_options_warn_of_unused(&session->options, &session->outputs);
	for (size_t i = 0; i < session->outputs.length; i++) {
		const struct format *format = session->outputs.items[i].format;

		if (holds_comparison(format))
			continue;
		log_error("the format %s cannot hold a comparison; use diff.folded, "
			  "svg, json, html or pprof",
			  format->name);
		return EXIT_USAGE;
	}
	if (outputs_open(&session->outputs, requests, 0, mode, &error))
		return report(EXIT_FAILED, &error);
	return EXIT_DONE;
}

/* Sums of three runs and of five differ in every stack. */
static int normalize(struct diff_command *session, const struct call_tree_opts *tree)
{
	struct normalized normalized;
	int err;

	if (!session->normalizes &&
	    session->recordings[BEFORE].num_runs == session->recordings[AFTER].num_runs)
		return 0;
	err = normalize_baseline(session->profile, tree, &normalized);
	if (!err && normalized.missing >= normalized.sum / 100 && normalized.missing)
		log_warning("the scaled stacks of '%s' are rounded down, and sum up to %" PRIu64
			    " in place of %" PRIu64 ": stacks with few samples lose most",
			    session->recordings[BEFORE].path, normalized.sum - normalized.missing,
			    normalized.sum);
	return err;
}

static int write_outputs(struct diff_command *session)
{
	struct format_opts opts = {
		.tree = session->options.tree,
		.svg = &session->options.svg,
		.is_compressed = session->options.is_compressed,
		.folds_microseconds = session->has_waits,
	};
	struct error error = {0};
	int err;

	opts.tree.metric = session->metrics[1];
	opts.tree.baseline = session->metrics[0];
	opts.tree.has_baseline = true;
	output_options_warn_of_root(&session->options, session->profile);
	err = normalize(session, &opts.tree);
	if (err)
		return inputs_fail(session->profile, err, NULL);
	err = outputs_write(&session->outputs, session->profile, &opts, &error);
	if (err == -EOVERFLOW)
		return inputs_fail(session->profile, err, NULL);
	return err ? report(EXIT_FAILED, &error) : EXIT_DONE;
}

static int write_table(void *context, const struct sink *sink)
{
	struct diff_command *session = context;
	struct diff_report report = {
		.table = &session->table,
		.before = &session->recordings[BEFORE],
		.after = &session->recordings[AFTER],
		.doubt = session->doubt.length ? session->doubt.data : NULL,
		.top = session->top,
	};

	return session->is_json ? diff_report_write_json(&report, sink)
				: diff_report_write_text(&report, &session->terminal, sink);
}

static struct diff_side_opts get_opts(const struct diff_command *session, size_t i)
{
	return (struct diff_side_opts){
		.metric = session->metrics[i],
		.num_samples = session->recordings[i].num_samples,
		.runs =
			{
				.items = session->runs[i].items,
				.length = session->runs[i].length,
				.are_slices = session->archive.dir,
			},
	};
}

static int print_table(struct diff_command *session)
{
	struct diff_opts opts = {
		.before = get_opts(session, BEFORE),
		.after = get_opts(session, AFTER),
		.is_doubtful = session->doubt.length,
	};
	struct error error = {0};
	_cleanup_(frame_tree_release) struct frame_tree tree;
	int status = EXIT_DONE;
	int err = frame_tree_init(&tree, session->profile);

	if (err)
		return inputs_fail(session->profile, err, NULL);
	session->terminal = terminal_get();
	err = diff_table_init(&session->table, &tree, &opts);
	if (err)
		status = inputs_fail(session->profile, err, NULL);
	else if (terminal_write(write_table, session, &error))
		status = report(EXIT_FAILED, &error);
	diff_table_release(&session->table); /* it borrows the tree */
	return status;
}

static const char *const recording_options[] = {"--before", "--after"};

/* A value that looks like a range of time is a file, if that exists. */
static bool is_range_without_archive(const struct diff_command *session, size_t i)
{
	const char *value = session->values[i].items.items[0];

	if (session->archive.dir || !strstr(value, "..") || strchr(value, '/') ||
	    !access(value, F_OK))
		return false;
	log_error("%s '%s': no such file; a time range needs --dir DIR", recording_options[i],
		  value);
	return true;
}

/* operands  BEFORE and AFTER; NULL: --before and --after have both */
static int find_files(struct diff_command *session, char **operands)
{
	for (size_t i = 0; i < 2; i++) {
		const struct input_paths *values = &session->values[i];
		int status;

		if (!operands && is_range_without_archive(session, i))
			return EXIT_USAGE;
		if (session->archive.dir)
			status = archive_inputs_list_range(
				session->archive.dir, recording_options[i], values->items.items[0],
				&session->paths[i]);
		else
			status = archive_inputs_list(
				&session->archive, operands ? &operands[i] : values->items.items,
				operands ? 1 : values->items.length, "diff", &session->paths[i]);
		if (status)
			return status;
	}
	return EXIT_DONE;
}

/* Name the sides: "a.folded, b.folded" as given by the user; for an archive, the range. */
static int name_recordings(struct diff_command *session)
{
	for (size_t i = 0; i < 2; i++) {
		const struct input_paths *given =
			session->archive.dir ? &session->values[i] : &session->paths[i];
		struct text *name = &session->names[i];

		array_for_each (&given->items, path)
			text_printf(name, "%s%s", name->length ? ", " : "", *path);
		if (name->failed)
			return inputs_fail(NULL, -ENOMEM, NULL);
		session->recordings[i].path = name->data;
	}
	return EXIT_DONE;
}

static int compare(struct diff_command *session, char **paths)
{
	int status = find_files(session, paths);

	if (status)
		return status;
	status = name_recordings(session);
	if (status)
		return status;
	status = open_outputs(session);
	if (status)
		return status;
	status = read_recordings(session);
	if (status)
		return status;
	if (prints_table(session)) {
		status = print_table(session);
		if (status)
			return status;
	}
	return session->outputs.length ? write_outputs(session) : EXIT_DONE;
}

static void release(struct diff_command *session)
{
	for (size_t i = 0; i < 2; i++) {
		free(session->recordings[i].metric_name);
		free(session->recordings[i].metric_unit);
		input_paths_release(&session->values[i]);
		input_paths_release(&session->paths[i]);
		text_release(&session->names[i]);
		array_release(&session->runs[i]);
	}
	text_release(&session->doubt);
	outputs_release(&session->outputs);
	output_options_release(&session->options);
	profile_free(session->profile);
}

/* Whether each side is given, and only once. */
static bool is_usage_right(const struct diff_command *session, char **operands, int num_operands)
{
	size_t num_before = session->values[0].items.length;
	size_t num_after = session->values[1].items.length;

	if (session->archive.dir) {
		if (!num_operands && num_before == 1 && num_after == 1)
			return true;
		log_error(
			"expected --dir DIR --before FROM..TO --after FROM..TO, and no files; see "
			"'stackwide help diff'");
		return false;
	}
	if (!num_before && !num_after) {
		if (num_operands == 2)
			return true;
		log_error(
			"expected two files, BEFORE and AFTER, or --before FILE... --after FILE...; "
			"see 'stackwide help diff'");
		return false;
	}
	if (num_operands) {
		log_error("unexpected '%s': give BEFORE and AFTER, or --before FILE... --after "
			  "FILE...; see 'stackwide help diff'",
			  operands[0]);
		return false;
	}
	if (num_before && num_after)
		return true;
	log_error(
		"%s without %s: expected --before FILE... --after FILE...; see 'stackwide help diff'",
		recording_options[!num_before], recording_options[!!num_before]);
	return false;
}

static int run_diff(int argc, char **argv)
{
	struct diff_command session = {0};
	int first;
	int parsed = options_parse(diff_options, argc, argv, handle, &session, &first);
	int status = parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;

	if (!parsed)
		parsed = output_options_finish(&session.options);
	if (!parsed && is_usage_right(&session, argv + first, argc - first))
		status = compare(&session, first < argc ? argv + first : NULL);
	release(&session);
	return status;
}

const struct command command_diff = {
	.name = "diff",
	.summary = "compare two profiles and mark changes that may be noise",
	.usage = "Usage: stackwide diff BEFORE AFTER [-o OUT...] [OPTION...]\n"
		 "       stackwide diff --before FILE... --after FILE... [-o OUT...] [OPTION...]\n"
		 "       stackwide diff --dir DIR --before FROM..TO --after FROM..TO [OPTION...]",
	.help = "Without -o, prints a table of functions. It shows the share of each in all\n"
		"samples before and after, by self (samples with it running) and by total\n"
		"(samples with it on the stack). The change is in percentage points, with its\n"
		"95 % confidence interval for this number of samples. Functions whose self share\n"
		"changed come first, the largest change on top. Functions whose total alone\n"
		"changed follow, then the rest. A change marked ~ may be noise: among many\n"
		"functions, some change by chance.\n\n"
		"With -o, writes both profiles stack by stack: .diff.folded has both counts, .svg\n"
		"is a flame graph where red has grown and blue has shrunk. A stack that only\n"
		"one profile has counts 0 in the other.\n\n"
		"Compilers number clones, lambdas and closures anew in each build:\n"
		"foo.constprop.1, foo.cold, f::{lambda#2}, main.f.func1. If one side alone has\n"
		"such a name, it is matched with another clone of the same function on the other\n"
		"side, or with the function itself. A message lists the matches; --exact-names\n"
		"keeps them apart. Names that both sides have stay.\n\n"
		"With several runs on a side, as in benchmarks, a share is that of all its runs.\n"
		"Its confidence follows from how much it differs from run to run. A single run on\n"
		"the other side is assumed to vary as much. Five or more runs are good; three\n"
		"show large changes only. -o writes the sums of the runs. If one side has more of\n"
		"them, BEFORE is scaled as by -n.\n\n"
		"Successive samples of a thread are alike. If the times of samples are known\n"
		"(.html, .pftrace, perf.data, perf script, JFR, Firefox), the confidence follows\n"
		"from how much a share differs among 24 slices of the time. In an archive, it\n"
		"follows from 10 to 24 groups of captures. Otherwise samples are assumed to be\n"
		"independent, which calls too much changed.\n\n"
		"For weights that are not samples (nanoseconds, bytes), the number of samples is\n"
		"the input's sample count if it has one. Otherwise it is the number of its\n"
		"records, which SVG, html, pprof and speedscope keep. Folded text calls every\n"
		"weight a count: weights with a common divisor are taken as periods. If hardly\n"
		"any stack is rare, they are not counts: then nothing is called changed, and the\n"
		"reason is printed.\n\n"
		"Examples:\n"
		"  stackwide diff monday.folded tuesday.folded --top 20\n"
		"  stackwide diff before.folded after.folded -o changes.svg\n"
		"  stackwide diff --before old.*.folded --after new.*.folded\n"
		"  stackwide diff --dir DIR --before yesterday..today --after today..now\n"
		"  stackwide diff -n long.folded short.folded -o - --to diff.folded\n"
		"  stackwide diff old.folded new.folded --json |\n"
		"    jq '.functions[] | select(.noise | not)'\n\n"
		"Exit status: 0 done, 1 failed, 2 usage, 3 bad input (FILE:LINE: reason).\n",
	.options = diff_options,
	.takes_format = holds_comparison,
	.run = run_diff,
};
