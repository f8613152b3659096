/*
 * Executes call-frame instructions: from the entry of a function to its rows of rules.
 *
 * Tracks only the values needed to find the next frame: the canonical frame address (CFA), the
 * return address, the frame pointer and bx (some functions compute the CFA from it).
 *
 * Thread-safe: the only state is passed by the caller.
 */
#ifndef UNWIND_FRAME_PROGRAM_H
#define UNWIND_FRAME_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "unwind/frame_reader.h"
#include "unwind/frame_rule.h"
#include "wire/unwind.h"

/* Longer programs are not executed. The longest known one has 70 KB. */
#define FRAME_PROGRAM_MAX_BYTES (1u << 20)
/* States that a program can remember at a time. GCC and clang remember one, assembly a few. */
#define FRAME_PROGRAM_MAX_REMEMBERED 32

struct frame_row {
	uint64_t elf_address; /* from here to the next row, or to the function's end */
	struct unwind_rule rule;
};

/* Rows of one function, in order of address. All zero is empty; reused from call to call. */
struct frame_rows {
	ARRAY(struct frame_row) rows;
	/*
	 * Rows where the location of the saved fp or bx has no rule, so the register counts as
	 * lost.
	 */
	uint64_t num_lost_registers;
};

void frame_rows_release(struct frame_rows *rows);

/*
 * Execute the initial instructions of a common part. If they are malformed, so is every function
 * that starts with this state.
 */
void frame_program_start(const struct frame_reader *reader, const struct frame_cie *cie,
			 struct frame_state *ret);

/*
 * Execute a function's instructions.
 *
 * initial  the state from frame_program_start() for the function's common part
 * end      ELF address to stop at, as the next function may truncate this one
 * rows     replaced by the function's rows; the first one is at its start. After malformed
 *          instructions the rest of the function is UNWIND_CFA_UNSUPPORTED. Adds to
 *          num_lost_registers.
 *
 * Returns 0 or -ENOMEM.
 *
 * Source: DWARF 5, sections 6.4.2 and 6.4.3; System V ABI, AMD64 supplement, figure 3.36.
 */
_must_check_ int frame_program_run(const struct frame_reader *reader,
				   const struct frame_function *function,
				   const struct frame_state *initial, uint64_t end,
				   struct frame_rows *rows);

#endif
