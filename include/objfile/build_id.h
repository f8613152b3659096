/* Build IDs: a hash that the linker puts into a note, and that identifies the code of a file. */
#ifndef OBJFILE_BUILD_ID_H
#define OBJFILE_BUILD_ID_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

#define BUILD_ID_SIZE_MAX 20

/*
 * Find the NT_GNU_BUILD_ID note in the bytes of a PT_NOTE segment or note section.
 *
 * align        of the segment: 4 or 8 bytes
 * ret, ret_size  the id, cut to BUILD_ID_SIZE_MAX bytes, and its size in bytes
 *
 * Returns 0, -ENODATA (no such note) or -EINVAL (malformed notes).
 *
 * Source: ELF gABI "Note Section"; binutils --build-id.
 */
_must_check_ int build_id_read_notes(const void *notes, size_t size, size_t align, uint8_t *ret,
				     uint8_t *ret_size);

/*
 * The build ID of an open ELF file (32 or 64 bit, read with pread; the file position stays).
 * Headers that point outside the file are -EINVAL. Returns as build_id_read_notes(), or -ENOEXEC
 * when it is not ELF.
 */
_must_check_ int build_id_read_fd(int fd, uint8_t *ret, uint8_t *ret_size);

/* The same for an ELF file that libelf has open already. */
_must_check_ int build_id_read_elf(Elf *elf, uint8_t *ret, uint8_t *ret_size);

#endif
