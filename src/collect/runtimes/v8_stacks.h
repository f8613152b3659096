/*
 * Functions of JavaScript in the stacks of processes that run V8. The sampling program says of each level of the native stack
 * which function it is of, where V8's frame tells that: the function comes in the place of the interpreter's own code, or of
 * what was generated. What V8 has built in stays what its symbols say. Functions of WebAssembly have the names that their module has.
 *
 * Functions that compilers inline have no frame of V8's. The code says which ones an instruction is in (runtime/v8_inlines.h), and is
 * read in the memory of the process when it is first seen. If that fails, the stack may lack them, which is counted.
 *
 * The line of a frame is the one that its function begins in: V8 has no tables of lines but for functions that an exception has come
 * through.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RUNTIMES_V8_STACKS_H
#define COLLECT_RUNTIMES_V8_STACKS_H

#include <stdint.h>

#include "base/attributes.h"
#include "collect/runtimes/runtime_stacks.h"
#include "runtime/v8.h"
#include "wire/v8.h"

struct slow_opener;
struct v8_stacks;

/* As runtime_stacks_new(). opener: of what reads the memory of processes, as process_memory.h has it. */
struct v8_stacks *v8_stacks_new(struct profile *profile, struct slow_opener *opener,
				enum runtime_frames frames);
void v8_stacks_free(struct v8_stacks *stacks);

/* As v8_functions_add(). The source of its script is read now, as V8 may move it. */
_must_check_ int v8_stacks_add_function(struct v8_stacks *stacks,
					const struct wire_v8_function *record);

/* How many inlined functions could not be kept. */
uint64_t v8_stacks_get_lost(const struct v8_stacks *stacks);

/* As runtime_stacks_splice(). build: that the process runs */
_must_check_ int v8_stacks_splice(struct v8_stacks *stacks, const struct runtime_sample *source,
				  const struct v8_build *build,
				  const struct runtime_frame_list *frames, const uint64_t *pcs,
				  uint32_t num_pcs, struct runtime_level *ret, uint32_t *ret_num,
				  struct runtime_verdict *ret_verdict);

#endif
