/*
 * Adding one profile to another.
 */
#ifndef PROFILE_MERGE_H
#define PROFILE_MERGE_H

#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

/*
 * Add everything of `from`: strings, modules, processes, sources with all that is known of them,
 * threads, metrics, locations with their frames, stacks, samples. What is equal is one afterwards:
 * metrics by name and unit, modules by path and build ID, stacks by their locations. Processes and
 * sources stay apart, and with them their threads. An address that has other frames in both
 * profiles (another kernel, a replaced file) is two locations, of which the second has no address.
 *
 * In which order profiles are merged makes no difference but to ids.
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW when the weights of a stack together leave 64 bits. After an
 * error part of `from` has been added.
 */
_must_check_ int profile_merge(struct profile *into, const struct profile *from);

/* A metric that is merged under another name and unit. */
struct merged_metric {
	uint32_t metric; /* of the profile that it comes from */
	const char *name;
	const char *unit;
};

struct profile_merge_opts {
	/* Only the samples of these metrics; none: all, under their own names. */
	const struct merged_metric *metrics;
	size_t num_metrics;
	/* Appends to `text` what the names of functions and threads become; NULL: they stay. */
	void (*change_name)(struct text *text, const char *name, size_t length);
};

/* The same with options; NULL: without. */
_must_check_ int profile_merge_with(struct profile *into, const struct profile *from,
				    const struct profile_merge_opts *opts);

#endif
