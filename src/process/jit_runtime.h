/*
 * Whether the code that a process generates keeps frame pointers, which are all that there is to
 * walk it by: as far as its runtime and the options that it was started with are known.
 */
#ifndef PROCESS_JIT_RUNTIME_H
#define PROCESS_JIT_RUNTIME_H

#include <stdbool.h>
#include <sys/types.h>

#include "process/file_table.h"
#include "process/process_table.h"

/*
 * By the mapped files, and the command line and environment below proc_root. False when it is not
 * known, or not of all runtimes in the process.
 */
bool jit_runtime_keeps_frame_pointers(const char *proc_root, pid_t pid,
				      const struct file_table *files,
				      const struct mapping_list *mappings);

/* Whether CPython is mapped, which makes trampolines when asked to (-X perf). */
bool jit_runtime_has_trampolines(const struct file_table *files,
				 const struct mapping_list *mappings);

/* Whether a mapping shows a file that is no ELF: a JIT compiler's memory that has a name. */
bool jit_runtime_is_memory(const struct file_table *files, const struct mapping *mapping);

#endif
