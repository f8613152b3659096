#include "base/table_format.h"

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_count(uint64_t number, size_t width, const char *wanted)
{
	_cleanup_(text_release) struct text text = {0};

	table_append_count(&text, number, width);
	assert_string_equal(text.data, wanted);
}

static void assert_name(const char *name, size_t max_columns, const char *wanted, size_t columns)
{
	_cleanup_(text_release) struct text text = {0};

	text_append_string(&text, "");
	assert_int_equal(table_append_name(&text, name, strlen(name), max_columns), columns);
	assert_string_equal(text.data, wanted);
}

static void counts_have_separators_and_are_right_aligned(void **state _unused_)
{
	assert_count(0, 0, "0");
	assert_count(999, 5, "  999");
	assert_count(1000, 5, "1,000");
	assert_count(1234567, 0, "1,234,567");
	assert_count(UINT64_MAX, 0, "18,446,744,073,709,551,615");
	assert_int_equal(table_get_count_width(UINT64_MAX), 26);
	assert_int_equal(table_get_count_width(100), 3);
}

static void assert_share(double share, int num_decimals, size_t width, const char *wanted)
{
	_cleanup_(text_release) struct text text = {0};

	table_append_share(&text, share, num_decimals, width);
	assert_string_equal(text.data, wanted);
}

static void rounding_makes_a_part_neither_the_whole_nor_nothing(void **state _unused_)
{
	assert_share(0, 1, 0, "0.0%");
	assert_share(1, 1, 0, "100.0%");
	assert_share(1.5, 1, 0, "150.0%");
	assert_share(0.1234, 1, 7, "  12.3%");
	assert_share(652.0 / 660, 1, 0, "98.8%");
	assert_share(0.9994, 1, 0, "99.9%");
	assert_share(0.9996, 1, 0, ">99.9%");
	assert_share(9999.0 / 10000, 1, 0, ">99.9%");
	assert_share(1e-12, 1, 0, "<0.1%");
	assert_share(0.0004, 1, 6, " <0.1%");
	assert_share(0.0006, 1, 0, "0.1%");
	assert_share(0.99996, 2, 7, ">99.99%");
	assert_share(0.00004, 2, 7, " <0.01%");
	assert_share(0.999, 0, 0, ">99%");
}

static void a_short_name_stays_and_a_long_one_is_truncated(void **state _unused_)
{
	assert_name("main", TABLE_UNLIMITED_WIDTH, "main", 4);
	assert_name("main", 4, "main", 4);
	assert_name("mainly", 4, "mai\xe2\x80\xa6", 4);
	assert_name("mainly", 1, "\xe2\x80\xa6", 1);
	assert_name("mainly", 0, "", 0);
}

static void a_character_is_never_split(void **state _unused_)
{
	assert_name("\xc3\xa4\xc3\xb6\xc3\xbc", 2, "\xc3\xa4\xe2\x80\xa6", 2);
	assert_int_equal(table_get_name_width("\xc3\xa4\xc3\xb6", 4), 2);
}

static void nothing_in_a_name_reaches_the_terminal_as_a_command(void **state _unused_)
{
	assert_name("a\x1b[31mb\n", TABLE_UNLIMITED_WIDTH, "a [31mb ", 8);
	assert_name("\xc2\x9b\xe2\x80\xae", TABLE_UNLIMITED_WIDTH, "  ", 2);
	assert_name("\x9b\xff", TABLE_UNLIMITED_WIDTH, "??", 2);
}

static void assert_words(const char *words, size_t indent, size_t num_columns, const char *wanted)
{
	_cleanup_(text_release) struct text text = {0};

	table_append_words(&text, words, indent, num_columns);
	text_append_string(&text, "");
	assert_string_equal(text.data, wanted);
}

static void words_are_wrapped_behind_their_indent(void **state _unused_)
{
	assert_words("one two three four five six", 2, 22, "one two three four\n  five six");
	assert_words("one two three four five", 2, 25, "one two three four five");
	assert_words("one two three four five", 2, 24, "one two three four\n  five");
	assert_words("a-word-of-more-columns-than-there-are b", 2, 22,
		     "a-word-of-more-columns-than-there-are\n  b");
	assert_words("\xc3\xa4\xc3\xa4\xc3\xa4 two three four five", 0, 23,
		     "\xc3\xa4\xc3\xa4\xc3\xa4 two three four five");
	assert_words("", 2, 22, "");
}

static void words_are_not_wrapped_without_room(void **state _unused_)
{
	assert_words("one two three four five six", 2, 0, "one two three four five six");
	assert_words("one two three four five six", 30, 40, "one two three four five six");
}

static void expect_counted(uint64_t number, const char *phrase, const char *expected)
{
	_cleanup_(text_release) struct text text = {0};

	table_append_counted(&text, number, phrase);
	assert_string_equal(text.data, expected);
}

static void a_phrase_agrees_with_its_number(void **state _unused_)
{
	expect_counted(1, "{tick was|ticks were} late", "1 tick was late");
	expect_counted(0, "{tick was|ticks were} late", "0 ticks were late");
	expect_counted(1234, "{tick was|ticks were} late", "1,234 ticks were late");
	expect_counted(1, "{|new }{child|children}", "1 child");
	expect_counted(2, "{|new }{child|children}", "2 new children");
	expect_counted(2, "of them", "2 of them");
	expect_counted(1, "cut {one", "1 cut one");
	expect_counted(2, "cut {one", "2 cut ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_have_separators_and_are_right_aligned),
		cmocka_unit_test(a_phrase_agrees_with_its_number),
		cmocka_unit_test(rounding_makes_a_part_neither_the_whole_nor_nothing),
		cmocka_unit_test(a_short_name_stays_and_a_long_one_is_truncated),
		cmocka_unit_test(a_character_is_never_split),
		cmocka_unit_test(words_are_wrapped_behind_their_indent),
		cmocka_unit_test(words_are_not_wrapped_without_room),
		cmocka_unit_test(nothing_in_a_name_reaches_the_terminal_as_a_command),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
