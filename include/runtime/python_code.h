/*
 * CPython's code objects, as read by the sampling program (wire/python.h): names of functions and
 * files, and the lines of instructions.
 *
 * All of it is read in a foreign process and is untrusted.
 *
 * The instruction of a frame (wire_runtime_frame.position) is its f_lasti, in bytes:
 *
 *   3.8, 3.9    f_lasti
 *   3.10        f_lasti, of two bytes each
 *   3.11, 3.12  prev_instr less the first instruction: of a call its last cache entry
 *   from 3.13   instr_ptr less the first instruction: it stays at the call while that lasts, since
 *               the return goes to return_offset further
 *
 * If that is before the first instruction, the frame has not started (WIRE_PYTHON_NOT_BEGUN).
 *
 * A forked child has its parent's code objects at the same addresses; they are sent again under its
 * own pid.
 *
 * Not thread-safe.
 */
#ifndef RUNTIME_PYTHON_CODE_H
#define RUNTIME_PYTHON_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "wire/python.h"

/* Limits of a recording: number of code objects, and bytes of their names and line tables. */
#define PYTHON_CODES_MAX      (1u << 20)
#define PYTHON_CODES_TEXT_MAX (64u << 20)

struct python_code {
	/* These four identify it. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t address;
	uint32_t pid;
	uint32_t fingerprint;
	/*
	 * UTF-8 without control characters, borrowed until python_codes_free(). Empty if it could
	 * not be read; ends with an ellipsis if only a part was sent.
	 */
	const char *name; /* qualified, where the version has that */
	const char *file;
	const uint8_t *line_table; /* as the version has it; borrowed as well */
	uint32_t first_line;       /* 0: unknown */
	uint16_t num_line_bytes;
	bool is_line_table_cut; /* there is more of it */
	uint8_t minor;          /* of version 3 */
};

struct python_codes;

struct python_codes *python_codes_new(void); /* NULL when out of memory */
void python_codes_free(struct python_codes *codes);
static inline void python_codes_freep(struct python_codes **codes)
{
	python_codes_free(*codes);
}

/*
 * Add a code object that was sent. If it is known already, only its missing parts are added.
 *
 * record  a whole one, aligned; its content is untrusted
 *
 * Returns 0, -EINVAL (lengths exceed the record's places), -ENOSPC (the limit is reached), or
 * -ENOMEM. After an error nothing is added; the caller counts that.
 */
_must_check_ int python_codes_add(struct python_codes *codes,
				  const struct wire_python_code *record);

/* NULL: it was not added. Borrowed until the next one is. */
const struct python_code *python_codes_find(const struct python_codes *codes, uint32_t pid,
					    uint64_t generation, uint64_t address,
					    uint32_t fingerprint);

/*
 * The line of a frame: its f_lineno.
 *
 * instruction  as in wire_runtime_frame, flags included
 *
 * Returns 0 if it has no line: code added by the compiler belongs to no line, tables may be
 * truncated, and the version may be unknown.
 */
uint32_t python_code_get_line(const struct python_code *code, uint32_t instruction);

#endif
