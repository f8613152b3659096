#include "cli/options/time_filter.h"

#include "base/array.h"
#include "base/log.h"
#include "cli/options/command.h"
#include "profile_builder.h"

static void assert_line(const char *filter, bool excludes, const char *expected)
{
	struct text lines = {0};

	assert_true(time_filter_is(filter));
	assert_int_equal(time_filter_add(&lines, filter, excludes), 0);
	assert_string_equal(lines.data, expected);
	text_release(&lines);
}

static void ranges_are_durations_or_milliseconds(void **state _unused_)
{
	assert_line("time:2s..5s", false, "+time:2000-5000\n");
	assert_line("time:500ms..1.5s", true, "-time:500-1500\n");
	assert_line("time:0..1", false, "+time:0-1000\n");
	assert_line("time:0.0s..1m", false, "+time:0-60000\n");
	assert_line("time:..1s", false, "+time:0-1000\n");
	assert_line("time:1s..", false, "+time:1000-18446744073709551615\n");
	assert_line("time:100-200", false, "+time:100-200\n");
	assert_false(time_filter_is("thread:1"));
}

static void other_ranges_are_refused(void **state _unused_)
{
	static const char *const bad[] = {
		"time:",
		"time:5s",
		"time:5s..2s",
		"time:1s..1s",
		"time:a..b",
		"time:1s..2x",
		"time:-1s..2",
		"time:200-100",
		"time:1-",
		"time:-2",
		"time:100-200x",
		"time:1..2..3",
		"time:00000000000000000000000000000000001s..",
	};
	struct text lines = {0};

	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_not_equal(time_filter_add(&lines, bad[i], false), 0);
	assert_int_equal(lines.length, 0);
	text_release(&lines);
}

/* Of 5 within 2 s 3 are in the first. */
static void a_sample_keeps_what_is_inside(void **state _unused_)
{
	struct profile *profile = profile_new();

	assert_int_equal(profile_keep_timestamps(profile), 0);
	builder_add_thread(profile, 1, 1, "a");
	builder_add_sample(profile, 0, "main", 5);
	builder_add_sample(profile, 0, "late", 1);
	assert_int_equal(profile_add_timestamp(profile, 0, 1, 0, 3, 1000000000), 0);
	assert_int_equal(profile_add_timestamp(profile, 0, 1, 0, 2, 2500000000), 0);
	assert_int_equal(profile_add_timestamp(profile, 0, 2, 0, 1, 3000000000), 0);
	assert_int_equal(time_filter_apply("+time:0-1000\n", profile), EXIT_DONE);
	assert_int_equal(profile_get_sample(profile, 0)->value, 3);
	assert_int_equal(profile_get_sample(profile, 1)->value, 0);
	profile_free(profile);
}

static void an_input_without_times_is_refused(void **state _unused_)
{
	struct profile *profile = profile_new();

	builder_add_thread(profile, 1, 1, "a");
	builder_add_sample(profile, 0, "main", 5);
	assert_int_equal(time_filter_apply("+time:0-1000\n", profile), EXIT_USAGE);
	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(time_filter_apply("+time:0-1000\n", profile), EXIT_USAGE);
	assert_int_equal(profile_get_sample(profile, 0)->value, 5);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges_are_durations_or_milliseconds),
		cmocka_unit_test(other_ranges_are_refused),
		cmocka_unit_test(a_sample_keeps_what_is_inside),
		cmocka_unit_test(an_input_without_times_is_refused),
	};

	log_set_level(LOG_LEVEL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
