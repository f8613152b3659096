/*
 * Calls of an allocator by another one, such as by a preloaded library that passes malloc() on to
 * libc. The outermost call counts, the others do not.
 *
 * The stack of a sample proves that it is such a call: a caller is in a function with a probe. No
 * other evidence is as good. A return address that is still on the stack may be left over from a
 * call that has returned, below a buffer that nobody has filled yet; and a program may leave an
 * allocator without returning, by longjmp() or on another stack. Besides, stacks cost nothing at
 * calls that are not sampled.
 *
 * A function with a probe may jump to a helper, which makes the call. Then the stack has the helper
 * only, and the function's caller. Programs of others call helpers, too. So the sampling program
 * remembers the return address of such a function: a helper that returns there was jumped to. Code
 * that is no helper of it was called from the same place, through a pointer. If a function jumps
 * through pointers, any code of its file may be a helper. A hook may be in any file.
 *
 * Without user stacks, a sample has the caller, and the return address of an allocator's function
 * if it is still on the stack. By frame pointers, callers without them are missing: if the first
 * caller is in an allocator's file, such a return address is believed.
 *
 * Limit: if a stack could not be walked, both calls count.
 */
#ifndef COLLECT_STACKS_NESTED_CALLS_H
#define COLLECT_STACKS_NESTED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/events/allocator_code.h"
#include "process/file_table.h"
#include "process/process_table.h"

/* A sample of an allocation. */
struct allocator_call {
	size_t event;
	uint64_t time_ns;
	uint64_t entered_from;         /* as in wire_sample */
	const struct process *process; /* as it is at that time */
	bool lacks_callers;            /* some may not be in its user stack: */
	const uint64_t *pcs;           /* innermost first */
	uint32_t num_pcs;
};

/*
 * Whether a caller is in an allocator's code, or in code that this has jumped to. Callers of a
 * signal handler do not count: they were interrupted.
 */
bool allocator_call_is_nested(const struct allocator_call *call, struct allocator_code *code,
			      const struct file_table *files);

#endif
