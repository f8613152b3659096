#include "cli/files/svg_options.h"

#include <errno.h>

#include "base/log.h"
#include "formats/svg.h"

/* Print the value as it was given, with the help that lists valid ones. */
static int refuse(const char *option, const char *value, const char *expected, const char *command)
{
	log_error("%s '%s': expected %s; see 'stackwide help %s'", option, value, expected,
		  command);
	return -EINVAL;
}

static int read_width(struct svg_opts *opts, const char *value, const char *command)
{
	uint64_t number;

	if (string_equals(value, "max")) {
		opts->width_basis = SVG_WIDTH_MAX;
		return 0;
	}
	if (option_read_number(value, SVG_MIN_WIDTH, SVG_MAX_WIDTH, &number))
		return refuse("--width", value, "a number of pixels from 100 to 100000, or max",
			      command);
	opts->width = (uint32_t)number;
	return 0;
}

static int read_min_width(struct svg_opts *opts, const char *value, const char *command)
{
	size_t length = strlen(value);
	bool is_percent = string_ends_with(value, "%");
	size_t digits = svg_parse_number(value, length, &opts->min_width);

	if (!digits || digits + is_percent != length || opts->min_width < 0 ||
	    (is_percent && opts->min_width > 100))
		return refuse("--min-width", value, "pixels, such as 0.5, or percent, such as 1%",
			      command);
	opts->has_min_width = true;
	opts->is_min_width_percent = is_percent;
	return 0;
}

int svg_options_handle(struct svg_opts *opts, int id, const char *value, const char *command)
{
	switch ((enum svg_option)id) {
	case OPTION_TITLE:
		opts->title = value;
		return 0;
	case OPTION_SUBTITLE:
		opts->subtitle = value;
		return 0;
	case OPTION_NOTES:
		opts->notes = value;
		return 0;
	case OPTION_COUNT_NAME:
		opts->count_name = value;
		return 0;
	case OPTION_WIDTH:
		return read_width(opts, value, command);
	case OPTION_MIN_WIDTH:
		return read_min_width(opts, value, command);
	case OPTION_COLORS:
		if (svg_palette_find(value, &opts->palette))
			return refuse("--colors", value, "a palette such as hot or java", command);
		return 0;
	case OPTION_REVERSE:
		opts->is_reversed = true;
		return 0;
	case OPTION_INVERTED:
		opts->is_inverted = true;
		return 0;
	case OPTION_NEGATE:
		opts->is_negated = true;
		return 0;
	case OPTION_NO_PROFILE:
		opts->has_no_profile = true;
		return 0;
	}
	return -EINVAL;
}
