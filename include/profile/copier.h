/*
 * Copies items of a profile to another one. For each kind, a map from ids of `from` to ids of `to`
 * translates the references of items that are copied later. Ids are dense, so plain arrays suffice.
 *
 * An item is copied once, at its first use: items that no sample needs are not copied, unless the
 * caller loops over all.
 */
#ifndef PROFILE_COPIER_H
#define PROFILE_COPIER_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/text.h"
#include "profile/profile.h"

/* In a map: not copied. Equal to METRIC_NONE and the like. */
#define COPIER_NONE UINT32_MAX

struct profile_copier {
	const struct profile *from;
	struct profile *to;
	/* Appends the new name of a function or thread; NULL: names stay. */
	void (*change_name)(struct text *text, const char *name, size_t length);
	/* Extends a stack of `to` by a location of `from`; NULL: the caller copies all stacks. */
	int (*add_location)(struct profile_copier *copier, uint32_t location, uint32_t *stack);
	const uint8_t *is_left_out; /* by source: its samples are not copied; NULL: all are */
	/* Maps by kind; one element more, so that sources[0] exists without sources, too. */
	uint32_t *strings;
	uint32_t *names; /* strings that change_name may change */
	uint32_t *sources;
	uint32_t *processes;
	uint32_t *threads;
	uint32_t *metrics; /* COPIER_NONE: its samples are not copied */
	uint32_t *stacks;
	struct text text;
	ARRAY(uint32_t) path; /* stacks that are being copied, innermost first */
};

/* Returns 0 or -ENOMEM; release it in both cases. All functions return 0 or -ENOMEM. */
_must_check_ int profile_copier_init(struct profile_copier *copier, struct profile *to,
				     const struct profile *from);
void profile_copier_release(struct profile_copier *copier);

/* Replace a string of `from` by that of `to`. */
_must_check_ int profile_copier_copy_string(struct profile_copier *copier, uint32_t *string);
/* A frame of `from` with strings of `to`. */
_must_check_ int profile_copier_copy_frame(struct profile_copier *copier, uint32_t frame,
					   struct frame *ret);
_must_check_ int profile_copier_copy_process(struct profile_copier *copier, uint32_t process);
/* Also copies its process. */
_must_check_ int profile_copier_copy_thread(struct profile_copier *copier, uint32_t thread);

/* All metrics, under their names; all sources with their labels, each as a new one. */
_must_check_ int profile_copier_copy_metrics(struct profile_copier *copier);
_must_check_ int profile_copier_copy_sources(struct profile_copier *copier);
_must_check_ int profile_copier_copy_tally(struct profile_copier *copier,
					   const struct tally *tally);
/* The source in `to`; a profile without sources has its data under source 0. */
uint32_t profile_copier_get_source(const struct profile_copier *copier, uint32_t source);

/*
 * Copy all samples of the metrics in the map, with their threads and stacks. If samples become one,
 * their weights are added up. So are the metrics' numbers of samples, except for metrics with
 * skipped samples. Also returns -EOVERFLOW if a sum exceeds 64 bits.
 */
_must_check_ int profile_copier_copy_samples(struct profile_copier *copier);
/* The times of these samples, if both profiles keep times, and the clocks of the sources. */
_must_check_ int profile_copier_copy_timestamps(struct profile_copier *copier);

#endif
