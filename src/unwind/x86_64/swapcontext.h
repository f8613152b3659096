/*
 * The part of glibc's swapcontext that is between two stacks.
 *
 * glibc describes it as a function that does not change its stack pointer. But between the load of
 * the new stack pointer and the push of the new return address, there is no return address on the
 * stack. A walk by that description goes wrong.
 */
#ifndef UNWIND_SWAPCONTEXT_H
#define UNWIND_SWAPCONTEXT_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"

/* It has 260 bytes in glibc 2.36; with CET there are some 200 more. */
#define SWAPCONTEXT_MIN_BYTES 200
#define SWAPCONTEXT_MAX_BYTES 640

/*
 * Whether the function at the ELF address, size bytes long, first saves rbx in the ucontext at rdi,
 * later loads the stack pointer from the ucontext at rdx, and then pushes rip from there.
 *
 * ret_start  the first instruction after the load
 * ret_end    the first one after the push. Between the two, the registers of the context that is
 *            about to run are only in the ucontext at rdx
 *
 * Source: glibc, sysdeps/unix/sysv/linux/x86_64/swapcontext.S.
 */
bool swapcontext_find(const struct objfile *objfile, uint64_t elf_address, uint64_t size,
		      uint64_t *ret_start, uint64_t *ret_end);

#endif
