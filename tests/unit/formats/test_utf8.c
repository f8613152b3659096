#include "formats/utf8.h"
#include "unit.h"

#define REPLACED "\xef\xbf\xbd"

static void assert_becomes(const char *string, const char *expected)
{
	struct text text = {0};

	text_append_string(&text, "");
	utf8_append(&text, string, strlen(string));
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void characters_stay_as_they_are(void **state)
{
	(void)state;
	assert_becomes("", "");
	assert_becomes("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5",
		       "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x94\xa5");
	assert_becomes("\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf",
		       "\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf");
}

static void every_other_byte_is_replaced(void **state)
{
	(void)state;
	assert_becomes("a\xff"
		       "b\x80",
		       "a" REPLACED "b" REPLACED);
	assert_becomes("\xc3", REPLACED);
	assert_becomes("\xe2\x82"
		       "a",
		       REPLACED REPLACED "a");
	assert_becomes("\xc0\xaf", REPLACED REPLACED);
}

static void long_forms_surrogates_and_too_large_numbers_are_no_characters(void **state)
{
	(void)state;
	assert_becomes("\xe0\x9f\xbf", REPLACED REPLACED REPLACED);
	assert_becomes("\xed\xa0\x80", REPLACED REPLACED REPLACED);
	assert_becomes("\xf0\x8f\xbf\xbf", REPLACED REPLACED REPLACED REPLACED);
	assert_becomes("\xf4\x90\x80\x80", REPLACED REPLACED REPLACED REPLACED);
}

static void in_a_name_nul_is_replaced_too(void **state)
{
	struct text text = {0};

	(void)state;
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(characters_stay_as_they_are),
		cmocka_unit_test(every_other_byte_is_replaced),
		cmocka_unit_test(long_forms_surrogates_and_too_large_numbers_are_no_characters),
		cmocka_unit_test(in_a_name_nul_is_replaced_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
