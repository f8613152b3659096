/*
 * Threads that slept throughout a recording of waits, recognized by a frame of their stacks
 * (profile.h).
 *
 * They are most of a machine's threads and most of its wall-clock time, and tell next to nothing.
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
	bool exist;           /* some have samples of the metric, as do the counted ones */
	uint64_t num_threads; /* 0: unknown, as the input does not distinguish threads */
	uint64_t weight;
	struct selection awake; /* selected samples of all other threads; only if some exist */
};

/*
 * Find them among the selected samples (NULL: all).
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the weight exceeds 64 bits. May be released in any case.
 */
_must_check_ int sleepers_find(const struct profile *profile, uint32_t metric,
			       const struct selection *selection, struct sleepers *ret);
void sleepers_release(struct sleepers *sleepers);

/*
 * The flat table of the same samples with the sleepers as one row (SLEPT_FRAME_NAME); the rows of
 * their functions exclude them. Returns as flat_table_init() does.
 */
_must_check_ int sleepers_group(const struct sleepers *sleepers, const struct frame_tree *tree,
				uint32_t metric, const struct selection *selection,
				struct flat_table *ret);

#endif
