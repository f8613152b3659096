/* Which rights a recording keeps. What gives them up is the test's. */
#include <stdbool.h>

static bool is_administrator;
static unsigned int num_refusals;

static int keep_rights(bool wanted);
static int refuse_calls(void);

#include "base/confinement.h"

#define confinement_keep_sampling_rights    keep_rights
#define confinement_refuse_all_but_sampling refuse_calls
#include "cli/recording.c"

#include "unit.h"

static int keep_rights(bool wanted)
{
	is_administrator = wanted;
	return 0;
}

static int refuse_calls(void)
{
	num_refusals++;
	return 0;
}

static bool keeps_all(const struct record_options *options)
{
	const struct recording recording = {.options = options};

	is_administrator = !options->flush_ns;
	num_refusals = 0;
	recording_give_up_rights(&recording);
	assert_int_equal(num_refusals, 1);
	return is_administrator;
}

/* What is loaded once needs no more rights; with every flush it is loaded anew. */
static void rights_of_an_administrator_are_kept_for_what_is_loaded_anew(void **state _unused_)
{
	struct event events[2] = {{.name = (char[]){"a"}}, {.name = (char[]){"b"}}};
	struct record_options options = {0};

	assert_false(keeps_all(&options));
	options.flush_ns = 1;
	assert_false(keeps_all(&options));
	for (int i = 0; i < 3; i++) {
		options.records_schedule = i == 0;
		options.records_off_cpu = i == 1;
		options.events.events.items = events;
		options.events.events.length = 2;
		events[1].probe = i == 2 ? (void *)events : NULL;
		options.flush_ns = 1;
		assert_true(keeps_all(&options));
		options.flush_ns = 0;
		assert_false(keeps_all(&options));
	}
	events[1].probe = NULL;
	options.flush_ns = 1;
	assert_false(keeps_all(&options));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rights_of_an_administrator_are_kept_for_what_is_loaded_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
