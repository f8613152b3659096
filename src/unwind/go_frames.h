/*
 * Call-frame information from Go's pclntab. Go writes no .eh_frame, so in a stripped program
 * (-ldflags=-s) there is nothing else.
 *
 * It is equivalent to Go's .debug_frame: the CFA is the stack pointer plus the SP delta, the return
 * address is below it, and registers are not tracked.
 */
#ifndef UNWIND_GO_FRAMES_H
#define UNWIND_GO_FRAMES_H

#include <stdint.h>

#include "base/attributes.h"
#include "objfile/go_table.h"
#include "unwind/frame_program.h"
#include "unwind/frame_reader.h"
#include "unwind/x86_64/go_runtime.h"

/* In frame_function.cie: the function is from pclntab. */
#define FRAME_CIE_OF_GO (UINT32_MAX - 1)

struct go_frames {
	struct go_table table;
	/* Bounds time and memory: many functions may refer to the same pcsp table. */
	uint64_t num_rows_left;
};

/*
 * Add a Go program's functions to those of the reader, and those with a role to the runtime's. Does
 * nothing for other files.
 *
 * ret   borrows from elf; zero if there is no table
 *
 * Returns 0 or -ENOMEM. Malformed entries are skipped, and counted as the reader's.
 */
_must_check_ int go_frames_add(Elf *elf, struct frame_reader *reader, struct go_runtime *runtime,
			       struct go_frames *ret);

/*
 * Like frame_program_run(), for a function whose common part is FRAME_CIE_OF_GO. The code after the
 * last SP delta is padding, so the function is truncated there. A function without SP deltas is
 * UNWIND_CFA_UNSUPPORTED.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int go_frames_run(struct go_frames *frames, struct frame_function *function,
			       struct frame_rows *rows);

#endif
