/*
 * Threads that slept throughout a recording of waits: by the frame that their stacks have (profile.h).
 *
 * They are most of the threads of a machine and most of its wall-clock time, and say next to nothing.
 *
 * Pure: no I/O.
 */
#ifndef ANALYSIS_SLEEPERS_H
#define ANALYSIS_SLEEPERS_H

#include <stdbool.h>
#include <stdint.h>

#include "analysis/filter.h"
#include "analysis/flat_table.h"
#include "analysis/frame_tree.h"
#include "base/attributes.h"
#include "profile/profile.h"

struct sleepers {
	bool exist;           /* have samples of the metric; so have those that are counted */
	uint64_t num_threads; /* 0: not known, as the input does not tell threads apart */
	uint64_t weight;
	struct selection awake; /* what is selected of all other threads; only if some exist */
};

/*
 * Of the selected samples (NULL: all).
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW when the weight leaves 64 bits. May be released in any case.
 */
_must_check_ int sleepers_find(const struct profile *profile, uint32_t metric,
			       const struct selection *selection, struct sleepers *ret);
void sleepers_release(struct sleepers *sleepers);

/*
 * The flat table of the same samples, in which they are one row (SLEPT_FRAME_NAME) and their functions' rows lack
 * them. Returns as flat_table_init() does.
 */
_must_check_ int sleepers_group(const struct sleepers *sleepers, const struct frame_tree *tree,
				uint32_t metric, const struct selection *selection,
				struct flat_table *ret);

#endif
