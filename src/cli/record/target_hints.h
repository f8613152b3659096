/* Hints about processes and threads of -p and -t whose profile will contain less than expected. */
#ifndef CLI_RECORD_TARGET_HINTS_H
#define CLI_RECORD_TARGET_HINTS_H

#include <stdint.h>

#include "cli/record/record_options.h"

/* Warn of kernel threads at the start of the recording. */
void target_hints_warn_of_kernel_threads(const struct record_options *options);

/* No samples after duration_ns: explain why, if known. */
void target_hints_explain_no_samples(const struct record_options *options, uint64_t duration_ns);

#endif
