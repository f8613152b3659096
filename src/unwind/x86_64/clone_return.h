/*
 * Where clone() and clone3() of the C library come back from their system call.
 *
 * A new thread comes out of the kernel there, on a stack that nobody has called from; who has made it returns to its caller from
 * there. glibc therefore leaves these instructions out of its call-frame information. Only rax tells the two apart.
 */
#ifndef UNWIND_CLONE_RETURN_H
#define UNWIND_CLONE_RETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"

/* 10 bytes in glibc 2.31 to 2.43, four more where the jump to its end of errors is a far one. */
#define CLONE_RETURN_MIN_BYTES 10
#define CLONE_RETURN_MAX_BYTES 14

/*
 * Whether the code from start up to end (ELF addresses) is a system call, a look at rax, and a return that a thread
 * with 0 in it jumps over, to end.
 *
 * Source: glibc, sysdeps/unix/sysv/linux/x86_64/clone.S and clone3.S.
 */
bool clone_return_is_at(const struct objfile *objfile, uint64_t start, uint64_t end);

#endif
