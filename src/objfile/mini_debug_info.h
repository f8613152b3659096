/*
 * .gnu_debugdata ("MiniDebugInfo"): an ELF file with more function symbols, compressed by xz, inside
 * of a stripped program. Fedora ships its packages with it.
 */
#ifndef OBJFILE_MINI_DEBUG_INFO_H
#define OBJFILE_MINI_DEBUG_INFO_H

#include <libelf.h>

#include "base/attributes.h"
#include "base/text.h"

/*
 * Decompress the section of an open ELF file.
 *
 * ret   the bytes of the inner ELF file are appended; the caller releases it. Unchanged on failure.
 *
 * Returns 0, -ENODATA (no such section), -EINVAL (not xz, or unreasonably large) or -ENOMEM.
 *
 * Source: GDB manual, "Debugging information in a special section".
 */
_must_check_ int mini_debug_info_read(Elf *elf, struct text *ret);

#endif
