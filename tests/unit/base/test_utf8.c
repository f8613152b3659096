#include "base/utf8.h"

#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_decodes(const char *bytes, uint32_t wanted, size_t requested_size)
{
	uint32_t code_point;

	assert_int_equal(utf8_decode(bytes, strlen(bytes), &code_point), requested_size);
	assert_int_equal(code_point, wanted);
}

static void characters_of_every_length_are_decoded(void **state _unused_)
{
	assert_decodes("a", 'a', 1);
	assert_decodes("\xc2\x80", 0x80, 2);
	assert_decodes("\xdf\xbf", 0x7ff, 2);
	assert_decodes("\xe2\x82\xac", 0x20ac, 3);
	assert_decodes("\xf0\x9f\x94\xa5", 0x1f525, 4);
	assert_decodes("\xf4\x8f\xbf\xbf", 0x10ffff, 4);
}

static void what_is_broken_is_one_byte_long(void **state _unused_)
{
	assert_decodes("\x80", UTF8_REPLACEMENT_CODE_POINT, 1);
	assert_decodes("\xe2\x82", UTF8_REPLACEMENT_CODE_POINT, 1);
	assert_decodes("\xe2\x82(", UTF8_REPLACEMENT_CODE_POINT, 1);
	assert_decodes("\xff", UTF8_REPLACEMENT_CODE_POINT, 1);
}

static void overlong_forms_and_surrogates_are_broken(void **state _unused_)
{
	assert_decodes("\xc0\xaf", UTF8_REPLACEMENT_CODE_POINT, 1);
	assert_decodes("\xe0\x80\xaf", UTF8_REPLACEMENT_CODE_POINT, 1);
	assert_decodes("\xf0\x80\x80\xaf", UTF8_REPLACEMENT_CODE_POINT, 1);
	assert_decodes("\xed\xa0\x80", UTF8_REPLACEMENT_CODE_POINT, 1);
	assert_decodes("\xf4\x90\x80\x80", UTF8_REPLACEMENT_CODE_POINT, 1);
}

static void what_steers_a_terminal_is_a_control(void **state _unused_)
{
	assert_true(utf8_is_control(0x1b));
	assert_true(utf8_is_control(0x7f));
	assert_true(utf8_is_control(0x9b));
	assert_true(utf8_is_control(0x202e));
	assert_false(utf8_is_control(' '));
	assert_false(utf8_is_control(0xa0));
	assert_false(utf8_is_control(0x20ac));
}

#define REPLACED "\xef\xbf\xbd"

static void assert_becomes(const char *string, const char *expected)
{
	struct text text = {0};

	text_append_string(&text, "");
	utf8_append(&text, string, strlen(string));
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void characters_stay_as_they_are(void **state _unused_)
{
	assert_becomes("", "");
	assert_becomes("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5",
		       "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
	assert_becomes("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
		       "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

static void every_other_byte_is_replaced(void **state _unused_)
{
	assert_becomes("a\xff"
		       "b\x80",
		       "a" REPLACED "b" REPLACED);
	assert_becomes("\xc3", REPLACED);
	assert_becomes("\xe2\x82"
		       "a",
		       REPLACED REPLACED "a");
	assert_becomes("\xc0\xaf", REPLACED REPLACED);
}

static void long_forms_surrogates_and_too_large_numbers_are_no_characters(void **state _unused_)
{
	assert_becomes("\xe0\x9f\xbf", REPLACED REPLACED REPLACED);
	assert_becomes("\xed\xa0\x80", REPLACED REPLACED REPLACED);
	assert_becomes("\xf0\x8f\xbf\xbf", REPLACED REPLACED REPLACED REPLACED);
	assert_becomes("\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED);
}

static void in_a_name_nul_is_replaced_too(void **state _unused_)
{
	struct text text = {0};

	text_append_string(&text, "");
	utf8_append_name(&text,
			 "\0a\0\0\xff"
			 "b\0",
			 7);
	assert_string_equal(text.data, REPLACED "a" REPLACED REPLACED REPLACED "b" REPLACED);
	text_truncate(&text, 0);
	utf8_append_name(&text, "", 0);
	assert_int_equal(text.length, 0);
	text_release(&text);
}

static void code_points_of_every_length_are_encoded(void **state _unused_)
{
	struct text text = {0};

	utf8_append_code_point(&text, 'a');
	utf8_append_code_point(&text, 0x7ff);
	utf8_append_code_point(&text, 0x20ac);
	utf8_append_code_point(&text, 0x1f525);
	assert_string_equal(text.data, "a\xdf\xbf\xe2\x82\xac\xf0\x9f\x94\xa5");
	text_release(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_of_every_length_are_decoded),
		cmocka_unit_test(what_is_broken_is_one_byte_long),
		cmocka_unit_test(overlong_forms_and_surrogates_are_broken),
		cmocka_unit_test(what_steers_a_terminal_is_a_control),
		cmocka_unit_test(characters_stay_as_they_are),
		cmocka_unit_test(every_other_byte_is_replaced),
		cmocka_unit_test(long_forms_surrogates_and_too_large_numbers_are_no_characters),
		cmocka_unit_test(in_a_name_nul_is_replaced_too),
		cmocka_unit_test(code_points_of_every_length_are_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
