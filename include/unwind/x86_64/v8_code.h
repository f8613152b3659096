/*
 * Prologues and epilogues of V8's functions on x86-64, where the function has no frame yet, or has
 * dropped it.
 *
 * A function sets up its frame inline, or (code of the fast compilers) by calling a builtin:
 *
 *	48 8b 59 …         mov …(%rcx),%rbx        optimized JavaScript: is it still valid?
 *	f6 43 … …          testb $…,…(%rbx)
 *	0f 85 … … … …      jne …                   or 74 …, je to the next one
 *	55                 push %rbp
 *	48 89 e5           mov %rsp,%rbp           or 48 8b ec
 *	56, 57             push %rsi; push %rdi    context, closure; WebAssembly: 6a MARKER, push $MARKER
 *
 *	bb …               mov $…,%ebx             JavaScript
 *	49 bc … (8)        movabs $…,%r12
 *	e8 …               call …                  or 41 ff 95 …, call *…(%r13): in Node.js 16 and 17
 *
 *	41 bc …            mov $NUMBER,%r12d       WebAssembly; or 45 31 e4, xor %r12d,%r12d
 *	e8 …               call …
 *
 * and it leaves with
 *
 *	48 83 f9 …         cmp $…,%rcx             surplus arguments are popped as well
 *	7f 03              jg 1f
 *	c2 … …             ret $…                  or c3, f3 c3
 *	41 5a           1: pop %r10
 *	48 8d 24 cc        lea (%rsp,%rcx,8),%rsp  or 48 8d 64 cc 08, lea 8(%rsp,%rcx,8),%rsp
 *
 * Functions of WebAssembly start at a multiple of V8_CODE_WASM_ALIGNMENT. The same code is compiled
 * into the BPF program, into user space and into tests. It reads only the 8 bytes at an address, as
 * a word: `code`.
 */
#ifndef UNWIND_X86_64_V8_CODE_H
#define UNWIND_X86_64_V8_CODE_H

#include "wire/types.h"

#define V8_CODE_INLINE static inline __attribute__((always_inline))

#define V8_CODE_PUSH_FP_BYTES  4  /* `push %rbp` and `mov %rsp,%rbp` */
#define V8_CODE_MOVABS_BYTES   10 /* before the call of the frame setup */
#define V8_CODE_WASM_ALIGNMENT 32
#define V8_CODE_WASM_MOV_BYTES 6 /* likewise */
#define V8_CODE_WASM_XOR_BYTES 3
#define V8_CODE_CALL_BYTES     5    /* that call, direct */
#define V8_CODE_JUMP           0xe9 /* first byte of a jump in a table, with 4 bytes of distance */
#define V8_CODE_JUMP_BYTES     5

/* Registers at the start of a function: its closure, or the instance of WebAssembly. */
#define V8_CODE_CLOSURE_REGISTER  di
#define V8_CODE_INSTANCE_REGISTER si

/* Whether the code is `push %rbp` and then `mov %rsp,%rbp`, in one of its two encodings. */
V8_CODE_INLINE int v8_code_pushes_fp(wire_u64 code)
{
	code &= 0xffffffff;
	return code == 0xe5894855 || code == 0xec8b4855;
}

/*
 * Length in bytes of the validity check of optimized code, from here to the branch; 0: this is the
 * branch, or other code.
 */
V8_CODE_INLINE wire_u32 v8_code_get_check_bytes(wire_u64 code)
{
	if ((code & 0xffff00ffffff) == 0x43f600598b48)
		return 8;
	return (code & 0xffff) == 0x43f6 ? 4 : 0;
}

/*
 * Distance in bytes from this branch of optimized code to the code that runs if it is valid; 0: not
 * such a branch.
 */
V8_CODE_INLINE wire_u32 v8_code_get_branch_bytes(wire_u64 code)
{
	if ((code & 0xffff) == 0x850f)
		return 6;
	return (code & 0xff) == 0x74 ? 2 + (code >> 8 & 0x1f) : 0;
}

/* The code from the push of the context on, if that is executed already and `code` is next. */
V8_CODE_INLINE wire_u64 v8_code_add_context_push(wire_u64 code)
{
	return code << 8 | 0x56;
}

/* Whether the context and the closure are pushed. */
V8_CODE_INLINE int v8_code_pushes_closure(wire_u64 code)
{
	return (code & 0xffff) == 0x5756;
}

V8_CODE_INLINE int v8_code_pushes_marker(wire_u64 code, wire_u64 marker)
{
	return (code & 0xff) == 0x6a && (code >> 8 & 0xff) == marker;
}

V8_CODE_INLINE int v8_code_is_indirect_frame_call(wire_u64 code)
{
	return (code & 0xffffff) == 0x95ff41;
}

/* Whether it looks like a call of the frame setup. */
V8_CODE_INLINE int v8_code_is_frame_call(wire_u64 code)
{
	return (code & 0xff) == 0xe8 || v8_code_is_indirect_frame_call(code);
}

/* Length in bytes of the call of the frame setup; `code` is the 7 bytes before its end. */
V8_CODE_INLINE wire_u32 v8_code_get_frame_call_bytes(wire_u64 code)
{
	return v8_code_is_indirect_frame_call(code) ? 7 : 5;
}

/* Whether this precedes the call of the frame setup in JavaScript, if a call follows. */
V8_CODE_INLINE int v8_code_is_before_frame_call(wire_u64 code)
{
	return (code & 0xffff) == 0xbc49;
}

/* The same for WebAssembly, together with the call. */
V8_CODE_INLINE int v8_code_is_wasm_mov(wire_u64 code)
{
	return (code & 0xff00000000ffff) == 0xe800000000bc41;
}

V8_CODE_INLINE int v8_code_is_wasm_xor(wire_u64 code)
{
	return (code & 0xffffffff) == 0xe8e43145;
}

/* Distance in bytes from here to the call of the frame setup; 0: not recognized. */
V8_CODE_INLINE wire_u32 v8_code_get_bytes_to_frame_call(wire_u64 code)
{
	if ((code & 0xffff00000000ff) == 0xbc4900000000bb)
		return 5 + V8_CODE_MOVABS_BYTES;
	if (v8_code_is_before_frame_call(code))
		return V8_CODE_MOVABS_BYTES;
	if (v8_code_is_wasm_mov(code))
		return V8_CODE_WASM_MOV_BYTES;
	return v8_code_is_wasm_xor(code) ? V8_CODE_WASM_XOR_BYTES : 0;
}

/* Whether the function returns from here on, and has no frame any more. */
V8_CODE_INLINE int v8_code_returns(wire_u64 code)
{
	return (code & 0xff) == 0xc3 || (code & 0xff) == 0xc2 || (code & 0xffff) == 0xc3f3 ||
	       (code & 0xffffff00ffffff) == 0xc2037f00f98348 || (code & 0xffffff) == 0xc2037f ||
	       (code & 0xffffffffffff) == 0xcc248d485a41 ||
	       (code & 0xffffffffffff) == 0xcc648d485a41;
}

#endif
