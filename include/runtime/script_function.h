/*
 * Functions of interpreters whose frames hold the current line, as read by the sampling program
 * (wire/script.h): names of functions and files.
 *
 * All of it is read in a foreign process and is untrusted.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_SCRIPT_FUNCTION_H
#define RUNTIME_SCRIPT_FUNCTION_H

#include <stdint.h>

#include "base/attributes.h"
#include "wire/script.h"

/* Limits of a recording: number of functions, and bytes of their names. */
#define SCRIPT_FUNCTIONS_MAX      (1u << 20)
#define SCRIPT_FUNCTIONS_TEXT_MAX (64u << 20)

struct script_function {
	/* These four identify it. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t address;
	uint32_t pid;
	uint32_t fingerprint;
	/*
	 * UTF-8 without control characters, borrowed until script_functions_free(); ends with an
	 * ellipsis if only a part was sent. Empty if it has no such text, or it could not be read.
	 */
	const char *name; /* with its class: "Order::total" */
	const char *file;
	enum wire_script_code code_kind;
};

struct script_functions;

struct script_functions *script_functions_new(void); /* NULL when out of memory */
void script_functions_free(struct script_functions *functions);
static inline void script_functions_freep(struct script_functions **functions)
{
	script_functions_free(*functions);
}

/*
 * Add a function that was sent. If it is known already, only its missing parts are added.
 *
 * record  a whole one, aligned; its content is untrusted
 *
 * Returns 0, -EINVAL (the program sends no such record), -ENOSPC (the limit is reached), or
 * -ENOMEM. After an error nothing is added; the caller counts that.
 */
_must_check_ int script_functions_add(struct script_functions *functions,
				      const struct wire_script_function *record);

/* NULL: it was not added. Borrowed until the next one is. */
const struct script_function *script_functions_find(const struct script_functions *functions,
						    uint32_t pid, uint64_t generation,
						    uint64_t address, uint32_t fingerprint);

#endif
