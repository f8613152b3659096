/*
 * Functions of interpreters whose frames say their lines themselves: what the sampling program has read of them
 * (wire/script.h), as names of functions and files.
 *
 * All that is read are bytes of a foreign process, which may be anything.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_SCRIPT_FUNCTION_H
#define RUNTIME_SCRIPT_FUNCTION_H

#include <stdint.h>

#include "base/attributes.h"
#include "wire/script.h"

/* What a recording keeps: so many functions, and so many bytes of their names. */
#define SCRIPT_FUNCTIONS_MAX      (1u << 20)
#define SCRIPT_FUNCTIONS_TEXT_MAX (64u << 20)

struct script_function {
	/* These four say which one it is. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t address;
	uint32_t pid;
	uint32_t fingerprint;
	/*
	 * UTF-8 without control characters, borrowed until script_functions_free(); with an ellipsis at its end where more of
	 * it was not sent. Empty where it has none, or it could not be read.
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
 * Add what was sent of a function. One that is known keeps what is known of it, and gets what was not read before.
 *
 * record  a whole one, aligned; its content need not be what the program sends
 *
 * Returns 0, -EINVAL (it is not what the program may send), -ENOSPC (it would be more than is kept), or -ENOMEM. After an
 * error nothing is added; whoever calls it counts that.
 */
_must_check_ int script_functions_add(struct script_functions *functions,
				      const struct wire_script_function *record);

/* NULL: it was not added. Borrowed until the next one is. */
const struct script_function *script_functions_find(const struct script_functions *functions,
						    uint32_t pid, uint64_t generation,
						    uint64_t address, uint32_t fingerprint);

#endif
