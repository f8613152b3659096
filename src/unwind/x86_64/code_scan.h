/* Looks through the code of a file for instructions that are recognized. */
#ifndef UNWIND_CODE_SCAN_H
#define UNWIND_CODE_SCAN_H

#include <libelf.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "unwind/frame_reader.h"

struct code_scan {
	/* Look at a piece of code; address is the ELF address of its first byte. Returns 0 or -ENOMEM. */
	int (*look)(void *context, const uint8_t *code, size_t size, uint64_t address);
	void *context;
};

/*
 * Look at sections of code up to max_bytes in size, and in larger ones only at the code between the
 * reader's functions, which are sorted. Returns 0, or the first error of look(). Unreadable code is
 * skipped.
 */
_must_check_ int code_scan_run(const struct code_scan *scan, Elf *elf,
			       const struct frame_reader *reader, uint64_t max_bytes);

#endif
