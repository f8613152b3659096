/*
 * Adding one profile to another.
 */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include "base/attributes.h"
#include "profile/profile.h"

/*
 * Add everything of `from`: strings, modules, processes, sources, threads, metrics, locations with
 * their frames, stacks, samples. What is equal is one afterwards: metrics by name and unit,
 * modules by path and build ID, stacks by their locations. Processes and sources stay apart, and
 * with them their threads. An address that has other frames in both profiles (another kernel, a
 * replaced file) is two locations, of which the second has no address.
 *
 * In which order profiles are merged makes no difference but to ids.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW when the weights of a stack together leave 64 bits. After an
 * error part of `from` has been added.
 */
_must_check_ int profile_merge(struct profile *into, const struct profile *from);

/*
 * The same, but of the samples only those of one metric, which get the name and unit of another.
 */
_must_check_ int profile_merge_metric(struct profile *into, const struct profile *from,
				      uint32_t metric, const char *name, const char *unit);

#endif
