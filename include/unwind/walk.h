/*
 * The stack walk: from a thread's registers to the return addresses of its stack, using unwind
 * tables.
 *
 * The same code is compiled three times: into the BPF program, into the replay of raw stacks in
 * user space, and into tests. The includer defines WALK_INLINE (the specifiers of functions here)
 * before the #include, and after it the six functions declared below struct walk (walk_state.h).
 *
 * fp and bx are restored lazily: only the address where they were saved is kept, since most frames
 * never need the value. A step has no loop, so that the verifier checks it once; the includer calls
 * it at most WIRE_MAX_FRAMES times.
 *
 * Steps that depend on instructions or on the calling convention are in ARCH/walk_steps.h.
 */
#ifndef UNWIND_WALK_H
#define UNWIND_WALK_H

#include "unwind/walk_state.h"
#include "unwind/x86_64/walk_steps.h"
#include "wire/registers.h"
#include "wire/unwind.h"

/* A caller's frame pointer farther away than this is taken for garbage. */
#define WALK_FP_STRIDE_MAX (1u << 20)

/*
 * Follow the frame pointer, in code that has no call-frame information. Such code may have left it as
 * it was, and then its caller is skipped: the step is marked, and call instructions decide later.
 */
WALK_INLINE int walk_step_fp(struct walk *walk, wire_u64 *pcs)
{
	wire_u64 caller_fp;
	wire_u64 caller_pc;

	if (walk_restore_fp(walk))
		return walk_stop(walk, WALK_FP_CHAIN);
	if (walk->registers.fp < walk->registers.sp ||
	    walk->registers.fp - walk->registers.sp > WALK_FP_STRIDE_MAX ||
	    (walk->registers.fp & 7))
		return walk_stop(walk, WALK_FP_CHAIN);
	if (walk_read(walk, walk->registers.fp, &caller_fp) ||
	    walk_read(walk, walk->registers.fp + 8, &caller_pc))
		return walk_stop(walk, WALK_FP_CHAIN);
	if (!walk_is_user_pc(caller_pc))
		return walk_stop(walk, WALK_FP_CHAIN);
	walk_note_frame_pointer(walk, walk->registers.fp);
	walk->registers.sp = walk->registers.fp + 16;
	walk->registers.fp = caller_fp;
	walk->registers.pc = caller_pc;
	walk->is_exact = 0;
	walk->is_innermost = 0;
	walk->is_bx_lost = 1; /* this code may have changed it */
	walk->is_scratch_lost = 1;
	walk->num_fp_steps++;
	pcs[(walk->num_frames - 1) & (WIRE_MAX_FRAMES - 1)] |= WIRE_PC_FP_STEP;
	return 0;
}

/*
 * Note where the caller's fp and bx are saved. If that is relative to this frame's fp, its value must
 * be read now. If it does not point into the frame, it is the caller's again, and so is bx: GCC's
 * rules for realigned frames stay in force after the `leave` that ends them.
 */
WALK_INLINE int walk_save_registers(struct walk *walk, const struct unwind_rule *rule, wire_u64 cfa)
{
	wire_u64 fp_offset = (wire_u64)(long long)rule->fp_offset;
	wire_u64 bx_offset = (wire_u64)(long long)rule->bx_offset;
	wire_u8 fp_op = rule->fp_op;
	wire_u8 bx_op = rule->bx_op;

	if (fp_op == UNWIND_REGISTER_AT_FP || bx_op == UNWIND_REGISTER_AT_FP) {
		if (walk_restore_fp(walk))
			return walk_stop(walk, WALK_READ_FAILED);
		if (walk->registers.fp < walk->registers.sp || walk->registers.fp >= cfa)
			return 0;
	}
	if (bx_op == UNWIND_REGISTER_AT_CFA)
		walk->bx_address = cfa + bx_offset;
	else if (bx_op == UNWIND_REGISTER_AT_FP)
		walk->bx_address = walk->registers.fp + bx_offset;
	if (bx_op == UNWIND_REGISTER_UNDEFINED)
		walk->is_bx_lost = 1;
	else if (bx_op != UNWIND_REGISTER_SAME)
		walk->is_bx_lost = 0;
	if (fp_op == UNWIND_REGISTER_AT_CFA)
		walk->fp_address = cfa + fp_offset;
	else if (fp_op == UNWIND_REGISTER_AT_FP)
		walk->fp_address = walk->registers.fp + fp_offset;
	if (fp_op == UNWIND_REGISTER_UNDEFINED)
		walk->is_fp_lost = 1;
	else if (fp_op != UNWIND_REGISTER_SAME)
		walk->is_fp_lost = 0;
	return 0;
}

/* Rules without a CFA: the outermost frame, contexts in memory, no information. */
WALK_INLINE int walk_step_special(struct walk *walk, const struct unwind_rule *rule, wire_u64 *pcs)
{
	if (rule->cfa_op == UNWIND_CFA_UNSUPPORTED)
		return walk_stop(walk, WALK_UNSUPPORTED);
	if (rule->cfa_op == UNWIND_CFA_SCHEDULED)
		return walk_step_scheduled(walk, rule);
	/* Another function's last byte: only a return starts there. */
	if (rule->cfa_offset && walk->is_exact)
		return walk_step_return(walk);
	if (rule->cfa_offset) /* walk->registers.pc is the function's start, and follows no call */
		pcs[(walk->num_frames - 1) & (WIRE_MAX_FRAMES - 1)] |= WIRE_PC_EXACT;
	if (rule->cfa_op == UNWIND_CFA_STOP)
		return walk_stop(walk, WALK_COMPLETE);
	if (rule->cfa_op == UNWIND_CFA_SIGNAL)
		return walk_step_signal(walk);
	if (rule->cfa_op == UNWIND_CFA_CONTEXT)
		return walk_step_setcontext(walk);
	if (rule->cfa_op == UNWIND_CFA_JUMP)
		return walk_step_longjmp(walk);
	return walk_stop(walk, WALK_UNSUPPORTED);
}

/*
 * Whether the function with this word as its return address has no caller: stacks of Ruby's fibers
 * and other coroutines are prepared with 0 there, or with a repeated pattern of 32 bits
 * (0xdeaddeaddeaddead). All steps up to it must be by rules. In the middle of its code only a rule
 * by the stack pointer is trusted: GCC leaves others in force after `leave`.
 */
WALK_INLINE int walk_is_outermost_word(const struct walk *walk, const struct unwind_rule *rule,
				       wire_u64 word, wire_u64 cfa)
{
	if (walk->num_fp_steps || walk->entry_bytes || rule->ra_op != UNWIND_RA_AT_CFA ||
	    (walk->is_exact && rule->cfa_op != UNWIND_CFA_SP) || (cfa & 15))
		return 0;
	return !word || (word >> 32 == (word & 0xffffffff) && word != ~0ull);
}

WALK_INLINE int walk_step_rule(struct walk *walk, const struct unwind_rule *rule, wire_u64 *pcs)
{
	wire_u64 caller_pc;
	wire_u64 cfa;

	if (rule->cfa_op >= UNWIND_CFA_SIGNAL)
		return walk_step_special(walk, rule, pcs);
	if (rule->ra_op != UNWIND_RA_AT_CFA && !walk->is_innermost)
		return walk_stop(walk, WALK_UNSUPPORTED);
	if (walk_find_cfa(walk, rule, &cfa))
		return 1;
	/*
	 * Stacks grow down: a caller's frame is above, unless it is on another stack. The innermost
	 * function may not have pushed anything.
	 */
	if ((cfa < walk->registers.sp || (cfa == walk->registers.sp && !walk->is_innermost)) &&
	    !walk_may_leave_stack(rule))
		return walk_stop(walk, WALK_NON_INCREASING_CFA);
	if (rule->ra_op == UNWIND_RA_IN_DI) {
		caller_pc = walk->registers.di;
	} else if (rule->ra_op == UNWIND_RA_IN_CX) {
		caller_pc = walk->registers.cx;
	} else if (walk_read(walk, cfa - 8, &caller_pc)) {
		return walk_stop(walk, WALK_READ_FAILED);
	}
	/*
	 * Calls clobber scratch registers, and a frame on another stack proves nothing. So this is
	 * only plausible if the result follows a call.
	 */
	if ((walk_is_by_scratch(rule) || rule->cfa_op == UNWIND_CFA_COPY ||
	     rule->cfa_op == UNWIND_CFA_FP_ELSEWHERE ||
	     rule->cfa_op == UNWIND_CFA_COPY_ELSEWHERE) &&
	    !walk->is_innermost && !walk_follows_call(walk, caller_pc))
		return walk_stop(walk, WALK_UNSUPPORTED);
	if (rule->cfa_op != UNWIND_CFA_SP || rule->cfa_offset != 8)
		walk->is_copy_lost = 1;
	if (walk_save_registers(walk, rule, cfa))
		return 1;
	walk->registers.pc = caller_pc;
	walk->registers.sp = cfa;
	if (!walk_is_user_pc(caller_pc))
		return walk_stop(walk, walk_is_outermost_word(walk, rule, caller_pc, cfa)
					       ? WALK_COMPLETE
					       : WALK_NO_RETURN_ADDRESS);
	walk->is_exact = 0;
	if (rule->cfa_op == UNWIND_CFA_CX || rule->ra_op == UNWIND_RA_IN_CX)
		walk->is_exact = !walk_follows_call(walk, caller_pc); /* it is a landing pad */
	walk->is_innermost = 0;
	return 0;
}

/*
 * Add the present frame to pcs (WIRE_MAX_FRAMES long) and step to its caller. Returns 0 to
 * continue, or 1 at the end, with the reason in walk->end.
 */
WALK_INLINE int walk_step(struct walk *walk, wire_u64 *pcs)
{
	wire_u64 pc = walk->registers.pc - !walk->is_exact;
	const struct unwind_rule *rule = 0;

	if (walk->num_frames >= WIRE_MAX_FRAMES)
		return walk_stop(walk, WALK_TOO_DEEP);
	pcs[walk->num_frames & (WIRE_MAX_FRAMES - 1)] =
		walk->registers.pc | (walk->is_exact ? WIRE_PC_EXACT : 0);
	walk->num_frames++;
	if ((pc < walk->mapping.start || pc >= walk->mapping.end) && !walk_find_mapping(walk, pc))
		return walk_stop(walk, WALK_NO_MAPPING);
	if (walk->mapping.flags & UNWIND_MAPPING_HAS_HOTSPOT)
		return walk_stop(walk, WALK_AT_HOTSPOT_CODE);
	if (walk->mapping.flags & UNWIND_MAPPING_HAS_TABLE)
		rule = walk_find_rule(walk, pc - walk->mapping.bias);
	else if ((walk->mapping.flags & UNWIND_MAPPING_HAS_TRAMPOLINES) &&
		 !walk_step_trampoline(walk))
		return 0;
	else if (!(walk->mapping.flags & UNWIND_MAPPING_HAS_NO_CFI))
		return walk_stop(walk, WALK_NO_TABLE);
	if (rule && rule->cfa_op != UNWIND_CFA_NONE)
		return walk_step_rule(walk, rule, pcs);
	if ((walk->mapping.flags & UNWIND_MAPPING_HAS_TABLE) && !walk_step_entry(walk, pcs))
		return 0;
	if (walk->mapping.flags & UNWIND_MAPPING_HAS_NO_CFI)
		return walk_step_without_frame(walk) ? walk_step_fp(walk, pcs) : 0;
	return walk_stop(walk, WALK_NO_RULE);
}

#endif
