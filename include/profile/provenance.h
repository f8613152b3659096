/*
 * Where a profile comes from: the files that were read (its sources), how their samples were
 * taken, and what became of those that are not in it.
 *
 * A recording has no source; what is known of it stands under source 0, as its threads do, and
 * becomes known of the first source that is added. Strings are ids of the profile's table. No I/O,
 * not thread-safe.
 */
#ifndef PROFILE_PROVENANCE_H
#define PROFILE_PROVENANCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* How the samples were taken. What is not known is 0. */
struct sampling {
	uint64_t start_ns;    /* CLOCK_REALTIME; of several recordings, the first */
	uint64_t duration_ns; /* of several recordings, their sum */
	uint64_t period_ns;   /* CPU time that one sample stands for */
	/* Samples by how their user stack ended, and those that were lost. */
	uint64_t complete_stacks;
	uint64_t truncated_stacks;
	uint64_t lost_samples;
};

/*
 * A count with a name. A recording's are those of its account (--stats), with dots where that has
 * levels: "fired", "lost.ring_sample", "user_stacks.truncated.depth". What came of reading a file
 * begins with "import.": "import.skipped".
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
/* What a person calls it; its name, as long as nobody has said otherwise. */
void provenance_set_label(struct provenance *provenance, uint32_t source, uint32_t label);
uint32_t provenance_get_label(const struct provenance *provenance, uint32_t source);

/*
 * Add a recording. One whose period differs from that of the others makes the period unknown.
 * Numbers stay at the greatest when they would leave 64 bits.
 */
void provenance_add_sampling(struct provenance *provenance, uint32_t source,
			     const struct sampling *sampling);
/* Of all sources; zero where none was added. */
const struct sampling *provenance_get_sum(const struct provenance *provenance);
/* NULL: none was added. */
const struct sampling *provenance_find_sampling(const struct provenance *provenance,
						uint32_t source);

/* Add to the count of that name; a count of 0 adds nothing. Returns 0 or -ENOMEM. */
_must_check_ int provenance_add_tally(struct provenance *provenance, uint32_t source, uint32_t name,
				      uint64_t count);
uint32_t provenance_count_tallies(const struct provenance *provenance);
/* In the order they were first added. Borrowed until the next is added. */
const struct tally *provenance_get_tally(const struct provenance *provenance, uint32_t id);

/*
 * What is known of one source becomes known of another, which had nothing: its label, where it has
 * one, its recordings and tallies. Returns 0 or -ENOMEM.
 */
_must_check_ int provenance_hand_over(struct provenance *provenance, uint32_t from, uint32_t to);

#endif
