/* Files with an allocator beyond the limit. */
#include "collect/events/probes.c"

#include "unit.h"

static char event_name[] = "alloc";
static struct event event = {.name = event_name};
static struct error error;

static void files_left_out_are_counted_or_refused(void **state _unused_)
{
	struct allocator_search search = {
		.event = &event, .error = &error, .shares.is_shared = true};

	assert_int_equal(leave_out(&search), 0);
	assert_int_equal(leave_out(&search), 0);
	assert_int_equal(event.num_left_out, 2);
	search.shares.is_shared = false;
	assert_int_equal(leave_out(&search), -EINVAL);
	assert_int_equal(event.num_left_out, 2);
	assert_non_null(strstr(error.message, "64 files"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_left_out_are_counted_or_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
