/*
 * Where swapcontext goes from one stack to another: which functions of a file are taken for it, and
 * their rows.
 */
#include "unit.h"

#include <stdlib.h>

#include "table_fixture.h"
#include "unwind/x86_64/swapcontext.h"

#define START (TEXT + 0x200)
#define SIZE  260
#define LOAD  168 /* offset of the load of the stack pointer */
#define PUSH  202 /* of the load of the return address, and its push */

static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
static const uint8_t save_rbx[] = {0x48, 0x89, 0x9f, 0x80, 0, 0, 0};
static const uint8_t load_rsp[] = {0x48, 0x8b, 0xa2, 0xa0, 0, 0, 0};
static const uint8_t push_rip[] = {0x48, 0x8b, 0x8a, 0xa8, 0, 0, 0, 0x51};

/* The code of a swapcontext at START; the rest is zeros. The caller frees it. */
static uint8_t *make_text(void)
{
	uint8_t *text = calloc(1, TEXT_SIZE);

	assert_non_null(text);
	memcpy(text + START - TEXT, save_rbx, sizeof(save_rbx));
	memcpy(text + START - TEXT + LOAD, load_rsp, sizeof(load_rsp));
	memcpy(text + START - TEXT + PUSH, push_rip, sizeof(push_rip));
	return text;
}

static struct unwind_table *build(const uint8_t *text, uint64_t size, const uint8_t *program,
				  size_t program_size)
{
	struct table_file file = table_file_of_text();
	struct unwind_table *table;

	file.text = text;
	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, START, size, program, program_size);
	table = table_file_build(&file);
	table_file_release(&file);
	return table;
}

static uint8_t find_op(const struct unwind_table *table, uint64_t elf_address)
{
	struct unwind_rule rule;

	assert_int_equal(unwind_table_find(table, elf_address, &rule), 0);
	return rule.cfa_op;
}

/* Whether any row of a function with this text and size is a switch; frees the text. */
static bool is_switch(uint8_t *text, uint64_t size)
{
	struct unwind_table *table = build(text, size, NO_CODE);
	bool result = false;

	for (uint64_t offset = 0; offset < size; offset++)
		result |= find_op(table, START + offset) == UNWIND_CFA_CONTEXT;
	unwind_table_free(table);
	free(text);
	return result;
}

static void the_context_holds_all_between_the_load_and_the_push(_unused_ void **state)
{
	uint8_t *text = make_text();
	struct unwind_table *table = build(text, SIZE, NO_CODE);

	assert_int_equal(find_op(table, START), UNWIND_CFA_SP);
	assert_int_equal(find_op(table, START + LOAD), UNWIND_CFA_SP);
	assert_int_equal(find_op(table, START + LOAD + sizeof(load_rsp)), UNWIND_CFA_CONTEXT);
	assert_int_equal(find_op(table, START + PUSH + sizeof(push_rip) - 1), UNWIND_CFA_CONTEXT);
	assert_int_equal(find_op(table, START + PUSH + sizeof(push_rip)), UNWIND_CFA_SP);
	assert_int_equal(find_op(table, START + SIZE - 1), UNWIND_CFA_SP);
	unwind_table_free(table);
	free(text);
}

static void it_may_start_with_a_mark_for_indirect_jumps(_unused_ void **state)
{
	uint8_t *text = make_text();

	memcpy(text + START - TEXT, endbr64, sizeof(endbr64));
	memcpy(text + START - TEXT + sizeof(endbr64), save_rbx, sizeof(save_rbx));
	assert_true(is_switch(text, SIZE));
}

static void a_function_that_does_not_start_with_saving_is_none(_unused_ void **state)
{
	uint8_t *text = make_text();

	text[START - TEXT] = 0x90;
	assert_false(is_switch(text, SIZE));
}

static void a_function_that_does_not_load_the_stack_pointer_is_none(_unused_ void **state)
{
	uint8_t *text = make_text();

	text[START - TEXT + LOAD] = 0x90;
	assert_false(is_switch(text, SIZE));
}

static void a_function_that_does_not_push_an_address_is_none(_unused_ void **state)
{
	uint8_t *text = make_text();

	text[START - TEXT + PUSH] = 0x90;
	assert_false(is_switch(text, SIZE));
}

static void a_push_before_the_load_is_another_one(_unused_ void **state)
{
	uint8_t *text = make_text();

	memcpy(text + START - TEXT + 16, push_rip, sizeof(push_rip));
	text[START - TEXT + PUSH] = 0x90;
	assert_false(is_switch(text, SIZE));
}

static void functions_of_another_size_are_none(_unused_ void **state)
{
	assert_false(is_switch(make_text(), SWAPCONTEXT_MIN_BYTES - 1));
	assert_true(is_switch(make_text(), SWAPCONTEXT_MAX_BYTES));
	assert_false(is_switch(make_text(), SWAPCONTEXT_MAX_BYTES + 1));
}

static void a_function_that_says_how_its_stack_changes_is_none(_unused_ void **state)
{
	uint8_t *text = make_text();
	struct unwind_table *table = build(text, SIZE, CODE(DW_CFA_advance_loc | 3, ROW(1)));

	assert_int_equal(find_op(table, START + PUSH), UNWIND_CFA_SP);
	unwind_table_free(table);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_context_holds_all_between_the_load_and_the_push),
		cmocka_unit_test(it_may_start_with_a_mark_for_indirect_jumps),
		cmocka_unit_test(a_function_that_does_not_start_with_saving_is_none),
		cmocka_unit_test(a_function_that_does_not_load_the_stack_pointer_is_none),
		cmocka_unit_test(a_function_that_does_not_push_an_address_is_none),
		cmocka_unit_test(a_push_before_the_load_is_another_one),
		cmocka_unit_test(functions_of_another_size_are_none),
		cmocka_unit_test(a_function_that_says_how_its_stack_changes_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
