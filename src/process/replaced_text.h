/*
 * Text that a program has replaced by a copy in anonymous memory, in a memfd or in a file of
 * hugetlbfs, as programs do that want huge pages for their code. If the bytes equal those of the
 * file, the memory is treated as that file.
 *
 * The memory is read through the file table's opener. Not thread-safe.
 */
#ifndef PROCESS_REPLACED_TEXT_H
#define PROCESS_REPLACED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/file_table.h"
#include "process/process_table.h"

/* Limit of comparisons per process: each is a request to the opener. */
#define REPLACED_TEXT_MAX_LOOKS 64

/*
 * Whether a mapping of this file may contain a copy: FILE_NONE, or an open file that is no ELF
 * file.
 */
bool replaced_text_may_be_in(const struct file_table *files, uint32_t file);

/*
 * Whether the memory of a process at mapping->start up to its end has the bytes of mapping->file
 * from mapping->file_offset on: all pages, or a sample of pages of a large one.
 *
 * looks  counter; at REPLACED_TEXT_MAX_LOOKS nothing counts as a copy any more
 */
bool replaced_text_is_copy(const struct file_table *files, pid_t pid, const struct mapping *mapping,
			   uint32_t *looks);

/*
 * The same if only a neighbouring mapping is known to be of the file: a linker may leave some pages
 * between two segments of a file that are adjacent in memory. Sets mapping->file_offset.
 *
 * beside  of the file, before or behind the mapping
 */
bool replaced_text_find(const struct file_table *files, pid_t pid, const struct mapping *beside,
			struct mapping *mapping, uint32_t *looks);

#endif
