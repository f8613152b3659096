#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/filter.h"
#include "base/text.h"
#include "unit.h"

static void assert_allowed(const char *regex)
{
	struct error error = {0};

	assert_int_equal(regex_check_bounds(regex, &error), 0);
	assert_string_equal(error.message, "");
}

static void assert_refused(const char *regex, const char *reason)
{
	struct error error = {0};

	assert_int_equal(regex_check_bounds(regex, &error), -EINVAL);
	if (!strstr(error.message, reason))
		assert_string_equal(error.message, reason);
}

static void what_people_write_is_allowed(void **state _unused_)
{
	assert_allowed("");
	assert_allowed("^main$");
	assert_allowed("std::(map|set)<.*>::(insert|erase)");
	assert_allowed("a{3,5}b{2,}c{,4}d{7}");
	assert_allowed("(a{1,255}){1,255}");
	assert_allowed("[]({[:alpha:]}]*\\(\\{x");
	assert_allowed("(((((((((((((((((((((((((((((((a)))))))))))))))))))))))))))))))");
}

static void what_is_no_expression_is_left_to_regcomp(void **state _unused_)
{
	assert_allowed(")))");
	assert_allowed("(((");
	assert_allowed("[a");
	assert_allowed("a{");
	assert_allowed("\\");
	assert_allowed("{5}");
}

static void many_open_parentheses_are_refused(void **state _unused_)
{
	struct text deep = {0};

	for (int i = 0; i < REGEX_MAX_DEPTH; i++)
		text_append_char(&deep, '(');
	assert_allowed(deep.data);
	text_append_char(&deep, '(');
	assert_refused(deep.data, "at character 201: more than 200 parentheses are open");
	text_release(&deep);
}

static void parentheses_that_are_closed_do_not_count(void **state _unused_)
{
	struct text wide = {0};

	for (int i = 0; i < 10 * REGEX_MAX_DEPTH; i++)
		text_append_string(&wide, "(a)");
	assert_allowed(wide.data);
	text_release(&wide);
}

static void repetitions_are_multiplied(void **state _unused_)
{
	assert_refused("((a{1,255}){1,255}){1,50}", "at character 20: with its repetitions");
	assert_refused("((((a{1,255}){1,255}){1,255}){1,255})", "longer than 100000 characters");
	assert_refused("(a|b|c|d){1000}{1000}", "repetitions");
	assert_refused("a{99999999999999999999999}", "repetitions");
	assert_refused("a{100001,}", "repetitions");
	assert_refused("(a{1000}b{1000}){51}", "repetitions");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_people_write_is_allowed),
		cmocka_unit_test(what_is_no_expression_is_left_to_regcomp),
		cmocka_unit_test(many_open_parentheses_are_refused),
		cmocka_unit_test(parentheses_that_are_closed_do_not_count),
		cmocka_unit_test(repetitions_are_multiplied),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
