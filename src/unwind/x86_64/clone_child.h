/*
 * Recognizes the part of a function that only a new thread executes, on a stack without a caller.
 * After the system call of clone() or clone3(), the code tests rax and branches. The new thread clears
 * rbp or pops its arguments, calls a function, and executes exit():
 *
 *	mov $56,%eax; …; syscall; test %eax,%eax; jne parent
 *	xor %ebp,%ebp; pop %rdi; call *%r9
 *	mov %eax,%edi; mov $60,%eax; syscall; hlt
 *
 * musl's clone() has this form, as have those of programs that create threads themselves. Call-frame
 * information is missing, or it describes the creating thread. glibc's marks this part as outermost.
 */
#ifndef UNWIND_CLONE_CHILD_H
#define UNWIND_CLONE_CHILD_H

#include <libelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "unwind/frame_reader.h"

/* Offsets in the code, or ELF addresses. */
struct clone_child {
	uint64_t call_end; /* end of the system call; both threads execute the code after it */
	uint64_t test_end; /* end of the branch that tells them apart */
	uint64_t start;    /* start of the new thread's part */
	uint64_t end;      /* end of the new thread's part */
};

/* Sorted by start; all zero is empty. */
struct clone_children {
	ARRAY(struct clone_child) items;
};

void clone_children_release(struct clone_children *children);

/* Find the first one with its system call at or after the offset. Returns false if no more are found. */
bool clone_child_find(const uint8_t *code, size_t size, size_t offset, struct clone_child *ret);

/* Find all in the code that code_scan_run() looks at. Returns 0 or -ENOMEM. */
_must_check_ int clone_children_find(Elf *elf, const struct frame_reader *reader,
				     uint64_t max_bytes, struct clone_children *ret);

#endif
