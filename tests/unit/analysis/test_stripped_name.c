#include "analysis/normalize.h"

#include <string.h>

#include "base/text.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_stripped(const char *name, const char *wanted)
{
	_cleanup_(text_release) struct text text = {0};

	text_append_string(&text, "");
	stripped_name_append(&text, name, strlen(name));
	assert_string_equal(text.data, wanted);
}

static void every_address_is_replaced(void **state _unused_)
{
	assert_stripped("0x1", "0x...");
	assert_stripped("a 0xdeadBEEF+0x10 b", "a 0x...+0x... b");
	assert_stripped("00x1x", "00x...x");
	assert_stripped("0x0x1", "0x...x1");
}

static void what_is_no_address_stays(void **state _unused_)
{
	assert_stripped("", "");
	assert_stripped("0x", "0x");
	assert_stripped("0xg", "0xg");
	assert_stripped("0X1f", "0X1f");
	assert_stripped("x1", "x1");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_address_is_replaced),
		cmocka_unit_test(what_is_no_address_stays),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
