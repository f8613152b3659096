/*
 * The memory in a raw sample: one stack, or a signal handler's and the stack that it has
 * interrupted.
 */
#ifndef COLLECT_KERNEL_RAW_STACK_H
#define COLLECT_KERNEL_RAW_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "unwind/replay.h"
#include "wire/wire.h"

/* Whether the sizes inside of a record fit the record's size in bytes. */
bool raw_stack_is_whole(const struct wire_raw_sample *record, size_t size);

/* Bytes of both stacks; of a record that is whole. */
size_t raw_stack_get_size(const struct wire_raw_sample *record);

/* The stack of a whole record as the replay takes it; borrowed from the record. */
struct replay_stack raw_stack_for_replay(const struct wire_raw_sample *record);

#endif
