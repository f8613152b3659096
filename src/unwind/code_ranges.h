/*
 * The code of an ELF file: its executable segments, and the entry point if processes start there.
 *
 * Not thread-safe, as libelf is not.
 */
#ifndef UNWIND_CODE_RANGES_H
#define UNWIND_CODE_RANGES_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "objfile/range_map.h"

struct code_ranges {
	struct range_map segments; /* executable PT_LOAD, by ELF address */
	uint64_t text_bytes;       /* of executable sections; without section headers of segments */
	uint64_t entry;            /* ELF address of an entry point that has no caller; 0: none */
	bool may_have_c_library;   /* it is libc, or statically linked */
};

/* Returns 0 or -ENOMEM; release it in both cases. Unreadable parts are skipped. */
_must_check_ int code_ranges_init(struct code_ranges *ranges, Elf *elf);
void code_ranges_release(struct code_ranges *ranges);

#endif
