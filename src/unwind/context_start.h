/*
 * __start_context of the C library, the outermost function of stacks that makecontext() has set up.
 * Nobody calls it; makecontext() puts its address on the new stack like a return address.
 *
 * glibc does not mark it as the outermost frame, and describes it as a function like any other.
 */
#ifndef UNWIND_CONTEXT_START_H
#define UNWIND_CONTEXT_START_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/objfile.h"

/* It has 26 bytes in glibc 2.36, and four more with CET. */
#define CONTEXT_START_MIN_BYTES 20
#define CONTEXT_START_MAX_BYTES 32

/*
 * Whether the function at the ELF address, size bytes long, first of all loads its stack pointer
 * from rbx: what was on the stack before is gone, so it has no caller.
 *
 * Source: glibc, sysdeps/unix/sysv/linux/x86_64/__start_context.S.
 */
bool context_start_is_at(const struct objfile *objfile, uint64_t elf_address, uint64_t size);

#endif
