/* Patterns of x86-64 in the code of Ruby; ruby/find.c searches for them. */
#ifndef RUNTIME_X86_64_RUBY_CODE_H
#define RUNTIME_X86_64_RUBY_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/file_data.h"
#include "runtime/finder.h"

#define RUBY_CODE_THREAD_LOCAL_BYTES 16 /* of the longest way to read a variable of a thread */
#define RUBY_CODE_VARIABLE_BYTES     11 /* of a function that gives a variable */
#define RUBY_CODE_JUMP_BYTES         7  /* of a jump behind an argument 0 */

/*
 * How the code at an address reads a thread-local variable. In a library: the argument of
 * __tls_get_addr(). In a program: an offset from the thread pointer, in the code or at a place in
 * the linker's table. The byte sequences are fixed, so that a linker can replace them by better
 * ones.
 *
 * Source: ELF Handling For Thread-Local Storage, sections 4.4.6 and 4.4.7.
 *
 * Returns 0 with the layout and the state to find it by, or -ENOENT.
 */
int ruby_code_get_thread_local(const uint8_t *code, uint64_t address, struct runtime_build *build);

/* The address of the variable that a function gives, and does nothing besides. */
bool ruby_code_get_variable(const uint8_t *code, uint64_t address, uint64_t *ret);

/*
 * The next jump behind an argument 0, from *offset on.
 *
 * offset     becomes the offset after the first byte of this code
 * ret_start  address of the code, RUBY_CODE_JUMP_BYTES long
 *
 * Returns false if there are no more.
 */
bool ruby_code_find_jump(const struct code_section *code, uint64_t *offset, uint64_t *ret_start,
			 uint64_t *ret_target);

/* Whether it is a direct call of the target; at least 5 bytes must be left. */
bool ruby_code_is_call(const struct code_section *code, size_t offset, uint64_t target);

/*
 * Whether the code makes the address of a new frame, and stores it in the context; at least 5 bytes
 * must be left.
 *
 * ret  the code from behind the store until the function continues elsewhere: the frame's own code
 *      cannot run before that
 */
bool ruby_code_find_push(const struct code_section *code, size_t offset, int32_t frame_bytes,
			 struct evaluation_push *ret);

#endif
