/*
 * Call-frame information that is written for x86-64 only: CFAs and return addresses in its
 * registers, glibc's contexts, and procedure linkage tables.
 *
 * Source: output of GCC, clang, GNU ld and OpenSSL's assembly; glibc, sysdeps/x86_64.
 */
#ifndef UNWIND_FRAME_FORMS_H
#define UNWIND_FRAME_FORMS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/bytes.h"
#include "unwind/frame_rule.h"

/* enum unwind_cfa_op of a CFA that is this register and an offset; UNWIND_CFA_UNSUPPORTED: no rule */
uint8_t frame_form_get_cfa_op(uint64_t dwarf_register);

/* Returns false if no rule has the return address in this register. */
bool frame_form_find_ra_op(uint64_t dwarf_register, uint8_t *ret_op);

/*
 * The rule of a frame whose caller's registers are all in one context: UNWIND_CFA_SIGNAL,
 * UNWIND_CFA_JUMP, UNWIND_CFA_CONTEXT, or UNWIND_CFA_UNSUPPORTED for other frames.
 */
uint8_t frame_form_match_context(const struct frame_state *state, bool is_signal_frame);

/*
 * The expression that linkers write for a procedure linkage table: each slot of 16 bytes jumps
 * through the GOT, and from a certain byte on it has pushed its index. Linkers differ only in that
 * byte.
 */
bool frame_form_match_plt(struct bytes expression, int64_t *ret_boundary);

#endif
