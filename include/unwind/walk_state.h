/*
 * State of a stack walk, and the functions that its includer defines; see unwind/walk.h.
 */
#ifndef UNWIND_WALK_STATE_H
#define UNWIND_WALK_STATE_H

#include "wire/registers.h"
#include "wire/unwind.h"

/* The first page is never mapped, so no code is below this address. */
#define WALK_PC_MIN 4096

struct walk {
	/* pc, sp, fp and bx of the present frame; the others of the innermost frame. */
	struct wire_registers registers;
	wire_u64 fp_address; /* where fp was saved; registers.fp is valid while this is 0 */
	wire_u64 bx_address; /* likewise */
	struct unwind_mapping mapping; /* the last one found; end 0: none yet */
	wire_u32 first_mapping;        /* of the process */
	wire_u32 num_mappings;
	wire_u32 num_frames;
	wire_u32 end;     /* enum walk_end */
	wire_u8 is_exact; /* pc is not a return address: innermost, or interrupted by a signal */
	wire_u8 is_innermost;
	wire_u8 is_fp_lost; /* fp is unknown */
	wire_u8 is_bx_lost;
	wire_u8 is_scratch_lost; /* the present frame's scratch registers are unknown */
	/*
	 * likewise for registers that only the innermost frame has: something may have been pushed
	 */
	wire_u8 is_copy_lost;
	wire_u8 entry_bytes; /* see walk_step_entry(); 0: not examined, or not applicable */
	/*
	 * CFA - sp of the innermost function in its prologue or epilogue; 0: not examined, or its
	 * frame is set up.
	 */
	wire_u8 cfa_offset;
	wire_u8 frame_setup;   /* enum walk_frame_setup: of the caller of the innermost function */
	wire_u32 num_fp_steps; /* taken by frame pointer */
	wire_u64 prologue;     /* see walk_find_cfa_offset() */
};

/* Read 8 bytes of the thread's memory. Returns 0, or -1 if unreadable. */
WALK_INLINE int walk_read(struct walk *walk, wire_u64 address, wire_u64 *ret);
/* Put the mapping that holds pc into walk->mapping. Returns 1, or 0 if not found. */
WALK_INLINE int walk_find_mapping(struct walk *walk, wire_u64 pc);
/* The rule for an address by the table of walk->mapping, or NULL. */
WALK_INLINE const struct unwind_rule *walk_find_rule(struct walk *walk, wire_u64 elf_address);
/* Whether the thread's alternate stack for signal handlers is this one (sigaltstack), or unknown. */
WALK_INLINE int walk_may_have_signal_stack(struct walk *walk, wire_u64 start, wire_u64 num_bytes);
/* Value of the thread pointer (fs base), or 0 if unknown. */
WALK_INLINE wire_u64 walk_get_thread_pointer(struct walk *walk);
/* Called when the present frame has this frame pointer and the walk steps over it. */
WALK_INLINE void walk_note_frame_pointer(struct walk *walk, wire_u64 fp);

/* Initialize all but the process's mappings. */
WALK_INLINE void walk_start(struct walk *walk, const struct wire_registers *registers)
{
	walk->registers = *registers;
	walk->fp_address = walk->bx_address = 0;
	walk->mapping.start = walk->mapping.end = 0;
	walk->first_mapping = walk->num_mappings = 0;
	walk->num_frames = walk->num_fp_steps = 0;
	walk->end = WALK_UNFINISHED;
	walk->is_exact = walk->is_innermost = 1;
	walk->is_fp_lost = walk->is_bx_lost = walk->is_scratch_lost = walk->is_copy_lost = 0;
	walk->entry_bytes = walk->cfa_offset = 0;
	walk->frame_setup = WALK_FRAME_SETUP_NONE;
	walk->prologue = 0;
}

WALK_INLINE int walk_stop(struct walk *walk, enum walk_end end)
{
	walk->end = end;
	return 1;
}

/* Code is never in the first page, nor at kernel addresses; their high bits are used as marks. */
WALK_INLINE int walk_is_user_pc(wire_u64 pc)
{
	return pc >= WALK_PC_MIN && !(pc & WIRE_PC_MARKS);
}

WALK_INLINE int walk_restore_fp(struct walk *walk)
{
	if (walk->is_fp_lost)
		return -1;
	if (!walk->fp_address)
		return 0;
	if (walk_read(walk, walk->fp_address, &walk->registers.fp))
		return -1;
	walk->fp_address = 0;
	return 0;
}

WALK_INLINE int walk_restore_bx(struct walk *walk)
{
	if (walk->is_bx_lost)
		return -1;
	if (!walk->bx_address)
		return 0;
	if (walk_read(walk, walk->bx_address, &walk->registers.bx))
		return -1;
	walk->bx_address = 0;
	return 0;
}

#endif
