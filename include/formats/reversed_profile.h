/*
 * Stacks from the innermost frame on: what runs is at the root, and who called it above.
 */
#ifndef FORMATS_REVERSED_PROFILE_H
#define FORMATS_REVERSED_PROFILE_H

#include "analysis/call_tree.h"

/*
 * A profile of the reversed stacks; what stands for a thread comes last in each. Its frames are
 * the labels that the stacks have in a call tree.
 *
 * opts      which metrics, and how labels are made
 * ret       the caller frees it
 * ret_opts  for the call tree of what is returned
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW when the weight of equal stacks leaves 64 bits.
 */
_must_check_ int reversed_profile_new(const struct profile *profile,
				      const struct call_tree_opts *opts, struct profile **ret,
				      struct call_tree_opts *ret_opts);

#endif
