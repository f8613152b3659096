/* The interface between the readers of both forms of our own format. See native.h. */
#ifndef FORMATS_NATIVE_READ_H
#define FORMATS_NATIVE_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "formats/import.h"

/* Bounds for hostile files: more than any user opens together. */
#define NATIVE_MAX_SOURCES 65536
#define NATIVE_MAX_METRICS 65536
#define NATIVE_MAX_TALLIES 20000

/* Read the text of versions 1 and 2, from its first line on. Returns as native_read(). */
_must_check_ int native_read_lines(struct import *import, size_t begin, size_t end);

/*
 * A file with one source shall look as if that source had been read itself, and not as a file with
 * one file in it: the data of the source is handed over to the file.
 *
 * sources  that the file has, as ids of the profile
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int native_forget_single_source(struct import *import, const uint32_t *sources,
					     size_t count);

#endif
