/*
 * Finds a program's call-frame information: the bytes of .eh_frame and .debug_frame.
 *
 * Not thread-safe, as libelf is not.
 */
#ifndef UNWIND_FRAME_SECTION_H
#define UNWIND_FRAME_SECTION_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

/* Larger sections are not read; the largest known one has 20 MB. Offsets fit 32 bits. */
#define FRAME_SECTION_MAX_BYTES (512u << 20)

struct frame_section {
	const void *data;      /* borrowed from the Elf */
	size_t size;           /* in bytes */
	uint64_t elf_address;  /* of data; 0 for .debug_frame, which is not loaded */
	uint64_t text_address; /* of .text, for pointers that are relative to it; 0: unknown */
	uint64_t data_address; /* of .got, likewise */
	bool is_debug_frame;   /* entries have the form of DWARF, not of the LSB */
};

/*
 * Find .eh_frame by its section header; in a file without section headers by PT_GNU_EH_FRAME. Only
 * the section is read, not the file. Nothing of a 32-bit or big-endian file is found.
 *
 * Returns 0 or -ENOENT (none, or not readable).
 *
 * Source: Linux Standard Base 5, core, "Exception Frames".
 */
_must_check_ int frame_section_find_eh_frame(Elf *elf, struct frame_section *ret);

/* The same for .debug_frame, which may be compressed. Returns 0 or -ENOENT. */
_must_check_ int frame_section_find_debug_frame(Elf *elf, struct frame_section *ret);

#endif
