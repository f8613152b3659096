/*
 * Reads .eh_frame and .debug_frame: the entries of functions, and the instructions in them, which
 * frame_program.h executes.
 *
 * Sections are untrusted: malformed entries are counted and skipped, and the time is linear in the
 * size. Offsets are bytes from the start of the entry's section.
 *
 * Not thread-safe; different readers are independent.
 */
#ifndef UNWIND_FRAME_READER_H
#define UNWIND_FRAME_READER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/bytes.h"
#include "unwind/frame_section.h"

#define FRAME_READER_SECTIONS_MAX 2

/* Common information entry, which several functions share. */
struct frame_cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra_register; /* DWARF number of the return address column */
	uint32_t offset;
	uint32_t program_offset; /* of its initial instructions */
	uint32_t program_size;   /* in bytes */
	uint8_t section;         /* index in frame_reader.sections */
	uint8_t encoding;        /* of pointers: DW_EH_PE_… */
	bool has_sizes;          /* its functions' entries hold augmentation data */
	bool is_signal_frame;
	bool is_usable; /* false: unknown form */
};

/* Frame description entry: the code of a function, or of a part of it. */
struct frame_function {
	uint64_t start;          /* ELF address */
	uint32_t size;           /* of the code, in bytes; never 0 */
	uint32_t cie;            /* index in frame_reader.cies */
	uint32_t program_offset; /* of its instructions */
	uint32_t program_size;   /* in bytes */
};

/* All zero is an empty reader. */
struct frame_reader {
	struct frame_section sections[FRAME_READER_SECTIONS_MAX];
	uint8_t num_sections;
	ARRAY(struct frame_cie) cies;           /* a section after the other, by offset */
	ARRAY(struct frame_function) functions; /* in the order of the sections' bytes */
	uint64_t num_malformed;                 /* skipped entries */
};

void frame_reader_release(struct frame_reader *reader);

/*
 * Read all entries of a section.
 *
 * section   its data must outlive the reader; at most FRAME_SECTION_MAX_BYTES
 *
 * Functions without code, and those at address 0, are skipped and not counted: linkers leave them
 * when they drop the function.
 *
 * Returns 0 or -ENOMEM.
 *
 * Source: DWARF 5, section 6.4.1; LSB 5, "Exception Frames".
 */
_must_check_ int frame_reader_add_section(struct frame_reader *reader,
					  const struct frame_section *section);

/*
 * Read a pointer of the form `encoding` (DW_EH_PE_…). bytes are those of the section from its
 * start, as the pointer may be relative to its own place. Forms that cannot be resolved in a file
 * (indirect, omitted, relative to an unknown base) make bytes fail.
 */
uint64_t frame_reader_read_pointer(struct bytes *bytes, uint8_t encoding,
				   const struct frame_section *section);

#endif
