/*
 * The files that a command was given, read into one profile.
 */
#ifndef CLI_INPUTS_H
#define CLI_INPUTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "cli/options.h"
#include "formats/format.h"

/* Ids apart from those of the commands' own options. */
enum input_option {
	OPTION_FROM = 600,
	OPTION_METRIC,
	OPTION_STRICT,
	OPTION_LENIENT,
	OPTION_SYMBOLS,
	OPTION_COMMON_NAMES,
};

/* Lines for a command's table. */
#define INPUT_OPTION_SPECS                                                               \
	{OPTION_FROM, 0, "from", "FORMAT",                                               \
	 "format of the inputs (else: seen by content, then\n"                           \
	 "by extension)"},                                                               \
		{OPTION_METRIC, 0, "metric", "NAME",                                     \
		 "what to weigh by, where an input has several\n"                        \
		 "metrics (else: the first)"},                                           \
		{OPTION_STRICT, 0, "strict", NULL, "end at the first malformed record"}, \
		{OPTION_LENIENT, 0, "lenient", NULL,                                     \
		 "zones: warn of what is declared twice, or not\n"                       \
		 "at all, instead of ending"},                                           \
		{OPTION_SYMBOLS, 0, "symbols", "DIR",                                    \
		 "look for programs and debug files here first,\n"                       \
		 "by build ID, path or name; repeatable"},                               \
	{                                                                                \
		OPTION_COMMON_NAMES, 0, "common-names", NULL,                            \
			"Java: one name for lambdas, proxies and others\n"               \
			"that have other numbers in each run"                            \
	}

/* Folders that may be given. */
#define SYMBOL_FOLDERS_MAX 16

struct input_options {
	const char *format;                      /* of --from; NULL: detected */
	const char *metric;                      /* of --metric; NULL: the first */
	const char *symbols[SYMBOL_FOLDERS_MAX]; /* of --symbols, in this order */
	size_t num_symbols;
	bool is_strict;
	bool is_lenient;
	bool has_common_names;
	bool is_growing; /* somebody may be writing: a last line without end is left out */
};

/* One of the options above. Returns 0, or negative (usage error, told). */
_must_check_ int input_options_handle(struct input_options *options, int id, const char *value);

/*
 * Read files one after the other into a profile. Warnings are printed; on a terminal, progress.
 *
 * timeline  gets what has a time; may be NULL
 *
 * Returns an exit status; what is wrong has been told.
 */
_must_check_ int inputs_read(char *const *paths, size_t num_paths,
			     const struct input_options *options, struct profile *profile,
			     struct timeline *timeline);

/* The same for one file. ret_counts says what came of it; may be NULL. */
_must_check_ int inputs_read_file(const char *path, const struct input_options *options,
				  struct profile *profile, struct timeline *timeline,
				  struct import_counts *ret_counts);

/*
 * The metric that the user chose, or the first; of a comparison both. Sets metric and baseline.
 * When there are several and none was chosen, says so.
 *
 * Returns an exit status; what is wrong has been told.
 */
_must_check_ int inputs_choose_metric(const struct profile *profile,
				      const struct input_options *options,
				      struct call_tree_opts *tree);

/*
 * Tell why what was read cannot be counted or shown, and where a sum of weights was too large, the
 * input with which it became so. An exit status.
 *
 * profile  what was read; NULL: nothing yet
 * err      as analysis or a format returns it
 * reason   of -EOVERFLOW; NULL: as usual
 */
_must_check_ int inputs_fail(const struct profile *profile, int err, const char *reason);

#endif
