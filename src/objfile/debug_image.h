/*
 * Debug sections that are compressed by zstd, which libdw does not read in versions before 0.189.
 */
#ifndef OBJFILE_DEBUG_IMAGE_H
#define OBJFILE_DEBUG_IMAGE_H

#include <libelf.h>

#include "base/attributes.h"
#include "base/text.h"

/*
 * Make an ELF file with only the debug sections of elf, and decompress those compressed by zstd.
 * Malformed sections are skipped.
 *
 * ret   appended to; the caller releases it
 *
 * Returns 0, -ENOENT (no such section, or not a 64-bit file) or -ENOMEM.
 *
 * Source: ELF gABI "Compressed Section Headers", ELFCOMPRESS_ZSTD.
 */
_must_check_ int debug_image_make(Elf *elf, struct text *ret);

#endif
