/*
 * V8's functions, as read by the sampling program (wire/v8.h): names of functions and files.
 *
 * All of it is read in a foreign process and is untrusted.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_V8_FUNCTION_H
#define RUNTIME_V8_FUNCTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "wire/v8.h"

/* Limits of a recording: number of functions, and bytes of their names. */
#define V8_FUNCTIONS_MAX      (1u << 20)
#define V8_FUNCTIONS_TEXT_MAX (64u << 20)

struct v8_function {
	/* These four identify it. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t address;
	uint32_t pid;
	uint32_t fingerprint;
	/*
	 * UTF-8 without control characters, borrowed until v8_functions_free(); ends with an
	 * ellipsis if only a part was sent. Empty: it has no such text.
	 */
	const char *name;
	const char *
		file; /* a path, a URL such as file:///…, or node:… for code built into the program */
	uint32_t line; /* of its source, from 1; 0: ask the source for the line of the position */
	uint32_t position;    /* of its first character in its source; WIRE_V8_NO_POSITION */
	uint32_t source;      /* among v8_sources; V8_NO_SOURCE */
	int32_t first_line;   /* number of its source's first line, as the script has it; from 0 */
	bool is_builtin;      /* V8's own: it is of no script, and has machine code with a symbol */
	bool is_name_missing; /* it could not be read */
};

struct v8_functions;

struct v8_functions *v8_functions_new(void); /* NULL when out of memory */
void v8_functions_free(struct v8_functions *functions);
static inline void v8_functions_freep(struct v8_functions **functions)
{
	v8_functions_free(*functions);
}

/*
 * Add a function that was sent. If it is known already, only its missing parts are added.
 *
 * record  a whole one, aligned; its content is untrusted
 * source  from v8_sources_add()
 *
 * Returns 0, -EINVAL (lengths exceed the record's places), -ENOSPC (the limit is reached), or
 * -ENOMEM. After an error nothing is added; the caller counts that.
 */
_must_check_ int v8_functions_add(struct v8_functions *functions,
				  const struct wire_v8_function *record, uint32_t source);

/* NULL: it was not added. Borrowed until the next one is. */
const struct v8_function *v8_functions_find(const struct v8_functions *functions, uint32_t pid,
					    uint64_t generation, uint64_t address,
					    uint32_t fingerprint);

#endif
