/*
 * Functions that no call-frame information describes: hand-written assembly, and whole files that
 * were built without it (musl). Their rules come from their instructions, see code_rules.h. x86-64.
 */
#ifndef UNWIND_CODE_FRAMES_H
#define UNWIND_CODE_FRAMES_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "unwind/frame_program.h"
#include "unwind/frame_reader.h"
#include "unwind/x86_64/code_rules.h"

/* In frame_function.cie: the function comes from the code itself. */
#define FRAME_CIE_OF_CODE (UINT32_MAX - 2)

/* All zero is empty. */
struct code_frames {
	struct code_stretches stretches;
};

void code_frames_release(struct code_frames *frames);

/* Between functions lies padding: compilers align to 16 or 32 bytes, to 64 at most. */
#define PADDING_MAX_BYTES 64
/* So little cannot hold much, and is not looked at: there is such a gap behind nearly every function. */
#define PADDING_UNREAD_BYTES 15

/* Nothing but what linkers and compilers fill up with. */
bool code_is_padding(const uint8_t *code, size_t size);

/*
 * Add the code between the reader's functions, where it is understood, to these.
 *
 * reader   its functions are sorted and do not overlap; what is added comes behind them, unsorted
 *
 * Returns 0 or -ENOMEM. What cannot be read is left out.
 */
_must_check_ int code_frames_add(Elf *elf, struct frame_reader *reader, struct code_frames *ret);

/*
 * Like frame_program_run(), for a function whose common part is FRAME_CIE_OF_CODE. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int code_frames_run(const struct code_frames *frames,
				 const struct frame_function *function, struct frame_rows *rows);

#endif
