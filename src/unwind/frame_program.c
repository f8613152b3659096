/*
 * The interpreter of call-frame instructions. They describe a function's code from its start on:
 * some change the state (how to compute the CFA, where a register is saved), the others advance the
 * address. At each advance the state becomes a row, if it has changed:
 *
 *	                        sp + 8          1000: push fp
 *	advance 1; offset 16    sp + 16         1001: move sp to fp
 *	advance 3; register fp  fp + 16         1004: …
 *
 * The state can express more than a rule, because a later instruction may bring it back to what a
 * rule can express: rules are made with the rows. A state without a rule becomes
 * UNWIND_CFA_UNSUPPORTED; if only fp or bx cannot be expressed, that register counts as lost.
 */
#include "unwind/frame_program.h"

#include <dwarf.h>
#include <errno.h>
#include <stdlib.h>

#include "base/bytes.h"
#include "unwind/frame_expression.h"
#include "unwind/x86_64/frame_forms.h"

struct machine {
	const struct frame_section *section;
	const struct frame_cie *cie;
	struct frame_rows *rows; /* NULL while the common part is executed */
	struct bytes code;
	uint64_t pc; /* ELF address where the state holds */
	uint64_t end;
	struct frame_state initial;
	struct frame_state state;
	bool is_changed; /* since the last row */
	unsigned int num_remembered;
	struct frame_state remembered[FRAME_PROGRAM_MAX_REMEMBERED];
};

void frame_rows_release(struct frame_rows *rows)
{
	array_release(&rows->rows);
}

/* Untouched, or saved near the CFA. */
static inline bool is_usual(const struct frame_register *saved)
{
	return (unsigned int)saved->where <= FRAME_SAVED_AT_CFA &&
	       saved->offset == (short)saved->offset;
}
_Static_assert((int)FRAME_SAVED_SAME == UNWIND_REGISTER_SAME &&
		       (int)FRAME_SAVED_AT_CFA == UNWIND_REGISTER_AT_CFA,
	       "what make_rule() copies");

/*
 * The rule for the present state. Almost all states of compiled code have the same form, which has
 * a fast path, since building a table spends its time here. Fields are written one by one: a wide
 * read of fields just written would stall on store forwarding.
 */
static inline void make_rule(struct machine *machine, struct unwind_rule *ret)
{
	const struct frame_state *state = &machine->state;

	if ((state->cfa_op != UNWIND_CFA_SP && state->cfa_op != UNWIND_CFA_FP) ||
	    state->cfa_offset != (int)state->cfa_offset || machine->cie->is_signal_frame ||
	    state->ra.where != FRAME_SAVED_AT_CFA ||
	    state->ra.offset != WIRE_RETURN_ADDRESS_OFFSET || state->sp.where != FRAME_SAVED_SAME ||
	    !is_usual(&state->fp) || !is_usual(&state->bx)) {
		if (!frame_rule_make(state, machine->cie->is_signal_frame, ret))
			machine->rows->num_lost_registers++;
		return;
	}
	ret->cfa_offset = (int)state->cfa_offset;
	ret->fp_offset = (short)state->fp.offset; /* 0 for the same register */
	ret->bx_offset = (short)state->bx.offset;
	ret->cfa_op = state->cfa_op;
	ret->fp_op = (wire_u8)state->fp.where;
	ret->bx_op = (wire_u8)state->bx.where;
	ret->ra_op = UNWIND_RA_AT_CFA;
}

static void add_row(struct machine *machine)
{
	struct frame_row *row = &machine->rows->rows.items[machine->rows->rows.length++];

	row->elf_address = machine->pc;
	make_rule(machine, &row->rule);
}

/* Add a row for the present state if it has changed. Room is reserved. */
static inline void emit(struct machine *machine)
{
	if (!machine->is_changed || !machine->rows || machine->pc >= machine->end)
		return;
	machine->is_changed = false;
	add_row(machine);
}

/* Returns false if the address is not above the present one. */
static bool set_pc(struct machine *machine, uint64_t pc)
{
	if (pc < machine->pc)
		return false;
	if (pc > machine->pc)
		emit(machine);
	machine->pc = pc;
	return true;
}

static bool advance(struct machine *machine, uint64_t delta)
{
	/* Overflow needs an absurd delta, and then mostly goes back, which set_pc() refuses. */
	return set_pc(machine, machine->pc + delta * machine->cie->code_align);
}

static int64_t factored(const struct machine *machine, uint64_t offset)
{
	return (int64_t)(offset * (uint64_t)machine->cie->data_align);
}

/* The register's part of the state; NULL for registers that we do not track. */
static struct frame_register *find_register(struct frame_state *state, uint64_t number)
{
	switch (number) {
	case REGISTER_BX:
		return &state->bx;
	case REGISTER_FP:
		return &state->fp;
	case REGISTER_SP:
		return &state->sp;
	case REGISTER_PC:
		return &state->ra;
	default:
		return NULL;
	}
}

static void set_register(struct machine *machine, uint64_t number, enum frame_saved where,
			 int64_t offset)
{
	struct frame_register *saved = find_register(&machine->state, number);

	if (!saved)
		return;
	saved->where = where;
	saved->offset = offset;
	machine->is_changed = true;
}

static bool restore_register(struct machine *machine, uint64_t number)
{
	struct frame_register *saved = find_register(&machine->state, number);

	if (!machine->rows)
		return false;
	if (!saved)
		return true;
	*saved = *find_register(&machine->initial, number);
	machine->is_changed = true;
	return true;
}

static void set_cfa(struct machine *machine, uint64_t number, int64_t offset)
{
	machine->state.cfa_op = frame_form_get_cfa_op(number);
	machine->state.cfa_offset = offset;
	machine->state.cfa_register = number;
	machine->state.is_cfa_register = true;
	machine->is_changed = true;
}

static bool set_cfa_register(struct machine *machine, uint64_t number)
{
	if (!machine->state.is_cfa_register)
		return false;
	set_cfa(machine, number, machine->state.cfa_offset);
	return true;
}

static bool set_cfa_offset(struct machine *machine, int64_t offset)
{
	if (!machine->state.is_cfa_register)
		return false;
	set_cfa(machine, machine->state.cfa_register, offset);
	return true;
}

/* The bytes of an expression; step over them. */
static struct bytes take_expression(struct bytes *code)
{
	uint64_t size = leb128_read_unsigned(code);
	const void *data = bytes_take(code, size);

	return bytes_of(data ? data : code->data, data ? size : 0);
}

static void set_cfa_expression(struct machine *machine, struct bytes expression)
{
	int64_t offset = 0;
	uint8_t op = UNWIND_CFA_PLT;

	if (!frame_form_match_plt(expression, &offset))
		op = frame_expression_match_deref(expression, &offset);
	machine->state.cfa_op = op;
	machine->state.cfa_offset = offset;
	machine->state.is_cfa_register = false;
	machine->is_changed = true;
}

/* The register is saved at the address of the expression. */
static void set_register_expression(struct machine *machine, uint64_t number,
				    struct bytes expression)
{
	enum frame_saved where = FRAME_SAVED_ELSEWHERE;
	int64_t offset = 0;
	uint8_t op;

	if (frame_expression_read_base(&expression, &op, &offset) && !bytes_left(&expression))
		where = op == FRAME_EXPRESSION_FP ? FRAME_SAVED_AT_FP : FRAME_SAVED_AT_SP;
	set_register(machine, number, where, offset);
}

static bool remember_state(struct machine *machine)
{
	if (machine->num_remembered == FRAME_PROGRAM_MAX_REMEMBERED)
		return false;
	machine->remembered[machine->num_remembered++] = machine->state;
	return true;
}

static bool restore_state(struct machine *machine)
{
	if (!machine->num_remembered)
		return false;
	machine->state = machine->remembered[--machine->num_remembered];
	machine->is_changed = true;
	return true;
}

/* Instructions that define the CFA. */
static bool execute_cfa(struct machine *machine, uint8_t instruction)
{
	struct bytes *code = &machine->code;
	uint64_t number;

	switch (instruction) {
	case DW_CFA_def_cfa:
		number = leb128_read_unsigned(code);
		set_cfa(machine, number, (int64_t)leb128_read_unsigned(code));
		return true;
	case DW_CFA_def_cfa_sf:
		number = leb128_read_unsigned(code);
		set_cfa(machine, number, factored(machine, (uint64_t)leb128_read_signed(code)));
		return true;
	case DW_CFA_def_cfa_register:
		return set_cfa_register(machine, leb128_read_unsigned(code));
	case DW_CFA_def_cfa_offset:
		return set_cfa_offset(machine, (int64_t)leb128_read_unsigned(code));
	case DW_CFA_def_cfa_offset_sf:
		return set_cfa_offset(machine,
				      factored(machine, (uint64_t)leb128_read_signed(code)));
	case DW_CFA_def_cfa_expression:
		set_cfa_expression(machine, take_expression(code));
		return true;
	default:
		return false;
	}
}

/* Instructions that define where a register is saved. */
static bool execute_register(struct machine *machine, uint8_t instruction)
{
	struct bytes *code = &machine->code;
	uint64_t number = leb128_read_unsigned(code);

	switch (instruction) {
	case DW_CFA_offset_extended:
		set_register(machine, number, FRAME_SAVED_AT_CFA,
			     factored(machine, leb128_read_unsigned(code)));
		return true;
	case DW_CFA_offset_extended_sf:
		set_register(machine, number, FRAME_SAVED_AT_CFA,
			     factored(machine, (uint64_t)leb128_read_signed(code)));
		return true;
	case DW_CFA_GNU_negative_offset_extended:
		set_register(machine, number, FRAME_SAVED_AT_CFA,
			     factored(machine, -leb128_read_unsigned(code)));
		return true;
	case DW_CFA_restore_extended:
		return restore_register(machine, number);
	case DW_CFA_undefined:
		set_register(machine, number, FRAME_SAVED_UNDEFINED, 0);
		return true;
	case DW_CFA_same_value:
		set_register(machine, number, FRAME_SAVED_SAME, 0);
		return true;
	case DW_CFA_register:
		set_register(machine, number, FRAME_SAVED_IN_REGISTER,
			     (int64_t)leb128_read_unsigned(code));
		return true;
	case DW_CFA_expression:
		set_register_expression(machine, number, take_expression(code));
		return true;
	case DW_CFA_val_expression:
		(void)take_expression(code); /* val_expression: rules have no values */
		set_register(machine, number, FRAME_SAVED_ELSEWHERE, 0);
		return true;
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
		(void)leb128_read_unsigned(code);
		set_register(machine, number, FRAME_SAVED_ELSEWHERE, 0);
		return true;
	default:
		return false;
	}
}

/* Instructions without operand in the opcode. Returns false if the program is malformed. */
static bool execute_extended(struct machine *machine, uint8_t instruction)
{
	struct bytes *code = &machine->code;

	switch (instruction) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_set_loc:
		return set_pc(machine, frame_reader_read_pointer(code, machine->cie->encoding,
								 machine->section));
	case DW_CFA_advance_loc1:
		return advance(machine, bytes_u8(code));
	case DW_CFA_advance_loc2:
		return advance(machine, bytes_u16(code));
	case DW_CFA_advance_loc4:
		return advance(machine, bytes_u32(code));
	case DW_CFA_MIPS_advance_loc8:
		return advance(machine, bytes_u64(code));
	case DW_CFA_remember_state:
		return remember_state(machine);
	case DW_CFA_restore_state:
		return restore_state(machine);
	case DW_CFA_GNU_args_size:
		(void)leb128_read_unsigned(code); /* GNU_args_size, for exceptions only */
		return true;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		return execute_cfa(machine, instruction);
	default:
		return execute_register(machine, instruction);
	}
}

static bool execute(struct machine *machine)
{
	uint8_t instruction = bytes_u8(&machine->code);
	uint8_t operand = instruction & 0x3f;

	switch (instruction & 0xc0) {
	case DW_CFA_advance_loc:
		return advance(machine, operand);
	case DW_CFA_offset:
		set_register(machine, operand, FRAME_SAVED_AT_CFA,
			     factored(machine, leb128_read_unsigned(&machine->code)));
		return true;
	case DW_CFA_restore:
		return restore_register(machine, operand);
	default:
		return execute_extended(machine, instruction);
	}
}

/*
 * A fast path for the instructions that most programs consist of: short advances, pushes and pops,
 * remember and restore, and the padding at the end. Does the same as execute(). Returns the length
 * of the instruction, or 0 if it is left to execute().
 */
static inline size_t execute_usual(struct machine *machine, const uint8_t *code)
{
	uint8_t instruction = code[0];

	if ((instruction & 0xc0) == DW_CFA_advance_loc)
		return advance(machine, instruction & 0x3f) ? 1 : 0;
	if (instruction == DW_CFA_nop)
		return 1;
	if (instruction == DW_CFA_remember_state)
		return remember_state(machine) ? 1 : 0;
	if (instruction == DW_CFA_restore_state)
		return restore_state(machine) ? 1 : 0;
	if (code[1] & 0x80)
		return 0; /* a LEB128 number of several bytes */
	if (instruction == DW_CFA_def_cfa_offset)
		return set_cfa_offset(machine, code[1]) ? 2 : 0;
	if ((instruction & 0xc0) != DW_CFA_offset)
		return 0;
	set_register(machine, instruction & 0x3f, FRAME_SAVED_AT_CFA, factored(machine, code[1]));
	return 2;
}

static void execute_run(struct machine *machine)
{
	const uint8_t *next = machine->code.data + machine->code.offset;
	const uint8_t *end = machine->code.data + machine->code.size;
	size_t length = 1;

	while (length && end - next >= 2 && machine->pc < machine->end) {
		length = execute_usual(machine, next);
		next += length;
	}
	machine->code.offset = (size_t)(next - machine->code.data);
}

/* Execute to the end; the state of a malformed program is an unsupported rule. */
static void execute_all(struct machine *machine)
{
	for (;;) {
		execute_run(machine);
		if (!bytes_left(&machine->code) || machine->pc >= machine->end)
			break;
		if (execute(machine) && !machine->code.failed)
			continue;
		machine->state = (struct frame_state){.cfa_op = UNWIND_CFA_UNSUPPORTED};
		machine->is_changed = true;
		break;
	}
	emit(machine);
}

static struct bytes get_program(const struct frame_section *section, uint32_t offset, uint32_t size)
{
	struct bytes bytes = bytes_of(section->data, (size_t)offset + size);

	bytes.offset = offset;
	return bytes;
}

void frame_program_start(const struct frame_reader *reader, const struct frame_cie *cie,
			 struct frame_state *ret)
{
	struct machine machine;

	machine.section = &reader->sections[cie->section];
	machine.cie = cie;
	machine.rows = NULL;
	machine.code = get_program(machine.section, cie->program_offset, cie->program_size);
	machine.pc = 0;
	machine.end = UINT64_MAX;
	machine.is_changed = false;
	machine.num_remembered = 0;
	/* By default, callee-saved registers are unchanged; all others are unknown. */
	machine.state = (struct frame_state){
		.ra = {.where = FRAME_SAVED_ELSEWHERE},
		.cfa_op = UNWIND_CFA_UNSUPPORTED,
	};
	execute_all(&machine);
	if (cie->ra_register != REGISTER_PC)
		machine.state = (struct frame_state){.cfa_op = UNWIND_CFA_UNSUPPORTED};
	*ret = machine.state;
}

int frame_program_run(const struct frame_reader *reader, const struct frame_function *function,
		      const struct frame_state *initial, uint64_t end, struct frame_rows *rows)
{
	const struct frame_cie *cie = &reader->cies.items[function->cie];
	bool is_too_long = function->program_size > FRAME_PROGRAM_MAX_BYTES;
	struct machine machine;
	int err;

	/* Each row but the first takes an advance of at least one byte. */
	err = array_reserve(&rows->rows, is_too_long ? 1 : (size_t)function->program_size + 1);
	if (err)
		return err;
	rows->rows.length = 0;
	machine.section = &reader->sections[cie->section];
	machine.cie = cie;
	machine.initial = *initial;
	machine.rows = rows;
	machine.code = get_program(machine.section, function->program_offset,
				   is_too_long ? 0 : function->program_size);
	machine.pc = function->start;
	machine.end = end;
	machine.state = *initial;
	if (is_too_long)
		machine.state.cfa_op = UNWIND_CFA_UNSUPPORTED;
	machine.is_changed = true;
	machine.num_remembered = 0;
	execute_all(&machine);
	return 0;
}
