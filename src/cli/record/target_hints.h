/*
 * What a user should know of the processes and threads that were named with -p and -t, as their
 * profile will hold less than expected.
 */
#ifndef CLI_RECORD_TARGET_HINTS_H
#define CLI_RECORD_TARGET_HINTS_H

#include <stdint.h>

#include "cli/record/record_options.h"

/* Warn of kernel threads, when the recording begins. */
void target_hints_warn_of_kernel_threads(const struct record_options *options);

/* There are no samples after so long: say why, as far as it is known. */
void target_hints_explain_no_samples(const struct record_options *options, uint64_t duration_ns);

#endif
