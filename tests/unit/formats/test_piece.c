#include "formats/piece.h"

#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static struct piece piece_of(const char *text)
{
	return (struct piece){text, strlen(text)};
}

static void lines_come_without_their_ends_and_are_counted(void **state _unused_)
{
	static const char text[] = "a\n\r\nb \r\n\rc\r";
	static const char *const expected[] = {"a", "", "b ", "\rc"};
	struct lines lines = lines_of(text, strlen(text));
	struct piece line;

	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		assert_true(lines_take(&lines, &line));
		assert_true(piece_equals(line, expected[i]));
		assert_int_equal(lines.number, i + 1);
	}
	assert_false(lines_take(&lines, &line));
	assert_int_equal(lines.number, ARRAY_LENGTH(expected));
}

static void a_last_line_end_begins_no_line(void **state _unused_)
{
	struct lines lines = lines_of("a\n", 2);
	struct lines none = lines_of(NULL, 0);
	struct piece line;

	assert_true(lines_take(&lines, &line));
	assert_false(lines_take(&lines, &line));
	assert_false(lines_take(&none, &line));
}

static void pieces_are_compared_at_either_end_and_within(void **state _unused_)
{
	struct piece piece = {"main.c:12 and what follows", 9};

	assert_true(piece_equals(piece, "main.c:12"));
	assert_false(piece_equals(piece, "main.c:1"));
	assert_false(piece_equals(piece, "main.c:12 "));
	assert_true(piece_starts_with(piece, "main"));
	assert_false(piece_starts_with(piece, "main.c:12 "));
	assert_true(piece_ends_with(piece, ":12"));
	assert_false(piece_ends_with(piece, "main.c:1"));
	assert_false(piece_ends_with(piece, "xmain.c:12"));
	assert_true(piece_contains(piece, ".c"));
	assert_false(piece_contains(piece, "and"));
}

static void blanks_at_both_ends_are_trimmed(void **state _unused_)
{
	assert_true(piece_equals(piece_trim(piece_of(" \t\v\f\r\na b\x01 \n")), "a b\x01"));
	assert_true(piece_equals(piece_trim(piece_of(" \t ")), ""));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_without_their_ends_and_are_counted),
		cmocka_unit_test(a_last_line_end_begins_no_line),
		cmocka_unit_test(pieces_are_compared_at_either_end_and_within),
		cmocka_unit_test(blanks_at_both_ends_are_trimmed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
