/*
 * Allocators that `alloc` does not count: those in files that were first mapped after the probes
 * were attached, such as a program with an allocator of its own that was started later.
 */
#ifndef COLLECT_EVENTS_LATE_ALLOCATORS_H
#define COLLECT_EVENTS_LATE_ALLOCATORS_H

#include "base/attributes.h"
#include "collect/account.h"
#include "collect/elf/elf_files.h"
#include "collect/events/probe.h"
#include "process/file_table.h"

/*
 * Look into the mapped files that the event's probes do not know, for two seconds at most. Returns
 * 0 or -ENOMEM.
 *
 * ret  first_path: borrowed from the file table
 */
_must_check_ int late_allocators_find(const struct probe *probe, const struct file_table *table,
				      struct elf_files *elf_files, struct late_allocators *ret);

#endif
