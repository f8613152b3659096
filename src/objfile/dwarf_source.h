/*
 * The debug information of one file, read by libdw.
 *
 * libelf keeps decompressed sections until the file is closed. So the file is opened once more for
 * this, and closing frees everything. libdw trusts its input: files that would make it read beyond
 * a section, or allocate memory out of proportion to the file, are rejected first.
 */
#ifndef OBJFILE_DWARF_SOURCE_H
#define OBJFILE_DWARF_SOURCE_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"

/* Zeroed: nothing is open. */
struct dwarf_source {
	Dwarf *dwarf;
	uint64_t size;    /* in bytes, of its debug sections in memory */
	bool keeps_dwarf; /* it can be read by libdw only once */
	Elf *elf;
	struct text decompressed; /* debug sections that libdw cannot decompress itself */
	Elf *decompressed_elf;
};

/*
 * fd    borrowed until dwarf_source_close()
 * path  for messages
 *
 * Returns 0, -ENODATA (no debug information), -EFBIG (too large), -EINVAL (malformed) or the error
 * of elf_file_start(). Unless it returns 0, nothing is open.
 */
_must_check_ int dwarf_source_open(int fd, const char *path, struct dwarf_source *ret);

/*
 * Free the units and lines: libdw keeps all it has read. Borrowed data becomes invalid. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int dwarf_source_drop(struct dwarf_source *source);

/* Twice is fine. */
void dwarf_source_close(struct dwarf_source *source);

#endif
