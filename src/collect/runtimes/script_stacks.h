/*
 * Frames of interpreters that say their lines themselves, and where they belong in the stacks of the processes that run them
 * (evaluated_stacks.h).
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RUNTIMES_SCRIPT_STACKS_H
#define COLLECT_RUNTIMES_SCRIPT_STACKS_H

#include <stdint.h>

#include "base/attributes.h"
#include "collect/runtimes/runtime_stacks.h"
#include "wire/script.h"

struct script_stacks;

/* As runtime_stacks_new(). */
struct script_stacks *script_stacks_new(struct profile *profile, const struct file_table *files,
					const struct elf_files *elf_files,
					enum runtime_frames frames);
void script_stacks_free(struct script_stacks *stacks);

/* As script_functions_add(). */
_must_check_ int script_stacks_add_function(struct script_stacks *stacks,
					    const struct wire_script_function *record);

/* As runtime_stacks_splice(), of one of these interpreters. */
_must_check_ int script_stacks_splice(struct script_stacks *stacks, enum wire_runtime which,
				      const struct runtime_sample *source,
				      const struct runtime_frame_list *frames, const uint64_t *pcs,
				      uint32_t num_pcs, struct runtime_level *ret,
				      uint32_t *ret_num, enum runtime_fit *ret_fit);

#endif
