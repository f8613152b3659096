/*
 * The only conversion with bounded memory: a file of zones that becomes a Perfetto trace and
 * nothing else.
 */
#ifndef CLI_FILES_ZONES_CONVERSION_H
#define CLI_FILES_ZONES_CONVERSION_H

#include <stdbool.h>

#include "cli/files/inputs.h"
#include "cli/files/outputs.h"

/*
 * Write the trace, if the input is a file of zones that can be read more than once, and the only
 * output is a trace.
 *
 * ret_status  an exit status; errors have been reported
 *
 * Returns whether the conditions held.
 */
bool zones_conversion_run(const char *path, const struct input_options *options,
			  struct outputs *outputs, bool is_compressed, int *ret_status);

#endif
