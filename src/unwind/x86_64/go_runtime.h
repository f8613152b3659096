/*
 * Start of stacks in Go programs, which their call-frame information does not describe.
 *
 * A goroutine's stack starts with a return address into runtime.goexit. A thread's own stack (g0)
 * starts with runtime.rt0_go, runtime.mstart or runtime.clone. The scheduler starts on g0 with
 * runtime.mcall, which has left its goroutine for good. A signal handler returns to
 * runtime.sigreturn, which is described like a function that was called.
 *
 * Other functions of the runtime call code on g0 and return to the goroutine, so the walk continues
 * there:
 *
 *	nanotime1 …    C and the vdso, which preserve rbp: it points into their own frame
 *	systemstack,   Go, which preserves nothing. They have saved the goroutine's stack pointer in
 *	morestack      its description, which the thread leads to
 *	asmcgocall     C that may call Go: it has saved its position on the goroutine's stack
 *
 *	racecall       C, which preserves r12: it has the goroutine's stack pointer. The walk knows it
 *	               up to the first function that pushes something
 *
 * runtime.cgocallback switches from C back to the stack of the goroutine that has called C. It
 * pushes the address of a function there as a fake return address. After it is the real one, into
 * runtime.asmcgocall, which had switched away from the goroutine's stack.
 */
#ifndef UNWIND_GO_RUNTIME_H
#define UNWIND_GO_RUNTIME_H

#include <stdbool.h>
#include <stdint.h>

#include "objfile/go_table.h"
#include "objfile/objfile.h"

#define GO_RUNTIME_FUNCTIONS_MAX 64
/* Limit for a function that switches stacks; the longest has 174 bytes in Go 1.19. */
#define GO_RUNTIME_SWITCH_MAX_BYTES 512
/* Limit for the part of runtime.systemstack up to its switch, which compares goroutines. */
#define GO_RUNTIME_CURRENT_BYTES 96
/* The fake return address of runtime.cgocallback, before the real one. */
#define GO_RUNTIME_PUSHED_BYTES 8

enum go_role {
	GO_ORDINARY = 0,
	GO_OUTERMOST,     /* it has no caller */
	GO_SCHEDULER,     /* outermost once the stack pointer is exchanged */
	GO_SWITCH,        /* calls C; the frame pointer is that of its frame */
	GO_SCHEDULED,     /* calls Go; its stack pointer is saved in the goroutine's description */
	GO_GROWTH,        /* likewise, with its caller's pc */
	GO_COPY,          /* calls C; a register has the stack pointer from before */
	GO_LOST,          /* without known caller once the stack pointer is exchanged */
	GO_CALL,          /* calls C on the thread's own stack */
	GO_CALLBACK,      /* called by C; continues where a goroutine has called C */
	GO_SIGNAL_RETURN, /* the ucontext is at sp */
};

/* The return address alone: no frame. */
#define GO_RUNTIME_RETURN_BYTES 8
/* Pushing rbp moves the stack pointer by this. */
#define GO_RUNTIME_FP_BYTES 8

struct go_runtime_function {
	uint64_t elf_address;
	enum go_role role; /* not ordinary */
};

/* The place of a thread's current goroutine. */
struct go_current {
	short tls_offset; /* of the pointer to a goroutine, from the thread pointer */
	short offset;     /* of the current goroutine, in struct m */
};

/* All zero: no Go program. */
struct go_runtime {
	struct go_runtime_function functions[GO_RUNTIME_FUNCTIONS_MAX];
	unsigned int num_functions;
};

/*
 * Add the function if it has a role.
 *
 * Source: Go 1.19 to 1.26, src/runtime/asm_amd64.s, sys_linux_amd64.s, time_linux_amd64.s,
 * race_amd64.s.
 */
void go_runtime_add(struct go_runtime *runtime, const struct go_function *function);

/* The role of the function that starts at the ELF address. */
enum go_role go_runtime_get_role(const struct go_runtime *runtime, uint64_t elf_address);

/*
 * Whether runtime.asmcgocall pushes rbp before it saves its position. It does since Go 1.24, where
 * it calls C through another Go function. False if the function is missing or unreadable.
 */
bool go_runtime_pushes_fp(const struct go_runtime *runtime, const struct objfile *objfile);

/*
 * Find the part of a function of size bytes that runs on the other stack.
 *
 * ret_start  the first instruction after the stack pointer was aligned, or loaded from a register
 *            or from a goroutine's saved one
 * ret_end    the first one after it was loaded again, or the function's end
 *
 * Returns false if it is never loaded, or the code is unreadable.
 */
bool go_runtime_find_switch(const struct objfile *objfile, uint64_t elf_address, uint64_t size,
			    uint64_t *ret_start, uint64_t *ret_end);

/*
 * Find how the function has set its frame pointer before the switch.
 *
 * ret_set    the instruction after that
 * ret_bytes  from the stack pointer there up to the frame pointer
 *
 * Returns false if it has not, or the code is unreadable.
 */
bool go_runtime_find_frame(const struct objfile *objfile, uint64_t elf_address,
			   uint64_t switch_start, uint64_t *ret_set, int *ret_bytes);

/*
 * Find the register that keeps the stack pointer over the switch.
 *
 * ret_copied    the instruction after that
 * ret_register  by its number in call-frame information
 *
 * Returns false if no register from r8 to r15 does, or the code is unreadable.
 */
bool go_runtime_find_copy(const struct objfile *objfile, uint64_t elf_address,
			  uint64_t switch_start, uint64_t *ret_copied, int *ret_register);

/*
 * Find where runtime.systemstack reads the thread's current goroutine. Returns false if the code is
 * missing, unreadable or has another form, as in shared libraries.
 */
bool go_runtime_find_current(const struct go_runtime *runtime, const struct objfile *objfile,
			     struct go_current *ret);

/*
 * Find the part of runtime.asmcgocall, on g0, where its position on the goroutine's stack is saved.
 *
 * start, end   from go_runtime_find_switch()
 * ret_start    the first instruction after it was saved
 * ret_offset   offset of the goroutine's address from the stack pointer; the distance from the end
 *              of its stack is 8 bytes below
 *
 * Returns false if the code has another form.
 */
bool go_runtime_find_goroutine(const struct objfile *objfile, uint64_t start, uint64_t end,
			       uint64_t *ret_start, int *ret_offset);

#endif
