/*
 * Code that a process generates, by address and time: a JIT compiler puts new code where older code
 * was, so that an address has one name after the other.
 *
 * Entries are added in the order in which the code was generated, and none is ever forgotten. Where
 * they overlap, the newer one hides the older one from its time on.
 */
#ifndef PROCESS_JIT_CODE_H
#define PROCESS_JIT_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"

struct jit_code;

struct jit_code *jit_code_new(void); /* NULL when out of memory */
void jit_code_free(struct jit_code *code);

/*
 * Add code in [start, end), start < end. The name is copied.
 *
 * time_ns   from when on it was there; one before that of the entry added last counts as that one
 *
 * Returns 0, -ENOMEM, or -EFBIG when there are too many entries already: a million, or 64 MiB of
 * them.
 */
_must_check_ int jit_code_add(struct jit_code *code, uint64_t time_ns, uint64_t start, uint64_t end,
			      const char *name, size_t length);

/* The memory of the entries. */
uint64_t jit_code_get_size_bytes(const struct jit_code *code);

/* A later time for the entry that was added last, if there is one. */
void jit_code_delay_last(struct jit_code *code, uint64_t time_ns);

/* How many entries were there at time_ns: they are the first ones. */
size_t jit_code_count_until(const struct jit_code *code, uint64_t time_ns);

/*
 * Name at pc when only the first num_entries were there; NULL when they do not name it. Borrowed
 * until the next jit_code_add().
 */
const char *jit_code_find(const struct jit_code *code, uint64_t pc, size_t num_entries);

/* The first name that pc ever had, or NULL. ret_time_ns  since when; only set when there is one */
const char *jit_code_find_first(const struct jit_code *code, uint64_t pc, uint64_t *ret_time_ns);

#endif
