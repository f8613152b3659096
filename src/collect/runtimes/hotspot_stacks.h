/*
 * Methods of Java in the stacks of processes that run HotSpot. The sampling program says of each level of the native stack
 * that is code of a method which one: it comes in the place of the interpreter's own code, or of what was compiled. What was
 * inlined into that, the JVM says in memory of the process, which is read when the code is first seen in a sample.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RUNTIMES_HOTSPOT_STACKS_H
#define COLLECT_RUNTIMES_HOTSPOT_STACKS_H

#include <stdint.h>

#include "base/attributes.h"
#include "collect/runtimes/hotspot_layouts.h"
#include "collect/runtimes/runtime_stacks.h"
#include "wire/hotspot.h"

struct hotspot_stacks;

/* As runtime_stacks_new(). */
struct hotspot_stacks *hotspot_stacks_new(struct profile *profile, struct hotspot_layouts *hotspots,
					  enum runtime_frames frames);
void hotspot_stacks_free(struct hotspot_stacks *stacks);

/* As hotspot_methods_add(). */
_must_check_ int hotspot_stacks_add_method(struct hotspot_stacks *stacks,
					   const struct wire_hotspot_method *record);

/* Of how much compiled code it is not kept what was inlined into it. */
uint64_t hotspot_stacks_get_dropped(const struct hotspot_stacks *stacks);

/* As runtime_stacks_splice(). */
_must_check_ int hotspot_stacks_splice(struct hotspot_stacks *stacks,
				       const struct runtime_sample *source,
				       const struct runtime_frame_list *frames, const uint64_t *pcs,
				       uint32_t num_pcs, struct runtime_level *ret,
				       uint32_t *ret_num, struct runtime_verdict *ret_verdict);

#endif
