/*
 * Steps of a walk for most frames, short enough for a loop: in the mapping of the previous frame, by
 * a known rule that adds a number to the stack pointer or to the frame pointer.
 *
 * The includer defines, besides the functions for unwind/walk.h, the two that are declared here.
 */
#ifndef UNWIND_PLAIN_STEP_H
#define UNWIND_PLAIN_STEP_H

#include "unwind/walk.h"

/* As walk_find_rule(), but NULL as well if finding the rule takes long. */
WALK_INLINE const struct unwind_rule *walk_find_known_rule(struct walk *walk, wire_u64 elf_address);
/*
 * As walk_read(), for a return address or a saved register, but -1 as well if reading it takes
 * more.
 */
WALK_INLINE int walk_read_plain(struct walk *walk, wire_u64 address, wire_u64 *ret);

/* Bits of struct unwind_rule's ops that a rule for a plain step may have. */
#define WALK_PLAIN_OPS                                                                            \
	UNWIND_OPS(UNWIND_CFA_SP | UNWIND_CFA_FP, UNWIND_REGISTER_AT_CFA, UNWIND_REGISTER_AT_CFA, \
		   UNWIND_RA_AT_CFA)

/* The frame pointer or the stack pointer. Returns 0, or 1 if the rule needs another register. */
WALK_INLINE int walk_get_plain_base(struct walk *walk, wire_u8 cfa_op, wire_u64 sp, wire_u64 *ret)
{
	wire_u64 fp;

	*ret = sp;
	if (cfa_op == UNWIND_CFA_SP)
		return 0;
	if (cfa_op != UNWIND_CFA_FP || walk->is_fp_lost)
		return 1;
	if (walk->fp_address) {
		if (walk_read_plain(walk, walk->fp_address, &fp))
			return 1;
		walk->registers.fp = fp;
		walk->fp_address = 0;
	}
	*ret = walk->registers.fp;
	return 0;
}

/* As walk_save_registers() for rules that save relative to the CFA. */
WALK_INLINE void walk_save_plain_registers(struct walk *walk, const struct unwind_rule *rule,
					   wire_u64 cfa)
{
	if (rule->fp_op) {
		walk->fp_address = cfa + (wire_u64)(long long)rule->fp_offset;
		walk->is_fp_lost = 0;
	}
	if (rule->bx_op) {
		walk->bx_address = cfa + (wire_u64)(long long)rule->bx_offset;
		walk->is_bx_lost = 0;
	}
}

/* The rule for the code at pc, if a plain step may be taken by it, else NULL. */
WALK_INLINE const struct unwind_rule *walk_find_plain_rule(struct walk *walk, wire_u64 pc)
{
	const struct unwind_rule *rule;

	if (pc < walk->mapping.start || pc >= walk->mapping.end ||
	    !(walk->mapping.flags & UNWIND_MAPPING_HAS_TABLE) ||
	    (walk->mapping.flags & UNWIND_MAPPING_HAS_HOTSPOT))
		return 0;
	rule = walk_find_known_rule(walk, pc - walk->mapping.bias);
	return rule && !(rule->ops & ~WALK_PLAIN_OPS) ? rule : 0;
}

/*
 * Take up to max steps with the results that walk_step() would have. Returns 0, or 1 if walk_step()
 * has to take the next step: it is not started, except that the frame pointer may have been read.
 */
WALK_INLINE int walk_take_plain_steps(struct walk *walk, wire_u64 *pcs, int max)
{
	/* In registers, as a store and a load of each would take as long as the step itself. */
	wire_u32 num_frames = walk->num_frames;
	wire_u64 is_exact = walk->is_exact;
	wire_u64 pc = walk->registers.pc;
	wire_u64 sp = walk->registers.sp;
	int number;

	for (number = 0; number < max; number++) {
		const struct unwind_rule *known = walk_find_plain_rule(walk, pc - !is_exact);
		struct unwind_rule rule;
		wire_u64 caller_pc;
		wire_u64 cfa;

		if (!known || num_frames >= WIRE_MAX_FRAMES)
			break;
		rule = *known;
		if (walk_get_plain_base(walk, rule.cfa_op, sp, &cfa))
			break;
		cfa += (wire_u64)(long long)rule.cfa_offset;
		if (cfa <= sp || walk_read_plain(walk, cfa - 8, &caller_pc) ||
		    !walk_is_user_pc(caller_pc))
			break;
		asm volatile("" : "+r"(num_frames)); /* the verifier must see the limit */
		pcs[num_frames & (WIRE_MAX_FRAMES - 1)] = pc | (is_exact ? WIRE_PC_EXACT : 0);
		num_frames++;
		if (rule.cfa_op != UNWIND_CFA_SP || rule.cfa_offset != 8)
			walk->is_copy_lost = 1;
		walk_save_plain_registers(walk, &rule, cfa);
		pc = caller_pc;
		sp = cfa;
		is_exact = 0;
	}
	if (num_frames != walk->num_frames)
		walk->is_exact = walk->is_innermost = 0;
	walk->num_frames = num_frames;
	walk->registers.pc = pc;
	walk->registers.sp = sp;
	return number < max;
}

#endif
