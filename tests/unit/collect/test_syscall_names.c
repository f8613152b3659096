#include "base/attributes.h"
#include "collect/kernel/syscall_names.h"

#include "unit.h"
#include "wire/wire.h"

static void assert_name(uint64_t call, const char *expected)
{
	char name[64];

	syscall_get_name(call, name, sizeof(name));
	assert_string_equal(name, expected);
}

static void calls_are_named(void **state _unused_)
{
	assert_name(0 + 1, "read");
	assert_name(202 + 1, "futex");
	assert_name(999999 + 1, "999999");
}

/* The same number is another call. */
static void calls_of_32_bit_code_have_other_numbers(void **state _unused_)
{
	assert_name(WIRE_CALL_32_BIT | (3 + 1), "read");
	assert_name(WIRE_CALL_32_BIT | (1 + 1), "exit");
	assert_name((0x40000000 | 0) + 1, "read"); /* x32 */
	assert_name((0x40000000 | 520) + 1, "execve");
	assert_name(WIRE_CALL_32_BIT | (0x40000000 + 1), "1073741824");
}

static void a_call_of_an_unknown_table_has_no_name(void **state _unused_)
{
	assert_name(WIRE_CALL_UNKNOWN_TABLE | (20 + 1), "20");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_are_named),
		cmocka_unit_test(calls_of_32_bit_code_have_other_numbers),
		cmocka_unit_test(a_call_of_an_unknown_table_has_no_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
