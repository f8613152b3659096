/*
 * A check of steps by frame pointer: if the call before a return address is direct, its target must
 * be the function below. Otherwise the frame pointer was not that function's own, and a caller is
 * missing in between.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_STACKS_FP_STEP_CHECK_H
#define COLLECT_STACKS_FP_STEP_CHECK_H

#include <stdint.h>

#include "base/attributes.h"
#include "collect/elf/elf_files.h"
#include "process/file_table.h"
#include "process/process_table.h"

struct fp_step_check;

/* Both are borrowed. Returns NULL when out of memory. */
struct fp_step_check *fp_step_check_new(const struct file_table *files,
					struct elf_files *elf_files);
void fp_step_check_free(struct fp_step_check *check);

/*
 * Check a step from the frame that executes the instruction at callee_pc to the one that it returns
 * to, by the process's present mappings. Code that is not in a readable file proves nothing.
 * Returns 0 or -ENOMEM.
 */
_must_check_ int fp_step_check_step(struct fp_step_check *check, const struct process *process,
				    uint64_t callee_pc, uint64_t return_address,
				    enum call_proof *ret);

#endif
