#include "base/utf16.h"

#include "unit.h"

#include <string.h>

static void assert_becomes(const char *data, size_t size, bool is_big_endian, const char *expected)
{
	uint8_t text[64];
	bool found = !is_big_endian;

	assert_true(utf16_get_max_utf8_bytes(size) <= sizeof(text));
	assert_true(utf16_has_mark((const uint8_t *)data, size, &found));
	assert_int_equal(found, is_big_endian);
	assert_int_equal(utf16_to_utf8((const uint8_t *)data, size, is_big_endian, text),
			 strlen(expected));
	assert_memory_equal(text, expected, strlen(expected));
}

#define ASSERT_LITTLE(data, expected) assert_becomes(data, sizeof(data) - 1, false, expected)
#define ASSERT_BIG(data, expected)    assert_becomes(data, sizeof(data) - 1, true, expected)

static void both_byte_orders_are_read(void **state)
{
	(void)state;
	ASSERT_LITTLE("\xff\xfe"
		      "a\0;\0b\0 \0"
		      "1\0",
		      "a;b 1");
	ASSERT_BIG("\xfe\xff"
		   "\0a\0;\0b",
		   "a;b");
	ASSERT_LITTLE("\xff\xfe", "");
}

static void characters_have_up_to_four_bytes(void **state)
{
	(void)state;
	ASSERT_LITTLE("\xff\xfe\xe9\x00\xac\x20\x3d\xd8\x00\xde",
		      "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	ASSERT_BIG("\xfe\xff\xff\xff\xdb\xff\xdf\xff", "\xef\xbf\xbf\xf4\x8f\xbf\xbf");
}

static void half_a_character_is_replaced(void **state)
{
	(void)state;
	/* A high surrogate before a letter, a low one, a high one at the end, half a unit. */
	ASSERT_LITTLE("\xff\xfe\x3d\xd8"
		      "a\0",
		      "\xef\xbf\xbd"
		      "a");
	ASSERT_LITTLE("\xff\xfe\x00\xde"
		      "a\0",
		      "\xef\xbf\xbd"
		      "a");
	ASSERT_LITTLE("\xff\xfe\x3d\xd8", "\xef\xbf\xbd");
	ASSERT_LITTLE("\xff\xfe"
		      "a\0b",
		      "a\xef\xbf\xbd");
	ASSERT_LITTLE("\xff\xfe\x3d\xd8\x3d\xd8\x00\xde", "\xef\xbf\xbd\xf0\x9f\x98\x80");
	ASSERT_LITTLE("\xff\xfe\x3d\xd8\x00", "\xef\xbf\xbd\xef\xbf\xbd");
}

static void the_bound_holds(void **state)
{
	(void)state;
	for (size_t size = 2; size < 20; size++) {
		uint8_t data[20];
		uint8_t text[64];

		memset(data, 0xff, sizeof(data));
		data[1] = 0xfe;
		assert_true(utf16_to_utf8(data, size, false, text) <=
			    utf16_get_max_utf8_bytes(size));
	}
}

static void other_text_has_no_mark(void **state)
{
	bool is_big_endian;

	(void)state;
	assert_false(utf16_has_mark((const uint8_t *)"\xff", 1, &is_big_endian));
	assert_false(utf16_has_mark((const uint8_t *)"\xff\xff", 2, &is_big_endian));
	assert_false(utf16_has_mark((const uint8_t *)"\xef\xbb\xbf", 3, &is_big_endian));
	assert_false(utf16_has_mark(NULL, 0, &is_big_endian));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(both_byte_orders_are_read),
		cmocka_unit_test(characters_have_up_to_four_bytes),
		cmocka_unit_test(half_a_character_is_replaced),
		cmocka_unit_test(the_bound_holds),
		cmocka_unit_test(other_text_has_no_mark),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
