/*
 * The parts of a stack walk that depend on the instructions and the calling convention of x86-64:
 * steps from code without a rule, from signal frames and jumps, and the CFA by a rule, which may
 * name a register. A call puts the return address on top of the stack.
 */
#ifndef UNWIND_X86_64_WALK_STEPS_H
#define UNWIND_X86_64_WALK_STEPS_H

#include "unwind/v8_code.h"
#include "unwind/walk_state.h"

/* Offsets of the saved registers in a ucontext, which is at the stack pointer in a signal frame. */
enum walk_context {
#define WALK_CONTEXT_OFFSET(name, NAME, saved, perf, dwarf, context) \
	WALK_CONTEXT_##NAME = (context),
	WIRE_FOR_EACH_REGISTER(WALK_CONTEXT_OFFSET)
#undef WALK_CONTEXT_OFFSET
};

/* Offsets of uc_stack, the thread's alternate stack at the time of the signal. */
#define WALK_CONTEXT_STACK       16
#define WALK_CONTEXT_STACK_FLAGS 24
#define WALK_CONTEXT_STACK_BYTES 32
/* SS_AUTODISARM: the thread has no alternate stack while the handler runs. */
#define WALK_STACK_IS_DISARMED (1u << 31)

/* The includer may wrap walk_look_at_frame() in a function, so that the verifier checks it once. */
#ifndef WALK_LOOK_AT_FRAME
#define WALK_LOOK_AT_FRAME(walk) walk_look_at_frame(walk)
#endif

/* Whether a call instruction ends at pc: E8, or FF /2 in its usual lengths; the last two have SIB. */
WALK_INLINE int walk_follows_call(struct walk *walk, wire_u64 pc)
{
	wire_u64 code;

	if (walk_read(walk, pc - 8, &code))
		return 0;
	return (code >> 24 & 0xff) == 0xe8 || (code >> 48 & 0x38ff) == 0x10ff ||
	       (code >> 40 & 0x38ff) == 0x10ff || (code >> 16 & 0x38ff) == 0x10ff ||
	       (code >> 32 & 0xffff) == 0x54ff || (code >> 8 & 0xffff) == 0x94ff;
}

/*
 * Whether `push %rbp` has been executed, and `mov %rsp,%rbp` is next. Finding rbp on top of the
 * stack would not prove it: earlier calls leave such words behind.
 */
WALK_INLINE int walk_has_pushed_fp(struct walk *walk)
{
	wire_u64 code;

	if (walk_read(walk, walk->registers.pc - 1, &code))
		return 0;
	return v8_code_pushes_fp(code);
}

/*
 * The innermost function has no rule although its file has a table: start-up code (crti.o,
 * crtbegin.o), assembly, V8's builtins. At its first instruction (where page faults happen first)
 * and in a function that pushes nothing, the return address is on top of the stack. The frame
 * pointer is still the caller's. After the first `push %rbp` the return address is one word above.
 * The step is marked, since a function with a frame may have such a word there by chance. Returns
 * 0, or 1 if there is no plausible return address.
 */
WALK_INLINE int walk_step_entry(struct walk *walk, wire_u64 *pcs)
{
	wire_u8 bytes = walk->entry_bytes;
	wire_u64 caller_pc;

	if (!walk->is_innermost)
		return 1;
	if (!bytes)
		bytes = walk_has_pushed_fp(walk) ? 16 : 8;
	if (walk_read(walk, walk->registers.sp + bytes - 8, &caller_pc) ||
	    !walk_is_user_pc(caller_pc) ||
	    (!walk->entry_bytes && !walk_follows_call(walk, caller_pc)))
		return 1;
	walk->entry_bytes = bytes;
	walk->registers.pc = caller_pc;
	walk->registers.sp += bytes;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	pcs[0] |= WIRE_PC_ENTRY_STEP;
	return 0;
}

/*
 * The address where a function in its prologue pushes rbp; 0: not in a prologue. V8's functions may
 * check their validity first.
 */
WALK_INLINE wire_u64 walk_find_prologue(struct walk *walk, wire_u64 pc)
{
	wire_u32 branch_bytes;
	wire_u64 code;

	if (walk_read(walk, pc, &code))
		return 0;
	if (v8_code_pushes_fp(code))
		return pc;
	pc += v8_code_get_check_bytes(code);
	if (walk_read(walk, pc, &code))
		return 0;
	branch_bytes = v8_code_get_branch_bytes(code);
	if (!branch_bytes || walk_read(walk, pc + branch_bytes, &code))
		return 0;
	return v8_code_pushes_fp(code) ? pc + branch_bytes : 0;
}

/*
 * Whether the call at an address is the call of the frame setup of a V8 function, by the
 * instructions before it.
 */
WALK_INLINE enum walk_frame_setup walk_find_frame_call(struct walk *walk, wire_u64 call)
{
	const wire_u64 alignment_mask = V8_CODE_WASM_ALIGNMENT - 1;
	wire_u64 wasm_mov = call - V8_CODE_WASM_MOV_BYTES;
	wire_u64 wasm_xor = call - V8_CODE_WASM_XOR_BYTES;
	wire_u64 code;

	if (walk_read(walk, wasm_xor, &code))
		return WALK_FRAME_SETUP_NONE;
	if (!(wasm_xor & alignment_mask) && v8_code_is_wasm_xor(code))
		return WALK_FRAME_SETUP_WASM;
	if (!v8_code_is_frame_call(code >> 8 * V8_CODE_WASM_XOR_BYTES) ||
	    walk_read(walk, call - V8_CODE_MOVABS_BYTES, &code))
		return WALK_FRAME_SETUP_NONE;
	if (v8_code_is_before_frame_call(code))
		return WALK_FRAME_SETUP_JAVASCRIPT;
	if ((wasm_mov & alignment_mask) || walk_read(walk, wasm_mov, &code))
		return WALK_FRAME_SETUP_NONE;
	return v8_code_is_wasm_mov(code) ? WALK_FRAME_SETUP_WASM : WALK_FRAME_SETUP_NONE;
}

/* The address where a function in its prologue calls the frame setup; 0: not in a prologue. */
WALK_INLINE wire_u64 walk_find_next_frame_call(struct walk *walk, wire_u64 pc)
{
	wire_u64 code;

	if (walk_read(walk, pc, &code))
		return 0;
	pc += v8_code_get_bytes_to_frame_call(code);
	return walk_find_frame_call(walk, pc) ? pc : 0;
}

/*
 * Check whether the innermost function, in code without call-frame information, is in its prologue
 * or epilogue, and so has no frame. If so, set walk->cfa_offset to the distance from sp to its
 * caller's frame. In a prologue walk->prologue becomes the address where it pushes rbp or calls the
 * frame setup; in an epilogue 0.
 */
WALK_INLINE void walk_find_cfa_offset(struct walk *walk)
{
	wire_u64 pc = walk->registers.pc;
	wire_u64 prologue = 0;
	wire_u64 caller_pc;
	wire_u64 code;
	wire_u8 bytes = 8;

	if (walk_has_pushed_fp(walk)) {
		prologue = pc - 1;
		bytes = 16;
	} else if (walk_read(walk, pc, &code)) {
		return;
	} else if (!v8_code_returns(code)) {
		prologue = walk_find_prologue(walk, pc);
		if (!prologue)
			prologue = walk_find_next_frame_call(walk, pc);
		if (!prologue)
			return;
	}
	if (walk_read(walk, walk->registers.sp + bytes - 8, &caller_pc) ||
	    !walk_follows_call(walk, caller_pc))
		return;
	walk->cfa_offset = bytes;
	walk->prologue = prologue;
}

/*
 * The innermost function has no frame. Its caller may have called it to set up the caller's frame.
 */
WALK_INLINE void walk_find_frame_setup(struct walk *walk)
{
	wire_u64 pc = walk->registers.pc;
	wire_u64 caller_pc;
	wire_u64 code;

	if (walk->frame_setup || walk_read(walk, walk->registers.sp, &caller_pc) ||
	    !walk_follows_call(walk, caller_pc) || walk_read(walk, pc - 7, &code))
		return;
	walk->frame_setup = walk_find_frame_call(walk, pc - v8_code_get_frame_call_bytes(code));
}

/*
 * Check whether the present function, in code without call-frame information, has a frame, if that
 * can be known.
 */
WALK_INLINE void walk_look_at_frame(struct walk *walk)
{
	if (walk->is_innermost && !walk->cfa_offset)
		walk_find_cfa_offset(walk);
	else if (walk->num_frames == 2 && walk->entry_bytes)
		walk_find_frame_setup(walk);
}

/*
 * A function without a frame still has its caller's frame pointer, which would skip the caller.
 * Returns 0, or 1 if the function has a frame.
 */
WALK_INLINE int walk_step_without_frame(struct walk *walk)
{
	wire_u64 caller_pc;
	wire_u64 bytes;

	WALK_LOOK_AT_FRAME(walk);
	if (walk->is_innermost)
		bytes = walk->cfa_offset;
	else
		bytes = walk->num_frames == 2 && walk->frame_setup ? 8 : 0;
	if (!bytes || walk_read(walk, walk->registers.sp + bytes - 8, &caller_pc) ||
	    !walk_is_user_pc(caller_pc))
		return 1;
	walk->registers.pc = caller_pc;
	walk->registers.sp += bytes;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	return 0;
}

/*
 * CPython (-X perf) gives each function a trampoline. It is between the frames of the interpreter
 * that runs the function and of the one that calls it, and leaves the frame pointer alone:
 *
 *	48 83 ec 08   sub $8,%rsp
 *	ff d1         call *%rcx
 *	48 83 c4 08   add $8,%rsp
 *	c3            ret
 *
 * Returns 0, or 1 if pc is not in a trampoline. Its last instruction alone is not recognized.
 */
WALK_INLINE int walk_step_trampoline(struct walk *walk)
{
	wire_u64 cfa = walk->registers.sp + 16;
	wire_u64 caller_pc;
	wire_u64 code;

	if (walk_read(walk, walk->registers.pc - (walk->is_exact ? 0 : 6), &code))
		return 1;
	if (code == 0x8348d1ff08ec8348)
		cfa -= walk->is_exact ? 8 : 0;
	else if (!walk->is_exact || ((code & 0xffffffffffffff) != 0xc308c48348d1ff &&
				     (code & 0xffffffffff) != 0xc308c48348))
		return 1;
	if (walk_read(walk, cfa - 8, &caller_pc) || !walk_is_user_pc(caller_pc))
		return 1;
	walk->registers.pc = caller_pc;
	walk->registers.sp = cfa;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	walk->is_scratch_lost = 1;
	return 0;
}

/* All registers are restored from the ucontext at the address. */
WALK_INLINE int walk_step_context(struct walk *walk, wire_u64 context)
{
	if (walk_read(walk, context + WALK_CONTEXT_SP, &walk->registers.sp) ||
	    walk_read(walk, context + WALK_CONTEXT_PC, &walk->registers.pc) ||
	    walk_read(walk, context + WALK_CONTEXT_FP, &walk->registers.fp) ||
	    walk_read(walk, context + WALK_CONTEXT_BX, &walk->registers.bx))
		return walk_stop(walk, WALK_READ_FAILED);
	walk->fp_address = 0;
	walk->bx_address = 0;
	walk->is_fp_lost = 0;
	walk->is_bx_lost = 0;
	walk->is_scratch_lost = 1;
	walk->is_exact = 1;
	walk->is_innermost = 0;
	return walk_is_user_pc(walk->registers.pc) ? 0 : walk_stop(walk, WALK_NO_RETURN_ADDRESS);
}

/*
 * Whether the handler of a signal frame was left by siglongjmp, and its stack is a coroutine's now.
 * QEMU and others create coroutines that way. Then the interrupted function has continued, and its
 * stack contains other data. A thread cannot change its alternate stack while a handler runs on it.
 */
WALK_INLINE int walk_has_left_handler(struct walk *walk, wire_u64 context)
{
	wire_u64 start;
	wire_u64 flags;
	wire_u64 num_bytes;

	if (walk_read(walk, context + WALK_CONTEXT_STACK, &start) ||
	    walk_read(walk, context + WALK_CONTEXT_STACK_FLAGS, &flags) ||
	    walk_read(walk, context + WALK_CONTEXT_STACK_BYTES, &num_bytes))
		return 0;
	return context - start < num_bytes && !(flags & WALK_STACK_IS_DISARMED) &&
	       !walk_may_have_signal_stack(walk, start, num_bytes);
}

/* A signal frame continues at the interrupted code, unless it is the start of a coroutine. */
WALK_INLINE int walk_step_signal(struct walk *walk)
{
	if (walk_has_left_handler(walk, walk->registers.sp))
		return walk_stop(walk, WALK_COMPLETE);
	return walk_step_context(walk, walk->registers.sp);
}

/* setcontext continues where a call of getcontext returns, or at a coroutine's first function. */
WALK_INLINE int walk_step_setcontext(struct walk *walk)
{
	if (!walk->is_innermost)
		return walk_stop(walk, WALK_UNSUPPORTED);
	if (walk_step_context(walk, walk->registers.dx))
		return 1;
	walk->is_exact = !walk_follows_call(walk, walk->registers.pc);
	return 0;
}

/* longjmp continues where a call of setjmp returns. */
WALK_INLINE int walk_step_longjmp(struct walk *walk)
{
	if (!walk->is_innermost)
		return walk_stop(walk, WALK_UNSUPPORTED);
	walk->registers.pc = walk->registers.dx;
	walk->registers.sp = walk->registers.r8;
	walk->registers.fp = walk->registers.r9;
	walk->bx_address = walk->registers.di;
	walk->is_scratch_lost = 1;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	return walk_is_user_pc(walk->registers.pc) ? 0 : walk_stop(walk, WALK_NO_RETURN_ADDRESS);
}

/* Whether the CFA is computed from a scratch register (r10 and the like). */
WALK_INLINE int walk_is_by_scratch(const struct unwind_rule *rule)
{
	return rule->cfa_op >= UNWIND_CFA_R10 && rule->cfa_op <= UNWIND_CFA_R11;
}

WALK_INLINE wire_u64 walk_get_scratch(const struct walk *walk, wire_u8 op)
{
	if (op == UNWIND_CFA_R10)
		return walk->registers.r10;
	if (op == UNWIND_CFA_AX)
		return walk->registers.ax;
	if (op == UNWIND_CFA_SI)
		return walk->registers.si;
	if (op == UNWIND_CFA_DI)
		return walk->registers.di;
	if (op == UNWIND_CFA_R9)
		return walk->registers.r9;
	return walk->registers.r11;
}

/* A register that holds a copy of an earlier stack pointer. Returns 0, or -1 if it is unknown. */
WALK_INLINE int walk_get_copy(const struct walk *walk, wire_u64 number, wire_u64 *ret)
{
	if (walk->is_scratch_lost || walk->is_copy_lost)
		return -1;
#define WALK_GET_REGISTER(name, NAME, saved, perf, dwarf, ...) \
	if (number == (dwarf))                                 \
		*ret = walk->registers.name;
	WIRE_FOR_EACH_REGISTER(WALK_GET_REGISTER)
#undef WALK_GET_REGISTER
	return 0;
}

/*
 * runtime.asmcgocall has switched from a goroutine's stack to g0, to call C. It has saved the
 * address of the goroutine (struct g), and the distance of the stack pointer from the end of its
 * stack (stack.hi), which is the second word of that struct. The return address is at the saved
 * stack pointer. If the function has pushed rbp first (Go 1.24), rbp is there, and the return
 * address one word above.
 */
WALK_INLINE int walk_find_goroutine(struct walk *walk, const struct unwind_rule *rule,
				    wire_u64 saved, wire_u64 *cfa)
{
	wire_u64 goroutine;
	wire_u64 distance;
	wire_u64 end;

	if (walk_read(walk, saved, &goroutine) || walk_read(walk, saved - 8, &distance) ||
	    walk_read(walk, goroutine + 8, &end))
		return walk_stop(walk, WALK_READ_FAILED);
	*cfa = end - distance + (rule->fp_op == UNWIND_REGISTER_AT_CFA ? 16 : 8);
	return 0;
}

/* Offsets in the description of a goroutine (struct g), since Go 1.7. */
#define WALK_GO_THREAD   0x30 /* its thread (struct m) */
#define WALK_GO_SAVED_SP 0x38 /* sched.sp */
#define WALK_GO_SAVED_PC 0x40 /* sched.pc */
/* A function of Go's runtime and its variants are within this many bytes. */
#define WALK_GO_NEAR_BYTES 512

/* Whether a call at pc - 5 leads into, or close to, the present function. */
WALK_INLINE int walk_follows_call_to_here(struct walk *walk, wire_u64 pc)
{
	wire_u64 code;
	wire_u64 target;

	if (walk_read(walk, pc - 8, &code) || (code >> 24 & 0xff) != 0xe8)
		return 0;
	target = pc + (wire_u64)(long long)(int)(code >> 32);
	return target - walk->registers.pc + WALK_GO_NEAR_BYTES <= 2 * WALK_GO_NEAR_BYTES;
}

/*
 * runtime.systemstack and runtime.morestack have switched from the stack of the thread's current
 * goroutine to g0. They have saved the stack pointer in the goroutine's description. The latter has
 * saved its return address there, too; if there is no current goroutine any more, the scheduler has
 * taken over.
 */
WALK_INLINE int walk_step_scheduled(struct walk *walk, const struct unwind_rule *rule)
{
	wire_u64 bytes = (wire_u64)(long long)UNWIND_SCHEDULED_BYTES(rule);
	wire_u64 thread_pointer = walk_get_thread_pointer(walk);
	wire_u64 goroutine;
	wire_u64 thread;
	wire_u64 sp;
	wire_u64 pc;

	if (!thread_pointer ||
	    walk_read(walk, thread_pointer + (wire_u64)(long long)UNWIND_SCHEDULED_TLS(rule),
		      &goroutine) ||
	    walk_read(walk, goroutine + WALK_GO_THREAD, &thread) ||
	    walk_read(walk, thread + (wire_u64)(long long)UNWIND_SCHEDULED_CURRENT(rule),
		      &goroutine))
		return walk_stop(walk, WALK_READ_FAILED);
	if (!goroutine)
		return walk_stop(walk, bytes ? WALK_UNSUPPORTED : WALK_COMPLETE);
	if (walk_read(walk, goroutine + WALK_GO_SAVED_SP, &sp) ||
	    walk_read(walk, bytes ? sp + bytes - 8 : goroutine + WALK_GO_SAVED_PC, &pc))
		return walk_stop(walk, WALK_READ_FAILED);
	if (!walk_is_user_pc(pc) || !walk_follows_call_to_here(walk, pc))
		return walk_stop(walk, WALK_UNSUPPORTED);
	walk->registers.pc = pc;
	walk->registers.sp = sp + bytes;
	walk->is_fp_lost = walk->is_bx_lost = walk->is_scratch_lost = 1;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	return 0;
}

/* Whether the caller's frame may be on another stack, above or below. */
WALK_INLINE int walk_may_leave_stack(const struct unwind_rule *rule)
{
	return rule->cfa_op >= UNWIND_CFA_GOROUTINE && rule->cfa_op <= UNWIND_CFA_COPY_ELSEWHERE;
}

/* Compute the canonical frame address by a rule. Returns 0, or 1 with the walk ended. */
WALK_INLINE int walk_find_cfa(struct walk *walk, const struct unwind_rule *rule, wire_u64 *cfa)
{
	wire_u8 op = rule->cfa_op;
	wire_u64 offset = (wire_u64)(long long)rule->cfa_offset;

	if (op == UNWIND_CFA_SP) { /* most frames */
		*cfa = walk->registers.sp + offset;
		return 0;
	}
	if (op == UNWIND_CFA_FP || op == UNWIND_CFA_DEREF_FP || op == UNWIND_CFA_FP_ELSEWHERE) {
		if (walk_restore_fp(walk))
			return walk_stop(walk, WALK_READ_FAILED);
		*cfa = walk->registers.fp + offset;
	} else if (op == UNWIND_CFA_BX) {
		if (walk_restore_bx(walk))
			return walk_stop(walk, WALK_READ_FAILED);
		*cfa = walk->registers.bx + offset;
	} else if (op == UNWIND_CFA_PLT) {
		*cfa = walk->registers.sp + 8 + ((walk->registers.pc & 15) >= offset ? 8 : 0);
	} else if (walk_is_by_scratch(rule)) {
		if (walk->is_scratch_lost)
			return walk_stop(walk, WALK_UNSUPPORTED);
		*cfa = walk_get_scratch(walk, op) + offset;
	} else if (op == UNWIND_CFA_CX) {
		if (!walk->is_innermost)
			return walk_stop(walk, WALK_UNSUPPORTED);
		*cfa = walk->registers.cx + offset;
	} else if (op == UNWIND_CFA_CLONE) {
		if (walk->is_innermost && !walk->registers.ax)
			return walk_stop(walk, WALK_COMPLETE);
		*cfa = walk->registers.sp + offset;
	} else if (op == UNWIND_CFA_GOROUTINE) {
		return walk_find_goroutine(walk, rule, walk->registers.sp + offset, cfa);
	} else if (op == UNWIND_CFA_COPY || op == UNWIND_CFA_COPY_ELSEWHERE) {
		if (walk_get_copy(walk, UNWIND_COPY_REGISTER(offset), cfa))
			return walk_stop(walk, WALK_UNSUPPORTED);
		*cfa += (wire_u64)UNWIND_COPY_BYTES(offset);
	} else if (op == UNWIND_CFA_DEREF_SP_ADD) {
		*cfa = walk->registers.sp + (wire_u64)UNWIND_STORED_COPY_PLACE(offset);
	} else { /* in memory at the stack pointer */
		*cfa = walk->registers.sp + offset;
	}
	if (op == UNWIND_CFA_DEREF_FP || op == UNWIND_CFA_DEREF_SP || op == UNWIND_CFA_DEREF_SP_ADD)
		if (walk_read(walk, *cfa, cfa))
			return walk_stop(walk, WALK_READ_FAILED);
	if (op == UNWIND_CFA_DEREF_SP_ADD)
		*cfa += UNWIND_STORED_COPY_BYTES(offset);
	return 0;
}

/* At a return instruction: its address is on top of the stack. */
WALK_INLINE int walk_step_return(struct walk *walk)
{
	if (walk_read(walk, walk->registers.sp, &walk->registers.pc))
		return walk_stop(walk, WALK_READ_FAILED);
	walk->registers.sp += 8;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	return walk_is_user_pc(walk->registers.pc) ? 0 : walk_stop(walk, WALK_NO_RETURN_ADDRESS);
}

#endif
