/*
 * Where stacks of makecontext() begin: which functions of a file are taken for it, and their rows.
 */
#include "unit.h"

#include <stdlib.h>

#include "table_fixture.h"
#include "unwind/context_start.h"

#define BEFORE     (TEXT + 0x100) /* the function before, and where it ends */
#define BEFORE_END (TEXT + 0x1f9)
#define START      (TEXT + 0x200)
#define SIZE       26

static const uint8_t mov_rbx_rsp[] = {0x48, 0x89, 0xdc};
static const uint8_t endbr64_mov_rbx_rsp[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc};

/* A file with a function at START that begins with this code, and one before it. */
static struct unwind_table *build(const uint8_t *code, size_t code_size, uint64_t before_end,
				  uint64_t size, const uint8_t *program, size_t program_size)
{
	uint8_t *text = calloc(1, TEXT_SIZE);
	struct table_file file = table_file_of_text();
	struct unwind_table *table;

	assert_non_null(text);
	memcpy(text + START - TEXT, code, code_size);
	file.text = text;
	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, BEFORE, before_end - BEFORE, CODE(ROW(2)));
	frame_writer_add_function(&file.eh_frame, START, size, program, program_size);
	table = table_file_build(&file);
	table_file_release(&file);
	free(text);
	return table;
}

static struct unwind_rule find(const struct unwind_table *table, uint64_t elf_address)
{
	struct unwind_rule rule;

	assert_int_equal(unwind_table_find(table, elf_address, &rule), 0);
	return rule;
}

/* Whether START and what follows is outermost; frees the table. */
static bool is_outermost(struct unwind_table *table)
{
	bool result = find(table, START).cfa_op == UNWIND_CFA_STOP;

	assert_int_equal(find(table, START + 15).cfa_op, find(table, START).cfa_op);
	unwind_table_free(table);
	return result;
}

static void its_rows_are_outermost_and_so_is_the_byte_before(_unused_ void **state)
{
	struct unwind_table *table =
		build(mov_rbx_rsp, sizeof(mov_rbx_rsp), BEFORE_END, SIZE, NO_CODE);

	assert_int_equal(find(table, START - 2).cfa_offset, 24);
	assert_int_equal(find(table, START - 1).cfa_op, UNWIND_CFA_STOP);
	assert_int_equal(find(table, START - 1).cfa_offset, 1);
	assert_int_equal(find(table, START).cfa_op, UNWIND_CFA_STOP);
	assert_int_equal(find(table, START).cfa_offset, 0);
	assert_int_equal(find(table, START + SIZE - 1).cfa_op, UNWIND_CFA_STOP);
	unwind_table_free(table);
}

static void a_call_at_the_end_of_the_function_before_keeps_its_rule(_unused_ void **state)
{
	struct unwind_table *table = build(mov_rbx_rsp, sizeof(mov_rbx_rsp), START, SIZE, NO_CODE);

	assert_int_equal(find(table, START - 1).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START - 1).cfa_offset, 24);
	assert_true(is_outermost(table));
}

static void it_may_begin_with_a_mark_for_indirect_jumps(_unused_ void **state)
{
	assert_true(is_outermost(build(endbr64_mov_rbx_rsp, sizeof(endbr64_mov_rbx_rsp), BEFORE_END,
				       SIZE + 4, NO_CODE)));
}

static void a_function_that_begins_otherwise_has_a_caller(_unused_ void **state)
{
	static const uint8_t mov_rsp_rbx[] = {0x48, 0x89, 0xe3};

	assert_false(
		is_outermost(build(mov_rsp_rbx, sizeof(mov_rsp_rbx), BEFORE_END, SIZE, NO_CODE)));
}

static void a_longer_function_has_a_caller(_unused_ void **state)
{
	assert_false(is_outermost(build(mov_rbx_rsp, sizeof(mov_rbx_rsp), BEFORE_END,
					CONTEXT_START_MAX_BYTES + 1, NO_CODE)));
}

static void a_function_that_says_how_its_stack_changes_has_a_caller(_unused_ void **state)
{
	assert_false(is_outermost(build(mov_rbx_rsp, sizeof(mov_rbx_rsp), BEFORE_END, SIZE,
					CODE(DW_CFA_advance_loc | 3, ROW(1)))));
}

static void code_that_the_file_cuts_short_has_a_caller(_unused_ void **state)
{
	uint8_t *text = calloc(1, TEXT_SIZE);
	struct table_file file = table_file_of_text();
	struct unwind_table *table;
	uint64_t start = TEXT + TEXT_SIZE - sizeof(mov_rbx_rsp);

	assert_non_null(text);
	memcpy(text + start - TEXT, mov_rbx_rsp, sizeof(mov_rbx_rsp));
	file.text = text;
	file.memory_size = TEXT_SIZE + PAGE;
	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, start, SIZE, NO_CODE);
	table = table_file_build(&file);
	assert_int_equal(find(table, start).cfa_op, UNWIND_CFA_SP);
	unwind_table_free(table);
	table_file_release(&file);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_rows_are_outermost_and_so_is_the_byte_before),
		cmocka_unit_test(a_call_at_the_end_of_the_function_before_keeps_its_rule),
		cmocka_unit_test(it_may_begin_with_a_mark_for_indirect_jumps),
		cmocka_unit_test(a_function_that_begins_otherwise_has_a_caller),
		cmocka_unit_test(a_longer_function_has_a_caller),
		cmocka_unit_test(a_function_that_says_how_its_stack_changes_has_a_caller),
		cmocka_unit_test(code_that_the_file_cuts_short_has_a_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
