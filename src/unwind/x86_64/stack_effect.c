/*
 * Compilers and people who write assembly move rsp with a handful of instructions: push, pop, add,
 * sub, lea, leave, and mov from and to rbp. These are followed. For all others it matters only
 * whether they write rsp or rbp, according to a table of opcodes; when in doubt they do, and the
 * register becomes unknown. Vector instructions use the same numbers for other registers and write
 * neither, except the few that move a value to a general register.
 *
 * The caller's rbp and rbx are followed when they are pushed or stored on the stack, and loaded
 * from the same place again. A callee restores both by the calling convention.
 *
 * The register that holds a copy of rsp must certainly not have been overwritten. So vector
 * registers with its number count as that register if the instruction could also write a general
 * one. Registers that an instruction writes implicitly count, too.
 */
#include "unwind/x86_64/stack_effect.h"

#include <stddef.h>
#include <string.h>

enum { AX, CX, DX, BX, SP, FP, SI, DI, R8, R11 = 11 };

#define REX_B 1
#define REX_X 2
#define REX_R 4
#define REX_W 8

/* Nothing beyond: distances must fit into a rule's 16 bits. */
#define MAX_UNITS (32000 / STACK_STATE_UNIT)

static bool is_wide(const struct instruction *instruction)
{
	return instruction->rex & REX_W;
}

static bool is_register_operand(const struct instruction *instruction)
{
	return instruction->modrm >> 6 == 3;
}

/* The register in the ModRM byte's middle field. */
static unsigned int get_reg(const struct instruction *instruction)
{
	return (instruction->modrm >> 3 & 7) | (instruction->rex & REX_R ? 8 : 0);
}

/* The operand that may also be memory, if it is a register. */
static unsigned int get_rm(const struct instruction *instruction)
{
	return (instruction->modrm & 7) | (instruction->rex & REX_B ? 8 : 0);
}

/* The register in an opcode's last three bits. */
static unsigned int get_opcode_register(const struct instruction *instruction)
{
	return (instruction->opcode & 7) | (instruction->rex & REX_B ? 8 : 0);
}

/* A distance in units plus a number of bytes; unknown if the result is not a whole unit. */
static int16_t add_bytes(int16_t units, int64_t bytes)
{
	int64_t sum = units + bytes / STACK_STATE_UNIT;

	if (units == STACK_STATE_NONE || bytes % STACK_STATE_UNIT || sum > MAX_UNITS ||
	    sum < -MAX_UNITS)
		return STACK_STATE_NONE;
	return (int16_t)sum;
}

void stack_state_drop_copy(struct stack_state *state)
{
	state->copy = state->copy_slot = state->aligned_sp = 0;
	state->copy_register = 0;
}

static void drop_copy_register(struct stack_state *state)
{
	state->copy_register = STACK_STATE_NO_REGISTER;
	if (!state->copy_slot)
		stack_state_drop_copy(state);
}

/* rsp is at a distance, or anywhere. */
static void set_sp(struct stack_state *state, int16_t distance)
{
	state->sp = distance;
	/* A copy that was just made lasts until rsp is aligned. */
	if (state->aligned_sp || distance == STACK_STATE_NONE)
		stack_state_drop_copy(state);
}

/* rsp moves down. */
static void lower_sp(struct stack_state *state, int64_t bytes)
{
	int16_t aligned;

	if (!state->aligned_sp) {
		set_sp(state, add_bytes(state->sp, bytes));
		return;
	}
	aligned = add_bytes(state->aligned_sp, bytes);
	if (aligned > 0)
		state->aligned_sp = aligned;
	else
		stack_state_drop_copy(state);
}

static void align_sp(struct stack_state *state)
{
	bool has_copy = state->copy && !state->aligned_sp;

	if (!has_copy) {
		set_sp(state, STACK_STATE_NONE);
		return;
	}
	/* Some assembly makes room before, and stores the copy above. */
	if (state->sp < state->copy) {
		stack_state_drop_copy(state);
		state->sp = STACK_STATE_NONE;
		return;
	}
	state->aligned_sp = (int16_t)(1 + state->sp - state->copy);
	state->sp = STACK_STATE_NONE;
}

/* Whether an operand in memory is a register and a displacement, without an index. */
static bool find_base(const struct instruction *instruction, unsigned int *ret)
{
	unsigned int mode = instruction->modrm >> 6;
	unsigned int base = instruction->modrm & 7;

	if (mode == 3 || instruction->rex & REX_X)
		return false;
	if (base == SP) {
		if ((instruction->sib >> 3 & 7) != SP)
			return false;
		base = instruction->sib & 7;
	}
	if (base == FP && !mode)
		return false;
	*ret = base | (instruction->rex & REX_B ? 8 : 0);
	return true;
}

static bool is_copy_register(const struct stack_state *state, unsigned int reg)
{
	return state->copy && reg == state->copy_register && reg != STACK_STATE_NO_REGISTER;
}

/* The distance that a register points to. */
static int16_t get(const struct stack_state *state, unsigned int reg)
{
	if (is_copy_register(state, reg))
		return state->copy;
	return reg == SP ? state->sp : reg == FP ? state->fp : STACK_STATE_NONE;
}

/* The distance of an operand in memory whose base is rsp, a frame pointer or a copy. */
static int16_t find_operand(const struct stack_state *state, const struct instruction *instruction)
{
	unsigned int base;

	return find_base(instruction, &base)
		       ? add_bytes(get(state, base), -(int64_t)instruction->displacement)
		       : STACK_STATE_NONE;
}

/* Position of a memory operand in the aligned frame; 0: not there, or unknown. */
static int16_t find_slot(const struct stack_state *state, const struct instruction *instruction)
{
	unsigned int base;
	int16_t slot;

	if (!state->aligned_sp || !find_base(instruction, &base) || base != SP)
		return 0;
	slot = add_bytes(state->aligned_sp, -(int64_t)instruction->displacement);
	return slot > 0 ? slot : 0;
}

static void note_written(struct stack_state *state, unsigned int written)
{
	if (written == SP)
		set_sp(state, STACK_STATE_NONE);
	else if (written == FP)
		state->fp = STACK_STATE_NONE;
	if (is_copy_register(state, written))
		drop_copy_register(state);
}

static bool is_callers(const struct stack_state *state, unsigned int reg)
{
	return (reg == FP && !state->saved_fp && state->fp == STACK_STATE_NONE) ||
	       (reg == BX && !state->saved_bx);
}

/* The register's value is stored at a distance: the caller's, if it is still there. */
static void note_stored(struct stack_state *state, unsigned int stored, int16_t distance)
{
	if (distance <= 8 / STACK_STATE_UNIT)
		return; /* unknown, or in the caller's frame */
	if (!is_callers(state, stored))
		return;
	if (stored == FP)
		state->saved_fp = distance;
	else
		state->saved_bx = distance;
}

/* The same in an aligned frame, where the caller's registers could not be found again. */
static void note_stored_in_slot(struct stack_state *state, unsigned int stored, int16_t slot)
{
	if (is_callers(state, stored) && !is_copy_register(state, stored)) {
		stack_state_drop_copy(state);
		return;
	}
	if (is_copy_register(state, stored) && !state->copy_slot) {
		state->copy_slot = slot;
	} else if (slot && slot == state->copy_slot && !is_copy_register(state, stored)) {
		state->copy_slot = 0;
		if (state->copy_register == STACK_STATE_NO_REGISTER)
			stack_state_drop_copy(state);
	}
}

/* A register is loaded from a distance. */
static void note_loaded(struct stack_state *state, unsigned int loaded, int16_t distance)
{
	note_written(state, loaded);
	if (distance == STACK_STATE_NONE)
		return;
	if (loaded == FP && state->saved_fp == distance)
		state->saved_fp = 0;
	else if (loaded == BX && state->saved_bx == distance)
		state->saved_bx = 0;
}

/* The stored copy is loaded. */
static void note_copy_loaded(struct stack_state *state, unsigned int loaded)
{
	if (loaded == SP) {
		set_sp(state, state->copy);
		return;
	}
	note_written(state, loaded);
	if (state->copy_register == STACK_STATE_NO_REGISTER && loaded != FP)
		state->copy_register = (uint8_t)loaded;
}

static void push(struct stack_state *state, const struct instruction *instruction,
		 unsigned int pushed)
{
	lower_sp(state, instruction->has_operand_prefix ? 2 : 8);
	if (state->aligned_sp)
		note_stored_in_slot(state, pushed, state->aligned_sp);
	else
		note_stored(state, pushed, state->sp);
}

static void pop(struct stack_state *state, const struct instruction *instruction,
		unsigned int popped)
{
	int16_t distance = state->sp;

	lower_sp(state, instruction->has_operand_prefix ? -2 : -8);
	note_loaded(state, popped, distance);
}

static void leave(struct stack_state *state)
{
	set_sp(state, state->fp);
	note_loaded(state, FP, state->sp);
	lower_sp(state, -8);
}

/* A register becomes an address on the stack, or something else. */
static void set(struct stack_state *state, unsigned int written, int16_t distance)
{
	if (written == SP) {
		set_sp(state, distance);
		return;
	}
	note_written(state, written);
	if (written == FP) { /* other addresses in rbp are temporary */
		state->fp = distance == state->saved_fp ? distance : STACK_STATE_NONE;
		return;
	}
	if (distance <= 0 || state->sp == STACK_STATE_NONE || state->aligned_sp)
		return;
	state->copy = distance;
	state->copy_register = (uint8_t)written;
}

/* mov between registers, or from and to memory: `loads` if the middle field is written. */
static void move(struct stack_state *state, const struct instruction *instruction, bool loads)
{
	unsigned int reg = get_reg(instruction);
	unsigned int rm = get_rm(instruction);
	bool is_whole = is_wide(instruction);
	int16_t slot = is_whole ? find_slot(state, instruction) : 0;

	if (is_register_operand(instruction))
		set(state, loads ? reg : rm,
		    is_whole ? get(state, loads ? rm : reg) : STACK_STATE_NONE);
	else if (slot && !loads)
		note_stored_in_slot(state, reg, slot);
	else if (slot && slot == state->copy_slot)
		note_copy_loaded(state, reg);
	else if (!loads && is_whole)
		note_stored(state, reg, find_operand(state, instruction));
	else if (loads)
		note_loaded(state, reg,
			    is_whole ? find_operand(state, instruction) : STACK_STATE_NONE);
}

/* lea */
static void load_address(struct stack_state *state, const struct instruction *instruction)
{
	unsigned int reg = get_reg(instruction);
	unsigned int base;

	if (reg == SP && is_wide(instruction) && find_base(instruction, &base) && base == SP)
		lower_sp(state, -(int64_t)instruction->displacement);
	else
		set(state, reg,
		    is_wide(instruction) ? find_operand(state, instruction) : STACK_STATE_NONE);
}

bool stack_effect_is_alignment(const struct instruction *instruction)
{
	return instruction->map == INSTRUCTION_MAP_ONE_BYTE && !instruction->is_vex &&
	       (instruction->opcode == 0x81 || instruction->opcode == 0x83) &&
	       (instruction->modrm >> 3 & 7) == 4 && is_register_operand(instruction) &&
	       is_wide(instruction) && get_rm(instruction) == SP && instruction->immediate < 0;
}

/* add, or, adc, sbb, and, sub, xor, cmp of a register with a number. */
static void calculate(struct stack_state *state, const struct instruction *instruction)
{
	unsigned int rm = get_rm(instruction);
	int64_t bytes = instruction->immediate;

	if (!is_register_operand(instruction))
		return;
	if (stack_effect_is_alignment(instruction)) {
		align_sp(state);
		return;
	}
	switch (instruction->modrm >> 3 & 7) {
	case 0:
		bytes = -bytes;
		break;
	case 5:
		break;
	case 7:
		return;
	default:
		note_written(state, rm);
		return;
	}
	if (rm == SP && is_wide(instruction))
		lower_sp(state, bytes);
	else
		set(state, rm,
		    is_wide(instruction) ? add_bytes(get(state, rm), bytes) : STACK_STATE_NONE);
}

/* For one-byte opcodes that are not followed: those that write the operand rm or reg. */
static bool writes_rm(const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;
	unsigned int group = instruction->modrm >> 3 & 7;

	if (opcode < 0x40)
		return (opcode & 7) < 2 && opcode < 0x38; /* arithmetic, but cmp */
	switch (opcode) {
	case 0x80:
		return group != 7;
	case 0x86:
	case 0x87:
	case 0x88:
	case 0x8c:
	case 0x8f:
	case 0xc0:
	case 0xc1:
	case 0xc6:
	case 0xc7:
	case 0xd0:
	case 0xd1:
	case 0xd2:
	case 0xd3:
		return true;
	case 0xf6:
	case 0xf7:
		return group == 2 || group == 3;
	case 0xfe:
	case 0xff:
		return group < 2;
	default:
		return false;
	}
}

static bool writes_reg(const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (opcode < 0x40)
		return (opcode & 6) == 2 && opcode < 0x38;
	return opcode == 0x63 || opcode == 0x69 || opcode == 0x6b || opcode == 0x86 ||
	       opcode == 0x87 || opcode == 0x8a;
}

/* The same for the opcodes after 0F; none of them is followed. */
static bool writes_rm_0f(const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if ((opcode & 0xf0) == 0x90)
		return true; /* setcc */
	switch (opcode) {
	case 0x7e:
		return !instruction->has_repeat_prefix; /* with it both are vector registers */
	case 0x00:                                      /* sldt, str */
	case 0x20:                                      /* mov from a control register */
	case 0x21:
	case 0x78: /* vmread */
	case 0xa4:
	case 0xa5:
	case 0xab:
	case 0xac:
	case 0xad:
	case 0xb0:
	case 0xb1:
	case 0xb3:
	case 0xba:
	case 0xbb:
	case 0xc0:
	case 0xc1:
	case 0xc7: /* rdrand, rdseed, rdpid */
	case 0xae: /* rdfsbase, rdgsbase */
	case 0x01: /* smsw */
		return true;
	default:
		return false;
	}
}

static bool writes_reg_0f(const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if ((opcode & 0xf0) == 0x40)
		return true; /* cmovcc */
	switch (opcode) {
	case 0x02:
	case 0x03:
	case 0x2c:
	case 0x2d:
	case 0x50:
	case 0xaf:
	case 0xb6:
	case 0xb7:
	case 0xb8:
	case 0xbc:
	case 0xbd:
	case 0xbe:
	case 0xbf:
	case 0xc0:
	case 0xc1:
	case 0xc5:
	case 0xd7:
		return true;
	default:
		return false;
	}
}

/* Whether the operands that are written are bytes. */
static bool writes_bytes(const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if (instruction->map == INSTRUCTION_MAP_0F)
		return (opcode & 0xf0) == 0x90 || opcode == 0xb0 || opcode == 0xc0;
	if (instruction->map != INSTRUCTION_MAP_ONE_BYTE)
		return false;
	if (opcode < 0x40)
		return !(opcode & 1);
	switch (opcode) {
	case 0x80:
	case 0x86:
	case 0x88:
	case 0x8a:
	case 0xc0:
	case 0xc6:
	case 0xd0:
	case 0xd2:
	case 0xf6:
	case 0xfe:
		return true;
	default:
		return (opcode & 0xf8) == 0xb0;
	}
}

/* Bytes 4 to 7 are ah, ch, dh and bh without REX, else spl, bpl, sil and dil. */
static void note_operand(struct stack_state *state, const struct instruction *instruction,
			 unsigned int written)
{
	if (!instruction->rex && writes_bytes(instruction))
		written &= 3;
	note_written(state, written);
}

/* For one-byte opcodes: registers that are written without being an operand. */
static void note_implied(struct stack_state *state, const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;
	bool is_string = (opcode & 0xfc) == 0x6c || (opcode & 0xfc) == 0xa4 ||
			 (opcode >= 0xaa && opcode <= 0xaf);
	bool multiplies = (opcode & 0xfe) == 0xf6 && (instruction->modrm >> 3 & 7) >= 4;
	bool writes_ax = (opcode < 0x38 && (opcode & 6) == 4) || opcode == 0x9f ||
			 (opcode & 0xfe) == 0x98 || (opcode & 0xfe) == 0xa0 ||
			 (opcode & 0xfe) == 0xac || opcode == 0xcd || opcode == 0xd7 ||
			 (opcode & 0xf6) == 0xe4 || ((opcode & 0xf8) == 0x90 && opcode != 0x90);

	if (writes_ax || multiplies)
		note_written(state, AX);
	if (multiplies || opcode == 0x99)
		note_written(state, DX);
	if (is_string || (opcode >= 0xe0 && opcode <= 0xe2)) /* loop */
		note_written(state, CX);
	if (is_string) {
		note_written(state, SI);
		note_written(state, DI);
	}
}

/* The same for opcodes after 0F. */
static void note_implied_0f(struct stack_state *state, const struct instruction *instruction)
{
	bool is_cpuid = instruction->opcode == 0xa2;
	bool is_system = instruction->opcode == 0x01 || instruction->opcode == 0x05;
	bool is_pair = (instruction->opcode >= 0x31 && instruction->opcode <= 0x33) ||
		       instruction->opcode == 0xc7;
	bool is_exchange = instruction->opcode == 0xb0 || instruction->opcode == 0xb1;

	if (is_cpuid)
		note_written(state, BX);
	if (is_cpuid || is_system) { /* xgetbv, rdtscp; syscall */
		note_written(state, CX);
		note_written(state, R11);
	}
	if (is_cpuid || is_system || is_pair) /* rdtsc and the like; cmpxchg16b */
		note_written(state, DX);
	if (is_cpuid || is_system || is_pair || is_exchange) /* cmpxchg */
		note_written(state, AX);
}

/* VEX and the like: only three bits of a register's number are decoded, and not all operands. */
static void note_vex_written(struct stack_state *state, const struct instruction *instruction)
{
	unsigned int reg = instruction->modrm >> 3 & 7;
	unsigned int rm = instruction->modrm & 7;
	uint8_t opcode = instruction->opcode;
	bool is_rm_written = false;
	bool is_reg_written = false;
	bool is_any_written = false;

	if (!state->copy || state->copy_register == STACK_STATE_NO_REGISTER)
		return;
	switch (instruction->map) {
	case INSTRUCTION_MAP_0F:
	case INSTRUCTION_MAP_EVEX_5:
		/* vmovmskps, vpmovmskb, vpextrw, vcvtss2si and the like, kmov */
		is_reg_written = opcode == 0x50 || opcode == 0xd7 || opcode == 0xc5 ||
				 (opcode & 0xfe) == 0x2c || opcode == 0x93 ||
				 (opcode & 0xfe) == 0x78;
		is_rm_written = opcode == 0x7e; /* vmovd, vmovq */
		break;
	case INSTRUCTION_MAP_0F38:
		is_any_written = opcode >= 0xf0; /* mulx, blsr: not decoded */
		break;
	case INSTRUCTION_MAP_0F3A:
		is_rm_written = (opcode & 0xfc) == 0x14;  /* vpextr */
		is_reg_written = opcode == 0xf0;          /* rorx */
		is_any_written = (opcode & 0xfd) == 0x61; /* vpcmpestri: rcx */
		break;
	case INSTRUCTION_MAP_ONE_BYTE:
	case INSTRUCTION_MAP_EVEX_6:
		break;
	case INSTRUCTION_MAP_XOP_8:
	case INSTRUCTION_MAP_XOP_9:
	case INSTRUCTION_MAP_XOP_A:
		is_any_written = true;
		break;
	}
	if (is_any_written || (is_reg_written && reg == (state->copy_register & 7)) ||
	    (is_rm_written && is_register_operand(instruction) && rm == (state->copy_register & 7)))
		drop_copy_register(state);
}

/*
 * Apply an instruction that is not followed to the registers that it writes. In doubt, every
 * register in its fields.
 */
static void clobber(struct stack_state *state, const struct instruction *instruction)
{
	bool is_rm_written = false;
	bool is_reg_written = false;

	if (instruction->is_vex)
		note_vex_written(state, instruction);
	switch (instruction->map) {
	case INSTRUCTION_MAP_ONE_BYTE:
		if ((instruction->opcode & 0xf0) == 0xb0)
			note_operand(state, instruction, get_opcode_register(instruction));
		else if ((instruction->opcode & 0xf8) == 0x90 && instruction->opcode != 0x90)
			note_written(state, get_opcode_register(instruction)); /* xchg with rax */
		is_rm_written = writes_rm(instruction);
		is_reg_written = writes_reg(instruction);
		note_implied(state, instruction);
		break;
	case INSTRUCTION_MAP_0F:
		if (!instruction->is_vex && (instruction->opcode & 0xf8) == 0xc8)
			note_written(state, get_opcode_register(instruction)); /* bswap */
		if (instruction->is_vex)
			break; /* vmovd, vmovq, vpmovmskb and kmov have no use for rsp and rbp */
		is_rm_written = writes_rm_0f(instruction);
		is_reg_written = writes_reg_0f(instruction);
		note_implied_0f(state, instruction);
		break;
	case INSTRUCTION_MAP_0F38:
		/* movbe, crc32, adx; with VEX andn, bzhi, mulx, bextr and their like */
		is_reg_written = instruction->opcode >= 0xf0;
		break;
	case INSTRUCTION_MAP_0F3A:
		is_rm_written = (instruction->opcode & 0xfc) == 0x14; /* pextr, extractps */
		if ((instruction->opcode & 0xfd) == 0x61)             /* pcmpestri */
			note_written(state, CX);
		is_reg_written = instruction->opcode == 0xf0; /* rorx */
		break;
	default:
		break;
	}
	/*
	 * The third operand of a VEX instruction is not decoded: it is never rsp or rbp in
	 * practice.
	 */
	if (is_rm_written && is_register_operand(instruction))
		note_operand(state, instruction, get_rm(instruction));
	if (is_reg_written)
		note_operand(state, instruction, get_reg(instruction));
}

static void apply_one_byte(struct stack_state *state, const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if ((opcode & 0xf8) == 0x50) {
		push(state, instruction, get_opcode_register(instruction));
		return;
	}
	if ((opcode & 0xf8) == 0x58) {
		pop(state, instruction, get_opcode_register(instruction));
		return;
	}
	switch (opcode) {
	case 0x68:
	case 0x6a:
	case 0x9c: /* pushf */
		push(state, instruction, SP);
		return;
	case 0x9d: /* popf */
		lower_sp(state, -8);
		return;
	case 0x81:
	case 0x83:
		calculate(state, instruction);
		return;
	case 0x89:
		move(state, instruction, false);
		return;
	case 0x8b:
		move(state, instruction, true);
		return;
	case 0x8d:
		load_address(state, instruction);
		return;
	case 0x8f:
		lower_sp(state, -8);
		break;
	case 0xc8: /* enter */
		set_sp(state, STACK_STATE_NONE);
		state->fp = STACK_STATE_NONE;
		return;
	case 0xc9:
		leave(state);
		return;
	case 0xff:
		if ((instruction->modrm >> 3 & 7) == 6)
			push(state, instruction, SP);
		break;
	default:
		break;
	}
	clobber(state, instruction);
}

void stack_effect_apply(struct stack_state *state, const struct instruction *instruction)
{
	if (instruction->map == INSTRUCTION_MAP_ONE_BYTE && !instruction->is_vex)
		apply_one_byte(state, instruction);
	else if (instruction->map == INSTRUCTION_MAP_0F && !instruction->is_vex &&
		 (instruction->opcode & 0xf7) == 0xa0)
		push(state, instruction, SP); /* push of fs and gs */
	else if (instruction->map == INSTRUCTION_MAP_0F && !instruction->is_vex &&
		 (instruction->opcode & 0xf7) == 0xa1)
		lower_sp(state, -8);
	else
		clobber(state, instruction);
}

static void set_saved(int16_t distance, wire_u8 *op, short *offset)
{
	if (!distance)
		return;
	*op = UNWIND_REGISTER_AT_CFA;
	*offset = (short)(-STACK_STATE_UNIT * distance);
}

bool stack_state_is_lost(const struct stack_state *state)
{
	return state->sp == STACK_STATE_NONE && state->fp == STACK_STATE_NONE && !state->aligned_sp;
}

bool stack_state_is_same(const struct stack_state *a, const struct stack_state *b)
{
	struct stack_state other = *b;

	/* Once a copy is stored, its register does not matter. */
	if (a->copy_slot && a->copy_slot == b->copy_slot)
		other.copy_register = a->copy_register;
	return memcmp(a, &other, sizeof(other)) == 0;
}

void stack_effect_apply_call(struct stack_state *state)
{
	unsigned int reg = state->copy_register;

	if (is_copy_register(state, reg) && (reg <= DX || (reg >= SI && reg <= R11)))
		drop_copy_register(state);
}

/* Compute the CFA from the copy of rsp: from where it is stored, or from the register. */
static void set_cfa_by_copy(const struct stack_state *state, struct unwind_rule *rule)
{
	/* In the order of their numbers in instructions. */
	static const uint8_t dwarf_numbers[] = {0, 2, 1, 3, 7, 6, 4, 5};
	int place = STACK_STATE_UNIT * (state->aligned_sp - state->copy_slot);
	unsigned int reg = state->copy_register;
	int bytes = STACK_STATE_UNIT * state->copy;

	if (state->copy_slot && bytes <= UNWIND_STORED_COPY_BYTES_MAX) {
		rule->cfa_op = UNWIND_CFA_DEREF_SP_ADD;
		rule->cfa_offset = UNWIND_STORED_COPY(place, bytes);
	} else if (reg == BX) {
		rule->cfa_op = UNWIND_CFA_BX;
		rule->cfa_offset = bytes;
	} else if (reg != STACK_STATE_NO_REGISTER) {
		rule->cfa_op = UNWIND_CFA_COPY;
		rule->cfa_offset = UNWIND_COPY(reg < R8 ? dwarf_numbers[reg] : (int)reg, bytes);
	} else {
		rule->cfa_op = UNWIND_CFA_UNSUPPORTED;
	}
}

struct unwind_rule stack_state_get_rule(const struct stack_state *state)
{
	struct unwind_rule rule = {0};

	if (state->sp != STACK_STATE_NONE) {
		rule.cfa_op = UNWIND_CFA_SP;
		rule.cfa_offset = STACK_STATE_UNIT * state->sp;
	} else if (state->fp != STACK_STATE_NONE) {
		rule.cfa_op = UNWIND_CFA_FP;
		rule.cfa_offset = STACK_STATE_UNIT * state->fp;
	} else {
		set_cfa_by_copy(state, &rule);
	}
	set_saved(state->saved_fp, &rule.fp_op, &rule.fp_offset);
	set_saved(state->saved_bx, &rule.bx_op, &rule.bx_offset);
	return rule;
}
