/*
 * Where swapcontext of the C library is on its way from one stack to another.
 *
 * glibc describes it as a function that never touches its stack. But between the load of the new
 * stack pointer and the push of the new return address there is none on the stack.
 */
#ifndef UNWIND_CONTEXT_SWITCH_H
#define UNWIND_CONTEXT_SWITCH_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"

/* It has 260 bytes in glibc 2.36; with CET there are some 200 more. */
#define CONTEXT_SWITCH_MIN_BYTES 200
#define CONTEXT_SWITCH_MAX_BYTES 640

/*
 * Whether the function at the ELF address, size bytes long, saves rbx in the ucontext at rdi before
 * all else, and later loads the stack pointer from the one at rdx, and then pushes what this one
 * has as rip.
 *
 * ret_start  the first instruction after the load
 * ret_end    the first one after the push. From start up to here the registers of what is going to
 *            run are in the ucontext at rdx, and nowhere else
 *
 * Source: glibc, sysdeps/unix/sysv/linux/x86_64/swapcontext.S.
 */
bool context_switch_find(const struct objfile *objfile, uint64_t elf_address, uint64_t size,
			 uint64_t *ret_start, uint64_t *ret_end);

#endif
