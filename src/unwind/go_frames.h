/*
 * Call-frame information from the table of functions that Go programs carry. It is all that is left
 * of it in a stripped program (-ldflags=-s): Go writes no .eh_frame.
 *
 * It says what Go's .debug_frame says: the CFA is the stack pointer and the depth, the return
 * address is below it, and registers are not followed. x86-64.
 */
#ifndef UNWIND_GO_FRAMES_H
#define UNWIND_GO_FRAMES_H

#include <stdint.h>

#include "base/attributes.h"
#include "objfile/go_table.h"
#include "unwind/frame_program.h"
#include "unwind/frame_reader.h"
#include "unwind/go_runtime.h"

/* Stands for the table as the common part of a function. */
#define FRAME_CIE_OF_GO (UINT32_MAX - 1)

struct go_frames {
	struct go_table table;
	/* Functions may share what describes them, so that it is this that bounds time and memory.
	 */
	uint64_t num_rows_left;
};

/*
 * Add a Go program's functions to those of the reader, and those with a role to the runtime's.
 * Other files have none.
 *
 * ret   borrows from elf; zero when there is no table
 *
 * Returns 0 or -ENOMEM. Entries that are broken are counted as the reader's and left out.
 */
_must_check_ int go_frames_add(Elf *elf, struct frame_reader *reader, struct go_runtime *runtime,
			       struct go_frames *ret);

/*
 * Like frame_program_run(), for a function whose common part is FRAME_CIE_OF_GO. What follows the
 * last depth is padding: the function is cut there. One without depths is UNWIND_CFA_UNSUPPORTED.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int go_frames_run(struct go_frames *frames, struct frame_function *function,
			       struct frame_rows *rows);

#endif
