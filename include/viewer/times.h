/*
 * Times of samples: the range of each source's samples, and filters by time. If a sample's weight
 * is spread over an interval, the part of it inside a range counts.
 *
 * A time is relative, in milliseconds after the first sample of the same source, so that recordings
 * overlap. A filter therefore applies to every source alike.
 */
#ifndef VIEWER_TIMES_H
#define VIEWER_TIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "profile/profile.h"

struct time_span {
	uint64_t first_ns; /* of the samples, on the source's clock */
	uint64_t last_ns;  /* the last moment, or the end of the last interval */
	bool exists;       /* the source has samples with a known time */
};

/*
 * ret  by source, and one more for a profile without sources; the caller frees it
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int times_find_spans(const struct profile *profile, struct time_span **ret);

/* Whether a line in the format of filters.h is a filter by time: "+time:" or "-time:". */
bool times_is_filter(const char *line, size_t length);

/*
 * Apply the filters by time among the lines: "+time:FROM-TO" selects weight from FROM on and before
 * TO; "-time:FROM-TO" the rest, and weight without a time. Milliseconds.
 *
 * ret_values  by sample, the part of its value that passes all of them; the caller frees it; NULL
 *             if no line is a filter by time
 *
 * Returns 0, -ENOMEM, or -EINVAL with the reason in error.
 */
_must_check_ int times_apply(const struct profile *profile, const char *filters,
			     uint64_t **ret_values, struct error *error);

/*
 * The same for timestamps.
 *
 * ret  by timestamp of the profile, the part of its weight that passes all of them; the caller
 *      frees it; NULL if no line is a filter by time
 */
_must_check_ int times_select(const struct profile *profile, const char *filters, uint64_t **ret,
			      struct error *error);

#endif
