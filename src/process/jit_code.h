/*
 * Code that a process generates, by address and time: a JIT compiler puts new code in the place of
 * old code, so that an address has several names over time.
 *
 * Entries are added in the order of code generation, and never removed. If they overlap, the newer
 * one hides the older one from its time on.
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
 * time_ns   start of its existence; a time before that of the last entry counts as that one
 *
 * Returns 0, -ENOMEM, or -EFBIG if there are too many entries already: a million, or 64 MiB.
 */
_must_check_ int jit_code_add(struct jit_code *code, uint64_t time_ns, uint64_t start, uint64_t end,
			      const char *name, size_t length);

/* Memory used by the entries. */
uint64_t jit_code_get_size_bytes(const struct jit_code *code);

/* Set a later time for the last entry, if there is one. */
void jit_code_delay_last(struct jit_code *code, uint64_t time_ns);

/* Number of entries at time_ns: they are the first ones. */
size_t jit_code_count_until(const struct jit_code *code, uint64_t time_ns);

/* Name at pc among the first num_entries, or NULL. Borrowed until the next jit_code_add(). */
const char *jit_code_find(const struct jit_code *code, uint64_t pc, size_t num_entries);

/* The first name that pc ever had, or NULL. ret_time_ns  start of the name; only set with a name */
const char *jit_code_find_first(const struct jit_code *code, uint64_t pc, uint64_t *ret_time_ns);

#endif
