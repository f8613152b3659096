/*
 * .gnu_debugdata: an ELF file with further function symbols, packed with xz, inside a stripped
 * program ("MiniDebugInfo").
 */
#ifndef OBJFILE_MINI_DEBUG_INFO_H
#define OBJFILE_MINI_DEBUG_INFO_H

#include <libelf.h>

#include "base/attributes.h"
#include "base/text.h"

/*
 * Unpack the section of an open ELF file.
 *
 * ret   the bytes of the inner ELF file are appended; the caller releases it. Unchanged on failure.
 *
 * Returns 0, -ENODATA (no such section), -EINVAL (not xz, or unreasonably large) or -ENOMEM.
 *
 * Source: GDB manual, "Debugging information in a special section".
 */
_must_check_ int mini_debug_info_read(Elf *elf, struct text *ret);

#endif
