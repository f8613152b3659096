/*
 * Layout of HotSpot in the memory of processes. Its file does not describe it: it is read in the
 * memory of each process that has it mapped, once the process has run its constructors. A layout
 * from one process is never used for another: anybody may map the file and write there as they
 * like.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_RUNTIMES_HOTSPOT_LAYOUTS_H
#define COLLECT_RUNTIMES_HOTSPOT_LAYOUTS_H

#include <stdint.h>

#include "collect/elf/elf_files.h"
#include "process/file_table.h"
#include "process/process_memory.h"
#include "process/process_table.h"
#include "runtime/hotspot.h"

struct hotspot_layouts;

/* Both are borrowed. Returns NULL when out of memory. */
struct hotspot_layouts *hotspot_layouts_new(const struct file_table *files,
					    const struct elf_files *elf_files);
void hotspot_layouts_free(struct hotspot_layouts *layouts);

enum hotspot_presence {
	HOTSPOT_ABSENT,
	HOTSPOT_UNREAD,     /* mapped, but not initialized yet: ask again */
	HOTSPOT_UNREADABLE, /* never became readable */
	HOTSPOT_READ,
};

/*
 * Find the layout of HotSpot in a process's mapping. It is read if that has not been done yet, at
 * growing intervals: call this at any time. If a process maps several files with HotSpot, it runs
 * the first that can be read: the others are absent.
 *
 * ret       for HOTSPOT_READ; borrowed until hotspot_layouts_free()
 * ret_bias  likewise: address in the process minus ELF address
 */
enum hotspot_presence hotspot_layouts_read(struct hotspot_layouts *layouts,
					   const struct process *process,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias);

/*
 * The layout of the HotSpot that a process runs, if known; else NULL. Borrowed until
 * hotspot_layouts_free().
 */
const struct hotspot_layout *hotspot_layouts_find(struct hotspot_layouts *layouts,
						  const struct process *process);

/* The memory of a process. It may be mapped from a file on a file system that does not answer. */
struct process_memory hotspot_layouts_get_memory(const struct hotspot_layouts *layouts,
						 const struct process *process);

#endif
