/*
 * The functions of a file that allocate and free memory: those of glibc and musl, jemalloc,
 * tcmalloc and mimalloc. They have their names in C and C++, or prefixes in builds that do not
 * replace these (je_malloc, _rjem_malloc).
 *
 * Not thread-safe, like the objfile.
 */
#ifndef OBJFILE_ALLOCATOR_H
#define OBJFILE_ALLOCATOR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"
#include "objfile/usdt.h"

/*
 * How many functions of one file are probed: all that we know, once each, in builds with several
 * prefixes, too.
 */
#define ALLOCATOR_MAX_FUNCTIONS 256

/* Ranges of code that one function may jump to, which are known. */
#define ALLOCATOR_MAX_HELPERS 4

struct allocator_code_range {
	uint64_t file_offset;
	uint64_t bytes; /* 0: no more */
};

/* Registers: ARGUMENT_NO_REGISTER if unused. */
struct allocator_function {
	struct probe_point
		point;  /* its argument is the requested number of bytes; none: it only frees */
	uint64_t bytes; /* size of its code; 0: unknown */
	uint64_t elf_address;
	uint64_t free_register; /* with the address to free */
	/* With the location for the allocated address; else the address is returned. */
	uint64_t pointer_register;
	/*
	 * If this register is at most the limit, it may end in a jump to another one with the same
	 * size: they are one call.
	 */
	uint64_t jump_register;
	uint64_t jump_limit;
	uint64_t hook_address;  /* ELF address of a pointer to a hook; 0: none */
	bool jumps_in_mimalloc; /* always, in mimalloc's file */
	bool may_pass_on;       /* it may call another allocator; not in glibc */
	bool jumps_out; /* it may jump to other code, such as another file's; not in glibc */
	/* Helpers in its file that it may jump to, and those that these may jump to. */
	struct allocator_code_range helpers[ALLOCATOR_MAX_HELPERS];
	bool has_other_helpers; /* anywhere in the file: it jumps through pointers, or to too many */
};

struct allocator {
	ARRAY(struct allocator_function) functions; /* each file offset once, in order */
	bool has_unknown; /* beside them, the file has another allocator, such as that of Go */
};
void allocator_release(struct allocator *allocator);

/*
 * Find the functions. Without malloc a file is an allocator if it has an "operator new" of its own,
 * not that of a C++ library. Functions that are only imported, or chosen when a program starts
 * (IFUNC), are not included.
 *
 * machine  see function_argument_get()
 *
 * Returns 0, -ENOENT (not an allocator), -ENODATA (not one that is known: in a program that uses no
 * libraries, in Go code, or a chosen malloc), -E2BIG (more than ALLOCATOR_MAX_FUNCTIONS) or -ENOMEM.
 */
_must_check_ int allocator_find(struct objfile *objfile, uint16_t machine, struct allocator *ret);

#endif
