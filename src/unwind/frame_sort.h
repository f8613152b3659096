/*
 * Functions in order of address.
 *
 * Thread-safe: the only state is passed by the caller.
 */
#ifndef UNWIND_FRAME_SORT_H
#define UNWIND_FRAME_SORT_H

#include <stddef.h>

#include "base/attributes.h"
#include "unwind/frame_reader.h"

/*
 * Sort by start, then by index of the common part, then by position of the instructions.
 *
 * Takes linear time for any file from a compiler and linker.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int frame_sort(struct frame_function *functions, size_t length);

#endif
