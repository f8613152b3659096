/*
 * Outputs are opened before the work starts, and appear after all of them have been written: if the
 * third file of a conversion cannot be written, none appears. Standard output and devices are the
 * exception, since they are written directly. A recording cannot be repeated: all of its files
 * appear but those that cannot be written.
 */
#include "cli/files/outputs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/log.h"
#include "cli/files/format_list.h"
#include "cli/files/trace_hint.h"
#include "cli/files/unused_inputs.h"
#include "timeline/timeline.h"
#include "viewer/page.h"

/* The format of a file without -o, which gets a generated name. */
static const struct format *choose_default(void)
{
	if (viewer_page_exists())
		return &format_html;
	log_warning("this stackwide was built without its viewer: writing a flame graph, "
		    ".svg, instead of a page");
	return &format_svg;
}

static enum compression find_suffix(const char *name)
{
	size_t length;

	return compression_find_suffix(name, strlen(name), &length);
}

/* Nobody expects plain text in x.folded.xz. */
static int check_suffix(const struct output_request *request, struct error *error)
{
	enum compression found = find_suffix(request->path);

	if (found == COMPRESSION_NONE || found == COMPRESSION_GZIP || found == COMPRESSION_ZSTD)
		return 0;
	return error_set(error, -EINVAL, "'%s': output can be compressed as .gz or .zst, not as %s",
			 request->path, strrchr(request->path, '.'));
}

/*
 * Accept x.folded.gz, x.folded.zst; with --to, also x.gz. A format that compresses its files itself
 * can only have its own suffix, once: .pb.gz.
 */
static int choose_compression(const struct output_request *request, const struct format *format,
			      enum compression *ret, struct error *error)
{
	enum compression suffix = find_suffix(request->path);
	bool is_behind_extension =
		format_list_find_path(request->path).compression != COMPRESSION_NONE;

	if (suffix == COMPRESSION_NONE || !format->is_compressed) {
		*ret = suffix;
		return 0;
	}
	*ret = COMPRESSION_NONE;
	if (suffix == find_suffix(format->extension) && !is_behind_extension)
		return 0;
	return error_set(error, -EINVAL,
			 "'%s': files of the format %s are compressed already; end the name in "
			 "%s",
			 request->path, format->name, format->extension);
}

/* Precedence: --to, the page if no file is named, the name's extension. */
static int choose_format(const struct output_request *request, const struct format **ret,
			 struct error *error)
{
	if (request->format) {
		*ret = format_list_find_name(request->format);
		if (!*ret || !(*ret)->write) {
			const char *suggested = format_list_suggest(request->format, true);

			return error_set(
				error, -EINVAL,
				"unknown output format '%s'; %s%s%s'stackwide help formats' lists the "
				"known ones",
				request->format, suggested ? "did you mean '" : "",
				suggested ? suggested : "", suggested ? "'? " : "");
		}
		return 0;
	}
	if (!request->path) {
		*ret = choose_default();
		return 0;
	}
	if (string_equals(request->path, "-"))
		return error_set(
			error, -EINVAL,
			"standard output needs a format: add --to, as in '-o - --to folded'");
	*ret = format_list_find_path(request->path).format;
	if (!*ret)
		return error_set(error, -EINVAL,
				 "'%s': no known extension; end the name in .folded or another "
				 "extension of 'stackwide help formats', or add --to",
				 request->path);
	return 0;
}

int outputs_init(struct outputs *outputs, const struct output_request *requests,
		 size_t num_requests, struct error *error)
{
	*outputs = (struct outputs){0};
	outputs->items = calloc(num_requests, sizeof(*outputs->items));
	if (!outputs->items)
		return error_set(error, -ENOMEM, "out of memory");
	outputs->length = num_requests;
	for (size_t i = 0; i < num_requests; i++) {
		struct output *output = &outputs->items[i];
		int err = requests[i].path ? check_suffix(&requests[i], error) : 0;

		if (err)
			return err;
		err = choose_format(&requests[i], &output->format, error);
		if (err)
			return err;
		if (!requests[i].path)
			continue;
		err = choose_compression(&requests[i], output->format, &output->compression, error);
		if (err)
			return err;
	}
	return 0;
}

bool outputs_have_times(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++)
		if (outputs->items[i].format->has_times)
			return true;
	return false;
}

bool output_shows_chosen_metric(const struct output *output)
{
	const struct format *format = output->format;

	return !format->metric && (!format->has_all_metrics || format->shows_one_metric);
}

bool outputs_have_all_metrics(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++)
		if (output_shows_chosen_metric(&outputs->items[i]))
			return false;
	return true;
}

const struct format *outputs_find_metric(const struct outputs *outputs, const char *metric)
{
	for (size_t i = 0; i < outputs->length; i++) {
		const struct format *format = outputs->items[i].format;

		if (format->metric && string_equals(format->metric, metric))
			return format;
	}
	return NULL;
}

bool outputs_have_timestamps(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++)
		if (outputs->items[i].format->has_timestamps)
			return true;
	return false;
}

/*
 * The caller frees. NULL when out of memory. profile.folded becomes profile.2.folded: the extension
 * stays last, so that it still shows the file's format.
 */
static char *number_path(const char *path, size_t extension_bytes, uint32_t number)
{
	size_t length = strlen(path) - extension_bytes;
	char *name;

	return asprintf(&name, "%.*s.%u%s", (int)length, path, number, path + length) < 0 ? NULL
											  : name;
}

/* For a name whose format was given by --to: the length of the text from the last dot on. */
static size_t guess_extension(const char *path)
{
	const char *dot = strrchr(path_basename(path), '.');

	return dot && dot != path_basename(path) ? strlen(dot) : 0;
}

int output_file_open_numbered(const char *path, uint32_t number, mode_t mode,
			      struct output_file **ret, struct error *error)
{
	struct written_name written = format_list_find_path(path);
	size_t extension_bytes = written.format ? written.extension_bytes : guess_extension(path);
	_cleanup_free_ char *name = NULL;

	/* Standard output has no name to number. */
	if (!number || string_equals(path, "-"))
		return output_file_open(path, mode, ret, error);
	name = number_path(path, extension_bytes, number);
	return name ? output_file_open(name, mode, ret, error)
		    : error_set(error, -ENOMEM, "out of memory");
}

int outputs_open(struct outputs *outputs, const struct output_request *requests, uint32_t number,
		 mode_t mode, struct error *error)
{
	for (size_t i = 0; i < outputs->length; i++) {
		struct output *output = &outputs->items[i];
		_cleanup_free_ char *name = NULL;
		int err;

		if (!requests[i].path) {
			name = outputs_make_name(output->format->extension);
			if (!name)
				return error_set(error, -ENOMEM, "out of memory");
		}
		err = output_file_open_numbered(name ? name : requests[i].path, number, mode,
						&output->file, error);
		if (err)
			return err;
	}
	return 0;
}

static int write_bytes(void *context, const void *data, size_t size)
{
	return output_file_write(context, data, size);
}

/*
 * An output that is compressed as a whole is not compressed in parts. Returns as format->write().
 */
static int write_output(const struct output *output, const struct profile *profile,
			const struct format_opts *opts)
{
	const struct sink file_sink = {.write = write_bytes, .context = output->file};
	_cleanup_(compressing_sink_freep) struct compressing_sink *sink = NULL;
	struct format_opts whole = *opts;
	int err = compressing_sink_new(output->compression, &file_sink, &sink);

	if (err)
		return err;
	whole.is_compressed = opts->is_compressed && output->compression == COMPRESSION_NONE;
	err = output->format->write(profile, &whole, compressing_sink_get(sink));
	return err ? err : compressing_sink_finish(sink);
}

static void warn_of_metrics(const struct format *format, const struct profile *profile)
{
	uint32_t count = profile_count_metrics(profile);

	if (format->max_metrics && count > format->max_metrics)
		log_warning("the format %s holds %u metrics: %s and all after it (%u metrics) are "
			    "skipped",
			    format->name, format->max_metrics,
			    format_get_metric_name(profile, format->max_metrics),
			    count - format->max_metrics);
}

/*
 * An output with a single metric may contain nothing of an input.
 *
 * warned  the metric of an earlier warning, for another output; METRIC_NONE: none
 */
static void warn_of_unused_inputs(const struct output *output, const struct profile *profile,
				  const struct call_tree_opts *tree, uint32_t *warned)
{
	const char *own = output->format->metric;
	uint32_t metric = own ? profile_find_metric(profile, own) : tree->metric;

	if (output->format->has_times_alone || (!own && !output_shows_chosen_metric(output)) ||
	    metric == *warned)
		return;
	unused_inputs_warn(profile, metric,
			   tree->has_baseline && !own ? tree->baseline : METRIC_NONE, "written");
	*warned = metric;
}

/* The chosen metric of a comparison is one of its sides. */
static void warn_of_missing_side(const struct output *output, const struct profile *profile,
				 const struct call_tree_opts *tree)
{
	if (tree->has_baseline && output_shows_chosen_metric(output) &&
	    !output->format->has_times_alone && !output->format->holds_comparison)
		log_warning("the format %s cannot hold a comparison: %s is written, "
			    "--metric %s selects the other side",
			    output->format->name, format_get_metric_name(profile, tree->metric),
			    format_get_metric_name(profile, tree->baseline));
}

/* Items that are declared but never used count, too. */
static bool has_times(const struct timeline *timeline)
{
	return timeline && (!timeline_is_empty(timeline) || timeline_count_process(timeline));
}

static int fill(const struct output *output, const struct profile *profile,
		const struct format_opts *opts, uint32_t *warned, struct error *error)
{
	const struct format *format = output->format;
	struct format_opts counting = *opts;
	uint64_t num_events = 0;
	int err;

	warn_of_metrics(format, profile);
	if (format->metric && profile_find_metric(profile, format->metric) == METRIC_NONE)
		return error_set(error, -ENODATA,
				 "the format %s needs the metric %s, which the input lacks; record "
				 "--off-cpu --wakers makes it",
				 format->name, format->metric);
	if (format->has_times_alone && !has_times(opts->timeline))
		return error_set(error, -ENODATA,
				 "the format %s holds zones, and the input has none; see "
				 "stackwide-zones(3)",
				 format->name);
	warn_of_unused_inputs(output, profile, &opts->tree, warned);
	warn_of_missing_side(output, profile, &opts->tree);
	counting.ret_num_events = &num_events;
	err = write_output(output, profile, &counting);
	if (err == -EOVERFLOW)
		return error_set(error, err,
				 "the sum of the weights exceeds the range of the format %s",
				 format->name);
	if (err)
		return error_set(error, err, "cannot write '%s': %s",
				 output_file_get_path(output->file), strerror(-err));
	trace_hint_warn(output_file_get_path(output->file), num_events);
	return 0;
}

int outputs_fill(struct outputs *outputs, const struct profile *profile,
		 const struct format_opts *opts, struct error *error)
{
	uint32_t warned = METRIC_NONE;

	for (size_t i = 0; i < outputs->length; i++) {
		int err = fill(&outputs->items[i], profile, opts, &warned, error);

		if (err)
			return err;
	}
	return 0;
}

size_t outputs_fill_each(struct outputs *outputs, const struct profile *profile,
			 const struct format_opts *opts)
{
	uint32_t warned = METRIC_NONE;
	size_t num_failed = 0;

	for (size_t i = 0; i < outputs->length; i++) {
		struct output *output = &outputs->items[i];
		struct error error = {0};

		if (!output->has_failed && fill(output, profile, opts, &warned, &error)) {
			log_error("%s", error.message);
			output->has_failed = true;
		}
		num_failed += output->has_failed;
	}
	return num_failed;
}

void outputs_add_fds(const struct outputs *outputs, struct fd_list *fds)
{
	for (size_t i = 0; i < outputs->length; i++)
		if (outputs->items[i].file)
			output_file_add_fds(outputs->items[i].file, fds);
}

bool outputs_can_rewind(const struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++)
		if (outputs->items[i].file && !output_file_can_rewind(outputs->items[i].file))
			return false;
	return true;
}

int outputs_rewind(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++) {
		int err = output_file_rewind(outputs->items[i].file);

		outputs->items[i].has_failed = false;

		if (err)
			return err;
	}
	return 0;
}

int outputs_commit(struct outputs *outputs, struct error *error)
{
	int result = 0;

	for (size_t i = 0; i < outputs->length; i++) {
		struct output *output = &outputs->items[i];
		struct error own = {0};
		int err = output->has_failed ? 0 : output_file_commit(output->file, &own);

		if (!err)
			continue;
		if (result)
			log_error("%s", error->message);
		*error = own;
		result = err;
	}
	return result;
}

int outputs_write(struct outputs *outputs, const struct profile *profile,
		  const struct format_opts *opts, struct error *error)
{
	int err = outputs_fill(outputs, profile, opts, error);

	return err ? err : outputs_commit(outputs, error);
}

/*
 * Called while another thread may be opening or writing: it only reads pointers that are either
 * NULL or a file.
 */
void outputs_abandon(const struct outputs *outputs)
{
	for (size_t i = 0; outputs && i < outputs->length; i++)
		if (outputs->items[i].file)
			output_file_abandon(outputs->items[i].file);
}

void outputs_close(struct outputs *outputs)
{
	for (size_t i = 0; i < outputs->length; i++) {
		struct output_file *file = outputs->items[i].file;

		outputs->items[i].file = NULL;
		output_file_free(file);
	}
}

void outputs_release(struct outputs *outputs)
{
	outputs_close(outputs);
	free(outputs->items);
	*outputs = (struct outputs){0};
}

/* A host's name may be anything, even contain a slash, which would lead to another folder. */
char *outputs_make_name(const char *extension)
{
	time_t now = time(NULL);
	struct tm local;
	char host[256] = "";
	char stamp[32];
	char *name;

	if (gethostname(host, sizeof(host) - 1) || !host[0] || strchr(host, '/'))
		strcpy(host, "localhost");
	localtime_r(&now, &local);
	strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%S", &local);
	return asprintf(&name, "stackwide-%s-%s%s", host, stamp, extension) < 0 ? NULL : name;
}
