/*
 * The options of flame graphs (SVG), the same in every command that writes profiles.
 */
#ifndef CLI_FILES_SVG_OPTIONS_H
#define CLI_FILES_SVG_OPTIONS_H

#include "cli/options/options.h"
#include "formats/svg.h"

/* Ids apart from those of the commands' own options. */
enum svg_option {
	OPTION_TITLE = 550,
	OPTION_SUBTITLE,
	OPTION_NOTES,
	OPTION_WIDTH,
	OPTION_MIN_WIDTH,
	OPTION_COLORS,
	OPTION_COUNT_NAME,
	OPTION_REVERSE,
	OPTION_INVERTED,
	OPTION_NEGATE,
	OPTION_NO_PROFILE,
	LAST_SVG_OPTION = OPTION_NO_PROFILE,
};

/* Lines for a command's table. */
#define SVG_OPTION_SPECS                                                                           \
	{OPTION_TITLE, 0, "title", "TEXT", "SVG: title above the flame graph"},                    \
		{OPTION_SUBTITLE, 0, "subtitle", "TEXT", "SVG: second line below the title"},      \
		{OPTION_NOTES, 0, "notes", "TEXT", "SVG: description inside the file"},            \
		{OPTION_COUNT_NAME, 0, "count-name", "TEXT",                                       \
		 "SVG: name of the counted unit (samples)"},                                       \
		{OPTION_WIDTH, 0, "width", "PIXELS|max",                                           \
		 "SVG: width of the picture (1200); max: in a\n"                                   \
		 "comparison, frames are as wide as the larger of\n"                               \
		 "their two weights, so that vanished code is shown"},                             \
		{OPTION_MIN_WIDTH, 0, "min-width", "PIXELS|N%",                                    \
		 "SVG: skip narrower frames (0.1)"},                                               \
		{OPTION_COLORS, 0, "colors", "PALETTE",                                            \
		 "SVG: hot, mem, io, wakeup, chain, java, js, perl,\n"                             \
		 "red, green, blue, aqua, yellow, purple or orange\n"                              \
		 "(default: java if frames are annotated, else hot)"},                             \
		{OPTION_REVERSE, 0, "reverse", NULL,                                               \
		 "SVG: merge stacks from the innermost frame"},                                    \
		{OPTION_INVERTED, 0, "inverted", NULL, "SVG: draw the root at the top"},           \
		{OPTION_NEGATE, 0, "negate", NULL, "SVG: in a comparison, show decreases in red"}, \
	{                                                                                          \
		OPTION_NO_PROFILE, 0, "no-profile", NULL,                                          \
			"SVG: leave out the whole profile: a smaller file,\n"                      \
			"but frames that are not drawn are lost when it is\n"                      \
			"read"                                                                     \
	}

/*
 * Handle one of the options above. Strings are borrowed from argv.
 *
 * command  name in messages: "record"
 *
 * Returns 0, or negative (usage error, reported).
 */
_must_check_ int svg_options_handle(struct svg_opts *opts, int id, const char *value,
				    const char *command);

#endif
