/*
 * A command of the program: a descriptor at the end of its own file, listed in commands.c.
 */
#ifndef CLI_OPTIONS_COMMAND_H
#define CLI_OPTIONS_COMMAND_H

#include <stdbool.h>

#include "cli/options/options.h"

/* Exit status of every command; a workload's own status may replace EXIT_DONE. */
enum exit_status {
	EXIT_SHOW_HELP = -1, /* asks main() to print the help and exit with EXIT_DONE */
	EXIT_DONE = 0,
	EXIT_FAILED = 1,
	EXIT_USAGE = 2,
	EXIT_BAD_INPUT = 3,
	EXIT_NOT_PERMITTED = 4, /* or not supported by this kernel */
};

struct format;

struct command {
	const char *name;
	const char *summary;               /* one line, for the list of commands */
	const char *usage;                 /* lines "Usage: stackwide …" */
	const char *help;                  /* text below the options; may be NULL */
	const struct option_spec *options; /* ended by an entry without name */
	bool is_hidden;                    /* for developers: help does not list it */
	/* Whether --to accepts a format that can be written; NULL: any. */
	bool (*takes_format)(const struct format *format);
	/* argv[0] is "stackwide NAME". Returns an exit status. */
	int (*run)(int argc, char **argv);
};

extern const struct command command_capture;
extern const struct command command_convert;
extern const struct command command_doctor;
extern const struct command command_events;
extern const struct command command_generate;
extern const struct command command_history;
extern const struct command command_record;
extern const struct command command_diff;
extern const struct command command_report;
extern const struct command command_unwind_table;
extern const struct command command_view;

/*
 * In the order of the help, ended by NULL. Without command_generate, which prints them; main.c adds
 * it.
 */
const struct command *const *command_get_all(void);

#endif
