/*
 * The memory that a raw sample carries: one stack, or a signal handler's and the one that the
 * handler has interrupted.
 */
#ifndef COLLECT_RAW_STACK_H
#define COLLECT_RAW_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attributes.h"
#include "wire/wire.h"

/* Whether a record that came with this size in bytes has all that it says it has. */
bool raw_stack_is_whole(const struct wire_raw_sample *record, size_t size);

/* Bytes of both stacks; of a record that is whole. */
size_t raw_stack_get_size(const struct wire_raw_sample *record);

/* 8 bytes of the thread's memory. Returns 0, or -1 when the record does not have them. */
_must_check_ int raw_stack_read(const struct wire_raw_sample *record, wire_u64 address,
				wire_u64 *ret);

#endif
