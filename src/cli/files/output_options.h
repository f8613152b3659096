/* The options for output files and formats; the same in every command that writes profiles. */
#ifndef CLI_FILES_OUTPUT_OPTIONS_H
#define CLI_FILES_OUTPUT_OPTIONS_H

#include "base/array.h"
#include "cli/files/outputs.h"
#include "cli/files/svg_options.h"
#include "cli/options/options.h"

/* Ids that differ from those of the commands' own options. */
enum output_option {
	OPTION_OUTPUT = 500,
	OPTION_TO,
	OPTION_ROOT,
	OPTION_NO_ANNOTATIONS,
	OPTION_COMPRESS,
};

/* Lines for a command's table. */
#define OUTPUT_FILE_SPECS                                               \
	{OPTION_OUTPUT, 'o', "output", "FILE",                          \
	 "write FILE in the format of its extension; .gz or\n"          \
	 ".zst after it compresses; repeatable; - is\n"                 \
	 "standard output (needs --to)"},                               \
	{                                                               \
		OPTION_TO, 0, "to", "FORMAT",                           \
			"format of the next -o (of the last if none\n"  \
			"follows); 'stackwide help formats' lists them" \
	}
#define OUTPUT_COMPRESS_SPEC                                                            \
	{                                                                               \
		OPTION_COMPRESS, 0, "compress", NULL, "write .pftrace files compressed" \
	}
#define OUTPUT_FRAME_SPECS                                                     \
	{OPTION_ROOT, 0, "root", "comm|script|pid|tid|none",                   \
	 "first frame of every stack: comm (nginx, default),\n"                \
	 "script (python3 (manage.py)), pid (nginx-812), tid\n"                \
	 "(nginx-812/815) or none"},                                           \
	{                                                                      \
		OPTION_NO_ANNOTATIONS, 0, "no-annotations", NULL,              \
			"do not mark frames with _[k] kernel, _[i] inlined,\n" \
			"_[j] JIT, or stacks with [truncated]"                 \
	}

struct output_options {
	ARRAY(struct output_request) requests; /* paths and formats are borrowed from argv */
	const char *pending_format;            /* of a --to that waits for its -o */
	struct call_tree_opts tree;
	bool is_compressed;
	struct svg_opts svg;
	int first_svg_option; /* the first one given of svg_options.h; 0: none */
};

/*
 * Handle one of the options above, or of svg_options.h.
 *
 * command  name in messages: "record"
 *
 * Returns 0, or negative (usage error, reported).
 */
_must_check_ int output_options_handle(struct output_options *options, int id, const char *value,
				       const char *command);
/* After the last option. Returns as above. */
_must_check_ int output_options_finish(struct output_options *options);
/* Warn of options for formats that no output has. */
void output_options_warn_of_unused(const struct output_options *options,
				   const struct outputs *outputs);
/* For profiles that were read: warn if --root script is used, but no process has a known script. */
void output_options_warn_of_root(const struct output_options *options,
				 const struct profile *profile);
void output_options_release(struct output_options *options);

#endif
