/*
 * The code that signal handlers return to (sa_restorer), which no call-frame information marks as such: musl's, other C
 * libraries', and that of programs without one. It is recognized by its instructions:
 *
 *	endbr64            if built for CET
 *	mov $15,%eax       or %rax: rt_sigreturn
 *	syscall
 *
 * The kernel takes the ucontext from the stack pointer there, so any code of this form has it.
 */
#ifndef UNWIND_SIGNAL_RETURN_H
#define UNWIND_SIGNAL_RETURN_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "objfile/objfile.h"
#include "unwind/frame_reader.h"

struct signal_return {
	uint64_t start; /* ELF address */
	uint32_t size;  /* in bytes */
};

/* Sorted by start; all zero is empty. */
struct signal_returns {
	ARRAY(struct signal_return) items;
};

void signal_returns_release(struct signal_returns *returns);

/* Find the first one at or after the offset. Returns false if the code has no more. */
bool signal_return_find(const uint8_t *code, size_t size, size_t offset, size_t *ret_start,
			size_t *ret_size);

/*
 * Find those of a file: in sections of code up to max_bytes in size, and in larger ones only
 * between the reader's functions, which are sorted. Returns 0 or -ENOMEM; unreadable code is
 * skipped.
 */
_must_check_ int signal_returns_find(Elf *elf, const struct frame_reader *reader,
				     uint64_t max_bytes, struct signal_returns *ret);

/*
 * Whether a call may end at the ELF address, or the code before it is unreadable. Only a return is
 * executed at the byte before, if no call ends there.
 */
bool signal_return_follows_call(const struct objfile *objfile, uint64_t elf_address);

#endif
