#include "cli/options/time_filter.h"

#include "base/array.h"
#include "base/log.h"
#include "caught_output.h"
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

static void add_wait(struct profile *profile, uint32_t thread, uint32_t metric,
		     uint64_t duration_ns)
{
	uint64_t ns = 1000000000;
	uint32_t stack = builder_add_stack(profile, "main;sleep");

	assert_int_equal(profile_add_sample(profile, thread, stack, metric, ns), 0);
	assert_int_equal(
		profile_add_interval(profile, thread, stack, metric, ns, ns, ns + duration_ns), 0);
}

/* Each source is looked at by itself. */
static void waits_without_durations_are_warned_of(void **state _unused_)
{
	static const struct {
		bool has_thread[2];
		uint64_t durations[2];
		bool is_warned;
	} cases[] = {
		{{true, false}, {1000000000, 0}, false},
		{{true, false}, {0, 0}, true},
		{{true, true}, {1000000000, 0}, true},
		{{true, true}, {1000000000, 1000000000}, false},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct profile *profile = profile_new();
		struct caught_output caught;
		char printed[512];
		uint32_t metric;

		assert_int_equal(profile_keep_timestamps(profile), 0);
		assert_int_equal(
			profile_add_metric(profile, METRIC_BLOCKED, "nanoseconds", &metric), 0);
		for (uint32_t k = 0; k < 2 && cases[i].has_thread[k]; k++) {
			struct thread thread = {.tid = k + 1};
			uint32_t id;

			assert_int_equal(profile_add_source(profile, STRING_EMPTY, &thread.source),
					 0);
			assert_int_equal(
				profile_add_process(profile, k + 1, STRING_EMPTY, &thread.process),
				0);
			assert_int_equal(profile_add_thread(profile, &thread, &id), 0);
			add_wait(profile, id, metric, cases[i].durations[k]);
		}
		log_set_level(LOG_LEVEL_NORMAL);
		caught = caught_output_start(STDERR_FILENO);
		assert_int_equal(time_filter_apply("+time:0-1000\n", profile), EXIT_DONE);
		caught_output_end(&caught, printed, sizeof(printed));
		log_set_level(LOG_LEVEL_QUIET);
		assert_int_equal(strstr(printed, "counts at its end") != NULL, cases[i].is_warned);
		profile_free(profile);
	}
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
		cmocka_unit_test(waits_without_durations_are_warned_of),
		cmocka_unit_test(an_input_without_times_is_refused),
	};

	log_set_level(LOG_LEVEL_QUIET);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
