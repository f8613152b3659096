/*
 * Start of stacks that a program has made for its contexts: code without a caller, whose address is
 * put on the new stack like a return address.
 *
 * - __start_context of the C library, for makecontext(). glibc does not mark it as the outermost frame,
 *   and describes it as a function like any other.
 * - The code that a context's function returns to in Boost.Context's make_fcontext, which PHP has a
 *   copy of. It is hand-written assembly without call-frame information.
 */
#ifndef UNWIND_CONTEXT_START_H
#define UNWIND_CONTEXT_START_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objfile/objfile.h"

/* It has 26 bytes in glibc 2.36, and four more with CET. */
#define CONTEXT_START_MIN_BYTES 20
#define CONTEXT_START_MAX_BYTES 32

/*
 * Whether the function at the ELF address, size bytes long, first loads its stack pointer from rbx:
 * this drops the previous stack, so it has no caller.
 *
 * Source: glibc, sysdeps/unix/sysv/linux/x86_64/__start_context.S.
 */
bool context_start_is_at(const struct objfile *objfile, uint64_t elf_address, uint64_t size);

/*
 * The next code at or after the offset that exits the process with status 0 after the jump to a
 * context's function; size if not found.
 *
 * Source: Boost.Context, src/asm/make_x86_64_sysv_elf_gas.S; with shadow stacks it is another
 * address.
 */
size_t fcontext_find_end(const uint8_t *code, size_t size, size_t offset);
/* Whether such code is at the ELF address. */
bool fcontext_end_is_at(const struct objfile *objfile, uint64_t elf_address);

#endif
