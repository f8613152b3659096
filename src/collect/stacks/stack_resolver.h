/*
 * Converts the pcs of a stack to a stack of the profile: every pc becomes a location in a file, the
 * kernel or a process, by the mappings of its process at that time. This is expensive, and done
 * once for each stack, process and version of the mappings.
 *
 * Records refer to stacks by hash, and the stacks precede them. The profile's stacks are a tree
 * from the outermost frame inwards: first the user stack, then on top of it the kernel stack that
 * it called into.
 */
#ifndef COLLECT_STACKS_STACK_RESOLVER_H
#define COLLECT_STACKS_STACK_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/runtimes/runtime_stacks.h"
#include "collect/stacks/call_check.h"
#include "collect/stacks/fp_step_check.h"
#include "collect/stacks/known_stacks.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "wire/wire.h"

/* A stack as sent, and the part of it to resolve. */
struct raw_stack {
	const struct known_stack *known;
	uint32_t num_pcs;
	uint32_t num_inner;      /* number of innermost frames to skip */
	uint32_t left_out;       /* a level that is not a frame; 0: none */
	bool is_32_bit;          /* the kernel took all its steps by frame pointer */
	bool is_whole;           /* the walk reached the outermost frame */
	bool is_cut;             /* outer frames of a user stack are left out */
	uint64_t runtime_frames; /* hash of the interpreter's frames in it; 0: none */
	uint64_t generation;     /* of the sample, with such frames */
};

/* Evidence for and against a user stack that was walked to its outermost frame. */
struct stack_evidence {
	/*
	 * Result of its steps by frame pointer, enum call_proof. If disproven, the stack ends
	 * there.
	 */
	uint8_t proof;
	bool has_generated_code : 1;
	bool goes_by_fp_through_it : 1; /* a step out of generated code was taken by frame pointer */
	uint8_t runtime_fit : 3;        /* enum runtime_fit */
	bool may_lack_inlined : 1;      /* struct runtime_verdict */
	bool is_coroutine : 1;          /* the interpreter confirms the start of the stack */
};

static inline struct raw_stack raw_stack_of(const struct known_stack *known)
{
	return (struct raw_stack){.known = known, .num_pcs = known->num_pcs};
}

struct stack_resolver;

/*
 * Everything is borrowed.
 *
 * checks_steps  check the steps of user stacks that the walk took by frame pointer
 *
 * Returns NULL when out of memory.
 */
struct stack_resolver *stack_resolver_new(struct profile *profile, struct process_table *processes,
					  bool checks_steps);
void stack_resolver_free(struct stack_resolver *resolver);
/* Free the stacks and their resolutions. */
void stack_resolver_forget(struct stack_resolver *resolver);

/* From now on, check steps by frame pointer; before, none is proven. Borrowed. */
void stack_resolver_set_fp_step_check(struct stack_resolver *resolver, struct fp_step_check *check);
/* From now on, check that every return address follows a call. Borrowed. */
void stack_resolver_set_call_check(struct stack_resolver *resolver, struct call_check *check);
/* From now on, put frames of interpreters into stacks. Borrowed. */
void stack_resolver_set_runtimes(struct stack_resolver *resolver, struct runtime_stacks *runtimes);

/* Remember a stack. Records of a wrong size are ignored. Returns 0 or -ENOMEM. */
_must_check_ int stack_resolver_add(struct stack_resolver *resolver,
				    const struct wire_stack *record, size_t size);
/* NULL: it was not sent, or hash is 0. Valid until another one is added. */
const struct known_stack *stack_resolver_find(const struct stack_resolver *resolver, uint64_t hash);
/* Its pcs, innermost first. Valid until those of another stack are read, or it is resolved. */
const uint64_t *stack_resolver_read_pcs(struct stack_resolver *resolver,
					const struct known_stack *known);

/*
 * Add the frames of a stack on top of *stack, which becomes the result.
 *
 * process  as it is at time_ns; NULL: a kernel stack
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int stack_resolver_resolve(struct stack_resolver *resolver,
					const struct raw_stack *raw, const struct process *process,
					uint64_t time_ns, uint32_t *stack,
					struct stack_evidence *ret_evidence);

#endif
