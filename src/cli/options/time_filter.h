/*
 * Filters by time, as in `report --include time:2s..5s`: from two seconds after the first sample of each
 * input until before five.
 */
#ifndef CLI_OPTIONS_TIME_FILTER_H
#define CLI_OPTIONS_TIME_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

/* Whether a filter, KIND:PATTERN, is a filter by time. */
bool time_filter_is(const char *filter);

/*
 * filter  "time:FROM..TO", durations with units, either may be left out; or "time:FROM-TO" in
 *         milliseconds, as the page writes it
 * lines   of viewer/times.h; one is appended
 *
 * Returns 0, or negative (reported).
 */
_must_check_ int time_filter_add(struct text *lines, const char *filter, bool excludes);

/*
 * Reduce each sample to its weight inside the times; 0 if it has no weight there. The profile must have kept
 * timestamps while it was read.
 *
 * Returns an exit status; errors have been printed.
 */
_must_check_ int time_filter_apply(const char *lines, struct profile *profile);

#endif
