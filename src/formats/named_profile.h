/* A profile without addresses: for formats that only have named frames. */
#ifndef FORMATS_NAMED_PROFILE_H
#define FORMATS_NAMED_PROFILE_H

#include "base/attributes.h"
#include "profile/profile.h"

/* Whether every location is already a frame without address, so that no copy is needed. */
bool named_profile_is_needless(const struct profile *profile);

/*
 * A copy with all metrics and sources, and the threads, stacks and samples that have weight or are
 * there with weight 0. Every location is LOCATION_NAMED and has one frame; an inlined call is a
 * level of its own. Stacks that differed in addresses alone are one.
 *
 * ret  the caller frees it
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the weight of one stack exceeds 64 bits.
 */
_must_check_ int named_profile_copy(const struct profile *profile, struct profile **ret);

/*
 * The same without the samples of some sources, which keep their numbers.
 *
 * is_left_out  by source; NULL: none is
 */
_must_check_ int named_profile_copy_without(const struct profile *profile,
					    const uint8_t *is_left_out, struct profile **ret);

#endif
