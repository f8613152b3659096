/* The runtime that a process runs, by the files it has mapped. Not thread-safe. */
#ifndef COLLECT_RUNTIMES_PROCESS_RUNTIME_H
#define COLLECT_RUNTIMES_PROCESS_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/elf/elf_files.h"
#include "collect/runtimes/hotspot_layouts.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "runtime/runtime.h"

/* Known files and processes. All are borrowed. */
struct runtime_sources {
	const struct file_table *files;
	const struct elf_files *elf_files;
	struct hotspot_layouts *hotspots;
};

struct process_runtime {
	bool is_there;
	bool is_known; /* else its frames are shown as native code */
	bool may_come; /* HotSpot is mapped, but has not described itself yet: ask again */
	enum wire_runtime runtime;
	uint16_t major;
	uint16_t minor;
	size_t mapping; /* index of the mapping whose file contains it */
	uint32_t file;  /* that file */
};

/*
 * If a process has mapped several runtimes, this is the first known one of RUNTIMES(), else the
 * first one.
 */
struct process_runtime process_runtime_find(const struct runtime_sources *sources,
					    const struct process *process);

/* The build in a file, or NULL. Borrowed until the next build ID is read. */
const struct runtime_build *runtime_sources_get_build(const struct runtime_sources *sources,
						      uint32_t file);

/*
 * Get the address in a process of the variable that leads to the frames, for the build in one of
 * its mappings. Returns 0, or -ENOENT if the file has no build or the mapping is not one of its
 * segments.
 */
_must_check_ int runtime_sources_get_state(const struct runtime_sources *sources,
					   const struct mapping *mapping, uint64_t *ret);

#endif
