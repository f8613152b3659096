/*
 * Rules are kept once, and more than fit are refused without harm.
 */
#include "unit.h"

#include "unwind/rule_dictionary.h"

static int set_up(void **state)
{
	static struct rule_dictionary dictionary;

	assert_int_equal(rule_dictionary_init(&dictionary), 0);
	*state = &dictionary;
	return 0;
}

static int tear_down(void **state)
{
	rule_dictionary_release(*state);
	return 0;
}

static uint16_t add(struct rule_dictionary *dictionary, struct unwind_rule rule)
{
	uint16_t index;

	assert_int_equal(rule_dictionary_add(dictionary, &rule, &index), 0);
	return index;
}

static void the_first_two_rules_are_fixed(void **state)
{
	assert_int_equal(add(*state, (struct unwind_rule){.cfa_op = UNWIND_CFA_NONE}), RULE_NONE);
	assert_int_equal(add(*state, (struct unwind_rule){.cfa_op = UNWIND_CFA_UNSUPPORTED}),
			 RULE_UNSUPPORTED);
}

static void an_equal_rule_has_the_same_index(void **state)
{
	struct unwind_rule rule = {.cfa_op = UNWIND_CFA_SP, .cfa_offset = 8};
	struct unwind_rule other = rule;
	uint16_t index = add(*state, rule);

	other.bx_offset = 1;
	assert_int_not_equal(add(*state, other), index);
	assert_int_equal(add(*state, rule), index);
}

static void rules_beyond_the_limit_are_unsupported_and_counted(void **state)
{
	struct rule_dictionary *dictionary = *state;
	uint16_t indexes[66000];
	uint64_t num_spilled = 0;

	for (int i = 0; i < 66000; i++) {
		indexes[i] = add(dictionary, (struct unwind_rule){.cfa_op = UNWIND_CFA_SP,
								  .cfa_offset = 8 * i});
		num_spilled += indexes[i] == RULE_UNSUPPORTED;
	}
	assert_int_equal(dictionary->rules.length, RULE_DICTIONARY_MAX);
	assert_int_equal(num_spilled, 66000 - (RULE_DICTIONARY_MAX - 2));
	assert_int_equal(dictionary->num_spilled, num_spilled);
	for (int i = 0; i < 66000; i++)
		if (indexes[i] != RULE_UNSUPPORTED)
			assert_int_equal(dictionary->rules.items[indexes[i]].cfa_offset, 8 * i);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_first_two_rules_are_fixed),
		TEST(an_equal_rule_has_the_same_index),
		TEST(rules_beyond_the_limit_are_unsupported_and_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
