/*
 * Functions by call-frame information (.eh_frame): where they begin and end, and which are the
 * outermost of their thread. Stripped files have it, too.
 *
 * Not thread-safe.
 */
#ifndef OBJFILE_FRAME_INFO_H
#define OBJFILE_FRAME_INFO_H

#include <libelf.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"

struct frame_info;

/*
 * elf   borrowed, must outlive the result. Its .eh_frame is found by section, or by
 *       PT_GNU_EH_FRAME when there are no section headers. A file without any gives an empty
 *       result.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int frame_info_new(Elf *elf, struct frame_info **ret);
void frame_info_free(struct frame_info *info);

/*
 * The start of the function that holds the address: of its frame description entry, to be exact,
 * and the cold part of a function has an entry of its own.
 *
 * Returns 0, -ENOENT or -ENOMEM. The first call reads the whole of .eh_frame.
 *
 * Source: Linux Standard Base 5, "Exception Frames".
 */
_must_check_ int frame_info_find_function(struct frame_info *info, uint64_t elf_address,
					  uint64_t *ret_start);

/* Of a function, or of a gap between two. */
struct code_bounds {
	uint64_t start; /* ELF addresses */
	uint64_t end;   /* first address after it */
};

/*
 * The bounds of the function that holds the address. Returns -ENOENT when none does, with the bounds
 * of the gap: where the function before it ends (0: there is none) and where the next one starts
 * (UINT64_MAX). On -ENOMEM *ret is not set.
 */
_must_check_ int frame_info_find_bounds(struct frame_info *info, uint64_t elf_address,
					struct code_bounds *ret);

enum frame_outermost {
	FRAME_HAS_CALLER,
	FRAME_IS_OUTERMOST,  /* the return address is undefined */
	FRAME_NOT_DESCRIBED, /* no call-frame information for this address */
};

enum frame_outermost frame_info_is_outermost(struct frame_info *info, uint64_t elf_address);

#endif
