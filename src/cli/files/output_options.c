#include "cli/files/output_options.h"

#include <errno.h>

#include "base/log.h"
#include "base/text.h"

/* --to belongs to the next -o, or to the last one if none follows. */
static int add_output(struct output_options *options, const char *path)
{
	struct output_request *request = array_add(&options->requests);

	if (!request)
		return -ENOMEM;
	request->path = path;
	request->format = options->pending_format;
	options->pending_format = NULL;
	return 0;
}

static int read_root(struct output_options *options, const char *value, const char *command)
{
	static const char *const roots[] = {"comm", "script", "pid", "tid", "none", NULL};
	int word = option_find_word(value, roots);

	if (word < 0) {
		log_error(
			"--root '%s': expected comm, script, pid, tid or none; see 'stackwide help %s'",
			value, command);
		return -EINVAL;
	}
	options->tree.root = (enum tree_root)word;
	return 0;
}

int output_options_handle(struct output_options *options, int id, const char *value,
			  const char *command)
{
	if (id >= (int)OPTION_TITLE && id <= (int)LAST_SVG_OPTION) {
		/* Pages have a title, too. */
		if (!options->first_svg_option && id != (int)OPTION_TITLE)
			options->first_svg_option = id;
		return svg_options_handle(&options->svg, id, value, command);
	}
	switch ((enum output_option)id) {
	case OPTION_OUTPUT:
		return add_output(options, value);
	case OPTION_TO:
		options->pending_format = value;
		return 0;
	case OPTION_ROOT:
		return read_root(options, value, command);
	case OPTION_NO_ANNOTATIONS:
		options->tree.no_annotations = true;
		return 0;
	case OPTION_COMPRESS:
		options->is_compressed = true;
		return 0;
	}
	return -EINVAL;
}

int output_options_finish(struct output_options *options)
{
	struct output_request *last;

	if (!options->pending_format)
		return 0;
	last = options->requests.length ? &options->requests.items[options->requests.length - 1]
					: NULL;
	if (!last || last->format) {
		log_error("--to '%s' needs an -o", options->pending_format);
		return -EINVAL;
	}
	last->format = options->pending_format;
	return 0;
}

static bool has_output_of(const struct outputs *outputs, const struct format *format)
{
	for (size_t i = 0; i < outputs->length; i++)
		if (outputs->items[i].format == format)
			return true;
	return false;
}

static void warn_of_unused(const char *option, const struct format *format)
{
	log_warning("--%s has no effect: it is for %s files, and no output is one", option,
		    format->extension);
}

void output_options_warn_of_unused(const struct output_options *options,
				   const struct outputs *outputs)
{
	static const struct option_spec svg_specs[] = {SVG_OPTION_SPECS};

	if (!has_output_of(outputs, &format_svg))
		for (size_t i = 0; i < ARRAY_LENGTH(svg_specs); i++)
			if (svg_specs[i].id == options->first_svg_option)
				warn_of_unused(svg_specs[i].name, &format_svg);
	if (options->is_compressed && !has_output_of(outputs, &format_pftrace))
		warn_of_unused("compress", &format_pftrace);
}

void output_options_warn_of_root(const struct output_options *options,
				 const struct profile *profile)
{
	if (options->tree.root == TREE_ROOT_SCRIPT && !profile_has_scripts(profile))
		log_warning("--root script: the input has no command lines; stacks start as with "
			    "--root comm");
}

void output_options_release(struct output_options *options)
{
	array_release(&options->requests);
}
