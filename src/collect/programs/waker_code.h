/*
 * Location of wakeups and interrupts in the kernel. A stack taken when a thread is woken starts
 * with the wakeup. If an interrupt woke the thread, the frames outside of the interrupt have no
 * part in it.
 */
#ifndef COLLECT_PROGRAMS_WAKER_CODE_H
#define COLLECT_PROGRAMS_WAKER_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/array.h"
#include "base/attributes.h"

struct code_range {
	uint64_t start;
	uint64_t end; /* first byte after it */
};

struct waker_code {
	struct code_range wakeup;            /* the function try_to_wake_up; all 0: unknown */
	ARRAY(struct code_range) interrupts; /* entry functions, in order; empty: unknown */
};

/* From /proc/kallsyms; empty if that hides addresses. Returns 0 or -ENOMEM. */
_must_check_ int waker_code_find(struct waker_code *ret);
/* The same from an open file. Exposed for tests. */
_must_check_ int waker_code_read(FILE *kallsyms, struct waker_code *ret);
void waker_code_release(struct waker_code *code);

/* The waker's part of a kernel stack. */
struct waker_levels {
	uint32_t num_inner;  /* innermost ones that belong to the wakeup itself */
	uint32_t num_levels; /* including these; frames further out were interrupted */
	bool is_interrupt;
};

struct waker_levels waker_code_find_levels(const struct waker_code *code, const uint64_t *pcs,
					   uint32_t num_pcs);

#endif
