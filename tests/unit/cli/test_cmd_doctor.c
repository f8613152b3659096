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

/* No sample is missing with a tick that a sleeping CPU does not get. */
static void lost_samples_are_those_that_were_taken(void **state _unused_)
{
	struct recorder_account account = {
		.fired = 112,
		.samples = 2,
		.lost = {[LOSS_UNDELIVERED] = 99, [LOSS_RING_SAMPLE] = 11},
		.duration_ns = 500000000,
		.num_cpus = 2,
		.walks = {[WALK_COMPLETE] = 1, [WALK_NO_RULE] = 1},
	};
	struct finding finding = {0};

	report_account(&account, "cpu-clock", &finding);
	assert_true(finding.is_ok);
	assert_string_equal(finding.detail, "2 samples in 0.5 s on 2 CPUs (cpu-clock); 1 of 2 user "
					    "stacks complete, 11 samples lost");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(interpreters_are_in_order_of_kind_version_and_pid),
		cmocka_unit_test(lost_samples_are_those_that_were_taken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
