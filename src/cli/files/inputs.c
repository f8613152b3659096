/*
 * All commands that read profiles do it here, so that they accept the same inputs and print the
 * same messages. An importer only turns bytes into a profile: it opens no files and prints nothing.
 * Callbacks of struct import provide everything else: another file of a folder, a warning,
 * progress, the unwinding of a copied stack.
 *
 *	open (input_file.c: file, pipe or folder; decompressed)
 *	  → choose the format: by --from, else by content, else by name
 *	  → read, into the one profile of all inputs, as a source of its own
 *	  → symbolize code that the file has as addresses (input_code.c), while its source is known
 *
 * The content is more reliable than the name, so it decides first. The content of a folder is the
 * names of its files. A group of gprofng experiments is no format but a list of inputs, each read
 * like this; as the list is untrusted, only folders are accepted in it.
 *
 * An error of an input is printed here, once, with the input's name, and becomes an exit status:
 * EXIT_BAD_INPUT if the content is wrong, EXIT_FAILED for errors of the system. Data read before
 * the error stays in the profile, which the command then discards.
 *
 * Limits: an input is in memory as a whole while it is read. The exception, zones that are
 * converted to a trace, is in zones_conversion.c.
 */
#include "cli/files/inputs.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "analysis/normalize.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/output_file.h"
#include "cli/files/experiment_group.h"
#include "cli/files/format_list.h"
#include "cli/files/input_code.h"
#include "cli/files/input_file.h"
#include "cli/files/input_rates.h"
#include "cli/options/command.h"
#include "cli/options/progress.h"
#include "formats/zones.h"

static int add_symbols(struct input_options *options, const char *folder)
{
	struct stat status;

	if (options->num_symbols == SYMBOL_FOLDERS_MAX) {
		log_error("--symbols can be given %d times", SYMBOL_FOLDERS_MAX);
		return -EINVAL;
	}
	if (stat(folder, &status) || !S_ISDIR(status.st_mode)) {
		log_error("--symbols: '%s' is not a directory", folder);
		return -EINVAL;
	}
	options->symbols[options->num_symbols++] = folder;
	return 0;
}

int input_options_handle(struct input_options *options, int id, const char *value)
{
	const struct format *format;
	const char *suggested;

	switch ((enum input_option)id) {
	case OPTION_FROM:
		format = format_find_name(value);
		if (!format || !format->read) {
			suggested = format_list_suggest(value, false);
			log_error(
				"unknown input format '%s'; %s%s%s'stackwide help formats' lists the "
				"known ones",
				value, suggested ? "did you mean '" : "",
				suggested ? suggested : "", suggested ? "'? " : "");
			return -EINVAL;
		}
		options->format = value;
		return 0;
	case OPTION_METRIC:
		options->metric = value;
		return 0;
	case OPTION_STRICT:
		options->is_strict = true;
		return 0;
	case OPTION_LENIENT:
		options->is_lenient = true;
		return 0;
	case OPTION_ALL_FRAMES:
		options->keeps_all_frames = true;
		return 0;
	case OPTION_SYMBOLS:
		return add_symbols(options, value);
	case OPTION_COMMON_NAMES:
		options->has_canonical_names = true;
		return 0;
	}
	return -EINVAL;
}

/* The context of an importer's callbacks. */
struct reading {
	struct input_file *file;
	struct input_code *code;
	struct progress progress;
	const char *name;
	const char *const *members; /* of a folder */
	size_t num_members;
	bool has_opened_member;
};

static void warn(void *context, const char *line)
{
	struct reading *reading = context;

	progress_clear(&reading->progress);
	log_warning("%s", line);
}

static void advance(void *context, size_t consumed)
{
	struct reading *reading = context;

	input_file_advance(reading->file, consumed);
	/* No progress line for work of less than a second. */
	if (progress_is_due(&reading->progress) &&
	    clock_now_ns() - reading->progress.start_ns > NS_PER_SECOND)
		progress_print(&reading->progress, "reading %s: %zu of %zu MB", reading->name,
			       consumed >> 20, input_file_get_size(reading->file) >> 20);
}

static int open_member(void *context, const char *path, const uint8_t **ret_data, size_t *ret_size)
{
	struct reading *reading = context;

	reading->has_opened_member = true;
	return input_file_open_member(reading->file, path, ret_data, ret_size);
}

static int walk(void *context, const struct import_stack *stack, uint64_t *pcs, size_t max_pcs,
		size_t *ret_num)
{
	struct reading *reading = context;

	return input_code_walk(reading->code, stack, pcs, max_pcs, ret_num);
}

static void show_progress(uint32_t num_done, uint32_t num_total, void *context)
{
	struct reading *reading = context;

	if (progress_is_due(&reading->progress) &&
	    clock_now_ns() - reading->progress.start_ns > NS_PER_SECOND)
		progress_print(&reading->progress, "symbolizing %s: %u of %u addresses",
			       reading->name, num_done, num_total);
}

/* The format of a folder: by the names of its files, else by its own name. */
static const struct format *choose_format(const struct reading *reading,
					  const struct input_options *options)
{
	const struct format *found;

	if (options->format)
		return format_find_name(options->format);
	if (!input_file_is_folder(reading->file))
		return format_detect(reading->name, input_file_get_data(reading->file),
				     input_file_get_size(reading->file));
	found = format_detect_members(reading->members, reading->num_members);
	if (found)
		return found;
	for (const struct format *const *format = format_get_all(); *format; format++)
		if ((*format)->read && (*format)->extension[0] &&
		    string_ends_with(reading->name, (*format)->extension))
			return *format;
	return NULL;
}

/* The size of the complete records. Text that is still being written may end within a line. */
static size_t get_whole_size(const struct reading *reading, const struct input_options *options)
{
	const uint8_t *data = input_file_get_data(reading->file);
	size_t size = input_file_get_size(reading->file);
	const uint8_t *last;

	if (!options->is_growing || !size || zones_is_capture(data, size) ||
	    zones_is_rings(data, size))
		return size;
	last = memrchr(data, '\n', size);
	return last ? (size_t)(last - data) + 1 : 0;
}

static uint64_t count_lines(const uint8_t *data, size_t size)
{
	uint64_t count = 0;

	for (size_t i = 0; i < size; i++)
		count += data[i] == '\n';
	return count;
}

static int read_and_name(struct reading *reading, const struct format *format,
			 const struct input_options *options, struct import *import)
{
	uint32_t name;
	int err = profile_add_string(import->profile, reading->name, &name);

	if (err)
		return err;
	err = profile_add_source(import->profile, name, &import->source);
	if (err)
		return err;
	reading->code = input_code_new(import, options->symbols, options->num_symbols);
	if (!reading->code)
		return -ENOMEM;
	err = format_read(format, import);
	if (err)
		return err;
	return input_code_name(reading->code, show_progress, reading);
}

static int read_bytes(struct reading *reading, const struct format *format,
		      const struct input_options *options, struct profile *profile,
		      struct timeline *timeline, struct import_counts *ret_counts)
{
	const uint8_t *data = input_file_get_data(reading->file);
	size_t size = get_whole_size(reading, options);
	size_t start =
		options->bytes_before ? zones_find_section(data, size, options->bytes_before) : 0;
	struct import import = {
		.name = reading->name,
		.data = start ? data + start : data,
		.size = size - start,
		.lines_before = count_lines(data, start),
		.open_member = input_file_is_folder(reading->file) ? open_member : NULL,
		.members = reading->members,
		.num_members = reading->num_members,
		.profile = profile,
		.timeline = timeline,
		.is_strict = options->is_strict,
		.is_lenient = options->is_lenient,
		.keeps_all_frames = options->keeps_all_frames,
		.is_for_trace = options->is_for_trace,
		.may_be_empty = options->may_be_empty || options->is_archive,
		.will_name_code = true,
		.warn = warn,
		.advance = advance,
		.walk = walk,
		.context = reading,
	};
	int err = read_and_name(reading, format, options, &import);

	input_code_free(reading->code);
	progress_clear(&reading->progress);
	if (ret_counts)
		*ret_counts = import.counts;
	/*
	 * An importer of single files has seen a folder as an empty file: report the real reason.
	 */
	if (input_file_is_folder(reading->file) && !reading->has_opened_member && err != -ENOMEM)
		err = import_fail_byte(&import, 0, "%s is read from a file, not a directory",
				       format->name);
	if (err) {
		log_error("%s", import.error.message[0] ? import.error.message : strerror(-err));
		return err == -ENOMEM ? EXIT_FAILED : EXIT_BAD_INPUT;
	}
	log_debug("%s: %s, %llu records, %llu skipped", reading->name, format->name,
		  (unsigned long long)import.counts.records,
		  (unsigned long long)import.counts.skipped);
	return EXIT_DONE;
}

static int report_out_of_memory(void)
{
	log_error("out of memory");
	return EXIT_FAILED;
}

static int report_unknown_format(const struct reading *reading)
{
	const char *content;

	if (input_file_is_folder(reading->file)) {
		log_error("%s: directory without a profile; only experiments of gprofng are "
			  "directories, so name the files in it",
			  reading->name);
		return EXIT_BAD_INPUT;
	}
	content = format_describe_unknown(input_file_get_data(reading->file),
					  input_file_get_size(reading->file));
	if (content) {
		log_error("%s: at byte 0: %s", reading->name, content);
		return EXIT_BAD_INPUT;
	}
	log_error("%s: at byte 0: unrecognized format; 'stackwide help formats' lists "
		  "the known ones, --from selects one",
		  reading->name);
	return EXIT_BAD_INPUT;
}

/* Warn of a format that is only likely. */
static void warn_of_comparison(const struct reading *reading, const struct format *format,
			       const struct input_options *options)
{
	if (format == &format_diff_folded && !options->format &&
	    !format_is_extension_of(format, reading->name))
		log_warning(
			"%s: every line ends in two numbers: read as a comparison; --from folded reads only the last one as a count",
			reading->name);
}

static int read_open_file(struct reading *reading, const struct input_options *options,
			  struct profile *profile, struct timeline *timeline,
			  struct import_counts *ret_counts)
{
	const struct format *format;

	progress_init(&reading->progress);
	if (input_file_list_members(reading->file, &reading->members, &reading->num_members))
		return report_out_of_memory();
	format = choose_format(reading, options);
	if (!format)
		return report_unknown_format(reading);
	warn_of_comparison(reading, format, options);
	return read_bytes(reading, format, options, profile, timeline, ret_counts);
}

static void add_counts(struct import_counts *sum, const struct import_counts *counts)
{
	sum->records += counts->records;
	sum->skipped += counts->skipped;
	sum->unknown_events += counts->unknown_events;
	sum->truncated_stacks += counts->truncated_stacks;
	sum->without_stack += counts->without_stack;
	sum->lost_samples += counts->lost_samples;
	sum->pruned_weight += counts->pruned_weight;
	sum->warnings += counts->warnings;
	sum->unnamed_code += counts->unnamed_code;
}

/* A group is untrusted: only folders may be members, no devices that can be read forever. */
static int read_group_member(const struct reading *group, const char *path,
			     const struct input_options *options, struct profile *profile,
			     struct timeline *timeline, struct import_counts *counts)
{
	struct reading reading = {.name = path};
	struct import_counts added = {0};
	struct error error = {0};
	struct stat status;
	int exit_status;

	if (stat(path, &status) || !S_ISDIR(status.st_mode)) {
		log_error("%s: at byte 0: the group lists '%s', which is not an experiment",
			  group->name, path);
		return EXIT_BAD_INPUT;
	}
	if (input_file_open(path, &reading.file, &error)) {
		log_error("%s", error.message);
		return EXIT_FAILED;
	}
	exit_status = read_open_file(&reading, options, profile, timeline, &added);
	input_file_free(reading.file);
	add_counts(counts, &added);
	return exit_status;
}

static int read_group(const struct reading *group, const struct input_options *options,
		      struct profile *profile, struct timeline *timeline,
		      struct import_counts *ret_counts)
{
	_cleanup_(experiment_paths_release) struct experiment_paths paths = {0};
	struct import_counts unasked = {0};
	struct import_counts *counts = ret_counts ? ret_counts : &unasked;

	*counts = (struct import_counts){0};
	if (experiment_group_read(&paths, group->name, input_file_get_data(group->file),
				  input_file_get_size(group->file)))
		return report_out_of_memory();
	if (!paths.items.length) {
		log_error("%s: at byte 0: the group lists no experiments", group->name);
		return EXIT_BAD_INPUT;
	}
	for (size_t i = 0; i < paths.items.length; i++) {
		int status = read_group_member(group, paths.items.items[i], options, profile,
					       timeline, counts);

		if (status)
			return status;
	}
	return EXIT_DONE;
}

static int make_common(struct profile *profile, struct text *text, uint32_t *name)
{
	text_truncate(text, 0);
	canonical_name_append(text, profile_get_string(profile, *name),
			      profile_get_string_length(profile, *name));
	return text->failed ? -ENOMEM
			    : string_table_add(profile_get_strings(profile),
					       text->data ? text->data : "", text->length, name);
}

/* --common-names, for the frames that a file has added. */
static int make_names_common(struct profile *profile, uint32_t first_frame)
{
	_cleanup_(text_release) struct text text = {0};

	for (uint32_t i = first_frame; i < profile_count_frames(profile); i++) {
		struct frame frame = *profile_get_frame(profile, i);

		if (make_common(profile, &text, &frame.name) ||
		    make_common(profile, &text, &frame.full_name))
			return report_out_of_memory();
		profile_set_frame_names(profile, i, frame.name, frame.full_name);
	}
	return EXIT_DONE;
}

int inputs_read_file(const char *path, const struct input_options *options, struct profile *profile,
		     struct timeline *timeline, struct import_counts *ret_counts)
{
	struct reading reading = {.name = string_equals(path, "-") ? "standard input" : path};
	uint32_t num_frames = profile_count_frames(profile);
	struct error error = {0};
	int err = options->fd ? input_file_open_fd(*options->fd, path, &reading.file, &error)
			      : input_file_open(path, &reading.file, &error);
	int status;

	if (err) {
		log_error("%s", error.message);
		return err == -EBADMSG ? EXIT_BAD_INPUT : EXIT_FAILED;
	}
	if (!options->format && experiment_group_detect(input_file_get_data(reading.file),
							input_file_get_size(reading.file)))
		status = read_group(&reading, options, profile, timeline, ret_counts);
	else
		status = read_open_file(&reading, options, profile, timeline, ret_counts);
	input_file_free(reading.file);
	if (status || !options->has_canonical_names)
		return status;
	return make_names_common(profile, num_frames);
}

/*
 * A damaged capture is no reason to refuse the others. Data that it has left in the profile before
 * the damage cannot be removed, so all the others are read once more.
 */
static int read_captures(char *const *paths, size_t num_paths, const struct input_options *options,
			 struct profile *profile)
{
	_cleanup_free_ int *statuses = calloc(num_paths + 1, sizeof(*statuses));
	size_t num_damaged = 0;

	if (!statuses)
		return report_out_of_memory();
	for (size_t i = 0; i < num_paths; i++) {
		statuses[i] = inputs_read_file(paths[i], options, profile, NULL, NULL);
		num_damaged += statuses[i] != EXIT_DONE;
	}
	if (!num_damaged)
		return EXIT_DONE;
	if (num_damaged == num_paths)
		return statuses[0];
	log_warning("%zu of %zu captures cannot be read and %s skipped", num_damaged, num_paths,
		    num_damaged == 1 ? "is" : "are");
	if (profile_clear(profile))
		return report_out_of_memory();
	for (size_t i = 0; i < num_paths; i++) {
		int status = statuses[i] ? EXIT_DONE
					 : inputs_read_file(paths[i], options, profile, NULL, NULL);

		if (status)
			return status;
	}
	return EXIT_DONE;
}

static int read_files(char *const *paths, size_t num_paths, const struct input_options *options,
		      struct profile *profile, struct timeline *timeline)
{
	for (size_t i = 0; i < num_paths; i++) {
		int status = inputs_read_file(paths[i], options, profile, timeline, NULL);

		if (status)
			return status;
	}
	return EXIT_DONE;
}

int inputs_read(char *const *paths, size_t num_paths, const struct input_options *options,
		struct profile *profile, struct timeline *timeline)
{
	bool skips_damaged = options->is_archive && !options->is_strict;
	int status = skips_damaged ? read_captures(paths, num_paths, options, profile)
				   : read_files(paths, num_paths, options, profile, timeline);

	if (!status)
		input_rates_warn(profile);
	return status;
}

/* "cycles, instructions" */
static void append_metrics(struct text *text, const struct profile *profile)
{
	for (uint32_t i = 0; i < profile_count_metrics(profile); i++)
		text_printf(text, "%s%s", i ? ", " : "", format_get_metric_name(profile, i));
}

static int find_metric(const struct profile *profile, const char *name, uint32_t *ret)
{
	_cleanup_(text_release) struct text names = {0};
	uint32_t metric = profile_find_metric(profile, name);

	if (metric != METRIC_NONE) {
		*ret = metric;
		return EXIT_DONE;
	}
	append_metrics(&names, profile);
	log_error("no metric '%s' in the input; it has: %s", name,
		  names.data ? names.data : "none");
	return EXIT_USAGE;
}

/* A comparison is shown alone: warn that metrics of other inputs are hidden. */
static void warn_of_others(const struct profile *profile, const struct call_tree_opts *tree)
{
	_cleanup_(text_release) struct text names = {0};
	uint32_t num_others = 0;

	for (uint32_t i = 0; i < profile_count_metrics(profile); i++)
		if (i != tree->metric && i != tree->baseline)
			text_printf(&names, "%s%s", names.length ? ", " : "",
				    format_get_metric_name(profile, i));
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		uint32_t metric = profile_get_sample(profile, i)->metric;

		num_others += metric != tree->metric && metric != tree->baseline;
	}
	if (num_others)
		log_warning("the inputs hold a comparison (" METRIC_BEFORE ", " METRIC_AFTER
			    ") and other metrics (%s): their %u stacks are skipped; "
			    "--metric selects others",
			    names.data ? names.data : "", num_others);
}

mode_t inputs_get_output_mode(char *const *paths, size_t num_paths)
{
	mode_t mode = OUTPUT_MODE;

	for (size_t i = 0; i < num_paths; i++) {
		struct stat status;
		int err = string_equals(paths[i], "-") ? fstat(STDIN_FILENO, &status)
						       : stat(paths[i], &status);

		if (!err && S_ISREG(status.st_mode))
			mode &= status.st_mode | OUTPUT_MODE_PRIVATE;
	}
	return mode;
}

int inputs_choose_metric(const struct profile *profile, const struct input_options *options,
			 struct call_tree_opts *tree)
{
	_cleanup_(text_release) struct text names = {0};
	uint32_t before = profile_find_metric(profile, METRIC_BEFORE);
	uint32_t after = profile_find_metric(profile, METRIC_AFTER);
	uint32_t wall = profile_find_wall_metric(profile, 0);

	if (options->metric)
		return find_metric(profile, options->metric, &tree->metric);
	tree->metric = wall != METRIC_NONE ? wall : 0;
	if (before != METRIC_NONE && after != METRIC_NONE) {
		tree->metric = after;
		tree->baseline = before;
		tree->has_baseline = true;
		warn_of_others(profile, tree);
	} else if (profile_count_metrics(profile) > 1 && !options->takes_all_metrics) {
		append_metrics(&names, profile);
		log_warning(
			"the input has several metrics (%s): using %s; --metric selects another",
			names.data ? names.data : "",
			format_get_metric_name(profile, tree->metric));
	}
	return EXIT_DONE;
}

/*
 * The first input that makes the sum of a metric exceed the limit, or NULL. Only used to report the
 * cause: the sums are computed again in the order of the samples, up to that input.
 */
static const char *find_input_beyond(const struct profile *profile, uint64_t limit)
{
	uint32_t num_metrics = profile_count_metrics(profile);
	_cleanup_free_ uint64_t *sums = calloc((size_t)num_metrics + 1, sizeof(*sums));

	for (uint32_t i = 0; sums && i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint32_t source = profile_get_thread(profile, sample->thread)->source;

		if (sample->value > limit - sums[sample->metric] &&
		    source < profile_count_sources(profile))
			return profile_get_string(profile, profile_get_source(profile, source));
		sums[sample->metric] += sample->value;
	}
	return NULL;
}

int inputs_fail(const struct profile *profile, int err, const char *reason)
{
	const char *name = NULL;

	if (err != -EOVERFLOW) {
		log_error("%s", err == -ENOMEM ? "out of memory" : strerror(-err));
		return EXIT_FAILED;
	}
	if (!reason)
		reason = "the sum of the weights exceeds 64 bits";
	if (profile)
		name = find_input_beyond(profile, UINT64_MAX);
	if (profile && !name) /* pprof's numbers have signs */
		name = find_input_beyond(profile, INT64_MAX);
	if (name)
		log_error("%s: %s", name, reason);
	else
		log_error("%s", reason);
	return EXIT_BAD_INPUT;
}
