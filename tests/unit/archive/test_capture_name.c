#include <errno.h>

#include "archive/archive.h"
#include "base/text.h"
#include "unit.h"

#define NOON 1795262400 /* 2026-11-21 12:00:00 UTC */

static void a_capture_is_called_by_its_second_and_host(void **state _unused_)
{
	char name[CAPTURE_NAME_BYTES];

	assert_int_equal(capture_name_make(NOON + 7, "web1.example.org", 0, ".pb.gz", name), 0);
	assert_string_equal(name, "2026/11/21/120007Z-web1.example.org.pb.gz");
	assert_int_equal(capture_name_make(NOON, "web1", 2, ".folded", name), 0);
	assert_string_equal(name, "2026/11/21/120000Z-web1.2.folded");
}

static void a_host_cannot_lead_elsewhere(void **state _unused_)
{
	char name[CAPTURE_NAME_BYTES];
	char host[400];

	assert_int_equal(capture_name_make(NOON, "../a b\n", 0, ".pb.gz", name), 0);
	assert_string_equal(name, "2026/11/21/120000Z-..-a-b-.pb.gz");
	assert_int_equal(capture_name_make(NOON, "", 0, ".pb.gz", name), 0);
	assert_string_equal(name, "2026/11/21/120000Z--.pb.gz");
	memset(host, 'h', sizeof(host) - 1);
	host[sizeof(host) - 1] = '\0';
	assert_int_equal(capture_name_make(NOON, host, 999, ".speedscope.json", name), 0);
	assert_true(string_ends_with(name, "hhh.999.speedscope.json"));
}

static void years_have_four_digits(void **state _unused_)
{
	char name[CAPTURE_NAME_BYTES];

	assert_int_equal(capture_name_make(253402300799, "h", 0, ".pb.gz", name), 0);
	assert_string_equal(name, "9999/12/31/235959Z-h.pb.gz");
	assert_int_equal(capture_name_make(253402300800, "h", 0, ".pb.gz", name), -ERANGE);
	assert_int_equal(capture_name_make(INT64_MAX, "h", 0, ".pb.gz", name), -ERANGE);
	assert_int_equal(capture_name_make(0, "h", 0, ".pb.gz", name), 0);
	assert_string_equal(name, "1970/01/01/000000Z-h.pb.gz");
}

static void what_was_made_can_be_read(void **state _unused_)
{
	static const char *const extensions[] = {".pb.gz", ".folded", ".txt"};
	char name[CAPTURE_NAME_BYTES];
	int64_t time_s;

	for (size_t i = 0; i < ARRAY_LENGTH(extensions); i++) {
		assert_int_equal(
			capture_name_make(NOON + 86399 / 2, "a-b.c_d", 3, extensions[i], name), 0);
		assert_true(capture_name_read(2026, 11, 21, path_basename(name), &time_s));
		assert_int_equal(time_s, NOON + 86399 / 2);
	}
}

static void nothing_else_is_a_capture(void **state _unused_)
{
	static const char *const names[] = {
		"",
		"120000Z-h",
		"120000Z-.pb.gz",
		"120000-h.pb.gz",
		"240000Z-h.pb.gz",
		"126000Z-h.pb.gz",
		"12000Z-h.pb.gz",
		"1200000Z-h.pb.gz",
		"+20000Z-h.pb.gz",
		"120000Z-h.pb.gz~",
		"120000Z-h.pb.gz.tmp",
		"120000Z-h.jpg",
		"120000Z-a b.pb.gz",
		".120000Z-h.pb.gz",
		"notes.txt",
	};
	int64_t time_s;

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++)
		if (capture_name_read(2026, 11, 21, names[i], &time_s))
			fail_msg("'%s' is taken for a capture", names[i]);
	assert_false(capture_name_read(2026, 2, 31, "120000Z-h.pb.gz", &time_s));
	assert_true(capture_name_read(2028, 2, 29, "120000Z-h.pb.gz", &time_s));
}

static void folders_are_plain_numbers_in_range(void **state _unused_)
{
	int number;

	assert_true(capture_name_is_year("2026", &number));
	assert_int_equal(number, 2026);
	assert_false(capture_name_is_year("02026", &number));
	assert_false(capture_name_is_year("0999", &number));
	assert_false(capture_name_is_year("202x", &number));
	assert_true(capture_name_is_month("12", &number));
	assert_false(capture_name_is_month("13", &number));
	assert_false(capture_name_is_month("00", &number));
	assert_false(capture_name_is_month("1", &number));
	assert_true(capture_name_is_day("31", &number));
	assert_false(capture_name_is_day("32", &number));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_capture_is_called_by_its_second_and_host),
		cmocka_unit_test(a_host_cannot_lead_elsewhere),
		cmocka_unit_test(years_have_four_digits),
		cmocka_unit_test(what_was_made_can_be_read),
		cmocka_unit_test(nothing_else_is_a_capture),
		cmocka_unit_test(folders_are_plain_numbers_in_range),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
