/*
 * The code after the system call in the C library's clone() and clone3().
 *
 * A new thread comes out of the kernel there, on a stack without a caller; the creating thread
 * returns to its caller from there. So glibc omits these instructions from its call-frame
 * information. Only rax tells the two apart.
 */
#ifndef UNWIND_CLONE_RETURN_H
#define UNWIND_CLONE_RETURN_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"

/* 10 bytes in glibc 2.31 to 2.43, four more if the jump to the error handling is a long one. */
#define CLONE_RETURN_MIN_BYTES 10
#define CLONE_RETURN_MAX_BYTES 14

/*
 * Whether the code from start up to end (ELF addresses) is a system call, a test of rax, and a
 * return. A thread with rax = 0 jumps over that return, to end.
 *
 * Source: glibc, sysdeps/unix/sysv/linux/x86_64/clone.S and clone3.S.
 */
bool clone_return_is_at(const struct objfile *objfile, uint64_t start, uint64_t end);

#endif
