/*
 * The occupancies of a recording, in a spool, as a source that a timeline reads. They are taken from
 * an occupancy tracker as they end. Takes memory for threads and regions, not for occupancies.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TRACE_RECORDED_OCCUPANCIES_H
#define COLLECT_TRACE_RECORDED_OCCUPANCIES_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/spool.h"
#include "timeline/timeline.h"

struct fd_list;
struct recorded_occupancies;

/* An occupancy that has ended. */
struct ended_occupancy {
	struct numbered_occupancy numbered;
	uint64_t next_ns; /* start of the next one of its region */
	bool has_next;
};

/*
 * folder  for the temporary file
 *
 * Returns 0, -ENOMEM, or negative errno with the folder and the remedy in error.
 */
_must_check_ int recorded_occupancies_new(const char *folder, struct recorded_occupancies **ret,
					  struct error *error);
void recorded_occupancies_free(struct recorded_occupancies *occupancies);
static inline void recorded_occupancies_freep(struct recorded_occupancies **occupancies)
{
	recorded_occupancies_free(*occupancies);
}

/* The consumer's functions for occupancies. Borrowed. */
const struct timeline_consumer *recorded_occupancies_get_consumer(
	struct recorded_occupancies *occupancies);

/*
 * The last one of a thread, which may be given another end until they are complete; NULL: the
 * thread has none.
 */
struct ended_occupancy *recorded_occupancies_get_last(struct recorded_occupancies *occupancies,
						      uint32_t thread);

/* Attach them to a timeline, which borrows them. */
void recorded_occupancies_give(struct recorded_occupancies *occupancies, struct timeline *timeline);

/* Store the last ones, as reading does: no further one is accepted. Returns 0 or negative errno. */
_must_check_ int recorded_occupancies_complete(struct recorded_occupancies *occupancies);

/* Correct once they are complete. */
/* The descriptors that reading and writing need. */
void recorded_occupancies_add_fds(const struct recorded_occupancies *occupancies,
				  struct fd_list *fds);

struct spool_counts recorded_occupancies_get_counts(const struct recorded_occupancies *occupancies);

#endif
