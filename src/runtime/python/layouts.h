/*
 * Where CPython's minor versions have what the walk reads.
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
 * ret_code_object_bytes  what its type says that a code object has at least; a build of other sizes has another layout
 *
 * Returns 0 or -ENOENT (it is not known).
 */
_must_check_ int python_layout_get(unsigned int minor, struct wire_python_layout *ret,
				   uint64_t *ret_code_object_bytes);

/*
 * The layout of a version by its table of offsets, struct _Py_DebugOffsets, of which all words are there that this
 * version has.
 *
 * Returns 0, -ENOENT (the version is not known) or -EINVAL (no build has such offsets).
 */
_must_check_ int python_layout_read(unsigned int minor, const uint64_t *words, size_t num_words,
				    struct wire_python_layout *ret);

#endif
