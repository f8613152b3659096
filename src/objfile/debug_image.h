/*
 * Debug sections that are compressed by zstd, which libdw does not read in versions before 0.189.
 */
#ifndef OBJFILE_DEBUG_IMAGE_H
#define OBJFILE_DEBUG_IMAGE_H

#include <libelf.h>

#include "base/attributes.h"
#include "base/text.h"

/*
 * Make an ELF file that has only the debug sections of elf, those that are compressed by zstd
 * decompressed. A section that is broken is left out.
 *
 * ret   appended to; the caller releases it
 *
 * Returns 0, -ENOENT (there is no such section, or not a file of 64 bits) or -ENOMEM.
 *
 * Source: ELF gABI "Compressed Section Headers", ELFCOMPRESS_ZSTD.
 */
_must_check_ int debug_image_make(Elf *elf, struct text *ret);

#endif
