/*
 * A check of stack walks that needs no debug information: a return address must follow a call
 * instruction. A walk that went wrong picks up other values from the stack, which mostly do not.
 * For tests; it reads the code before each return address once.
 *
 * Not for the return address of a signal handler, which the kernel put there.
 */
#ifndef COLLECT_STACKS_CALL_CHECK_H
#define COLLECT_STACKS_CALL_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/account.h"
#include "process/file_table.h"

struct call_check;

/* files is borrowed. Returns NULL when out of memory. */
struct call_check *call_check_new(const struct file_table *files);
void call_check_free(struct call_check *check);

/*
 * file, file_offset   of a return address; files that are not open are skipped
 * Returns 0 or -ENOMEM.
 */
_must_check_ int call_check_add(struct call_check *check, uint32_t file, uint64_t file_offset);

struct call_check_counts call_check_get_counts(const struct call_check *check);

#endif
