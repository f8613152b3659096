/*
 * Runtimes whose name alone is known: their stacks are those of their C code, and what they compile while they
 * run has names only where they write them to a perf-map.
 *
 * Not thread-safe, as the objfile.
 */
#ifndef RUNTIME_NAMED_H
#define RUNTIME_NAMED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"

#define NUM_NAMED_RUNTIMES 11

/* All are literals. */
struct named_runtime {
	const char *name;
	const char *account_name; /* as OpenTelemetry calls it, where it does */
	/* That its file exports, for debuggers or for what it loads; other files have no two of these. */
	const char *symbols[2];
	const char *older_symbol; /* that older versions have in place of the first one, or NULL */
	const char *
		advice; /* what makes it write a perf-map; NULL: nothing does, or it compiles nothing */
	/* Programs load it that mostly do other things: only where a frame is in its file, a sample is of it. */
	bool is_library;
};

/* number: below NUM_NAMED_RUNTIMES. Borrowed, valid always. */
const struct named_runtime *named_runtime_get(uint32_t number);

/* Find which of them a file has in it, by its own symbols. Returns 0 or -ENOENT. */
_must_check_ int named_runtime_find(struct objfile *objfile, uint32_t *ret_number);

#endif
