/*
 * Text that a program has replaced by a copy of it in anonymous memory, in a memfd or in a file of hugetlbfs, as those do that
 * want huge pages for their code: what is there is known by the file, if the bytes are those of the file.
 *
 * The memory is read by way of the file table's opener. Not thread-safe.
 */
#ifndef PROCESS_REPLACED_TEXT_H
#define PROCESS_REPLACED_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/file_table.h"
#include "process/process_table.h"

/* Limit of comparisons for a process: each is a question to the opener. */
#define REPLACED_TEXT_MAX_LOOKS 64

/* Whether a mapping of this file may hold a copy: FILE_NONE, or a file that is open and no ELF file. */
bool replaced_text_may_be_in(const struct file_table *files, uint32_t file);

/*
 * Whether the memory of a process at mapping->start up to its end has the bytes of mapping->file from mapping->file_offset on: all
 * pages of it, or of a large one some that are spread over it.
 *
 * looks  counts; at REPLACED_TEXT_MAX_LOOKS nothing is a copy any more
 */
bool replaced_text_is_copy(const struct file_table *files, pid_t pid, const struct mapping *mapping,
			   uint32_t *looks);

/*
 * The same where only a mapping beside it is known to be of the file: a linker may leave some pages between two segments of a file
 * that are side by side in memory. Sets mapping->file_offset.
 *
 * beside  of the file, before or behind the mapping
 */
bool replaced_text_find(const struct file_table *files, pid_t pid, const struct mapping *beside,
			struct mapping *mapping, uint32_t *looks);

#endif
