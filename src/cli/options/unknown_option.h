/*
 * Errors for options that a command does not have. They name the option that was probably meant, also for
 * options of flamegraph.pl, perf and pprof.
 */
#ifndef CLI_OPTIONS_UNKNOWN_OPTION_H
#define CLI_OPTIONS_UNKNOWN_OPTION_H

#include <stdbool.h>

#include "cli/options/options.h"

/*
 * Print one line of error.
 *
 * command  "stackwide report"
 * specs    options of this command
 * word     as written by the user: "--minwidth=3", "-top", "-g"
 */
void unknown_option_report(const char *command, const struct option_spec *specs, const char *word);

/* A command that has an option with this name (without dashes): "convert"; or NULL. */
const char *unknown_option_find_command(const char *name);
/* Whether it is an option of flamegraph.pl, perf or pprof that has another name here. */
bool unknown_option_is_of_other_tool(const char *name);

#endif
