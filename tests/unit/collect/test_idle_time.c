#include "base/attributes.h"
#include "collect/kernel/idle_time.h"

#include "unit.h"

#include <unistd.h>

static void idle_and_waiting_cpus_are_added_up(void **state _unused_)
{
	uint64_t tick_ns = 1000000000 / (uint64_t)sysconf(_SC_CLK_TCK);

	assert_int_equal(idle_time_parse_ns("cpu  1 2 3 400 50 6 7 8 0 0\ncpu0 1 2 3 4 5 6 7\n"),
			 450 * tick_ns);
}

static void other_text_has_no_idle_time(void **state _unused_)
{
	assert_int_equal(idle_time_parse_ns(""), 0);
	assert_int_equal(idle_time_parse_ns("cpu  1 2 3 400\n"), 0);
	assert_int_equal(idle_time_parse_ns("intr 1 2 3 4 5\n"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(idle_and_waiting_cpus_are_added_up),
		cmocka_unit_test(other_text_has_no_idle_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
