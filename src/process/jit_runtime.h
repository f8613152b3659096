/*
 * Whether the code that a process generates keeps frame pointers, the only way to unwind it: as far
 * as its runtime and start options are known.
 */
#ifndef PROCESS_JIT_RUNTIME_H
#define PROCESS_JIT_RUNTIME_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/file_table.h"
#include "process/process_table.h"

/*
 * Decided by the mapped files, and the command line and environment below proc_root. False if
 * unknown, or not true for all runtimes in the process. Returns 0, or -ETIMEDOUT: ask again later.
 */
_must_check_ int jit_runtime_keeps_frame_pointers(const char *proc_root, pid_t pid,
						  const struct file_table *files,
						  const struct mapping_list *mappings, bool *ret);

/* Whether CPython is mapped, which makes trampolines on request (-X perf). */
bool jit_runtime_has_trampolines(const struct file_table *files,
				 const struct mapping_list *mappings);

/* Whether a mapping is of a file that is no ELF: named memory of a JIT compiler. */
bool jit_runtime_is_memory(const struct file_table *files, const struct mapping *mapping);

#endif
