#include "base/utf8.h"

#include <string.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_decodes(const char *bytes, uint32_t wanted, size_t wanted_size)
{
	uint32_t code_point;

	assert_int_equal(utf8_decode(bytes, strlen(bytes), &code_point), wanted_size);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_of_every_length_are_decoded),
		cmocka_unit_test(what_is_broken_is_one_byte_long),
		cmocka_unit_test(overlong_forms_and_surrogates_are_broken),
		cmocka_unit_test(what_steers_a_terminal_is_a_control),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
