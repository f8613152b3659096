/*
 * Start of stacks: the stack pointer of the outermost frame is constant while a stack is used,
 * wherever the stack is. This distinguishes stacks that share a mapping (of fibers, of goroutines),
 * or that are in a heap.
 *
 * First all samples are added, then all are assigned; then the stacks are known. Not thread-safe.
 */
#ifndef COLLECT_TRACE_STACK_TOPS_H
#define COLLECT_TRACE_STACK_TOPS_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* A stack. */
struct stack_top {
	uint64_t end;      /* above the outermost frame, a multiple of a page */
	uint64_t start;    /* the lowest stack pointer seen, rounded down to a page; `end`: none */
	uint64_t first_ns; /* when it was first seen */
	uint32_t process;  /* id of the process table */
};

/* Memory of stacks with known bounds: they need no tops. */
struct known_stacks_memory {
	uint64_t start;
	uint64_t end;
	uint32_t process;
};

/* Zeroed at first. */
struct stack_tops {
	struct stack_top *items; /* by process and end */
	size_t length;
	size_t capacity;
	struct stack_top last; /* last one added: most samples have the same */
	struct {
		struct known_stacks_memory *items; /* by process and address; disjoint */
		size_t length;
		size_t capacity;
	} known;
};

void stack_tops_release(struct stack_tops *tops);

/* Ignore outermost frames in [start, end) of a process. Returns 0 or -ENOMEM. */
_must_check_ int stack_tops_ignore(struct stack_tops *tops, uint32_t process, uint64_t start,
				   uint64_t end);
/* A process has such an outermost frame, or a stack with that last byte. Returns 0 or -ENOMEM. */
_must_check_ int stack_tops_add(struct stack_tops *tops, uint32_t process, uint64_t outermost_sp);
/*
 * Assign the stack pointer of a sample to the stack with this outermost frame, unless the top of
 * another stack is between the two.
 */
void stack_tops_assign(struct stack_tops *tops, uint32_t process, uint64_t time_ns,
		       uint64_t user_sp, uint64_t outermost_sp);

/* Those of a process, in order of their ends; borrowed. */
const struct stack_top *stack_tops_get(const struct stack_tops *tops, uint32_t process,
				       size_t *ret_count);

#endif
