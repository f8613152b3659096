#include "cli/record/record_options.h"

#include <errno.h>
#include <string.h>

#include "unit.h"

#define MAX_ARGS 16

static int parse(struct record_options *options, const char *const *words)
{
	static char storage[MAX_ARGS + 1][64];
	static char *argv[MAX_ARGS + 2];
	int argc = 0;

	argv[argc++] = strcpy(storage[0], "stackwide record");
	for (; words[argc - 1]; argc++)
		argv[argc] = strcpy(storage[argc], words[argc - 1]);
	argv[argc] = NULL;
	return record_options_parse(options, argc, argv);
}

#define PARSE(options, ...) parse((options), (const char *const[]){__VA_ARGS__, NULL})

static void durations_take_all_documented_units(void **state _unused_)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = {
		{"10", 10000000000},   {"10s", 10000000000},   {"5m", 300000000000},
		{"1h", 3600000000000}, {"0.2s", 200000000},    {"200ms", 200000000},
		{"1.5", 1500000000},   {"1d", 86400000000000}, {"50us", 50000},
	};
	static const char *const bad[] = {"",    "0",    "-1",  "s",   "1x", "1 s",
					  "1e3", "0x10", "nan", "inf", "+1", "1h30m"};
	uint64_t ns;

	for (size_t i = 0; i < ARRAY_LENGTH(good); i++) {
		assert_int_equal(option_read_duration(good[i].text, &ns), 0);
		assert_true(ns == good[i].ns);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(option_read_duration(bad[i], &ns), -EINVAL);
}

static void numbers_are_digits_within_their_range(void **state _unused_)
{
	static const char *const bad[] = {"",     "-1", "+1", "1.5", "1e3",
					  "0x10", " 1", "1 ", "101", "18446744073709551616"};
	uint64_t number;

	assert_int_equal(option_read_number("100", 1, 100, &number), 0);
	assert_int_equal(number, 100);
	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++)
		assert_int_equal(option_read_number(bad[i], 1, 100, &number), -EINVAL);
}

static void a_format_goes_to_the_output_that_follows_it(void **state _unused_)
{
	struct record_options options;

	assert_int_equal(PARSE(&options, "--to", "text", "-o", "a", "-o", "b.folded"), 0);
	assert_int_equal(options.outputs.requests.length, 2);
	assert_string_equal(options.outputs.requests.items[0].format, "text");
	assert_null(options.outputs.requests.items[1].format);
	record_options_release(&options);
}

static void a_format_at_the_end_goes_to_the_last_output(void **state _unused_)
{
	struct record_options options;

	assert_int_equal(PARSE(&options, "-o", "a.txt", "-o", "-", "--to", "folded"), 0);
	assert_null(options.outputs.requests.items[0].format);
	assert_string_equal(options.outputs.requests.items[1].format, "folded");
	record_options_release(&options);
}

static void a_format_without_an_output_makes_the_default_one(void **state _unused_)
{
	struct record_options options;

	assert_int_equal(PARSE(&options, "--to", "text"), 0);
	assert_int_equal(options.outputs.requests.length, 1);
	assert_null(options.outputs.requests.items[0].path);
	assert_string_equal(options.outputs.requests.items[0].format, "text");
	record_options_release(&options);
}

static void what_follows_two_dashes_is_the_command(void **state _unused_)
{
	struct record_options options;

	assert_int_equal(PARSE(&options, "-F", "50", "--", "ls", "-F", "--", "x"), 0);
	assert_int_equal(options.frequency_hz, 50);
	assert_string_equal(options.command[0], "ls");
	assert_string_equal(options.command[1], "-F");
	assert_string_equal(options.command[2], "--");
	record_options_release(&options);
}

static void ids_are_lists_and_add_up(void **state _unused_)
{
	struct record_options options;

	assert_int_equal(PARSE(&options, "-p", "1,2", "--pid=3"), 0);
	assert_int_equal(options.pids.length, 3);
	assert_int_equal(options.pids.items[2], 3);
	record_options_release(&options);
	assert_true(PARSE(&options, "-p", "1,,2") < 0);
	record_options_release(&options);
	assert_true(PARSE(&options, "-p", "0") < 0);
	record_options_release(&options);
}

static void contradictions_and_strangers_are_refused(void **state _unused_)
{
	struct record_options options;

	assert_true(PARSE(&options, "-a", "-p", "1") < 0);
	record_options_release(&options);
	assert_true(PARSE(&options, "sleep", "1") < 0);
	record_options_release(&options);
	assert_true(PARSE(&options, "--") < 0);
	record_options_release(&options);
	assert_true(PARSE(&options, "--root", "x") < 0);
	record_options_release(&options);
	assert_true(PARSE(&options, "--user-stacks", "dwarf") < 0);
	record_options_release(&options);
	assert_true(PARSE(&options, "--no-such-option") < 0);
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "-d", "1", "--help"), 1);
	record_options_release(&options);
}

static void a_wait_is_sampled_as_often_as_a_cpu_unless_a_period_is_given(void **state _unused_)
{
	struct record_options options;

	assert_int_equal(PARSE(&options, "-F", "1000"), 0);
	assert_true(record_options_get_off_cpu_period_ns(&options) == 0);
	assert_string_equal(record_options_get_metric(&options), "samples");
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "-F", "1000", "--off-cpu"), 0);
	assert_true(record_options_get_off_cpu_period_ns(&options) == 1000000);
	assert_string_equal(record_options_get_metric(&options), "wall");
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "--off-cpu", "--period", "10us", "--metric", "run-queue"),
			 0);
	assert_true(record_options_get_off_cpu_period_ns(&options) == 10000);
	assert_string_equal(record_options_get_metric(&options), "run-queue");
	assert_true(options.min_block_ns == 0);
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "--off-cpu", "--min-block", "1us"), 0);
	assert_true(options.min_block_ns == 1000);
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "--off-cpu", "--wakers", "--metric", "offwake"), 0);
	assert_true(options.takes_wakers);
	assert_false(options.takes_futexes);
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "--off-cpu", "--wakers", "--futexes"), 0);
	assert_true(options.takes_futexes);
	assert_false(options.only_futexes);
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "--locks", "--min-block", "1ms"), 0);
	assert_true(options.records_off_cpu && options.takes_wakers && options.takes_futexes);
	assert_true(options.only_futexes);
	assert_string_equal(record_options_get_metric(&options), "offwake");
	record_options_release(&options);
	assert_int_equal(PARSE(&options, "--locks", "--metric", "wall"), 0);
	assert_string_equal(record_options_get_metric(&options), "wall");
	record_options_release(&options);
}

static void options_of_waits_go_with_off_cpu_only(void **state _unused_)
{
	static const char *const wrong[][4] = {
		{"--period", "1ms", NULL},
		{"--metric", "cpu", NULL},
		{"--min-block", "1ms", NULL},
		{"--off-cpu", "--min-block", "0", NULL},
		{"--off-cpu", "--min-block", "999ns", NULL},
		{"--off-cpu", "--min-block", "0.9us", NULL},
		{"--off-cpu", "--min-block", "61m", NULL},
		{"--off-cpu", "--period", "9us", NULL},
		{"--off-cpu", "--period", "61m", NULL},
		{"--off-cpu", "--period", "often", NULL},
		{"--off-cpu", "--metric", "cycles", NULL},
		{"--wakers", NULL},
		{"--off-cpu", "--futexes", NULL},
		{"--off-cpu", "--metric", "offwake", NULL},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(wrong); i++) {
		struct record_options options;

		assert_int_equal(parse(&options, wrong[i]), -EINVAL);
		record_options_release(&options);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(durations_take_all_documented_units),
		cmocka_unit_test(a_wait_is_sampled_as_often_as_a_cpu_unless_a_period_is_given),
		cmocka_unit_test(options_of_waits_go_with_off_cpu_only),
		cmocka_unit_test(numbers_are_digits_within_their_range),
		cmocka_unit_test(a_format_goes_to_the_output_that_follows_it),
		cmocka_unit_test(a_format_at_the_end_goes_to_the_last_output),
		cmocka_unit_test(a_format_without_an_output_makes_the_default_one),
		cmocka_unit_test(what_follows_two_dashes_is_the_command),
		cmocka_unit_test(ids_are_lists_and_add_up),
		cmocka_unit_test(contradictions_and_strangers_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
