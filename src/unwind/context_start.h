/*
 * Where the stacks of coroutines begin that makecontext() has made: __start_context of the C
 * library. Nobody calls it; its address lies on the new stack as if somebody had.
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
 * Whether the function at the ELF address, size bytes long, takes its stack pointer from rbx before
 * all else: what was on the stack when it was entered is gone, so that it has no caller.
 *
 * Source: glibc, sysdeps/unix/sysv/linux/x86_64/__start_context.S.
 */
bool context_start_is_at(const struct objfile *objfile, uint64_t elf_address, uint64_t size);

#endif
