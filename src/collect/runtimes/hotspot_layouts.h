/*
 * How HotSpot lies in the memory of processes. Its file does not say it: it is read in the memory of each process that has it
 * mapped, when it has run its constructors. What one process says is never taken for what another one has: anybody may map
 * the file, and write there what they like.
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
	HOTSPOT_UNREAD,     /* it is there, but the process has not said anything yet: ask again */
	HOTSPOT_UNREADABLE, /* it never did */
	HOTSPOT_READ,
};

/*
 * What a process's mapping has of HotSpot. It is read where that has not been done, at intervals that grow: it may be asked at any time.
 * Of several files with one, a process runs the first that says something: the others are absent.
 *
 * ret       where that is HOTSPOT_READ; borrowed until hotspot_layouts_free()
 * ret_bias  likewise: address in the process minus ELF address
 */
enum hotspot_presence hotspot_layouts_read(struct hotspot_layouts *layouts,
					   const struct process *process,
					   const struct mapping *mapping,
					   const struct hotspot_layout **ret, uint64_t *ret_bias);

/* The layout of the HotSpot that a process runs, if it is known; else NULL. Borrowed until hotspot_layouts_free(). */
const struct hotspot_layout *hotspot_layouts_find(struct hotspot_layouts *layouts,
						  const struct process *process);

/* The memory of a process, which may lie in a file of a file system that does not answer. */
struct process_memory hotspot_layouts_get_memory(const struct hotspot_layouts *layouts,
						 const struct process *process);

#endif
