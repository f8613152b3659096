/*
 * CPython's code objects: what the sampling program has read of them (wire/python.h), as names of functions and files,
 * and the line that an instruction is of.
 *
 * All that is read are bytes of a foreign process, which may be anything.
 *
 * Which instruction a frame is at (wire_runtime_frame.position) is what its f_lasti says, in bytes:
 *
 *   3.8, 3.9    f_lasti
 *   3.10        f_lasti, of two bytes each
 *   3.11, 3.12  prev_instr less the first instruction: of a call its last cache entry
 *   from 3.13   instr_ptr less the first instruction: it stays at the call while that lasts, as what it returns to is
 *               return_offset further
 *
 * Where that is before the first instruction the frame has not begun (WIRE_PYTHON_NOT_BEGUN).
 *
 * A child that was forked has its parent's code objects at the same addresses; they are sent again under its own pid.
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

/* What a recording keeps: so many code objects, and so many bytes of their names and tables of lines. */
#define PYTHON_CODES_MAX      (1u << 20)
#define PYTHON_CODES_TEXT_MAX (64u << 20)

struct python_code {
	/* These four say which one it is. */
	uint64_t generation; /* of the process, as in wire_sample */
	uint64_t address;
	uint32_t pid;
	uint32_t fingerprint;
	/*
	 * UTF-8 without control characters, borrowed until python_codes_free(). Empty where it could not be read; with
	 * an ellipsis at its end where more of it was not sent.
	 */
	const char *name; /* qualified, where the version has that */
	const char *file;
	const uint8_t *line_table; /* as the version has it; borrowed as well */
	uint32_t first_line;       /* 0: not known */
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
 * Add what was sent of a code object. One that is known keeps what is known of it, and gets what was not read before.
 *
 * record  a whole one, aligned; its content need not be what the program sends
 *
 * Returns 0, -EINVAL (lengths are not those of the record's places), -ENOSPC (it would be more than is kept), or
 * -ENOMEM. After an error nothing is added; whoever calls it counts that.
 */
_must_check_ int python_codes_add(struct python_codes *codes,
				  const struct wire_python_code *record);

/* NULL: it was not added. Borrowed until the next one is. */
const struct python_code *python_codes_find(const struct python_codes *codes, uint32_t pid,
					    uint64_t generation, uint64_t address,
					    uint32_t fingerprint);

/*
 * The line that a frame is at, as its f_lineno says.
 *
 * instruction  as wire_runtime_frame has it, flags included
 *
 * Returns 0 where there is none: code that the compiler has added belongs to no line, tables may be cut, and the
 * version one that is not known.
 */
uint32_t python_code_get_line(const struct python_code *code, uint32_t instruction);

#endif
