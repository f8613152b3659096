/*
 * Making two recordings of different length comparable stack by stack.
 */
#ifndef ANALYSIS_NORMALIZE_H
#define ANALYSIS_NORMALIZE_H

#include "analysis/call_tree.h"
#include "base/attributes.h"
#include "profile/profile.h"

/*
 * Scale the samples of the baseline, so that every stack weighs what it would if the whole baseline
 * weighed as much as the metric: weight * metric / baseline, rounded down. A baseline that weighs
 * nothing stays.
 *
 * opts  metric and baseline, and how stacks are labelled: what is one node of the call tree is
 *       rounded as one, whatever samples it is made of
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW when the weight of a side leaves 64 bits.
 */
_must_check_ int normalize_baseline(struct profile *profile, const struct call_tree_opts *opts);

#endif
