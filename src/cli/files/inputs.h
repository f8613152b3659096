/* Reads the inputs of a command into one profile. */
#ifndef CLI_FILES_INPUTS_H
#define CLI_FILES_INPUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "cli/options/options.h"
#include "formats/format.h"

/* Ids that differ from those of the commands' own options. */
enum input_option {
	OPTION_FROM = 600,
	OPTION_METRIC,
	OPTION_STRICT,
	OPTION_LENIENT,
	OPTION_SYMBOLS,
	OPTION_COMMON_NAMES,
	OPTION_ALL_FRAMES,
};

/* Lines for a command's table. */
#define INPUT_OPTION_SPECS                                                                \
	{OPTION_FROM, 0, "from", "FORMAT",                                                \
	 "format of the inputs (default: by content, then by\n"                           \
	 "extension)"},                                                                   \
		{OPTION_METRIC, 0, "metric", "NAME",                                      \
		 "metric to use if an input has several (default:\n"                      \
		 "wall of --off-cpu, else the first)"},                                   \
		{OPTION_STRICT, 0, "strict", NULL, "stop at the first malformed record"}, \
		{OPTION_LENIENT, 0, "lenient", NULL,                                      \
		 "zones: warn of duplicate and missing declarations\n"                    \
		 "instead of stopping"},                                                  \
		{OPTION_ALL_FRAMES, 0, "all-frames", NULL,                                \
		 "pprof: keep frames that drop_frames matches"},                          \
		{OPTION_SYMBOLS, 0, "symbols", "DIR",                                     \
		 "directory to search first for programs and debug\n"                     \
		 "files, by build ID, path or name; repeatable"},                         \
	{                                                                                 \
		OPTION_COMMON_NAMES, 0, "common-names", NULL,                             \
			"Java: one name for lambdas, proxies and others\n"                \
			"whose numbers differ between runs"                               \
	}

/* Maximum number of folders of --symbols. */
#define SYMBOL_FOLDERS_MAX 16

struct input_options {
	const char *format;                      /* of --from; NULL: detected */
	const char *metric;                      /* of --metric; NULL: the default */
	const char *symbols[SYMBOL_FOLDERS_MAX]; /* of --symbols, in this order */
	size_t num_symbols;
	bool is_strict;
	bool is_lenient;
	bool keeps_all_frames;
	bool has_canonical_names;
	bool takes_all_metrics; /* no output has only one metric: no choice is needed */
	bool is_for_trace;      /* a trace's unread data will be missing in another trace */
	bool may_be_empty;      /* no warning of an input without samples */
	bool is_archive;        /* captures: damaged ones are skipped, unless is_strict */
	bool is_growing;        /* may still be written to: an incomplete last line is ignored */
	/* For zones: skip sections of processes that had ended when the file had this size. */
	uint64_t bytes_before;
	const int *fd; /* of the file, if it is open: path is only its name. NULL: open the path */
};

/* Handle one of the options above. Returns 0, or negative (usage error, reported). */
_must_check_ int input_options_handle(struct input_options *options, int id, const char *value);

/*
 * Read files one after the other into a profile. Warnings are printed; on a terminal, progress.
 *
 * timeline  gets data with a time; may be NULL
 *
 * Returns an exit status; errors have been printed. A damaged capture (options->is_archive) is
 * skipped with a warning, as long as another one can be read.
 */
_must_check_ int inputs_read(char *const *paths, size_t num_paths,
			     const struct input_options *options, struct profile *profile,
			     struct timeline *timeline);

/* The same for one file, with its import counts; ret_counts may be NULL. */
_must_check_ int inputs_read_file(const char *path, const struct input_options *options,
				  struct profile *profile, struct timeline *timeline,
				  struct import_counts *ret_counts);

/*
 * Mode of files that are made of these inputs: others may read them only if they may read the
 * inputs, as with copies by cp. "-" is standard input.
 */
mode_t inputs_get_output_mode(char *const *paths, size_t num_paths);

/*
 * Set metric and baseline: the metric that the user chose; else both of a comparison, all time of a
 * recording of waits, or the first. If there are several and the user chose none, a note is
 * printed.
 *
 * Returns an exit status; errors have been reported.
 */
_must_check_ int inputs_choose_metric(const struct profile *profile,
				      const struct input_options *options,
				      struct call_tree_opts *tree);

/*
 * Print why the profile cannot be analyzed or written; if a sum of weights overflowed, with the
 * input that caused it. Returns an exit status.
 *
 * profile  data read so far; NULL: nothing yet
 * err      as analysis or a format returns it
 * reason   of -EOVERFLOW; NULL: as usual
 */
_must_check_ int inputs_fail(const struct profile *profile, int err, const char *reason);

#endif
