/*
 * `stackwide convert`: read profiles of any format into one, and write it in others.
 */
#include <errno.h>

#include "base/log.h"
#include "cli/files/archive_inputs.h"
#include "cli/files/inputs.h"
#include "cli/files/output_options.h"
#include "cli/files/outputs.h"
#include "cli/files/zones_conversion.h"
#include "cli/options/command.h"
#include "timeline/timeline.h"

static const struct option_spec convert_options[] = {
	OUTPUT_FILE_SPECS,
	INPUT_OPTION_SPECS,
	ARCHIVE_OPTION_SPECS,
	OUTPUT_FRAME_SPECS,
	OUTPUT_COMPRESS_SPEC,
	SVG_OPTION_SPECS,
	{0},
};

struct convert_command {
	struct input_options inputs;
	struct archive_inputs archive;
	struct output_options options;
	struct outputs outputs;
};

static int handle(int id, const char *value, void *context)
{
	struct convert_command *conversion = context;

	if (id >= (int)OPTION_ARCHIVE)
		return archive_inputs_handle(&conversion->archive, id, value);
	if (id >= (int)OPTION_FROM)
		return input_options_handle(&conversion->inputs, id, value);
	return output_options_handle(&conversion->options, id, value, "convert");
}

static int report(int status, const struct error *error)
{
	log_error("%s", error->message);
	return status;
}

static int write_profile(struct convert_command *conversion, const struct profile *profile,
			 const struct timeline *timeline)
{
	struct format_opts opts = {
		.tree = conversion->options.tree,
		.svg = &conversion->options.svg,
		.timeline = timeline,
		.is_compressed = conversion->options.is_compressed,
		.folds_microseconds = profile_find_wall_metric(profile, 0) != METRIC_NONE,
	};
	struct error error = {0};
	int status = inputs_choose_metric(profile, &conversion->inputs, &opts.tree);
	int err;

	if (status)
		return status;
	output_options_warn_of_root(&conversion->options, profile);
	err = outputs_write(&conversion->outputs, profile, &opts, &error);
	if (err == -EOVERFLOW)
		return inputs_fail(profile, err, error.message);
	return err ? report(EXIT_FAILED, &error) : EXIT_DONE;
}

/* Inputs have clocks of their own: times of several inputs cannot be ordered. */
static void warn_of_times(const struct convert_command *conversion, const struct profile *profile,
			  const struct timeline *timeline)
{
	const struct timestamps *times = profile_get_timestamps(profile);

	if (outputs_have_times(&conversion->outputs) && timeline_is_empty(timeline) && times &&
	    timestamps_count(times) && !profile_get_times_of_one_clock(profile))
		log_warning("the trace has no times: the clocks of several inputs differ; convert "
			    "each input separately to keep its times");
}

/* Output files are opened before any input is read: a mistyped path is reported at once. */
static int convert(struct convert_command *conversion, char **paths, size_t num_paths)
{
	const struct output_request *requests = conversion->options.requests.items;
	_cleanup_(profile_freep) struct profile *profile = profile_new();
	_cleanup_(timeline_freep) struct timeline *timeline = timeline_new();
	struct error error = {0};
	int status;

	if (!profile || !timeline) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (outputs_init(&conversion->outputs, requests, conversion->options.requests.length,
			 &error))
		return report(EXIT_USAGE, &error);
	output_options_warn_of_unused(&conversion->options, &conversion->outputs);
	conversion->inputs.takes_all_metrics = outputs_have_all_metrics(&conversion->outputs);
	conversion->inputs.is_for_trace = outputs_have_times(&conversion->outputs);
	/* A trace has a time for each sample, even if its inputs have no timeline. */
	if ((outputs_have_timestamps(&conversion->outputs) ||
	     outputs_have_times(&conversion->outputs)) &&
	    profile_keep_timestamps(profile)) {
		log_error("out of memory");
		return EXIT_FAILED;
	}
	if (outputs_open(&conversion->outputs, requests, 0,
			 inputs_get_output_mode(paths, num_paths), &error))
		return report(EXIT_FAILED, &error);
	/* Zones that only become a trace need not fit into memory. */
	if (num_paths == 1 &&
	    zones_conversion_run(paths[0], &conversion->inputs, &conversion->outputs,
				 conversion->options.is_compressed, &status))
		return status;
	conversion->inputs.is_archive = conversion->archive.dir;
	status = inputs_read(paths, num_paths, &conversion->inputs, profile, timeline);
	if (!status)
		warn_of_times(conversion, profile, timeline);
	return status ? status : write_profile(conversion, profile, timeline);
}

static int run_convert(int argc, char **argv)
{
	struct convert_command conversion = {0};
	struct input_paths paths = {0};
	int first;
	int parsed = options_parse(convert_options, argc, argv, handle, &conversion, &first);
	int status = parsed > 0 ? EXIT_SHOW_HELP : EXIT_USAGE;

	if (!parsed)
		parsed = output_options_finish(&conversion.options);
	if (!parsed && first == argc && !conversion.archive.dir)
		log_error(
			"expected input files ('-' is standard input); see 'stackwide help convert'");
	else if (!parsed && !conversion.options.requests.length)
		log_error("expected an output file: add -o FILE; see 'stackwide help convert'");
	else if (!parsed)
		status = archive_inputs_list(&conversion.archive, argv + first,
					     (size_t)(argc - first), "convert", &paths);
	if (!status)
		status = convert(&conversion, paths.items.items, paths.items.length);
	input_paths_release(&paths);
	outputs_release(&conversion.outputs);
	output_options_release(&conversion.options);
	return status;
}

const struct command command_convert = {
	.name = "convert",
	.summary = "convert profiles between formats and merge them",
	.usage =
		"Usage: stackwide convert IN... -o OUT [-o OUT...] [OPTION...]\n"
		"       stackwide convert --dir DIR [--since TIME] [--until TIME] -o OUT [OPTION...]",
	.help = "'stackwide help formats' lists the formats that can be read and written. Several\n"
		"inputs are merged. A format that holds a single metric gets the one of --metric.\n"
		"By default this is the first one, or wall in recordings with --off-cpu, which is\n"
		"in microseconds in folded text.\n\n"
		"Examples:\n"
		"  stackwide convert a.folded b.folded -o both.folded\n"
		"  perf script | stackwide convert - --from perf-script -o perf.folded\n"
		"  stackwide convert night.folded -o night.txt -o - --to folded\n"
		"  stackwide convert --dir /var/lib/stackwide --since 03:00 -o 3.folded\n\n"
		"Exit status: 0 done, 1 failed, 2 usage, 3 bad input (FILE:LINE: reason).\n",
	.options = convert_options,
	.run = run_convert,
};
