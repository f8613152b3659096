/*
 * The state of the innermost frame of HotSpot's code on x86-64, by the instruction at an address and
 * the one before. Pure functions on words: `code` is the 8 bytes at the address, `before` the 8
 * bytes before it.
 *
 * For hotspot_walk.h, which is compiled into the BPF program and into tests; its includer defines
 * HOTSPOT_INLINE.
 */
#ifndef RUNTIME_X86_64_HOTSPOT_CODE_H
#define RUNTIME_X86_64_HOTSPOT_CODE_H

#include "wire/types.h"

#define HOTSPOT_PUSHES_FP(code)       (((code)&0xff) == 0x55)
#define HOTSPOT_HAS_PUSHED_FP(before) ((before) >> 56 == 0x55)
#define HOTSPOT_POPS_FP(code)         (((code)&0xff) == 0x5d)

/* Progress of a frame's setup at the interrupted instruction. */
enum hotspot_frame_state {
	HOTSPOT_FRAME_NONE,   /* the return address is on top */
	HOTSPOT_FRAME_PUSHED, /* rbp is, and below it the return address */
	HOTSPOT_FRAME_SET_UP, /* all of it, but rbp is not saved yet */
	HOTSPOT_FRAME_COMPLETE,
};

/*
 * From the instruction at pc and the one before. Frames are set up and removed like this:
 *
 *	89 84 24 …        mov %eax,-0x14000(%rsp)     (or something else, which leaves the stack alone)
 *	55                push %rbp
 *	48 8b ec          mov %rsp,%rbp               with frame pointers, and in calls of native methods
 *	48 83 ec …, 81    sub $…,%rsp
 *	48 89 6c 24 …, ac mov %rbp,…(%rsp)            without a push
 *	41 81 7f …, bf    cmpl $…,…(%r15)             a barrier, after some nop, and the jump after it
 *	74 05             je …                        and the code that it skips
 *	e8 …              call …
 *
 *	48 83 c4 …, 81    add $…,%rsp
 *	5d                pop %rbp
 *	49 3b a7 …        cmp …(%r15),%rsp            poll at the return (from JDK 16 on), and the jump
 *	4d 8b 97 …        mov …(%r15),%r10            the same in older JDKs, and then
 *	41 85 02          test %eax,(%r10)
 *	c3                ret
 *
 * If it is to stop:
 *
 *	4c 8d 15 …        lea …(%rip),%r10
 *	4d 89 97 …        mov %r10,…(%r15)
 *	e9 …              jmp …
 */
HOTSPOT_INLINE int hotspot_is_return_poll(wire_u64 code, wire_u64 before)
{
	if ((code & 0xffffff) == 0xa73b49)
		return 1;
	if ((code & 0xffff) == 0x870f && (before >> 8 & 0xffffff) == 0xa73b49)
		return 1;
	if ((code & 0xffffffff) == 0xc3028541)
		return 1;
	return (code & 0xffff) == 0x0585 && (code >> 48 & 0xff) == 0xc3; /* JDK 8: test …(%rip) */
}

HOTSPOT_INLINE int hotspot_stops_at_return(wire_u64 code, wire_u64 before)
{
	wire_u32 three = code & 0xffffff;

	return (three == 0x158d4c && code >> 56 == 0x4d) ||
	       (three == 0x97894d && code >> 56 == 0xe9) ||
	       ((code & 0xff) == 0xe9 && (before >> 8 & 0xffffff) == 0x97894d);
}

HOTSPOT_INLINE int hotspot_is_removed(wire_u64 code, wire_u64 before)
{
	wire_u32 first = code & 0xff;

	if (hotspot_stops_at_return(code, before))
		return 1;
	return first == 0xc3 || first == 0xc2 || hotspot_is_return_poll(code, before);
}

HOTSPOT_INLINE int hotspot_is_subtract(wire_u64 code)
{
	return (code & 0xffffff) == 0xec8348 || (code & 0xffffff) == 0xec8148;
}

HOTSPOT_INLINE int hotspot_is_compare(wire_u64 code)
{
	return (code & 0xffffff) == 0x7f8141 || (code & 0xffffff) == 0xbf8141;
}

/* Length of a nop; 0: not a nop. */
HOTSPOT_INLINE wire_u32 hotspot_get_nop_bytes(wire_u64 code)
{
	if ((code & 0xff) == 0x90)
		return 1;
	if ((code & 0xffff) == 0x9066)
		return 2;
	return (code & 0xffffff) == 0x001f0f || (code & 0xffffff) == 0x906666 ? 3 : 0;
}

/* Whether the frame was set up by the instruction before, so that nops follow it. */
HOTSPOT_INLINE int hotspot_is_behind_frame(wire_u64 before)
{
	return (before >> 32 & 0xffffff) == 0xec8348 || (before >> 8 & 0xffffff) == 0xec8148 ||
	       (before >> 24 & 0xffffffff) == 0x246c8948;
}

/* The barrier, with the nops that align its number so that it can be changed atomically. */
HOTSPOT_INLINE int hotspot_is_barrier(wire_u64 code, wire_u64 before)
{
	wire_u32 nop = hotspot_get_nop_bytes(code);

	/*
	 * The jump after the short one, with 5 bytes of offset and number; and the call that it may
	 * skip.
	 */
	if (hotspot_is_compare(code) || (before & 0xffffff) == 0x7f8141 ||
	    (code & 0xffffff) == 0xe80574 || ((code & 0xff) == 0xe8 && before >> 48 == 0x0574))
		return 1;
	return nop && (hotspot_is_compare(code >> 8 * nop) || hotspot_is_behind_frame(before));
}

HOTSPOT_INLINE int hotspot_is_move_of_sp(wire_u64 code)
{
	return (code & 0xffffff) == 0xec8b48 || (code & 0xffffff) == 0xe58948;
}

HOTSPOT_INLINE enum hotspot_frame_state hotspot_get_prologue_state(wire_u64 code, wire_u64 before)
{
	if (hotspot_is_subtract(code) || hotspot_is_move_of_sp(code))
		return HOTSPOT_HAS_PUSHED_FP(before) || hotspot_is_move_of_sp(before >> 40)
			       ? HOTSPOT_FRAME_PUSHED
			       : HOTSPOT_FRAME_NONE;
	if ((code & 0xffffffff) == 0x246c8948 || (code & 0xffffffff) == 0x24ac8948)
		return HOTSPOT_FRAME_SET_UP;
	return hotspot_is_barrier(code, before) ? HOTSPOT_FRAME_COMPLETE : HOTSPOT_FRAME_NONE;
}

/* Whether this is the poll at the return in older JDKs, before its test. */
HOTSPOT_INLINE int hotspot_is_old_return_poll(wire_u64 code)
{
	return (code & 0xffffff) == 0x978b4d && (code >> 56) == 0x41;
}

HOTSPOT_INLINE int hotspot_ends_in_direct_call(wire_u64 before)
{
	return (before >> 24 & 0xff) == 0xe8;
}

/* Distance of that call's target from its end, in bytes. */
HOTSPOT_INLINE wire_u64 hotspot_get_call_distance(wire_u64 before)
{
	return (wire_u64)(long long)(int)(before >> 32);
}

/*
 * Whether an adapter is moving its return address, which is only in a register then. To compiled
 * code, and from it:
 *
 *	48 8b 04 24       mov (%rsp),%rax
 *	48 83 ec …        sub $…,%rsp               with arguments on the stack
 *	48 83 e4 f0       and $-16,%rsp
 *	50                push %rax
 *
 *	4c 8d 6c 24 08    lea 8(%rsp),%r13          from JDK 21 on
 *	58                pop %rax
 *	4c 8b ec          mov %rsp,%r13             before JDK 21
 *	48 83 ec …        sub $…,%rsp               with arguments
 *	48 89 04 24       mov %rax,(%rsp)
 */
HOTSPOT_INLINE int hotspot_moves_return_address(wire_u64 code)
{
	wire_u32 three = code & 0xffffff;

	return (code & 0xff) == 0x50 || three == 0xe48348 || three == 0xec8b4c ||
	       hotspot_is_subtract(code) || (code & 0xffffffff) == 0x24048948;
}

/*
 * Whether the interpreter is about to jump to its return address, or will be after setting the
 * stack pointer from another register:
 *
 *	48 8b e3          mov %rbx,%rsp             (or 49 8b e3, e5: from r11, r13)
 *	ff e7             jmp *%rdi                 (or another one)
 */
HOTSPOT_INLINE int hotspot_is_jump_to_register(wire_u64 code)
{
	return (code & 0xf8ff) == 0xe0ff || (code & 0xf8ffff) == 0xe0ff41;
}

HOTSPOT_INLINE int hotspot_jumps_back(wire_u64 code)
{
	return hotspot_is_jump_to_register(code) ||
	       ((code & 0xf8fffe) == 0xe08b48 && hotspot_is_jump_to_register(code >> 24));
}

#endif
