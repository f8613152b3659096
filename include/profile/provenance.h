/*
 * The origin of a profile: the files that were read (its sources), how their samples were taken,
 * and the counts of lost or skipped samples.
 *
 * A recording has no source. Its data is stored under source 0, like its threads, and goes to the
 * first source that is added. Strings are ids of the profile's table. No I/O, not thread-safe.
 */
#ifndef PROFILE_PROVENANCE_H
#define PROFILE_PROVENANCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* How the samples were taken. Unknown values are 0. */
struct sampling {
	uint64_t start_ns;    /* CLOCK_REALTIME; the first of several recordings */
	uint64_t duration_ns; /* sum over several recordings */
	uint64_t period_ns;   /* CPU time per sample */
	/* Samples by the end of their user stack, and lost ones. */
	uint64_t complete_stacks;
	uint64_t truncated_stacks;
	uint64_t lost_samples;
};

/*
 * A count with a name. A recording's counts are those of its account (--stats), with dots between
 * levels: "fired", "lost.ring_sample", "user_stacks.truncated.depth". Counts from reading a file
 * start with "import.": "import.skipped".
 */
struct tally {
	uint32_t source;
	uint32_t name;
	uint64_t count; /* not 0 */
};

struct provenance;

struct provenance *provenance_new(void); /* NULL when out of memory */
void provenance_free(struct provenance *provenance);

/* A file that was read; each call adds one. Returns 0 or -ENOMEM. */
_must_check_ int provenance_add_source(struct provenance *provenance, uint32_t name, uint32_t *ret);
uint32_t provenance_count_sources(const struct provenance *provenance);
uint32_t provenance_get_source(const struct provenance *provenance, uint32_t source);
/* The name to show, chosen by a person; by default the source's name. */
void provenance_set_label(struct provenance *provenance, uint32_t source, uint32_t label);
uint32_t provenance_get_label(const struct provenance *provenance, uint32_t source);

/*
 * Add a recording. A period that differs from the others' makes the period unknown. Numbers
 * saturate instead of exceeding 64 bits.
 */
void provenance_add_sampling(struct provenance *provenance, uint32_t source,
			     const struct sampling *sampling);
/* The sum over all sources; zeros if no recording was added. */
const struct sampling *provenance_get_sum(const struct provenance *provenance);
/* NULL if no recording was added. */
const struct sampling *provenance_find_sampling(const struct provenance *provenance,
						uint32_t source);

/* Add to the count of that name; a count of 0 adds nothing. Returns 0 or -ENOMEM. */
_must_check_ int provenance_add_tally(struct provenance *provenance, uint32_t source, uint32_t name,
				      uint64_t count);
uint32_t provenance_count_tallies(const struct provenance *provenance);
/* In the order they were first added. Borrowed until the next is added. */
const struct tally *provenance_get_tally(const struct provenance *provenance, uint32_t id);

/*
 * Move the data of one source to another that has no data: its label, if set, its recordings and
 * tallies. Returns 0 or -ENOMEM.
 */
_must_check_ int provenance_hand_over(struct provenance *provenance, uint32_t from, uint32_t to);

#endif
