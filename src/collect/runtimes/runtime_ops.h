/*
 * Splices the frames of interpreters into stacks: a row for each of INTERPRETERS() in
 * runtime_ops.c. The recipe "To add an interpreter" is in wire/runtime.h.
 */
#ifndef COLLECT_RUNTIMES_RUNTIME_OPS_H
#define COLLECT_RUNTIMES_RUNTIME_OPS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/runtimes/process_runtime.h"
#include "collect/runtimes/runtime_stacks.h"
#include "collect/user_stacks.h"
#include "profile/profile.h"
#include "wire/runtime.h"

/* Sources for an interpreter's stacks. All is borrowed. */
struct runtime_context {
	struct profile *profile;
	const struct runtime_sources *sources;
	struct slow_opener *opener; /* for memory of processes, as process_memory.h has it */
	enum runtime_frames shown;  /* not RUNTIME_FRAMES_NATIVE */
};

/* The frames of a stack as they were sent, innermost first. */
struct runtime_frame_list {
	const struct wire_runtime_frame *items; /* borrowed */
	uint32_t length;
	uint8_t end;    /* enum wire_runtime_end */
	bool have_come; /* else they are unknown */
};

/* A native stack, and the frames that are to be put into it. */
struct runtime_splice {
	const struct runtime_sample *source;
	const struct runtime_build *build; /* the process's build; NULL: unknown */
	struct runtime_frame_list frames;
	const uint64_t *pcs; /* as struct wire_stack has them */
	uint32_t num_pcs;
	/* The result. */
	struct runtime_level *levels; /* RUNTIME_MAX_LEVELS long */
	uint32_t num_levels;
	struct runtime_verdict verdict; /* all 0 before */
};

/* The functions take the result of create(). */
struct runtime_ops {
	/* Returns NULL when out of memory. */
	void *(*create)(const struct runtime_context *context, enum wire_runtime runtime);
	void (*free)(void *stacks); /* NULL is fine */
	/*
	 * Keep the record of a function (wire_runtime_code), at least code_bytes long. Returns 0,
	 * -ENOMEM, or another negative errno: it is not kept, and its frames are unnamed.
	 */
	int (*add_code)(void *stacks, const void *record);
	size_t code_bytes;
	/* Returns 0 or -ENOMEM. */
	int (*splice)(void *stacks, struct runtime_splice *splice);
	/* Functions that were not kept, beyond those that add_code() has refused; NULL: none. */
	uint64_t (*count_lost)(const void *stacks);
};

/* runtime: below NUM_WIRE_INTERPRETERS. Borrowed, valid always. */
const struct runtime_ops *runtime_ops_get(enum wire_runtime runtime);

extern const struct runtime_ops python_stack_ops;
extern const struct runtime_ops v8_stack_ops;
extern const struct runtime_ops hotspot_stack_ops;
extern const struct runtime_ops script_stack_ops;

#endif
