/*
 * Call-frame instructions to rules: what each of them does, and what broken ones lead to.
 */
#include "unit.h"

#include "frame_writer.h"
#include "unwind/frame_program.h"

#define START 0x1000
#define SIZE  0x100

/* Operands of instructions. */
#define SP       7
#define FP       6
#define BX       3
#define DX       1
#define CX       2
#define DI       5
#define R8       8
#define R9       9
#define RA       16
#define ADVANCE4 (DW_CFA_advance_loc | 4)

struct program {
	struct frame_writer writer;
	struct frame_reader reader;
	struct frame_rows rows;
};

/* Execute the code as that of a function whose common part is `cie`. */
static struct program run_with(const struct frame_writer_cie *cie, const uint8_t *code, size_t size)
{
	struct program program = {.writer = {.elf_address = 0x20000}};
	struct frame_section section;
	struct frame_state initial;

	frame_writer_add_cie(&program.writer, cie);
	frame_writer_add_function(&program.writer, START, SIZE, code, size);
	section = frame_writer_get_section(&program.writer);
	assert_int_equal(frame_reader_add_section(&program.reader, &section), 0);
	assert_int_equal(program.reader.functions.length, 1);
	frame_program_start(&program.reader, &program.reader.cies.items[0], &initial);
	assert_int_equal(frame_program_run(&program.reader, &program.reader.functions.items[0],
					   &initial, START + SIZE, &program.rows),
			 0);
	return program;
}

static struct program run(const uint8_t *code, size_t size)
{
	return run_with(&usual_cie, code, size);
}

static void release(struct program *program)
{
	frame_rows_release(&program->rows);
	frame_reader_release(&program->reader);
	text_release(&program->writer.bytes);
}

static void assert_row(const struct program *program, size_t index, uint64_t elf_address,
		       struct unwind_rule rule)
{
	const struct frame_row *row;

	assert_true(index < program->rows.rows.length);
	row = &program->rows.rows.items[index];
	assert_int_equal(row->elf_address, elf_address);
	assert_int_equal(row->rule.cfa_op, rule.cfa_op);
	assert_int_equal(row->rule.cfa_offset, rule.cfa_offset);
	assert_int_equal(row->rule.fp_op, rule.fp_op);
	assert_int_equal(row->rule.fp_offset, rule.fp_offset);
	assert_int_equal(row->rule.bx_op, rule.bx_op);
	assert_int_equal(row->rule.bx_offset, rule.bx_offset);
	assert_int_equal(row->rule.ra_op, rule.ra_op);
}

/* The program's only row, which is at the start, has this rule. */
static void assert_rule(struct program program, struct unwind_rule rule)
{
	assert_int_equal(program.rows.rows.length, 1);
	assert_row(&program, 0, START, rule);
	release(&program);
}

static const struct unwind_rule unsupported = {.cfa_op = UNWIND_CFA_UNSUPPORTED};

static void a_function_starts_with_the_rule_of_its_common_part(void **state)
{
	(void)state;
	assert_rule(run(NO_CODE), (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8});
}

static void a_frame_with_frame_pointer_has_a_row_for_each_step(void **state)
{
	struct program program =
		run(CODE(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16, DW_CFA_offset | FP, 2,
			 DW_CFA_advance_loc | 3, DW_CFA_def_cfa_register, FP, DW_CFA_advance_loc1,
			 0x80, DW_CFA_def_cfa, SP, 8));

	(void)state;
	assert_int_equal(program.rows.rows.length, 4);
	assert_row(&program, 0, START,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8});
	assert_row(&program, 1, START + 1,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
					.cfa_offset = 16,
					.fp_op = UNWIND_REGISTER_AT_CFA,
					.fp_offset = -16});
	assert_row(&program, 2, START + 4,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_FP,
					.cfa_offset = 16,
					.fp_op = UNWIND_REGISTER_AT_CFA,
					.fp_offset = -16});
	assert_row(&program, 3, START + 0x84,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
					.cfa_offset = 8,
					.fp_op = UNWIND_REGISTER_AT_CFA,
					.fp_offset = -16});
	release(&program);
}

static void each_form_of_advance_moves_on(void **state)
{
	struct program program = run(
		CODE(DW_CFA_advance_loc | 2, DW_CFA_def_cfa_offset, 16, DW_CFA_advance_loc1, 3,
		     DW_CFA_def_cfa_offset, 24, DW_CFA_advance_loc2, 4, 0, DW_CFA_def_cfa_offset,
		     32, DW_CFA_advance_loc4, 5, 0, 0, 0, DW_CFA_def_cfa_offset, 40,
		     DW_CFA_MIPS_advance_loc8, 6, 0, 0, 0, 0, 0, 0, 0, DW_CFA_def_cfa_offset, 48));
	static const uint64_t addresses[] = {0, 2, 5, 9, 14, 20};

	(void)state;
	assert_int_equal(program.rows.rows.length, ARRAY_LENGTH(addresses));
	for (size_t i = 0; i < ARRAY_LENGTH(addresses); i++)
		assert_row(&program, i, START + addresses[i],
			   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
						.cfa_offset = (int)(8 * i + 8)});
	release(&program);
}

static void a_location_can_be_set(void **state)
{
	struct frame_writer_cie cie = usual_cie;
	struct program program;

	(void)state;
	cie.encoding = DW_EH_PE_udata4;
	program = run_with(&cie, CODE(DW_CFA_set_loc, 0x34, 0x10, 0, 0, DW_CFA_def_cfa_offset, 16));
	assert_int_equal(program.rows.rows.length, 2);
	assert_row(&program, 1, 0x1034,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 16});
	release(&program);
	program = run_with(&cie, CODE(DW_CFA_set_loc, 0, 0x0f, 0, 0, DW_CFA_def_cfa_offset, 16));
	assert_rule(program, unsupported);
}

static void every_register_that_a_rule_knows_can_hold_the_frame(void **state)
{
	static const struct {
		uint8_t number;
		uint8_t op;
	} registers[] = {{SP, UNWIND_CFA_SP},  {FP, UNWIND_CFA_FP}, {BX, UNWIND_CFA_BX},
			 {10, UNWIND_CFA_R10}, {0, UNWIND_CFA_AX},  {4, UNWIND_CFA_SI},
			 {5, UNWIND_CFA_DI},   {9, UNWIND_CFA_R9},  {11, UNWIND_CFA_R11}};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(registers); i++)
		assert_rule(run(CODE(DW_CFA_def_cfa, registers[i].number, 0x90, 1)),
			    (struct unwind_rule){.cfa_op = registers[i].op, .cfa_offset = 0x90});
	for (int number = 12; number <= 15; number++) /* GCC's, while it sets up an aligned frame */
		assert_rule(run(CODE(DW_CFA_def_cfa_sf, (uint8_t)number, 2)),
			    (struct unwind_rule){.cfa_op = UNWIND_CFA_COPY,
						 .cfa_offset = UNWIND_COPY(number, -16)});
	assert_rule(run(CODE(DW_CFA_def_cfa, 8, 16)), unsupported);
	/* Back to a known one, the offset stays. */
	assert_rule(run(CODE(DW_CFA_def_cfa, 8, 24, DW_CFA_def_cfa_register, SP)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 24});
}

static void signed_offsets_are_factored(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_def_cfa_sf, FP, 0x7e)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_FP, .cfa_offset = 16});
	assert_rule(run(CODE(DW_CFA_def_cfa_offset_sf, 0x7c, DW_CFA_offset_extended_sf, FP, 3,
			     DW_CFA_GNU_negative_offset_extended, BX, 2)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
					 .cfa_offset = 32,
					 .fp_op = UNWIND_REGISTER_AT_CFA,
					 .fp_offset = -24,
					 .bx_op = UNWIND_REGISTER_AT_CFA,
					 .bx_offset = 16});
}

static void rbx_is_followed_like_the_frame_pointer(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_offset | BX, 3, DW_CFA_offset_extended, FP, 2)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
					 .cfa_offset = 8,
					 .fp_op = UNWIND_REGISTER_AT_CFA,
					 .fp_offset = -16,
					 .bx_op = UNWIND_REGISTER_AT_CFA,
					 .bx_offset = -24});
}

static void a_register_can_be_restored_undefined_or_kept(void **state)
{
	struct program program =
		run(CODE(DW_CFA_offset | FP, 2, ADVANCE4, DW_CFA_restore | FP, ADVANCE4,
			 DW_CFA_undefined, FP, ADVANCE4, DW_CFA_same_value, FP, DW_CFA_offset | BX,
			 3, ADVANCE4, DW_CFA_restore_extended, BX));
	struct unwind_rule rule = {.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8};

	(void)state;
	assert_int_equal(program.rows.rows.length, 5);
	assert_row(&program, 1, START + 4, rule);
	rule.fp_op = UNWIND_REGISTER_UNDEFINED;
	assert_row(&program, 2, START + 8, rule);
	rule.fp_op = UNWIND_REGISTER_SAME;
	assert_row(&program, 4, START + 16, rule);
	rule.bx_op = UNWIND_REGISTER_AT_CFA;
	rule.bx_offset = -24;
	assert_row(&program, 3, START + 12, rule);
	assert_int_equal(program.rows.num_lost_registers, 0);
	release(&program);
}

static void remembered_states_come_back_in_reverse_order(void **state)
{
	struct program program =
		run(CODE(DW_CFA_remember_state, ADVANCE4, DW_CFA_def_cfa, FP, 16,
			 DW_CFA_remember_state, ADVANCE4, DW_CFA_def_cfa_offset, 24, ADVANCE4,
			 DW_CFA_restore_state, ADVANCE4, DW_CFA_restore_state));

	(void)state;
	assert_int_equal(program.rows.rows.length, 5);
	assert_row(&program, 2, START + 8,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_FP, .cfa_offset = 24});
	assert_row(&program, 3, START + 12,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_FP, .cfa_offset = 16});
	assert_row(&program, 4, START + 16,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8});
	release(&program);
}

static void the_expression_of_a_procedure_linkage_table_is_known(void **state)
{
	(void)state;
	for (uint8_t boundary = 0; boundary < 16; boundary++)
		assert_rule(run(CODE(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0,
				     DW_OP_lit15, DW_OP_and, DW_OP_lit0 + boundary, DW_OP_ge,
				     DW_OP_lit3, DW_OP_shl, DW_OP_plus)),
			    (struct unwind_rule){.cfa_op = UNWIND_CFA_PLT, .cfa_offset = boundary});
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 11, DW_OP_breg7, 8, DW_OP_breg16, 0,
			     DW_OP_lit15, DW_OP_and, DW_OP_lit11, DW_OP_ge, DW_OP_lit4, DW_OP_shl,
			     DW_OP_plus)),
		    unsupported);
}

static void the_expressions_of_realigned_frames_are_known(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_DEREF_FP, .cfa_offset = -8});
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0x90, 1, DW_OP_deref)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_DEREF_SP, .cfa_offset = 0x90});
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 40, DW_OP_deref,
			     DW_OP_plus_uconst, 8)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_DEREF_SP_ADD,
					 .cfa_offset = UNWIND_STORED_COPY(40, 8)});
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 6, DW_OP_breg7, 0xc0, 0, DW_OP_deref,
			     DW_OP_plus_uconst, 24)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_DEREF_SP_ADD,
					 .cfa_offset = UNWIND_STORED_COPY(64, 24)});
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 0x78, DW_OP_deref,
			     DW_OP_plus_uconst, 8)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_DEREF_SP_ADD,
					 .cfa_offset = UNWIND_STORED_COPY(-8, 8)});
}

static void other_expressions_are_unsupported(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 0)), unsupported);
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 2, DW_OP_breg7, 8)), unsupported);
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 1, DW_OP_breg7)), unsupported);
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 3, DW_OP_breg5, 8, DW_OP_deref)),
		    unsupported);
	assert_rule(
		run(CODE(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 8, DW_OP_deref, DW_OP_deref)),
		unsupported);
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 7, DW_OP_breg7, 0x80, 0x80, 0x20,
			     DW_OP_deref, DW_OP_plus_uconst, 8)),
		    unsupported);
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 6, DW_OP_breg7, 8, DW_OP_deref,
			     DW_OP_plus_uconst, 0x80, 0x10)),
		    unsupported);
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 5, DW_OP_breg6, 8, DW_OP_deref,
			     DW_OP_plus_uconst, 8)),
		    unsupported);
}

static void registers_saved_relative_to_rbp_and_rsp_are_known(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_expression, FP, 2, DW_OP_breg6, 0, DW_CFA_expression, BX, 2,
			     DW_OP_breg6, 0x50)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
					 .cfa_offset = 8,
					 .fp_op = UNWIND_REGISTER_AT_FP,
					 .bx_op = UNWIND_REGISTER_AT_FP,
					 .bx_offset = -48});
	/* rsp + 16 is CFA - 32, and rsp + 40 is CFA - 8. */
	assert_rule(run(CODE(DW_CFA_def_cfa_offset, 48, DW_CFA_expression, FP, 2, DW_OP_breg7, 16,
			     DW_CFA_expression, RA, 2, DW_OP_breg7, 40)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
					 .cfa_offset = 48,
					 .fp_op = UNWIND_REGISTER_AT_CFA,
					 .fp_offset = -32});
}

static void a_register_that_no_rule_can_follow_is_lost_and_counted(void **state)
{
	static const struct unwind_rule lost = {
		.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8, .fp_op = UNWIND_REGISTER_UNDEFINED};
	static const uint8_t codes[][6] = {
		{DW_CFA_register, FP, 9},
		{DW_CFA_val_offset, FP, 2},
		{DW_CFA_val_offset_sf, FP, 2},
		{DW_CFA_val_expression, FP, 2, DW_OP_breg6, 16},
		{DW_CFA_expression, FP, 2, DW_OP_breg5, 16},
		{DW_CFA_expression, FP, 3, DW_OP_breg6, 16, DW_OP_deref},
		{DW_CFA_offset_extended, FP, 0x80, 0x80, 1}, /* CFA - 131072 */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(codes); i++) {
		struct program program = run(codes[i], sizeof(codes[i]));

		assert_int_equal(program.rows.num_lost_registers, 1);
		assert_rule(program, lost);
	}
}

static void an_undefined_return_address_ends_the_stack(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_undefined, RA, DW_CFA_offset | FP, 2)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_STOP});
}

static void a_return_address_in_rdi_is_known(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_def_cfa_offset, 0, DW_CFA_register, RA, DI)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .ra_op = UNWIND_RA_IN_DI});
}

static void the_end_of_a_function_that_enters_a_landing_pad_is_known(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_def_cfa, CX, 8)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_CX, .cfa_offset = 8});
	assert_rule(run(CODE(DW_CFA_register, RA, CX, DW_CFA_def_cfa_offset, 0)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .ra_op = UNWIND_RA_IN_CX});
}

/* What glibc says of longjmp, but for the last register. */
#define LONGJMP                                                                                   \
	DW_CFA_def_cfa, DI, 0, DW_CFA_register, SP, R8, DW_CFA_register, FP, R9, DW_CFA_register, \
		RA, DX, DW_CFA_offset | BX

static void longjmp_is_known(void **state)
{
	(void)state;
	assert_rule(run(CODE(LONGJMP, 0)), (struct unwind_rule){.cfa_op = UNWIND_CFA_JUMP});
	assert_rule(run(CODE(LONGJMP, 1)), unsupported);
	assert_rule(run(CODE(LONGJMP, 0, DW_CFA_register, SP, R9)), unsupported);
	assert_rule(run(CODE(LONGJMP, 0, DW_CFA_def_cfa_register, DX)), unsupported);
}

/* A saved register's distance from the CFA is a multiple of -8. */
#define SAVED_AT(offset) (uint8_t)(0x80 | (-(offset) / 8 & 0x7f)), 0x7f
/* What glibc says of setcontext, but for the last register. */
#define SETCONTEXT                                                                           \
	DW_CFA_def_cfa, DX, 0, DW_CFA_offset_extended_sf, RA, SAVED_AT(168),                 \
		DW_CFA_offset_extended_sf, SP, SAVED_AT(160), DW_CFA_offset_extended_sf, FP, \
		SAVED_AT(120), DW_CFA_offset_extended_sf, BX

static void setcontext_is_known(void **state)
{
	(void)state;
	assert_rule(run(CODE(SETCONTEXT, SAVED_AT(128))),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_CONTEXT});
	assert_rule(run(CODE(SETCONTEXT, SAVED_AT(136))), unsupported);
	assert_rule(run(CODE(SETCONTEXT, SAVED_AT(128), DW_CFA_def_cfa_register, DI)), unsupported);
}

static void a_stack_pointer_that_is_not_the_cfa_is_unsupported(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_register, SP, R8)), unsupported);
	assert_rule(run(CODE(DW_CFA_offset | SP, 2)), unsupported);
}

static void a_return_address_elsewhere_is_unsupported(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_register, RA, 1)), unsupported);
	assert_rule(run(CODE(DW_CFA_offset | RA, 2)), unsupported);
	assert_rule(run(CODE(DW_CFA_same_value, RA)), unsupported);
	assert_rule(run(CODE(DW_CFA_expression, RA, 2, DW_OP_breg7, 8)), unsupported);
}

static void a_common_part_that_says_nothing_is_unsupported(void **state)
{
	struct frame_writer_cie cie = usual_cie;

	(void)state;
	cie.code_size = 0;
	assert_rule(run_with(&cie, NO_CODE), unsupported);
	assert_rule(run_with(&cie, CODE(DW_CFA_def_cfa, SP, 8)), unsupported);
}

static void the_signal_frame_of_the_kernel_is_known(void **state)
{
	struct frame_writer_cie cie = usual_cie;

	(void)state;
	cie.augmentation = "zRS";
	cie.code_size = 0;
	assert_rule(
		run_with(&cie, CODE(DW_CFA_def_cfa_expression, 4, DW_OP_breg7, 0xa0, 1, DW_OP_deref,
				    DW_CFA_expression, RA, 3, DW_OP_breg7, 0xa8, 1)),
		(struct unwind_rule){.cfa_op = UNWIND_CFA_SIGNAL});
}

static void a_signal_frame_of_another_shape_is_unsupported(void **state)
{
	struct frame_writer_cie cie = usual_cie;

	(void)state;
	cie.augmentation = "zRS";
	assert_rule(run_with(&cie, NO_CODE), unsupported);
}

static void instructions_for_other_registers_change_nothing(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_offset | 12, 2, ADVANCE4, DW_CFA_undefined, 1, ADVANCE4,
			     DW_CFA_expression, 13, 2, DW_OP_breg6, 16, ADVANCE4,
			     DW_CFA_GNU_args_size, 0x90, 1, DW_CFA_restore | 12, DW_CFA_nop)),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8});
}

static void rows_beyond_the_end_are_left_out(void **state)
{
	struct program program = run(CODE(DW_CFA_advance_loc1, 0xff, DW_CFA_def_cfa_offset, 16,
					  DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 24,
					  DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 32));

	(void)state;
	assert_int_equal(program.rows.rows.length, 2);
	assert_row(&program, 1, START + 0xff,
		   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 16});
	release(&program);
}

static void after_a_broken_instruction_the_rest_is_unsupported(void **state)
{
	static const uint8_t endings[][4] = {
		{0x3f, 0, 0, 0},                            /* no such instruction */
		{DW_CFA_restore_state, 0, 0, 0},            /* nothing is remembered */
		{DW_CFA_offset_extended, 0x80, 0x80, 0x80}, /* does not end */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LENGTH(endings); i++) {
		uint8_t code[7] = {ADVANCE4, DW_CFA_def_cfa_offset, 16};
		struct program program;

		memcpy(code + 3, endings[i], sizeof(endings[i]));
		program = run(code, sizeof(code));
		assert_int_equal(program.rows.rows.length, 2);
		assert_row(&program, 0, START,
			   (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8});
		assert_row(&program, 1, START + 4, unsupported);
		release(&program);
	}
}

static void an_offset_without_a_register_is_broken(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
			     DW_CFA_def_cfa_offset, 16)),
		    unsupported);
	assert_rule(run(CODE(DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
			     DW_CFA_def_cfa_register, SP)),
		    unsupported);
}

static void remembering_has_a_limit(void **state)
{
	uint8_t code[FRAME_PROGRAM_MAX_REMEMBERED + 1];

	(void)state;
	memset(code, DW_CFA_remember_state, sizeof(code));
	assert_rule(run(code, FRAME_PROGRAM_MAX_REMEMBERED),
		    (struct unwind_rule){.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8});
	assert_rule(run(code, sizeof(code)), unsupported);
}

static void a_program_that_is_too_long_is_not_executed(void **state)
{
	size_t size = FRAME_PROGRAM_MAX_BYTES + 1;
	uint8_t *code = calloc(1, size);

	(void)state;
	assert_non_null(code);
	assert_rule(run(code, size), unsupported);
	free(code);
}

static void an_offset_that_fits_no_rule_is_unsupported(void **state)
{
	(void)state;
	assert_rule(run(CODE(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80, 0x80, 0x10)), unsupported);
	/* The difference of rsp's and the CFA's offset overflows. */
	assert_rule(run(CODE(DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			     0x7f, DW_CFA_expression, FP, 11, DW_OP_breg7, 0x80, 0x80, 0x80, 0x80,
			     0x80, 0x80, 0x80, 0x80, 0x80, 0x7f)),
		    unsupported);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_starts_with_the_rule_of_its_common_part),
		cmocka_unit_test(a_frame_with_frame_pointer_has_a_row_for_each_step),
		cmocka_unit_test(each_form_of_advance_moves_on),
		cmocka_unit_test(a_location_can_be_set),
		cmocka_unit_test(every_register_that_a_rule_knows_can_hold_the_frame),
		cmocka_unit_test(signed_offsets_are_factored),
		cmocka_unit_test(rbx_is_followed_like_the_frame_pointer),
		cmocka_unit_test(a_register_can_be_restored_undefined_or_kept),
		cmocka_unit_test(remembered_states_come_back_in_reverse_order),
		cmocka_unit_test(the_expression_of_a_procedure_linkage_table_is_known),
		cmocka_unit_test(the_expressions_of_realigned_frames_are_known),
		cmocka_unit_test(other_expressions_are_unsupported),
		cmocka_unit_test(registers_saved_relative_to_rbp_and_rsp_are_known),
		cmocka_unit_test(a_register_that_no_rule_can_follow_is_lost_and_counted),
		cmocka_unit_test(an_undefined_return_address_ends_the_stack),
		cmocka_unit_test(a_return_address_in_rdi_is_known),
		cmocka_unit_test(the_end_of_a_function_that_enters_a_landing_pad_is_known),
		cmocka_unit_test(longjmp_is_known),
		cmocka_unit_test(setcontext_is_known),
		cmocka_unit_test(a_stack_pointer_that_is_not_the_cfa_is_unsupported),
		cmocka_unit_test(a_return_address_elsewhere_is_unsupported),
		cmocka_unit_test(a_common_part_that_says_nothing_is_unsupported),
		cmocka_unit_test(the_signal_frame_of_the_kernel_is_known),
		cmocka_unit_test(a_signal_frame_of_another_shape_is_unsupported),
		cmocka_unit_test(instructions_for_other_registers_change_nothing),
		cmocka_unit_test(rows_beyond_the_end_are_left_out),
		cmocka_unit_test(after_a_broken_instruction_the_rest_is_unsupported),
		cmocka_unit_test(an_offset_without_a_register_is_broken),
		cmocka_unit_test(remembering_has_a_limit),
		cmocka_unit_test(a_program_that_is_too_long_is_not_executed),
		cmocka_unit_test(an_offset_that_fits_no_rule_is_unsupported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
