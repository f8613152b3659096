/*
 * Layouts of the data that the walk reads, for CPython's minor versions.
 *
 * Thread-safe: there is no state.
 */
#ifndef RUNTIME_PYTHON_LAYOUTS_H
#define RUNTIME_PYTHON_LAYOUTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "wire/python.h"

/* The first of the versions that describe themselves. */
#define PYTHON_FIRST_WITH_OFFSETS 13
/* Words of the longest table of offsets that is read. */
#define PYTHON_MAX_OFFSET_WORDS 111

/*
 * The layout of a version without a table of offsets.
 *
 * ret_code_object_bytes  minimum size of a code object by its type; a build with another size has
 *                        another layout
 *
 * Returns 0 or -ENOENT (unknown).
 */
_must_check_ int python_layout_get(unsigned int minor, struct wire_python_layout *ret,
				   uint64_t *ret_code_object_bytes);

/*
 * The layout of a version from its table of offsets, struct _Py_DebugOffsets. All words that this
 * version has must be present.
 *
 * Returns 0, -ENOENT (unknown version) or -EINVAL (no build has such offsets).
 */
_must_check_ int python_layout_read(unsigned int minor, const uint64_t *words, size_t num_words,
				    struct wire_python_layout *ret);

#endif
