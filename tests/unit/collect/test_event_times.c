/*
 * When the counts of an event are scaled: where it had no counter for a part of the time.
 */
#include "collect/recorder.h"

#include "base/attributes.h"

#include "unit.h"

static void an_event_that_took_turns_has_gaps(void **state _unused_)
{
	struct event_times times = {.enabled_ns = 1000000000, .running_ns = 432000000};

	assert_true(event_times_have_gaps(&times));
	assert_false(event_times_are_empty(&times));
}

static void a_thousandth_is_none(void **state _unused_)
{
	assert_false(event_times_have_gaps(&(struct event_times){1000000, 1000000}));
	assert_false(event_times_have_gaps(&(struct event_times){1000000, 999000}));
	assert_true(event_times_have_gaps(&(struct event_times){1000000, 998999}));
	/* No more than all. */
	assert_false(event_times_have_gaps(&(struct event_times){1000000, 1000001}));
}

static void what_was_never_counted_cannot_be_scaled(void **state _unused_)
{
	struct event_times never = {.enabled_ns = 1000000};
	struct event_times none = {0};

	assert_true(event_times_are_empty(&never));
	assert_false(event_times_have_gaps(&never));
	assert_false(event_times_are_empty(&none));
	assert_false(event_times_have_gaps(&none));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_event_that_took_turns_has_gaps),
		cmocka_unit_test(a_thousandth_is_none),
		cmocka_unit_test(what_was_never_counted_cannot_be_scaled),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
