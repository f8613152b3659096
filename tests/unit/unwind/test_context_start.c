/*
 * Where stacks of makecontext() and of Boost.Context start: which functions of a file are taken for it, and their rows.
 */
#include "unit.h"

#include <stdlib.h>

#include "table_fixture.h"
#include "unwind/x86_64/context_start.h"

#define BEFORE     (TEXT + 0x100) /* the function before, and where it ends */
#define BEFORE_END (TEXT + 0x1f9)
#define START      (TEXT + 0x200)
#define SIZE       26

static const uint8_t mov_rbx_rsp[] = {0x48, 0x89, 0xdc};
static const uint8_t endbr64_mov_rbx_rsp[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x48, 0x89, 0xdc};

/* A file with a function at START that starts with this code, and one before it. */
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

static void it_may_start_with_a_mark_for_indirect_jumps(_unused_ void **state)
{
	assert_true(is_outermost(build(endbr64_mov_rbx_rsp, sizeof(endbr64_mov_rbx_rsp), BEFORE_END,
				       SIZE + 4, NO_CODE)));
}

static void a_function_that_starts_otherwise_has_a_caller(_unused_ void **state)
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

static void code_that_the_file_truncates_has_a_caller(_unused_ void **state)
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

/* ---- Boost.Context ------------------------------------------------------------------------- */

/* make_fcontext of Boost 1.74, up to what contexts start with, and what their functions return to. */
static const uint8_t make_fcontext[] = {
	0x48, 0x89, 0xf8,                         /* mov %rdi,%rax */
	0x48, 0x83, 0xe0, 0xf0,                   /* and $~15,%rax */
	0x48, 0x8d, 0x40, 0xc0,                   /* lea -0x40(%rax),%rax */
	0x48, 0x89, 0x50, 0x28,                   /* mov %rdx,0x28(%rax) */
	0x0f, 0xae, 0x18,                         /* stmxcsr (%rax) */
	0xd9, 0x78, 0x04,                         /* fnstcw 0x4(%rax) */
	0x48, 0x8d, 0x0d, 0x10, 0x00, 0x00, 0x00, /* lea trampoline(%rip),%rcx */
	0x48, 0x89, 0x48, 0x38,                   /* mov %rcx,0x38(%rax) */
	0x48, 0x8d, 0x0d, 0x08, 0x00, 0x00, 0x00, /* lea finish(%rip),%rcx */
	0x48, 0x89, 0x48, 0x30,                   /* mov %rcx,0x30(%rax) */
	0xc3,                                     /* ret */
	0x55,                                     /* trampoline: push %rbp */
	0xff, 0xe3,                               /* jmp *%rbx */
};
static const uint8_t finish[] = {
	0x48, 0x31, 0xff,             /* xor %rdi,%rdi */
	0xe8, 0x49, 0xfe, 0xff, 0xff, /* call _exit@plt */
	0xf4,                         /* hlt */
};
#define FINISH (START + sizeof(make_fcontext))

/* A file with both at START, and with nothing that describes them. */
static struct unwind_table *build_fcontext(const uint8_t *code, size_t code_size,
					   const uint8_t *end, size_t end_size)
{
	uint8_t *text = calloc(1, TEXT_SIZE);
	struct table_file file = table_file_of_text();
	struct unwind_table *table;

	assert_non_null(text);
	memcpy(text + START - TEXT, code, code_size);
	memcpy(text + START - TEXT + code_size, end, end_size);
	file.text = text;
	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, BEFORE, BEFORE_END - BEFORE, CODE(ROW(2)));
	table = table_file_build(&file);
	table_file_release(&file);
	free(text);
	return table;
}

static bool is_finish_outermost(struct unwind_table *table)
{
	struct unwind_rule rule;
	bool result = !unwind_table_find(table, FINISH, &rule) && rule.cfa_op == UNWIND_CFA_STOP;

	unwind_table_free(table);
	return result;
}

static void what_functions_of_boosts_contexts_return_to_is_outermost(_unused_ void **state)
{
	struct unwind_table *table =
		build_fcontext(make_fcontext, sizeof(make_fcontext), finish, sizeof(finish));

	assert_int_equal(find(table, START).cfa_op, UNWIND_CFA_SP);
	assert_int_equal(find(table, START).cfa_offset, 8);
	assert_int_equal(find(table, FINISH - 4).cfa_op, UNWIND_CFA_SP);
	/* They come from no call. */
	assert_int_equal(find(table, FINISH - 1).cfa_op, UNWIND_CFA_STOP);
	assert_int_equal(find(table, FINISH - 1).cfa_offset, 1);
	assert_int_equal(find(table, FINISH).cfa_op, UNWIND_CFA_STOP);
	assert_int_equal(find(table, FINISH).cfa_offset, 0);
	assert_int_equal(find(table, FINISH + sizeof(finish) - 1).cfa_op, UNWIND_CFA_STOP);
	unwind_table_free(table);
}

static void it_may_start_with_a_mark_for_indirect_jumps_too(_unused_ void **state)
{
	uint8_t marked[4 + sizeof(finish)] = {0xf3, 0x0f, 0x1e, 0xfa};

	memcpy(marked + 4, finish, sizeof(finish));
	assert_true(is_finish_outermost(
		build_fcontext(make_fcontext, sizeof(make_fcontext), marked, sizeof(marked))));
}

static void what_ends_a_process_elsewhere_has_a_caller(_unused_ void **state)
{
	uint8_t code[sizeof(make_fcontext)];
	uint8_t end[sizeof(finish)];

	/* Behind a jump through another register. */
	memcpy(code, make_fcontext, sizeof(code));
	code[sizeof(code) - 1] = 0xe0;
	assert_false(
		is_finish_outermost(build_fcontext(code, sizeof(code), finish, sizeof(finish))));
	/* It goes on behind the call. */
	memcpy(end, finish, sizeof(end));
	end[sizeof(end) - 1] = 0xc3;
	assert_false(is_finish_outermost(
		build_fcontext(make_fcontext, sizeof(make_fcontext), end, sizeof(end))));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_rows_are_outermost_and_so_is_the_byte_before),
		cmocka_unit_test(a_call_at_the_end_of_the_function_before_keeps_its_rule),
		cmocka_unit_test(it_may_start_with_a_mark_for_indirect_jumps),
		cmocka_unit_test(a_function_that_starts_otherwise_has_a_caller),
		cmocka_unit_test(a_longer_function_has_a_caller),
		cmocka_unit_test(a_function_that_says_how_its_stack_changes_has_a_caller),
		cmocka_unit_test(code_that_the_file_truncates_has_a_caller),
		cmocka_unit_test(what_functions_of_boosts_contexts_return_to_is_outermost),
		cmocka_unit_test(it_may_start_with_a_mark_for_indirect_jumps_too),
		cmocka_unit_test(what_ends_a_process_elsewhere_has_a_caller),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
