/*
 * Compilers and people who write assembly move rsp with a handful of instructions: push, pop, add,
 * sub, lea, leave, and mov from and to rbp. These are followed. For all others it matters only
 * whether they write rsp or rbp, which a table of opcodes says; when in doubt they do, and the
 * register is not known any more. Vector instructions have other registers by the same numbers and
 * write neither, but for the few that move a value to a general one.
 *
 * The caller's rbp and rbx are followed where they are pushed or stored on the stack, and loaded
 * from the same place again. That a callee gives both back is what the calling convention says.
 */
#include "unwind/x86_64/stack_effect.h"

#include <stddef.h>

enum { BX = 3, SP = 4, FP = 5 };

#define REX_B 1
#define REX_X 2
#define REX_R 4
#define REX_W 8

/* Nothing beyond: distances times 8 must fit into a rule's 16 bits. */
#define MAX_UNITS 4000

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

/* The operand that may also be memory, where it is a register. */
static unsigned int get_rm(const struct instruction *instruction)
{
	return (instruction->modrm & 7) | (instruction->rex & REX_B ? 8 : 0);
}

/* The register in an opcode's last three bits. */
static unsigned int get_opcode_register(const struct instruction *instruction)
{
	return (instruction->opcode & 7) | (instruction->rex & REX_B ? 8 : 0);
}

/* A distance in units plus a number of bytes; not known where it does not come out even. */
static int16_t add_bytes(int16_t units, int64_t bytes)
{
	int64_t sum = units + bytes / 8;

	if (units == STACK_STATE_NONE || bytes % 8 || sum > MAX_UNITS || sum < -MAX_UNITS)
		return STACK_STATE_NONE;
	return (int16_t)sum;
}

/* The distance of an operand in memory whose base is rsp or a frame pointer, without an index. */
static int16_t find_operand(const struct stack_state *state, const struct instruction *instruction)
{
	unsigned int mode = instruction->modrm >> 6;
	unsigned int base = instruction->modrm & 7;

	if (mode == 3 || instruction->rex & (REX_B | REX_X))
		return STACK_STATE_NONE;
	if (base == SP) {
		if ((instruction->sib >> 3 & 7) != SP || (instruction->sib & 7) != SP)
			return STACK_STATE_NONE;
		return add_bytes(state->sp, -(int64_t)instruction->displacement);
	}
	if (base == FP && mode)
		return add_bytes(state->fp, -(int64_t)instruction->displacement);
	return STACK_STATE_NONE;
}

static void note_written(struct stack_state *state, unsigned int written)
{
	if (written == SP)
		state->sp = STACK_STATE_NONE;
	else if (written == FP)
		state->fp = STACK_STATE_NONE;
}

/* The register's value is stored at a distance: the caller's, if it is still there. */
static void note_stored(struct stack_state *state, unsigned int stored, int16_t distance)
{
	if (distance <= 1)
		return; /* not known, or in the caller's frame */
	if (stored == FP && !state->saved_fp && state->fp == STACK_STATE_NONE)
		state->saved_fp = distance;
	else if (stored == BX && !state->saved_bx)
		state->saved_bx = distance;
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

static void push(struct stack_state *state, const struct instruction *instruction,
		 unsigned int pushed)
{
	state->sp = add_bytes(state->sp, instruction->has_operand_prefix ? 2 : 8);
	note_stored(state, pushed, state->sp);
}

static void pop(struct stack_state *state, const struct instruction *instruction,
		unsigned int popped)
{
	int16_t distance = state->sp;

	state->sp = add_bytes(state->sp, instruction->has_operand_prefix ? -2 : -8);
	note_loaded(state, popped, distance);
}

static void leave(struct stack_state *state)
{
	state->sp = state->fp;
	note_loaded(state, FP, state->sp);
	state->sp = add_bytes(state->sp, -8);
}

/* A register becomes an address on the stack, or something else. */
static void set(struct stack_state *state, unsigned int written, int16_t distance)
{
	if (written == SP)
		state->sp = distance;
	else if (written == FP) /* other addresses in rbp come and go */
		state->fp = distance == state->saved_fp ? distance : STACK_STATE_NONE;
}

static int16_t get(const struct stack_state *state, unsigned int reg)
{
	return reg == SP ? state->sp : reg == FP ? state->fp : STACK_STATE_NONE;
}

/* mov between registers, or from and to memory: `loads` where the middle field is written. */
static void move(struct stack_state *state, const struct instruction *instruction, bool loads)
{
	unsigned int reg = get_reg(instruction);
	unsigned int rm = get_rm(instruction);
	bool is_whole = is_wide(instruction);

	if (is_register_operand(instruction))
		set(state, loads ? reg : rm,
		    is_whole ? get(state, loads ? rm : reg) : STACK_STATE_NONE);
	else if (!loads && is_whole)
		note_stored(state, reg, find_operand(state, instruction));
	else if (loads)
		note_loaded(state, reg,
			    is_whole ? find_operand(state, instruction) : STACK_STATE_NONE);
}

/* add, or, adc, sbb, and, sub, xor, cmp of a register with a number. */
static void calculate(struct stack_state *state, const struct instruction *instruction)
{
	unsigned int rm = get_rm(instruction);
	int64_t bytes = instruction->immediate;

	if (!is_register_operand(instruction))
		return;
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
	set(state, rm, is_wide(instruction) ? add_bytes(get(state, rm), bytes) : STACK_STATE_NONE);
}

/* Of the one-byte opcodes that are not followed: those that write the operand rm or reg. */
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

/* The same of the opcodes behind 0F, none of which is followed. */
static bool writes_rm_0f(const struct instruction *instruction)
{
	uint8_t opcode = instruction->opcode;

	if ((opcode & 0xf0) == 0x90)
		return true; /* setcc */
	switch (opcode) {
	case 0x7e:
		return !instruction->has_repeat_prefix; /* with it both are vector registers */
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

/* What is written by an instruction that is not followed. In doubt: by its fields, all. */
static void clobber(struct stack_state *state, const struct instruction *instruction)
{
	bool is_rm_written = false;
	bool is_reg_written = false;

	switch (instruction->map) {
	case INSTRUCTION_MAP_ONE_BYTE:
		if ((instruction->opcode & 0xf0) == 0xb0)
			note_operand(state, instruction, get_opcode_register(instruction));
		else if ((instruction->opcode & 0xf8) == 0x90 && instruction->opcode != 0x90)
			note_written(state, get_opcode_register(instruction)); /* xchg with rax */
		is_rm_written = writes_rm(instruction);
		is_reg_written = writes_reg(instruction);
		break;
	case INSTRUCTION_MAP_0F:
		if (!instruction->is_vex && (instruction->opcode & 0xf8) == 0xc8)
			note_written(state, get_opcode_register(instruction)); /* bswap */
		if (instruction->is_vex)
			break; /* vmovd, vmovq, vpmovmskb and kmov have no use for rsp and rbp */
		is_rm_written = writes_rm_0f(instruction);
		is_reg_written = writes_reg_0f(instruction);
		break;
	case INSTRUCTION_MAP_0F38:
		/* movbe, crc32, adx; with VEX andn, bzhi, mulx, bextr and their like */
		is_reg_written = instruction->opcode >= 0xf0;
		break;
	case INSTRUCTION_MAP_0F3A:
		is_rm_written = (instruction->opcode & 0xfc) == 0x14; /* pextr, extractps */
		is_reg_written = instruction->opcode == 0xf0;         /* rorx */
		break;
	default:
		break;
	}
	/* The third operand of a VEX instruction is not decoded: nobody has rsp or rbp in it. */
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
		state->sp = add_bytes(state->sp, -8);
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
		set(state, get_reg(instruction),
		    is_wide(instruction) ? find_operand(state, instruction) : STACK_STATE_NONE);
		return;
	case 0x8f:
		state->sp = add_bytes(state->sp, -8);
		break;
	case 0xc8: /* enter */
		state->sp = state->fp = STACK_STATE_NONE;
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
		state->sp = add_bytes(state->sp, -8);
	else
		clobber(state, instruction);
}

static void set_saved(int16_t distance, wire_u8 *op, short *offset)
{
	if (!distance)
		return;
	*op = UNWIND_REGISTER_AT_CFA;
	*offset = (short)(-8 * distance);
}

struct unwind_rule stack_state_get_rule(const struct stack_state *state)
{
	struct unwind_rule rule = {
		.cfa_op = state->sp == STACK_STATE_NONE ? UNWIND_CFA_FP : UNWIND_CFA_SP,
		.cfa_offset = 8 * (state->sp == STACK_STATE_NONE ? state->fp : state->sp),
	};

	set_saved(state->saved_fp, &rule.fp_op, &rule.fp_offset);
	set_saved(state->saved_bx, &rule.bx_op, &rule.bx_offset);
	return rule;
}
