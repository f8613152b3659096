/*
 * The debug information of one file, as libdw gives it.
 *
 * libelf keeps what it has decompressed until the file is closed: so it is opened once more for
 * this, and closing gives everything back. libdw believes what it reads: what would make it
 * read beyond a section, or take memory out of proportion to the file, is refused before.
 */
#ifndef OBJFILE_DWARF_SOURCE_H
#define OBJFILE_DWARF_SOURCE_H

#include <elfutils/libdw.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/text.h"

/* Zeroed: nothing is open. */
struct dwarf_source {
	Dwarf *dwarf;
	uint64_t size; /* in bytes, of its debug sections in memory */
	Elf *elf;
	struct text decompressed; /* debug sections that libdw cannot decompress itself */
	Elf *decompressed_elf;
};

/*
 * fd    borrowed until dwarf_source_close()
 * path  for messages
 *
 * Returns 0; -ENODATA when the file has no debug information; -EFBIG or -EINVAL when that is too
 * large or broken, or what elf_file_begin() returns. Unless it returns 0, nothing is open.
 */
_must_check_ int dwarf_source_open(int fd, const char *path, struct dwarf_source *ret);

/* Twice is fine. */
void dwarf_source_close(struct dwarf_source *source);

#endif
