#include "base/text.h"
#include "unit.h"

static void text_grows_and_stays_terminated(void **state _unused_)
{
	struct text text = {0};

	for (int i = 0; i < 1000; i++)
		text_printf(&text, "%d,", i % 10);
	assert_int_equal(text.length, 2000);
	assert_int_equal(strlen(text.data), 2000);
	text_truncate(&text, 4);
	assert_string_equal(text.data, "0,1,");
	text_truncate(&text, 100);
	assert_int_equal(text.length, 4);
	text_release(&text);
}

static void nul_bytes_are_kept(void **state _unused_)
{
	struct text text = {0};

	text_append(&text, "a\0b", 3);
	text_append_char(&text, 'c');
	assert_int_equal(text.length, 4);
	assert_memory_equal(text.data, "a\0bc", 5);
	text_release(&text);
}

static void numbers_are_decimal(void **state _unused_)
{
	struct text text = {0};

	text_append_number(&text, 0);
	text_append_char(&text, ' ');
	text_append_number(&text, 1200);
	text_append_char(&text, ' ');
	text_append_number(&text, UINT64_MAX);
	assert_string_equal(text.data, "0 1200 18446744073709551615");
	text_release(&text);
}

static void an_impossible_size_fails_for_good(void **state _unused_)
{
	struct text text = {0};

	text_append_string(&text, "a");
	text_append(&text, "b", SIZE_MAX - 1);
	assert_true(text.failed);
	text_append_string(&text, "c");
	assert_int_equal(text.length, 1);
	text_release(&text);
}

static void prefixes_suffixes_and_base_names(void **state _unused_)
{
	assert_true(string_starts_with("folded", "fold"));
	assert_false(string_starts_with("fold", "folded"));
	assert_true(string_ends_with("a.diff.folded", ".folded"));
	assert_false(string_ends_with("folded", "a.folded"));
	assert_string_equal(path_basename("/usr/lib/libc.so.6"), "libc.so.6");
	assert_string_equal(path_basename("name"), "name");
}

static void hexadecimal_digits_are_read_up_to_the_first_other(void **state _unused_)
{
	uint64_t value = 1;

	assert_int_equal(hex_read("1aFg", 4, &value), 3);
	assert_int_equal(value, 0x1af);
	assert_int_equal(hex_read("12", 1, &value), 1);
	assert_int_equal(value, 1);
	assert_int_equal(hex_read("00ffffffffffffffff", 18, &value), 18);
	assert_true(value == UINT64_MAX);
}

static void no_hexadecimal_number_leaves_the_value_alone(void **state _unused_)
{
	uint64_t value = 7;

	assert_int_equal(hex_read("", 0, &value), 0);
	assert_int_equal(hex_read("x1", 2, &value), 0);
	assert_int_equal(hex_read("10000000000000000", 17, &value), 0);
	assert_int_equal(value, 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(text_grows_and_stays_terminated),
		cmocka_unit_test(nul_bytes_are_kept),
		cmocka_unit_test(numbers_are_decimal),
		cmocka_unit_test(an_impossible_size_fails_for_good),
		cmocka_unit_test(prefixes_suffixes_and_base_names),
		cmocka_unit_test(hexadecimal_digits_are_read_up_to_the_first_other),
		cmocka_unit_test(no_hexadecimal_number_leaves_the_value_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
