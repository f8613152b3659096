#include "formats/slice.h"

#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static struct slice slice_of(const char *text)
{
	return (struct slice){text, strlen(text)};
}

static void lines_come_without_their_ends_and_are_counted(void **state _unused_)
{
	static const char text[] = "a\n\r\nb \r\n\rc\r";
	static const char *const expected[] = {"a", "", "b ", "\rc"};
	struct lines lines = lines_of(text, strlen(text));
	struct slice line;

	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		assert_true(lines_take(&lines, &line));
		assert_true(slice_equals(line, expected[i]));
		assert_int_equal(lines.number, i + 1);
	}
	assert_false(lines_take(&lines, &line));
	assert_int_equal(lines.number, ARRAY_LENGTH(expected));
}

static void a_last_line_end_starts_no_line(void **state _unused_)
{
	struct lines lines = lines_of("a\n", 2);
	struct lines none = lines_of(NULL, 0);
	struct slice line;

	assert_true(lines_take(&lines, &line));
	assert_false(lines_take(&lines, &line));
	assert_false(lines_take(&none, &line));
}

static void pieces_are_compared_at_either_end_and_within(void **state _unused_)
{
	struct slice slice = {"main.c:12 and what follows", 9};

	assert_true(slice_equals(slice, "main.c:12"));
	assert_false(slice_equals(slice, "main.c:1"));
	assert_false(slice_equals(slice, "main.c:12 "));
	assert_true(slice_starts_with(slice, "main"));
	assert_false(slice_starts_with(slice, "main.c:12 "));
	assert_true(slice_ends_with(slice, ":12"));
	assert_false(slice_ends_with(slice, "main.c:1"));
	assert_false(slice_ends_with(slice, "xmain.c:12"));
	assert_true(slice_contains(slice, ".c"));
	assert_false(slice_contains(slice, "and"));
}

static void blanks_at_both_ends_are_trimmed(void **state _unused_)
{
	assert_true(slice_equals(slice_trim(slice_of(" \t\v\f\r\na b\x01 \n")), "a b\x01"));
	assert_true(slice_equals(slice_trim(slice_of(" \t ")), ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_without_their_ends_and_are_counted),
		cmocka_unit_test(a_last_line_end_starts_no_line),
		cmocka_unit_test(pieces_are_compared_at_either_end_and_within),
		cmocka_unit_test(blanks_at_both_ends_are_trimmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
