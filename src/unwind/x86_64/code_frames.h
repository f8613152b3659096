/*
 * Functions without call-frame information: hand-written assembly, and whole files built without it
 * (musl). Their rules are derived from their instructions, see code_rules.h. x86-64.
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

/* In frame_function.cie: the function was found in the code itself. */
#define FRAME_CIE_OF_CODE (UINT32_MAX - 2)

/* All zero is empty. */
struct code_frames {
	struct code_stretches stretches;
};

void code_frames_release(struct code_frames *frames);

/* Functions are separated by padding: compilers align to 16 or 32 bytes, to 64 at most. */
#define PADDING_MAX_BYTES 64
/*
 * Gaps up to this size are not read: nearly every function has one after it, and they hold little.
 */
#define PADDING_UNREAD_BYTES 15

/* Whether it is only the padding of linkers and compilers. */
bool code_is_padding(const uint8_t *code, size_t size);

/*
 * Add functions for the code between the reader's functions, if that can be understood.
 *
 * reader   its functions are sorted and do not overlap; new ones are appended, unsorted
 *
 * Returns 0 or -ENOMEM. Unreadable code is skipped.
 */
_must_check_ int code_frames_add(Elf *elf, struct frame_reader *reader, struct code_frames *ret);

/*
 * Like frame_program_run(), for a function whose common part is FRAME_CIE_OF_CODE. Returns 0 or
 * -ENOMEM.
 */
_must_check_ int code_frames_run(const struct code_frames *frames,
				 const struct frame_function *function, struct frame_rows *rows);

#endif
