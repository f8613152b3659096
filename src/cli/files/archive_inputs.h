/*
 * Inputs from an archive: --dir, --since and --until instead of files, the same in every command
 * that reads profiles.
 */
#ifndef CLI_FILES_ARCHIVE_INPUTS_H
#define CLI_FILES_ARCHIVE_INPUTS_H

#include <stddef.h>
#include <stdint.h>

#include "archive/archive.h"
#include "base/array.h"
#include "base/attributes.h"
#include "cli/options/options.h"

/* Ids that differ from those of the commands' own options. */
enum archive_option { OPTION_ARCHIVE = 800, OPTION_SINCE, OPTION_UNTIL };

/* Lines for a command's table. */
#define ARCHIVE_OPTION_SPECS                                                               \
	{OPTION_ARCHIVE, 0, "dir", "DIR", "read captures of an archive instead of files"}, \
		{OPTION_SINCE, 0, "since", "TIME",                                         \
		 "archive: captures from this time on: 03:12, today,\n"                    \
		 "yesterday, -2h, 2026-11-21, 2026-11-21T03:12:05Z"},                      \
	{                                                                                  \
		OPTION_UNTIL, 0, "until", "TIME",                                          \
			"archive: captures before this time (default: all)"                \
	}

struct archive_inputs {
	const char *dir; /* NULL: no archive; borrowed from argv like the others */
	const char *since;
	const char *until;
};

/* Handle one of the options above. Returns 0, or -EINVAL for another option. */
_must_check_ int archive_inputs_handle(struct archive_inputs *inputs, int id, const char *value);

struct input_paths {
	ARRAY(char *) items;
};

/*
 * The files to read: the operands, or the selected captures, in order of time.
 *
 * command  name in messages
 * ret      the caller releases it
 *
 * Returns an exit status; errors have been printed, including that no capture was found.
 */
_must_check_ int archive_inputs_list(const struct archive_inputs *inputs, char *const *operands,
				     size_t num_operands, const char *command,
				     struct input_paths *ret);
/*
 * The same for callers that need more than the paths of captures: inputs->dir is set, and the
 * caller frees the archive and releases the list.
 */
_must_check_ int archive_inputs_open(const struct archive_inputs *inputs,
				     struct archive **ret_archive, struct archive_list *ret);
/* As archive_inputs_list(), for FROM..TO, the value of an option. */
_must_check_ int archive_inputs_list_range(const char *dir, const char *option, const char *range,
					   struct input_paths *ret);
void input_paths_release(struct input_paths *paths);

#endif
