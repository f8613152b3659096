/* The order of the interpreters that live: by kind and version, unknown ones last. */
#include "cli/cmd_doctor.c"

#include <stdlib.h>

#include "base/array.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void interpreters_are_in_order_of_kind_version_and_pid(void **state _unused_)
{
	static const struct runtime_process expected[] = {
		{.pid = 90, .runtime = WIRE_RUNTIME_PYTHON, .major = 2, .minor = 7},
		{.pid = 80,
		 .runtime = WIRE_RUNTIME_PYTHON,
		 .major = 3,
		 .minor = 8,
		 .is_known = true},
		{.pid = 5,
		 .runtime = WIRE_RUNTIME_PYTHON,
		 .major = 3,
		 .minor = 11,
		 .is_known = true},
		{.pid = 6,
		 .runtime = WIRE_RUNTIME_PYTHON,
		 .major = 3,
		 .minor = 11,
		 .is_known = true},
		{.pid = 6,
		 .runtime = WIRE_RUNTIME_PYTHON,
		 .major = 3,
		 .minor = 11,
		 .is_known = true},
		{.pid = 3, .runtime = WIRE_RUNTIME_PYTHON, .major = 3, .minor = 11},
		{.pid = 4, .runtime = WIRE_RUNTIME_PYTHON, .major = 3, .minor = 11},
		{.pid = 1, .runtime = WIRE_RUNTIME_V8, .major = 1, .minor = 1, .is_known = true},
		{.pid = 2, .runtime = WIRE_RUNTIME_HOTSPOT},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		for (size_t j = 0; j < ARRAY_LENGTH(expected); j++) {
			bool is_same = i == j || (i + j == 7 && (i == 3 || i == 4));
			int wanted = is_same ? 0 : i < j ? -1 : 1;

			assert_int_equal(compare_versions(&expected[i], &expected[j]), wanted);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interpreters_are_in_order_of_kind_version_and_pid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
