/*
 * Functions in order of address.
 *
 * Thread-safe: there is no state but what the caller passes.
 */
#ifndef UNWIND_FRAME_SORT_H
#define UNWIND_FRAME_SORT_H

#include <stddef.h>

#include "base/attributes.h"
#include "unwind/frame_reader.h"

/*
 * Sort by start; of functions that start together the one with the smaller index of its common part
 * comes first, then the one whose instructions lie first.
 *
 * The time is linear in the length for all files that compilers and linkers make.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int frame_sort(struct frame_function *functions, size_t length);

#endif
