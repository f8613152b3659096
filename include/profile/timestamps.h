/*
 * The times when the samples of a profile were taken: a list of timestamps, each with its sample
 * and its part of the sample's weight. Kept only on request; see profile_keep_timestamps().
 *
 * The weight of a wait, or of another thing with a duration, is spread evenly over its interval.
 *
 * Times use the clock of the sample's source; each source has an offset to the calendar. They are
 * rounded down to a resolution. It becomes coarser if there are too many timestamps: timestamps of
 * one sample that become equal are merged. So a recording of a day takes little more memory than
 * its samples.
 *
 * No I/O, not thread-safe.
 */
#ifndef PROFILE_TIMESTAMPS_H
#define PROFILE_TIMESTAMPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct timestamp {
	uint64_t time_ns;  /* a multiple of the resolution; of an interval, its start */
	uint64_t weight;   /* those of one sample are never more than its value */
	uint32_t sample;   /* of the profile */
	uint32_t duration; /* of the interval, in units of the resolution; 0: a moment */
};

struct timestamps;

struct timestamps *timestamps_new(void); /* NULL when out of memory */
void timestamps_free(struct timestamps *timestamps);

/* Returns 0 or -ENOMEM. */
_must_check_ int timestamps_add(struct timestamps *timestamps, uint32_t sample, uint64_t time_ns,
				uint64_t weight);
/* The same for an interval, which ends before end_ns. */
_must_check_ int timestamps_add_interval(struct timestamps *timestamps, uint32_t sample,
					 uint64_t start_ns, uint64_t end_ns, uint64_t weight);
/* Sort by sample, and by time for each sample. */
void timestamps_sort(struct timestamps *timestamps);
size_t timestamps_count(const struct timestamps *timestamps);
/* Borrowed until the next is added, or they are sorted. */
const struct timestamp *timestamps_get(const struct timestamps *timestamps, size_t id);
void timestamps_set_weight(struct timestamps *timestamps, size_t id, uint64_t weight);
/* Replace a timestamp. The order must not change: no sort follows. */
void timestamps_set(struct timestamps *timestamps, size_t id, const struct timestamp *timestamp);
/* Keep the first `count`. */
void timestamps_truncate(struct timestamps *timestamps, size_t count);

/* The first time after an interval; the time of a moment. */
uint64_t timestamps_get_end_ns(const struct timestamps *timestamps,
			       const struct timestamp *timestamp);
/*
 * The part of a timestamp's weight that is before a time; all of it before UINT64_MAX. So the
 * difference of two is the part between them, and the parts of a timestamp add up to its weight.
 */
uint64_t timestamps_get_weight_before(const struct timestamps *timestamps,
				      const struct timestamp *timestamp, uint64_t time_ns);

/* Resolution of the times; 1 ms at first. */
uint64_t timestamps_get_resolution_ns(const struct timestamps *timestamps);
/* The next coarser step, a multiple of this one. From 1 ms over 20 ms to years. */
uint64_t timestamps_get_coarser_ns(uint64_t resolution_ns);

/* zero_ns  CLOCK_REALTIME when the source's clock was 0; wraps around. Returns 0 or -ENOMEM. */
_must_check_ int timestamps_set_clock(struct timestamps *timestamps, uint32_t source,
				      uint64_t zero_ns);
/* False if the source has no clock. */
bool timestamps_find_clock(const struct timestamps *timestamps, uint32_t source,
			   uint64_t *ret_zero_ns);

#endif
