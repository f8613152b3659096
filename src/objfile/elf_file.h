/*
 * Open ELF files with libelf after checking how much memory it would allocate. libelf trusts the
 * headers, and a sparse file of a few kilobytes may claim sections of terabytes.
 */
#ifndef OBJFILE_ELF_FILE_H
#define OBJFILE_ELF_FILE_H

#include <libelf.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/attributes.h"

/*
 * fd  borrowed until elf_end()
 *
 * Returns 0, -ENOEXEC (not an ELF file in native byte order), -EFBIG (its headers claim much more
 * than is on the disk), -EINVAL (malformed) or another negative errno.
 */
_must_check_ int elf_file_start(int fd, Elf **ret);

/* Maximum number of bytes of a file that are read whole: a multiple of its size on disk. */
uint64_t elf_file_get_allowed_bytes(const struct stat *status);

#endif
