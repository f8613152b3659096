/*
 * Loads the sampler in a thread of its own: the kernel verifies its programs for some tens of
 * milliseconds, in which the caller can read /proc.
 *
 *	sampler_load_start() → sampler_load_finish(), or sampler_load_free() without it
 */
#ifndef COLLECT_PROGRAMS_SAMPLER_LOAD_H
#define COLLECT_PROGRAMS_SAMPLER_LOAD_H

#include "base/attributes.h"
#include "base/error.h"
#include "collect/programs/sampler.h"

struct sampler_load;

/*
 * Start sampler_new() with these options. Without a thread, sampler_load_finish() does it.
 *
 * opts  what it points to must not change until the end
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sampler_load_start(const struct sampler_opts *opts, struct sampler_load **ret);

/* Wait for its end. Returns as sampler_new(). */
_must_check_ int sampler_load_finish(struct sampler_load *load, struct sampler **ret,
				     struct error *error);

/* Wait for its end, too; frees a sampler that nobody has. */
void sampler_load_free(struct sampler_load *load);

static inline void sampler_load_freep(struct sampler_load **load)
{
	sampler_load_free(*load);
}

#endif
