/* Where clone() comes back from its system call: which code of a file is taken for it. */
#include "unit.h"

#include <stdlib.h>

#include "table_fixture.h"

#define BEFORE (TEXT + 0x1e0) /* the function before, and where it ends */
#define CALL   (TEXT + 0x200)

static const uint8_t near_jump[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x7c, 0x13, 0x74, 0x01, 0xc3};
static const uint8_t far_jump[] = {0x0f, 0x05, 0x48, 0x85, 0xc0, 0x0f, 0x8c,
				   0x13, 0,    0,    0,    0x74, 0x01, 0xc3};

/* The rule at the last byte of this code, which nothing describes, between a function that has pushed nothing and this one. */
static struct unwind_rule find_rule(const uint8_t *code, size_t size, const uint8_t *program,
				    size_t program_size)
{
	uint8_t *text = calloc(1, TEXT_SIZE);
	struct table_file file = table_file_of_text();
	struct unwind_table *table;
	struct unwind_rule rule;

	assert_non_null(text);
	memcpy(text + CALL - TEXT, code, size);
	file.text = text;
	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, BEFORE, CALL - BEFORE, NO_CODE);
	frame_writer_add_function(&file.eh_frame, CALL + size, 16, program, program_size);
	table = table_file_build(&file);
	assert_int_equal(unwind_table_find(table, CALL + size - 1, &rule), 0);
	unwind_table_free(table);
	table_file_release(&file);
	free(text);
	return rule;
}

/* What follows has no caller. */
#define OUTERMOST CODE(DW_CFA_undefined, 16)

static void it_has_a_rule_of_its_own(_unused_ void **state)
{
	struct unwind_rule rule = find_rule(near_jump, sizeof(near_jump), OUTERMOST);

	assert_int_equal(rule.cfa_op, UNWIND_CFA_CLONE);
	assert_int_equal(rule.cfa_offset, 8);
}

static void the_jump_to_its_end_of_errors_may_be_a_far_one(_unused_ void **state)
{
	assert_int_equal(find_rule(far_jump, sizeof(far_jump), OUTERMOST).cfa_op, UNWIND_CFA_CLONE);
}

static void what_follows_has_to_be_outermost(_unused_ void **state)
{
	assert_int_equal(find_rule(near_jump, sizeof(near_jump), NO_CODE).cfa_op, UNWIND_CFA_SP);
}

static void other_code_has_the_rule_of_before(_unused_ void **state)
{
	uint8_t code[sizeof(near_jump)];

	for (size_t i = 0; i < sizeof(code); i++) {
		if (i == 5 || i == 6) /* where errors go to */
			continue;
		memcpy(code, near_jump, sizeof(code));
		code[i] ^= 0x10;
		assert_int_equal(find_rule(code, sizeof(code), OUTERMOST).cfa_op, UNWIND_CFA_SP);
	}
	assert_int_equal(find_rule(near_jump + 1, sizeof(near_jump) - 1, OUTERMOST).cfa_op,
			 UNWIND_CFA_SP);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_a_rule_of_its_own),
		cmocka_unit_test(the_jump_to_its_end_of_errors_may_be_a_far_one),
		cmocka_unit_test(what_follows_has_to_be_outermost),
		cmocka_unit_test(other_code_has_the_rule_of_before),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
