/* Makes a profile with reversed stacks of a call tree: for reversed flame graphs. */
#ifndef FORMATS_TREE_PROFILE_H
#define FORMATS_TREE_PROFILE_H

#include "analysis/call_tree.h"

/* Only names and places differ from the options of the tree. */
struct tree_profile_opts {
	struct call_tree_opts tree; /* of the tree */
	const char *unit;           /* of its weights */
};

/*
 * The stacks of a tree from the innermost frame on, as a profile of one thread without a name:
 * frames that represented threads are last in each. Annotations become kinds again. The metric is
 * METRIC_AFTER, with METRIC_BEFORE if the tree is a comparison.
 *
 * ret       the caller frees it
 * ret_opts  for a call tree of it
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the weight of equal stacks exceeds 64 bits.
 */
_must_check_ int tree_profile_new(const struct call_tree *tree,
				  const struct tree_profile_opts *opts, struct profile **ret,
				  struct call_tree_opts *ret_opts);

#endif
