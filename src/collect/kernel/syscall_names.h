/* System calls by the names that the kernel's tables give them. */
#ifndef COLLECT_KERNEL_SYSCALL_NAMES_H
#define COLLECT_KERNEL_SYSCALL_NAMES_H

#include <stddef.h>
#include <stdint.h>

/*
 * call  as struct wire_sample has it, not 0
 * ret   "read"; of one that is not known its number
 */
void syscall_get_name(uint64_t call, char *ret, size_t size);

#endif
