#include <errno.h>
#include <stdlib.h>
#include <time.h>

#include "base/attributes.h"
#include "cli/options/time_spec.h"
#include "unit.h"

/* Saturday, 2026-11-21 12:34:56 in Berlin, one hour ahead of UTC. */
#define NOW 1795260896ll

static int set_zone(void **state _unused_)
{
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	return 0;
}

static void assert_is(const char *text, int64_t expected_s)
{
	int64_t time_s = -1;

	if (time_spec_read(text, NOW, &time_s))
		fail_msg("'%s' is not read", text);
	if (time_s != expected_s)
		fail_msg("'%s' is %lld, expected %lld", text, (long long)time_s,
			 (long long)expected_s);
}

static void assert_is_none(const char *text)
{
	int64_t time_s;

	if (time_spec_read(text, NOW, &time_s) != -EINVAL)
		fail_msg("'%s' is read as %lld", text, (long long)time_s);
}

static void days_start_at_local_midnight(void **state _unused_)
{
	assert_is("now", NOW);
	assert_is("today", 1795215600);
	assert_is("yesterday", 1795215600 - 86400);
	assert_is("tomorrow", 1795215600 + 86400);
	assert_is("2026-11-21", 1795215600);
	assert_is("20261121", 1795215600);
}

static void times_are_of_today(void **state _unused_)
{
	assert_is("03:12", 1795215600 + 3 * 3600 + 12 * 60);
	assert_is("03:12:05", 1795215600 + 3 * 3600 + 12 * 60 + 5);
	assert_is("23:59", 1795215600 + 86400 - 60);
	assert_is("00:00", 1795215600);
}

static void a_day_may_have_a_time(void **state _unused_)
{
	assert_is("yesterday 03:12", 1795215600 - 86400 + 3 * 3600 + 12 * 60);
	assert_is("2026-11-21 03:12", 1795215600 + 3 * 3600 + 12 * 60);
	assert_is("2026-11-21T03:12:05", 1795215600 + 3 * 3600 + 12 * 60 + 5);
}

static void a_zone_may_be_given(void **state _unused_)
{
	assert_is("2026-11-21T11:34:56Z", NOW);
	assert_is("2026-11-21T12:34:56+01:00", NOW);
	assert_is("2026-11-21T12:34:56+0100", NOW);
	assert_is("2026-11-21T12:34:56+01", NOW);
	assert_is("2026-11-21 06:34:56-05:00", NOW);
	assert_is("20261121T113456Z", NOW);
}

static void a_time_before_now_counts_back(void **state _unused_)
{
	assert_is("-2h", NOW - 7200);
	assert_is("-90", NOW - 90);
	assert_is("-1.5h", NOW - 5400);
	assert_is("-30m", NOW - 1800);
	assert_is("-7d", NOW - 7 * 86400);
	assert_is("-2w", NOW - 14 * 86400);
}

static void seconds_since_1970_are_taken(void **state _unused_)
{
	assert_is("@0", 0);
	assert_is("@1795260896", NOW);
}

static void days_are_23_or_25_hours_when_clocks_change(void **state _unused_)
{
	int64_t start, end;

	assert_int_equal(time_spec_read("2026-10-25", NOW, &start), 0);
	assert_int_equal(time_spec_read("2026-10-26", NOW, &end), 0);
	assert_int_equal(end - start, 25 * 3600);
	assert_int_equal(time_spec_read("2026-03-29", NOW, &start), 0);
	assert_int_equal(time_spec_read("2026-03-30", NOW, &end), 0);
	assert_int_equal(end - start, 23 * 3600);
	/* Yesterday's 12:00 on the day after a change is not 24 hours ago. */
	assert_int_equal(time_spec_read("yesterday 12:00", 1774864800 /* 03-30 12:00 */, &start),
			 0);
	assert_int_equal(start, 1774864800 - 86400);
	assert_int_equal(time_spec_read("yesterday 00:00", 1774864800, &start), 0);
	assert_int_equal(start, 1774864800 - 36 * 3600 + 3600);
}

static void what_is_no_time_is_refused(void **state _unused_)
{
	static const char *const texts[] = {
		"",
		"noon",
		"nowish",
		"todays",
		"2026-02-30",
		"2025-02-29",
		"2026-13-01",
		"2026-1-1",
		"2026-1121",
		"24:00",
		"12:60",
		"12:34:60",
		"1:30",
		"12",
		"12:34pm",
		"2026-11-21T",
		"2026-11-21T12:34Zx",
		"2026-11-21T12:34+15:00",
		"2026-11-21 ",
		"-",
		"--2h",
		"-2y",
		"-h",
		"@",
		"@-1",
		"@1x",
		"@99999999999999999999",
		"2h",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++)
		assert_is_none(texts[i]);
	assert_is("2028-02-29", 1835391600);
}

static void a_range_has_two_ends(void **state _unused_)
{
	int64_t since_s, until_s;

	assert_int_equal(time_spec_read_range("-2h..-1h", NOW, &since_s, &until_s), 0);
	assert_int_equal(since_s, NOW - 7200);
	assert_int_equal(until_s, NOW - 3600);
	assert_int_equal(time_spec_read_range("yesterday..", NOW, &since_s, &until_s), 0);
	assert_int_equal(until_s, NOW);
	assert_int_equal(time_spec_read_range("..03:12", NOW, &since_s, &until_s), 0);
	assert_true(since_s == INT64_MIN);
	assert_int_equal(time_spec_read_range("-1h..-2h", NOW, &since_s, &until_s), -ERANGE);
	assert_int_equal(time_spec_read_range("-1h..-1h", NOW, &since_s, &until_s), -ERANGE);
	assert_int_equal(time_spec_read_range("-1h", NOW, &since_s, &until_s), -EINVAL);
	assert_int_equal(time_spec_read_range("-1h..noon", NOW, &since_s, &until_s), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(days_start_at_local_midnight),
		cmocka_unit_test(times_are_of_today),
		cmocka_unit_test(a_day_may_have_a_time),
		cmocka_unit_test(a_zone_may_be_given),
		cmocka_unit_test(a_time_before_now_counts_back),
		cmocka_unit_test(seconds_since_1970_are_taken),
		cmocka_unit_test(days_are_23_or_25_hours_when_clocks_change),
		cmocka_unit_test(what_is_no_time_is_refused),
		cmocka_unit_test(a_range_has_two_ends),
	};

	return cmocka_run_group_tests(tests, set_zone, NULL);
}
