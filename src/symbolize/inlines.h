/*
 * Function, inlined calls and source lines of a code address, from DWARF debug information.
 *
 * Debug information is untrusted input: depth and length of every walk are bounded, and data beyond
 * the bounds is not found. Not thread-safe.
 */
#ifndef SYMBOLIZE_INLINES_H
#define SYMBOLIZE_INLINES_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/objfile.h"

#define SOURCE_FRAMES_MAX 64

struct inlines;

struct source_frame {
	const char *name; /* linkage name (mangled), or the plain one; NULL: unknown */
	const char *file; /* NULL: unknown */
	uint32_t line;    /* from 1; 0: unknown */
};

/* Innermost first. All but the last were inlined into the next. */
struct source_frames {
	struct source_frame items[SOURCE_FRAMES_MAX];
	size_t length;
	bool is_split; /* inlined calls are in a .dwo file, and missing here */
};

/*
 * objfile, dwarf   the file and its debug information; borrowed, must outlive the result, which drops
 *                  the debug information now and then
 *
 * Reads the address ranges of all compilation units. (.debug_aranges would be quicker, but clang
 * writes none.) Returns 0 or -ENOMEM.
 */
_must_check_ int inlines_new(struct objfile *objfile, Dwarf *dwarf, struct inlines **ret);
void inlines_free(struct inlines *inlines);

/* The address is in no compilation unit. */
#define INLINES_NO_UNIT UINT32_MAX

/* The compilation unit of an address: addresses are looked up unit by unit, in any order of them. */
uint32_t inlines_get_unit(const struct inlines *inlines, uint64_t elf_address);

/*
 * ret   at least one frame; strings are borrowed until the next call. The name of the last
 *       frame may be NULL: the address has a line, but no function
 *
 * Returns 0, -ENOENT (no compilation unit contains the address) or -ENOMEM.
 *
 * Source: DWARF 5, sections 3.3.8 (inlining) and 6.2 (line table).
 */
_must_check_ int inlines_find(struct inlines *inlines, uint64_t elf_address,
			      struct source_frames *ret);

#endif
