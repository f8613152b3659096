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

static void pieces_are_written_in_place(void **state _unused_)
{
	struct text text = {0};
	char *end;

	text_append_string(&text, "a");
	end = text_extend(&text, 2 * NUMBER_MAX_DIGITS);
	assert_non_null(end);
	end = number_print(end, UINT64_MAX);
	text_end_at(&text, number_print(end, 0));
	assert_string_equal(text.data, "a184467440737095516150");
	assert_int_equal(text.length, strlen(text.data));
	text_append_char(&text, 'b');
	assert_string_equal(text.data, "a184467440737095516150b");
	text_release(&text);
	text.failed = true;
	assert_null(text_extend(&text, 1));
}

static void expect_decimal(double number, unsigned decimals)
{
	struct text text = {0};
	struct text expected = {0};

	text_append_decimal(&text, number, decimals);
	text_printf(&expected, "%.*f", (int)decimals, number);
	assert_string_equal(text.data, expected.data);
	text_release(&text);
	text_release(&expected);
}

/* Ties, what only looks like one (1.005, 0.285), and what is too large for whole numbers. */
static void decimals_are_those_of_printf(void **state _unused_)
{
	static const double numbers[] = {
		0,     0.05,   0.25, 0.125, 0.375, 1.005, 2.675,        1.115,  1e15, 1e22,
		1e300, 99.995, 100,  0.995, 9.95,  1e-9,  0.4999999999, 1200.5, -1.5, 0x1p52,
	};
	uint64_t state_of_random = 1;

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++)
		for (unsigned decimals = 0; decimals <= 12; decimals++)
			expect_decimal(numbers[i], decimals);
	for (size_t i = 0; i < 20000; i++) {
		state_of_random = state_of_random * 6364136223846793005 + 1442695040888963407;
		expect_decimal((double)(state_of_random >> 40) / (double)(1 + i % 4000), i % 4);
		expect_decimal((double)(state_of_random >> 44) / 2000, 2);
	}
}

static void printing_grows_a_text_where_there_is_no_room(void **state _unused_)
{
	char filled[100];

	for (int room = 1; room < 40; room++) {
		struct text text = {0};

		memset(filled, 'x', sizeof(filled));
		text_append(&text, filled, (size_t)room);
		text_printf(&text, "%s", "0123456789");
		assert_int_equal(text.length, room + 10);
		assert_int_equal(strlen(text.data), room + 10);
		assert_string_equal(text.data + room, "0123456789");
		text_release(&text);
	}
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

static void modules_are_base_names_of_paths_alone(void **state _unused_)
{
	static const struct {
		const char *path;
		const char *module;
	} cases[] = {
		{"/usr/lib/libc.so.6", "libc.so.6"},
		{"node:internal/timers", "node:internal/timers"},
		{"https://host/a.js", "https://host/a.js"},
		{"chrome-extension://id/b.js", "chrome-extension://id/b.js"},
		{"C:/programs/a.exe", "a.exe"},
		{"/a:b/c", "c"},
		{"a/b:c", "b:c"},
		{"1a:b/c", "c"},
		{":a/b", "b"},
		{"ab", "ab"},
		{"[kernel]", "[kernel]"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_string_equal(path_get_module(cases[i].path), cases[i].module);
	assert_true(path_has_scheme("ab:c", 3));
	assert_false(path_has_scheme("ab:c", 2));
	assert_false(path_has_scheme("a\0:c", 4));
	assert_false(path_has_scheme(NULL, 0));
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
		cmocka_unit_test(pieces_are_written_in_place),
		cmocka_unit_test(decimals_are_those_of_printf),
		cmocka_unit_test(printing_grows_a_text_where_there_is_no_room),
		cmocka_unit_test(an_impossible_size_fails_for_good),
		cmocka_unit_test(prefixes_suffixes_and_base_names),
		cmocka_unit_test(modules_are_base_names_of_paths_alone),
		cmocka_unit_test(hexadecimal_digits_are_read_up_to_the_first_other),
		cmocka_unit_test(no_hexadecimal_number_leaves_the_value_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
