/*
 * Sources of V8's scripts, of functions whose lines the sampling program has not counted: the lines of their characters, which are read
 * in the memory of the process when it has first said where a source lies.
 *
 * By then V8 may have moved the string, or the memory may be another one's: what is read counts where it is the same string, before
 * and after, and has the words at those places that the sampling program has seen.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_V8_SOURCE_H
#define RUNTIME_V8_SOURCE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "wire/v8.h"

/* What is read of a source at most, and of all. */
#define V8_SOURCE_BYTES_MAX  (32u << 20)
#define V8_SOURCES_BYTES_MAX (1ull << 30)
/* What a recording keeps: so many sources, of one process and of all, and so many lines of all. */
#define V8_SOURCES_OF_PROCESS_MAX (1u << 14)
#define V8_SOURCES_MAX            (1u << 18)
#define V8_SOURCES_LINES_MAX      (16u << 20)
/* So often it is tried to read a source that is not there any more; and in one process, sources. */
#define V8_SOURCE_ATTEMPTS_MAX  16
#define V8_SOURCES_FAILURES_MAX 1024

/* How the memory of a process is read, up to 64 KiB at once. Returns 0, or another number when not all can be read. */
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
 * record  of which the content need not be what the program sends
 * ret     the number of the source; V8_NO_SOURCE: the function does not say where it is, or what its line is
 *
 * Returns 0, also where it could not be read: another function of it may say where it is now; -EINVAL (nothing lies so),
 * -ENOSPC (it would be one more than is kept) or -ENOMEM.
 */
_must_check_ int v8_sources_add(struct v8_sources *sources, const struct wire_v8_function *record,
				const struct v8_memory *memory, uint32_t *ret);

/* The line that a character is in, from 1; 0: it is not known, as the source was not read or is shorter. */
uint32_t v8_sources_get_line(const struct v8_sources *sources, uint32_t source, uint32_t position);

#endif
