/*
 * Names for code of which an input gives addresses only, where nobody can look into the files.
 */
#ifndef FORMATS_UNNAMED_CODE_H
#define FORMATS_UNNAMED_CODE_H

#include <stdbool.h>

#include "base/attributes.h"
#include "formats/import.h"

/*
 * Give a frame to every location that has none: "libc.so.6+0x28a40" (the offset in the file),
 * "[kernel]+0x1b3520" (from where the kernel's code begins, if that is known) and
 * UNNAMED_NO_SYMBOL,
 * "[unknown]" and UNNAMED_NO_MAPPING.
 *
 * is_kernel_only  the kernel's alone, and of them those of this import
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int unnamed_code_name(struct import *import, bool is_kernel_only);

#endif
