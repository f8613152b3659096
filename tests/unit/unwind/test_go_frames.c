/*
 * Rows of Go programs that have nothing but their own table of functions.
 */
#include "unit.h"

#include <stdlib.h>

#include "objfile/go_table_writer.h"
#include "table_fixture.h"
#include "unwind/go_frames.h"

#define FIRST  (TEXT + 0x100)
#define SECOND (TEXT + 0x180)
#define END    (TEXT + 0x200)

/* 0 for 4 bytes, 0x18 for 0x40, 0 for 0x10: the other bytes are padding. */
static const uint8_t usual_sp_deltas[] = {2, 4, 0x30, 0x40, 0x2f, 0x10, 0};
/* 0 for 0x80 bytes */
static const uint8_t no_frame[] = {2, 0x80, 1, 0};

/* A program with two functions, main.main the first. debug_frame may be NULL. */
static struct unwind_table *build(const char *second_name, const uint8_t *pcsp, size_t pcsp_size,
				  const struct frame_writer *debug_frame)
{
	struct go_table_writer go = {
		.version = GO_1_20, .text_start = TEXT, .header_text_start = TEXT, .end = END};
	struct elf_writer writer = {0};
	struct unwind_table *table;
	struct text go_bytes;
	struct text bytes;

	go_table_writer_add(&go, "main.main", FIRST, pcsp, pcsp_size);
	go_table_writer_add(&go, second_name, SECOND, no_frame, sizeof(no_frame));
	go_bytes = go_table_writer_write(&go);
	elf_writer_add(&writer, (struct elf_section){.name = ".text",
						     .type = SHT_PROGBITS,
						     .flags = SHF_ALLOC | SHF_EXECINSTR,
						     .address = TEXT,
						     .size = TEXT_SIZE});
	elf_writer_add(&writer, (struct elf_section){.name = ".gopclntab",
						     .type = SHT_PROGBITS,
						     .data = go_bytes.data,
						     .size = go_bytes.length});
	if (debug_frame)
		elf_writer_add(&writer, (struct elf_section){.name = ".debug_frame",
							     .type = SHT_PROGBITS,
							     .data = debug_frame->bytes.data,
							     .size = debug_frame->bytes.length});
	bytes = elf_writer_write(&writer);
	assert_int_equal(build_table(bytes.data, bytes.length, &table), 0);
	assert_true(unwind_table_is_valid(table));
	text_release(&bytes);
	text_release(&go_bytes);
	return table;
}

static void assert_cfa(const struct unwind_table *table, uint64_t elf_address, uint8_t cfa_op,
		       int cfa_offset)
{
	struct unwind_rule rule;

	assert_int_equal(unwind_table_find(table, elf_address, &rule), 0);
	assert_int_equal(rule.cfa_op, cfa_op);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.ra_op, UNWIND_RA_AT_CFA);
	assert_int_equal(rule.fp_op, UNWIND_REGISTER_SAME);
}

static void the_cfa_is_the_depth_above_the_stack_pointer_and_8_more(_unused_ void **state)
{
	struct unwind_table *table =
		build("main.f", usual_sp_deltas, sizeof(usual_sp_deltas), NULL);

	assert_cfa(table, FIRST, UNWIND_CFA_SP, 8);
	assert_cfa(table, FIRST + 3, UNWIND_CFA_SP, 8);
	assert_cfa(table, FIRST + 4, UNWIND_CFA_SP, 0x20);
	assert_cfa(table, FIRST + 0x43, UNWIND_CFA_SP, 0x20);
	assert_cfa(table, FIRST + 0x44, UNWIND_CFA_SP, 8);
	assert_cfa(table, SECOND, UNWIND_CFA_SP, 8);
	assert_true(unwind_table_has_rows(table));
	assert_int_equal(table->statistics.num_functions, 2);
	assert_int_equal(table->statistics.covered_bytes, 0x54 + 0x80);
	assert_int_equal(table->statistics.num_unsupported_rows, 0);
	unwind_table_free(table);
}

static void what_debug_frame_says_comes_first(_unused_ void **state)
{
	struct frame_writer debug_frame = {.is_debug_frame = true};
	struct frame_writer_cie cie = usual_cie;
	struct unwind_table *table;

	cie.augmentation = "";
	frame_writer_add_cie(&debug_frame, &cie);
	frame_writer_add_function(&debug_frame, FIRST, 0x54, CODE(ROW(5)));
	table = build("main.f", usual_sp_deltas, sizeof(usual_sp_deltas), &debug_frame);
	assert_cfa(table, FIRST + 4, UNWIND_CFA_SP, 48);
	assert_cfa(table, SECOND, UNWIND_CFA_SP, 8);
	assert_int_equal(table->statistics.num_functions, 2);
	unwind_table_free(table);
	text_release(&debug_frame.bytes);
}

/* Nobody has called it: the byte before it must be padding, not the function before. */
static void a_function_ends_with_its_sp_deltas(_unused_ void **state)
{
	struct unwind_table *table =
		build("runtime.sigreturn", usual_sp_deltas, sizeof(usual_sp_deltas), NULL);

	assert_cfa(table, SECOND - 2, UNWIND_CFA_SP, 8);
	assert_cfa(table, SECOND - 1, UNWIND_CFA_SIGNAL, 1);
	assert_cfa(table, SECOND, UNWIND_CFA_SIGNAL, 0);
	unwind_table_free(table);
}

/* syscall.rawVforkSyscall: pop %r12; syscall; push %r12 */
static void a_return_address_that_was_taken_off_is_below_the_stack_pointer(_unused_ void **state)
{
	static const uint8_t popped[] = {2, 4, 15, 2, 16, 0x4e, 0}; /* 0, -8, 0 */
	struct unwind_table *table = build("main.f", popped, sizeof(popped), NULL);

	assert_cfa(table, FIRST + 3, UNWIND_CFA_SP, 8);
	assert_cfa(table, FIRST + 4, UNWIND_CFA_SP, 0);
	assert_cfa(table, FIRST + 5, UNWIND_CFA_SP, 0);
	assert_cfa(table, FIRST + 6, UNWIND_CFA_SP, 8);
	assert_int_equal(table->unsupported.length, 0);
	unwind_table_free(table);
}

static void functions_without_sound_sp_deltas_are_unsupported(_unused_ void **state)
{
	static const uint8_t negative[] = {1, 4, 2, 0x50, 0}; /* -2, -1 */
	static const uint8_t nothing[] = {0, 0};
	struct unwind_table *table = build("main.f", negative, sizeof(negative), NULL);
	struct unwind_table *empty = build("main.f", nothing, sizeof(nothing), NULL);
	struct unwind_table *unknown = build("main.f", NULL, 0, NULL);
	struct unwind_rule rule;

	assert_cfa(table, FIRST, UNWIND_CFA_UNSUPPORTED, 0);
	assert_cfa(table, SECOND, UNWIND_CFA_SP, 8);
	assert_int_equal(table->unsupported.length, 1);
	assert_cfa(empty, FIRST, UNWIND_CFA_UNSUPPORTED, 0);
	assert_int_not_equal(unwind_table_find(unknown, FIRST, &rule), 0);
	unwind_table_free(table);
	unwind_table_free(empty);
	unwind_table_free(unknown);
}

/* Functions may share their SP deltas; a file of n bytes must not make n * n rows. */
static void no_more_rows_are_made_than_the_table_has_bytes(_unused_ void **state)
{
	struct go_frames frames = {
		.table = {.pcsp = bytes_of(usual_sp_deltas, sizeof(usual_sp_deltas)),
			  .code_align = 1},
		.num_rows_left = 4,
	};
	struct frame_function function = {.start = FIRST, .size = 0x80};
	struct frame_rows rows = {0};

	assert_int_equal(go_frames_run(&frames, &function, &rows), 0);
	assert_int_equal(rows.rows.length, 3);
	assert_int_equal(function.size, 0x54);
	assert_int_equal(go_frames_run(&frames, &function, &rows), 0);
	assert_int_equal(rows.rows.length, 1);
	assert_int_equal(function.size, 4);
	assert_int_equal(go_frames_run(&frames, &function, &rows), 0);
	assert_int_equal(rows.rows.length, 1);
	assert_int_equal(rows.rows.items[0].rule.cfa_op, UNWIND_CFA_UNSUPPORTED);
	frame_rows_release(&rows);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cfa_is_the_depth_above_the_stack_pointer_and_8_more),
		cmocka_unit_test(what_debug_frame_says_comes_first),
		cmocka_unit_test(a_function_ends_with_its_sp_deltas),
		cmocka_unit_test(a_return_address_that_was_taken_off_is_below_the_stack_pointer),
		cmocka_unit_test(functions_without_sound_sp_deltas_are_unsupported),
		cmocka_unit_test(no_more_rows_are_made_than_the_table_has_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
