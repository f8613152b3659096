/*
 * Sources of V8's scripts, for functions whose lines the sampling program has not counted. They are
 * read in the memory of the process when it has first sent a source's location, and kept as the
 * lines of their characters.
 *
 * V8 may have moved the string by then, or its memory may be reused. So a source counts only if
 * the string is the same before and after, and has the words that the sampling program has seen.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_V8_SOURCE_H
#define RUNTIME_V8_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "wire/v8.h"

/* Bytes read of one source at most, and of all. */
#define V8_SOURCE_BYTES_MAX  (32u << 20)
#define V8_SOURCES_BYTES_MAX (1ull << 30)
/* Limits of a recording: sources of one process, sources of all, and lines of all. */
#define V8_SOURCES_OF_PROCESS_MAX (1u << 14)
#define V8_SOURCES_MAX            (1u << 18)
#define V8_SOURCES_LINES_MAX      (16u << 20)
/* Attempts to read a source that was moved away; and failed sources in one process. */
#define V8_SOURCE_ATTEMPTS_MAX  16
#define V8_SOURCES_FAILURES_MAX 1024

/*
 * Reads the memory of a process, up to 64 KiB at once. Returns 0, or another number if not all can
 * be read.
 */
struct v8_memory {
	int (*read)(void *context, uint64_t address, void *ret, size_t size);
	void *context;
};

#define V8_NO_SOURCE UINT32_MAX

struct v8_sources;

struct v8_sources *v8_sources_new(void); /* NULL when out of memory */
void v8_sources_free(struct v8_sources *sources);
static inline void v8_sources_freep(struct v8_sources **sources)
{
	v8_sources_free(*sources);
}

/*
 * Read the source of a function's script, if that has not been done.
 *
 * record  its content is untrusted
 * ret     the number of the source; V8_NO_SOURCE: the function has neither its location nor its
 *         line
 *
 * Returns 0, even if it could not be read: another function may have its new location. -EINVAL (no
 * source has such values), -ENOSPC (the limit is reached) or -ENOMEM.
 */
_must_check_ int v8_sources_add(struct v8_sources *sources, const struct wire_v8_function *record,
				const struct v8_memory *memory, uint32_t *ret);

/* The line of a character, from 1; 0: unknown, as the source was not read or is shorter. */
uint32_t v8_sources_get_line(const struct v8_sources *sources, uint32_t source, uint32_t position);

#endif
