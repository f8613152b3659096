/*
 * The user part of a sample's stack: whether its walk is believed, where it is truncated, and
 * counts of how walks ended.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_STACKS_USER_WALKS_H
#define COLLECT_STACKS_USER_WALKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/account.h"
#include "collect/runtimes/runtime_stacks.h"
#include "collect/stacks/stack_resolver.h"
#include "collect/user_stacks.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "wire/wire.h"

struct user_walks;

/* Everything is borrowed. max_depth: as sample_ingest_new(). Returns NULL when out of memory. */
struct user_walks *user_walks_new(struct profile *profile, struct process_table *processes,
				  struct stack_resolver *resolver, enum user_stacks kind,
				  uint32_t max_depth);
void user_walks_free(struct user_walks *walks);

/* From now on, count the frames of interpreters. Borrowed. */
void user_walks_set_runtimes(struct user_walks *walks, struct runtime_stacks *runtimes);

/* Whether samples have user stacks. */
bool user_walks_are_taken(const struct user_walks *walks);

struct user_walk_counts {
	uint64_t walks[NUM_WALK_ENDS]; /* by table, by how the walk ended */
	uint64_t
		unproven; /* complete, but neither a call nor an interpreter proves a step by frame pointer */
	uint64_t in_exec;     /* without user stack: exec was replacing the program */
	uint64_t kernel_only; /* likewise: of kernel threads, or of threads that start or exit */
};

/* A sample, and its known facts beside the user stack. */
struct user_walk {
	struct wire_sample *sample;      /* walk_end is changed where the result is not believed */
	const struct known_stack *known; /* its user stack, or NULL */
	const struct process *process;
	bool is_in_exec;
	bool has_frame_above; /* another part of the stack follows */
	bool is_tick;         /* neither a wait nor a waker */
	bool counts_runtime;  /* not a waker */
	struct user_walk_counts *counts;
};

/*
 * Add the user part of a sample's stack to *stack, and count how its walk ended. A walk along frame pointers may end
 * anywhere: only a walk by table knows that it is early. *ret_is_truncated is set then.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int user_walks_add(struct user_walks *walks, const struct user_walk *walk,
				uint32_t *stack, bool *ret_is_truncated);

/* Stacks that the kernel walked by frame pointers. Borrowed until the next sample. */
const struct user_stack_count *user_walks_get_stacks(const struct user_walks *walks,
						     size_t *ret_count);

#endif
