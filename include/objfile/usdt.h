/*
 * Statically defined probes of a program (USDT, SystemTap's <sys/sdt.h>): where they lie, what counts who
 * watches them, and where their arguments are found there.
 *
 * Thread-safe: there is no state.
 *
 * Source: https://sourceware.org/systemtap/wiki/UserSpaceProbeImplementation
 */
#ifndef OBJFILE_USDT_H
#define OBJFILE_USDT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/near_names.h"
#include "objfile/objfile.h"

/* As it stands in the file. Addresses are ELF addresses, as they were when it was linked. */
struct usdt_note {
	uint64_t location;
	uint64_t base;      /* of .stapsdt.base, then */
	uint64_t semaphore; /* 0: none */
	const char *provider;
	const char *name;
	const char *arguments; /* "8@%rdi -4@16(%rsp)" */
};

/*
 * Give handle() the notes of the section .note.stapsdt of a 64-bit file; texts are borrowed from it. What is no
 * such note is skipped.
 *
 * Returns 0, what handle() returned if that was not 0, or -EINVAL (the notes have no end).
 */
_must_check_ int usdt_read_notes(const void *notes, size_t size,
				 int (*handle)(const struct usdt_note *note, void *context),
				 void *context);

enum argument_source {
	ARGUMENT_NONE, /* there is no argument: a hit weighs one */
	ARGUMENT_CONSTANT,
	ARGUMENT_REGISTER,
	ARGUMENT_MEMORY,  /* at base + index * scale + displacement */
	ARGUMENT_PRODUCT, /* of two registers, base and index, as calloc has it */
};

/* No register. */
#define ARGUMENT_NO_REGISTER 255
/* Registers are numbered by their place among those that the kernel saves, in words (struct pt_regs). */
#define ARGUMENT_MAX_REGISTER 32

/* Where an argument is found when a probe is hit. */
struct probe_argument {
	enum argument_source source;
	uint8_t bytes;     /* 1, 2, 4 or 8 */
	uint8_t is_signed; /* 0 or 1 */
	uint8_t base;      /* a register */
	uint8_t index;     /* another one, or ARGUMENT_NO_REGISTER */
	uint8_t scale;
	int64_t displacement; /* or the constant itself */
};

/*
 * Where the argument of a number, from 1 on, is found, by what a note says.
 *
 * machine  of the ELF header: EM_X86_64 or EM_AARCH64
 *
 * Returns 0, -ENOENT (there are not as many) or -ENOTSUP (it is no integer, or where a program in the kernel
 * cannot look).
 */
_must_check_ int usdt_read_argument(const char *arguments, unsigned int number, uint16_t machine,
				    struct probe_argument *ret);

/*
 * Where a function's argument of a number, from 1 on, or what it returns (0), is found by the calling convention.
 * Returns 0 or -ENOENT (so many are not passed in registers).
 */
_must_check_ int function_argument_get(unsigned int number, uint16_t machine,
				       struct probe_argument *ret);

/* How many points of one name are probed, at most. */
#define PROBE_MAX_POINTS 256

struct probe_point {
	uint64_t file_offset;
	uint64_t semaphore_offset; /* in the file, too; 0: none */
	struct probe_argument argument;
};

struct probe_point_list {
	ARRAY(struct probe_point) points; /* each file offset once */
};
void probe_point_list_release(struct probe_point_list *list);

/*
 * Add the points of a program's probe.
 *
 * argument  its number; 0: none is wanted
 * near      gets "provider:name" of the others; NULL: nobody asks
 *
 * Returns 0; -ENOENT (there is none), -EDOM (it has no such argument), -ENOTSUP (as above), -E2BIG (more than
 * PROBE_MAX_POINTS), -EINVAL (its notes are broken) or -ENOMEM.
 */
_must_check_ int usdt_find(struct objfile *objfile, const char *provider, const char *name,
			   unsigned int argument, struct probe_point_list *ret,
			   struct near_names *near);

/* Returns 0, -E2BIG or -ENOMEM. */
_must_check_ int probe_point_list_add(struct probe_point_list *list,
				      const struct probe_point *point);

#endif
