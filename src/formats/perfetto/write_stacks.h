/*
 * The stacks of a sequence of samples in a Perfetto trace, with all that they are made of: told
 * some thousand at a time, before the samples that have them. Neighbours in a program, and stacks
 * that begin alike, are emitted one after another: what is alike lies together, for compression.
 */
#ifndef FORMATS_PERFETTO_WRITE_STACKS_H
#define FORMATS_PERFETTO_WRITE_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "formats/perfetto/write_stream.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

struct perfetto_stacks;

/* All are borrowed. Returns 0, -ENOMEM, or negative errno of reading the samples. */
_must_check_ int perfetto_stacks_new(const struct profile *profile, const struct timeline *timeline,
				     struct perfetto_stream *stream, struct perfetto_stacks **ret);
void perfetto_stacks_free(struct perfetto_stacks *stacks);

/* Tell those of these samples that are not told yet. Returns 0 or a stream's error. */
_must_check_ int perfetto_stacks_emit(struct perfetto_stacks *stacks, uint32_t sequence,
				      const struct timeline_sample *samples, size_t count);

/* The number of a stack that is emitted. */
uint64_t perfetto_stacks_get_number(const struct perfetto_stacks *stacks, uint32_t stack);

/* The sequence's state is cleared, or it is another one: everything must be emitted again. */
void perfetto_stacks_clear(struct perfetto_stacks *stacks);

#endif
