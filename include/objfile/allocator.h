/*
 * The functions of a file that allocate memory and free it: those of glibc and musl, jemalloc, tcmalloc and mimalloc, under the names
 * that C and C++ have for them or with the prefixes of builds that leave these to others (je_malloc, _rjem_malloc).
 *
 * Not thread-safe, as the objfile.
 */
#ifndef OBJFILE_ALLOCATOR_H
#define OBJFILE_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "objfile/usdt.h"

/* How many functions of one file are probed: all that we know, once each. */
#define ALLOCATOR_MAX_FUNCTIONS 64

/* Registers: ARGUMENT_NO_REGISTER is none. */
struct allocator_function {
	struct probe_point
		point;  /* its argument is how many bytes are asked for; of none: it frees alone */
	uint64_t bytes; /* of its code; 0: not known */
	uint64_t free_register; /* of the address of what it frees */
	uint64_t
		pointer_register; /* of where it puts the address of what it allocates; else it returns that */
	/*
	 * It may end in a jump to another one with the same size, which is then no call of its own, where this register
	 * is no more than the limit.
	 */
	uint64_t jump_register;
	uint64_t jump_limit;
	bool jumps_in_mimalloc; /* always, where the file is mimalloc's */
};

struct allocator {
	ARRAY(struct allocator_function) functions; /* each file offset once, in order */
};
void allocator_release(struct allocator *allocator);

/*
 * Find the functions; without malloc a file is no allocator. What is only imported, or chosen when a program starts
 * (IFUNC), is not among them.
 *
 * machine  as of function_argument_get()
 *
 * Returns 0, -ENOENT (it is none), -E2BIG (more than ALLOCATOR_MAX_FUNCTIONS) or -ENOMEM.
 */
_must_check_ int allocator_find(struct objfile *objfile, uint16_t machine, struct allocator *ret);

#endif
