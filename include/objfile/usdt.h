/*
 * Statically defined probes of a program (USDT, SystemTap's <sys/sdt.h>): their addresses, their
 * semaphores (counters of attached tracers) and the locations of their arguments.
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

/* A note as stored in the file. Addresses are ELF addresses at link time. */
struct usdt_note {
	uint64_t location;
	uint64_t base;      /* link-time address of .stapsdt.base */
	uint64_t semaphore; /* 0: none */
	const char *provider;
	const char *name;
	const char *arguments; /* "8@OPERAND -4@OPERAND", as assembly has operands */
};

/*
 * Pass the notes of section .note.stapsdt of a 64-bit file to handle(); strings are borrowed from
 * the section. Other notes are skipped.
 *
 * Returns 0, the first nonzero result of handle(), or -EINVAL (the notes have no end).
 */
_must_check_ int usdt_read_notes(const void *notes, size_t size,
				 int (*handle)(const struct usdt_note *note, void *context),
				 void *context);

enum argument_source {
	ARGUMENT_NONE, /* no argument: each hit has weight 1 */
	ARGUMENT_CONSTANT,
	ARGUMENT_REGISTER,
	ARGUMENT_MEMORY,  /* at base + index * scale + displacement */
	ARGUMENT_PRODUCT, /* product of two registers, base and index, for calloc() */
};

/* Absent register. */
#define ARGUMENT_NO_REGISTER 255
/* Registers are numbered by their position, in words, in the kernel's struct pt_regs. */
#define ARGUMENT_MAX_REGISTER 32

/* Location of an argument when the probe is hit. */
struct probe_argument {
	enum argument_source source;
	uint8_t bytes;     /* 1, 2, 4 or 8 */
	uint8_t is_signed; /* 0 or 1 */
	uint8_t base;      /* a register */
	uint8_t index;     /* a second register, or ARGUMENT_NO_REGISTER */
	uint8_t scale;
	int64_t displacement; /* or the constant itself */
};

/*
 * Location of argument `number`, counted from 1, parsed from the argument string of a note.
 *
 * machine  e_machine of the ELF header
 *
 * Returns 0, -ENOENT (fewer arguments) or -ENOTSUP (not an integer, or out of reach of a BPF
 * program).
 */
_must_check_ int usdt_read_argument(const char *arguments, unsigned int number, uint16_t machine,
				    struct probe_argument *ret);

/*
 * Location of a function's argument (number from 1) or return value (number 0) by the calling
 * convention. Returns 0 or -ENOENT (not passed in a register).
 */
_must_check_ int function_argument_get(unsigned int number, uint16_t machine,
				       struct probe_argument *ret);

/* Maximum number of points per probe name. */
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
 * argument  its number; 0: not wanted
 * near      receives "provider:name" of the other probes; NULL: not wanted
 *
 * Returns 0, -ENOENT (no such probe), -EDOM (no such argument), -ENOTSUP (as above), -E2BIG (more
 * than PROBE_MAX_POINTS), -EINVAL (malformed notes) or -ENOMEM.
 */
_must_check_ int usdt_find(struct objfile *objfile, const char *provider, const char *name,
			   unsigned int argument, struct probe_point_list *ret,
			   struct near_names *near);

/* Returns 0, -E2BIG or -ENOMEM. */
_must_check_ int probe_point_list_add(struct probe_point_list *list,
				      const struct probe_point *point);

#endif
