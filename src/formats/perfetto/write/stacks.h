/*
 * The stacks of a sequence of samples or events in a Perfetto trace, with all their parts: interned
 * before the items that refer to them, for samples some thousand at a time. Neighbours in a
 * program, and stacks with common prefixes, are emitted one after another: similar items are
 * adjacent, for compression.
 */
#ifndef FORMATS_PERFETTO_WRITE_STACKS_H
#define FORMATS_PERFETTO_WRITE_STACKS_H

#include <stdint.h>

#include "formats/perfetto/write/stream.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

struct perfetto_stacks;

/* All are borrowed. Returns 0, -ENOMEM, or negative errno of reading the samples. */
_must_check_ int perfetto_stacks_new(const struct profile *profile, const struct timeline *timeline,
				     struct perfetto_stream *stream, struct perfetto_stacks **ret);
void perfetto_stacks_free(struct perfetto_stacks *stacks);
static inline void perfetto_stacks_freep(struct perfetto_stacks **stacks)
{
	perfetto_stacks_free(*stacks);
}

/* A stack that is to be emitted, if it is not yet. Returns 0 or -ENOMEM. */
_must_check_ int perfetto_stacks_use(struct perfetto_stacks *stacks, uint32_t stack);
/* Emit them. Returns 0 or a stream's error. */
_must_check_ int perfetto_stacks_emit(struct perfetto_stacks *stacks, uint32_t sequence);

/* The number of a stack that is used. */
uint64_t perfetto_stacks_get_number(const struct perfetto_stacks *stacks, uint32_t stack);

/* The sequence's state is cleared, or it is another one: everything must be emitted again. */
void perfetto_stacks_clear(struct perfetto_stacks *stacks);

#endif
