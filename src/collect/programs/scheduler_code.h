/*
 * Location of the scheduler in the kernel: a stack taken while it switches threads starts there,
 * after the frames of the code that takes the stack.
 */
#ifndef COLLECT_PROGRAMS_SCHEDULER_CODE_H
#define COLLECT_PROGRAMS_SCHEDULER_CODE_H

#include <stdint.h>
#include <stdio.h>

#include "base/attributes.h"

struct scheduler_code {
	uint64_t start; /* of the function __schedule */
	uint64_t end;   /* first byte after it; 0: unknown */
	/* All code of the scheduler, which the kernel omits from stacks of sleeping threads. */
	uint64_t text_start; /* 0: unknown, as the next one */
	uint64_t text_end;
};

/* From /proc/kallsyms. If that hides addresses, both are 0. */
struct scheduler_code scheduler_code_find(void);
/* The same from an open file. Exposed for tests. */
struct scheduler_code scheduler_code_read(FILE *kallsyms);

/*
 * Number of innermost pcs of a kernel stack that belong to the scheduler or are called by it; 0 if
 * it is not among the first ones.
 */
uint32_t scheduler_code_count(const struct scheduler_code *code, const uint64_t *pcs,
			      uint32_t num_pcs);

#endif
