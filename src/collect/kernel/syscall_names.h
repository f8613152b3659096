/* Names of system calls, from the kernel's tables. */
#ifndef COLLECT_KERNEL_SYSCALL_NAMES_H
#define COLLECT_KERNEL_SYSCALL_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * call  from struct wire_sample, not 0
 * ret   "read"; for an unknown call, or one of an unknown table, its number
 */
void syscall_get_name(uint64_t call, char *ret, size_t size);

#endif
