/*
 * Frames of CPython, and where they belong in the stacks of the processes that run it (evaluated_stacks.h).
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RUNTIMES_PYTHON_STACKS_H
#define COLLECT_RUNTIMES_PYTHON_STACKS_H

#include <stdint.h>

#include "base/attributes.h"
#include "collect/runtimes/runtime_stacks.h"
#include "wire/python.h"

struct python_stacks;

/* As runtime_stacks_new(). */
struct python_stacks *python_stacks_new(struct profile *profile, const struct file_table *files,
					const struct elf_files *elf_files,
					enum runtime_frames frames);
void python_stacks_free(struct python_stacks *stacks);

/* As python_codes_add(). */
_must_check_ int python_stacks_add_code(struct python_stacks *stacks,
					const struct wire_python_code *record);

/* As runtime_stacks_splice(). */
_must_check_ int python_stacks_splice(struct python_stacks *stacks,
				      const struct runtime_sample *source,
				      const struct runtime_frame_list *frames, const uint64_t *pcs,
				      uint32_t num_pcs, struct runtime_level *ret,
				      uint32_t *ret_num, enum runtime_fit *ret_fit);

#endif
