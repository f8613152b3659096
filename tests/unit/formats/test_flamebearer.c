#include <string.h>

#include "import_fixture.h"

#define NAMES "\"names\": [\"total\", \"main\", \"read_[k]\", \"write\"]"

/* main calls read (3) and write (1), and another main, at 5, write (2). */
static const char single[] =
	"{\"version\": 1, \"flamebearer\": {" NAMES
	", \"levels\": [[0, 8, 0, 0], [0, 5, 1, 1, 0, 3, 1, 1],"
	"[0, 3, 3, 2, 0, 1, 1, 3, 1, 2, 2, 3]], \"numTicks\": 8}, \"metadata\": {\"format\": \"single\", "
	"\"units\": \"bytes\", \"sampleRate\": 100}}";

static void bars_are_below_their_callers(void **state _unused_)
{
	struct imported imported = {0};

	assert_stacks(&format_flamebearer, single, 0, "main 2\nmain;read_[k] 3\nmain;write 3\n");
	assert_int_equal(imported_read(&imported, &format_flamebearer, single, strlen(single)), 0);
	assert_string_equal(format_get_metric_name(imported.profile, 0), "bytes");
	assert_string_equal(format_get_metric_unit(imported.profile, 0), "bytes");
	imported_release(&imported);
}

static void keys_come_in_any_order(void **state _unused_)
{
	assert_stacks(
		&format_flamebearer,
		"{\"metadata\": 1, \"timeline\": null, \"flamebearer\": {\"levels\": [[0, 2, 0, 0], "
		"[1, 1, 1, 3]], \"maxSelf\": 2, " NAMES "}}",
		0, "write 1\n");
}

static void comparisons_have_two_metrics(void **state _unused_)
{
	static const char text[] =
		"{\"flamebearer\": {" NAMES ", \"levels\": [[0, 3, 0, 0, 5, 0, 0], "
		"[0, 2, 2, 0, 0, 0, 1, 0, 1, 1, 0, 5, 5, 3]]}, \"metadata\": {\"format\": \"double\"}}";
	struct imported imported = {0};

	assert_int_equal(imported_read(&imported, &format_flamebearer, text, strlen(text)), 0);
	assert_written(&format_diff_folded, imported.profile,
		       (struct call_tree_opts){.metric = 1, .baseline = 0, .has_baseline = true},
		       "main 2 0\nwrite 1 5\n");
	imported_release(&imported);
}

static void units_tell_what_is_counted(void **state _unused_)
{
	static const struct {
		const char *units;
		const char *unit;
	} cases[] = {{"samples", "count"},
		     {"objects", "count"},
		     {"lock_nanoseconds", "nanoseconds"},
		     {"bytes", "bytes"}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct imported imported = {0};
		char text[256];

		snprintf(text, sizeof(text),
			 "{\"flamebearer\": {\"names\": [\"total\"], \"levels\": [[0, 1, 1, 0]]}, "
			 "\"metadata\": {\"units\": \"%s\"}}",
			 cases[i].units);
		assert_int_equal(imported_read(&imported, &format_flamebearer, text, strlen(text)),
				 0);
		assert_string_equal(format_get_metric_name(imported.profile, 0), cases[i].units);
		assert_string_equal(format_get_metric_unit(imported.profile, 0), cases[i].unit);
		imported_release(&imported);
	}
}

/* A billion samples a second are nanoseconds, 100 million tens of them. */
static void cpu_time_is_known_by_its_rate(void **state _unused_)
{
	static const struct {
		const char *rate;
		const char *name;
		const char *expected;
	} cases[] = {{"1000000000", "cpu", "main 3\n"},
		     {"100000000", "cpu", "main 30\n"},
		     {"100", "samples", "main 3\n"},
		     {"99999999", "samples", "main 3\n"},
		     {"1000000001", "samples", "main 3\n"}};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		struct imported imported = {0};
		char text[512];

		snprintf(text, sizeof(text),
			 "{\"flamebearer\": {" NAMES ", \"levels\": [[0, 3, 0, 0], [0, 3, 3, 1]]}, "
			 "\"metadata\": {\"units\": \"samples\", \"sampleRate\": %s}}",
			 cases[i].rate);
		assert_int_equal(imported_read(&imported, &format_flamebearer, text, strlen(text)),
				 0);
		assert_string_equal(format_get_metric_name(imported.profile, 0), cases[i].name);
		assert_written(&format_folded, imported.profile, (struct call_tree_opts){0},
			       cases[i].expected);
		assert_int_equal(imported.import.counts.records, 1);
		imported_release(&imported);
	}
	assert_refused(&format_flamebearer,
		       "{\"flamebearer\": {" NAMES ", \"levels\": [[0, 9223372036854775807, "
		       "9223372036854775807, 0]]}, \"metadata\": {\"sampleRate\": 100000000}}",
		       "FILE: at byte 0: a weight of over 64 bits");
}

static void assert_refused_levels(const char *levels, const char *expected)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"flamebearer\": {" NAMES ", \"levels\": %s}}", levels);
	assert_refused(&format_flamebearer, text, expected);
}

static void broken_rows_are_refused(void **state _unused_)
{
	assert_refused_levels("[[0, 1, 1]]",
			      "FILE: at byte 0: row 0 of the flamebearer: it ends within a bar");
	assert_refused_levels("[[0, 1, 1, 4]]",
			      "FILE: at byte 0: row 0 of the flamebearer: a bar without a name");
	assert_refused_levels("[[0, 1, 0, 0], [1, 1, 1, 1]]",
			      "FILE: at byte 0: row 1 of the flamebearer: a bar without a caller");
	assert_refused_levels("[[0, 1, 0, 0], [0, 2, 1, 1]]",
			      "FILE: at byte 0: row 1 of the flamebearer: a bar without a caller");
	assert_refused_levels("[[18446744073709551615, 1, 0, 0]]",
			      "FILE: at byte 0: row 0 of the flamebearer: its places exceed 64");
	assert_refused_levels("[[0, -1, 0, 0]]", "FILE: at byte 81: expected a number from 0");
	assert_refused_levels("[1]", "FILE: at byte 77: expected a row of bars");
	assert_refused_levels("1", "FILE: at byte 76: expected a list of rows");
	assert_refused_levels("[[0,", "FILE: at byte ");
	assert_refused(&format_flamebearer, "{\"flamebearer\": {\"names\": [1]}}",
		       "FILE: at byte 27: expected a name");
	assert_refused(&format_flamebearer, "{\"flamebearer\": 1}",
		       "FILE: at byte 16: expected an object");
	assert_refused(&format_flamebearer, "{}", "FILE: at byte 0: expected the rows");
	assert_refused(&format_flamebearer, "", "FILE: at byte 0: ");
}

static void bars_without_width_are_nothing(void **state _unused_)
{
	assert_stacks(&format_flamebearer,
		      "{\"flamebearer\": {" NAMES
		      ", \"levels\": [[0, 1, 0, 0], [0, 0, 0, 1, 0, 1, 1, 3]]}}",
		      0, "write 1\n");
}

static void it_is_known_by_its_content(void **state _unused_)
{
	static const char deeper[] = "{\"a\": {\"flamebearer\": {}}}";

	assert_int_equal(format_flamebearer.detect((const uint8_t *)single, strlen(single)),
			 DETECTED_SURE);
	assert_int_equal(format_flamebearer.detect((const uint8_t *)deeper, strlen(deeper)),
			 DETECTED_NOT);
	assert_int_equal(format_flamebearer.detect((const uint8_t *)"[]", 2), DETECTED_NOT);
	assert_int_equal(format_flamebearer.detect(NULL, 0), DETECTED_NOT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bars_are_below_their_callers),
		cmocka_unit_test(keys_come_in_any_order),
		cmocka_unit_test(comparisons_have_two_metrics),
		cmocka_unit_test(units_tell_what_is_counted),
		cmocka_unit_test(cpu_time_is_known_by_its_rate),
		cmocka_unit_test(broken_rows_are_refused),
		cmocka_unit_test(bars_without_width_are_nothing),
		cmocka_unit_test(it_is_known_by_its_content),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
