#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/record/capture_options.h"
#include "failing_memory.h"
#include "unit.h"

static int parse(struct capture_options *options, const char *arguments)
{
	static char buffer[256];
	char *argv[32] = {(char[]){"stackwide capture"}};
	char *rest = buffer;
	int argc = 1;

	snprintf(buffer, sizeof(buffer), "%s", arguments);
	while (rest && argc < 31)
		argv[argc++] = strsep(&rest, " ");
	argv[argc] = NULL;
	return capture_options_parse(options, argc, argv);
}

static int read_config(struct capture_options *options, const char *config, struct error *error)
{
	static char buffer[256];

	snprintf(buffer, sizeof(buffer), "%s", config);
	*options = (struct capture_options){0};
	*error = (struct error){0};
	return capture_options_read(options, buffer, "x.conf", error);
}

static void an_archive_is_bounded_by_default(void **state _unused_)
{
	struct capture_options options;

	assert_int_equal(parse(&options, "--dir d"), 0);
	assert_string_equal(options.dir, "d");
	assert_ptr_equal(options.format, &format_pprof);
	assert_int_equal(options.record.duration_ns, 30000000000);
	assert_int_equal(options.keep_s, 14 * 86400);
	assert_true(options.max_size_bytes == 2ull << 30);
	assert_int_equal(options.min_free_percent, 5);
	capture_options_release(&options);
}

static void limits_are_read(void **state _unused_)
{
	struct capture_options options;

	assert_int_equal(parse(&options, "--dir d -d 0.2s --keep 90s --max-size 3M --min-free 1G "
					 "--random-delay 5 --to folded -F 49 --no-inline"),
			 0);
	assert_int_equal(options.keep_s, 90);
	assert_int_equal(options.max_size_bytes, 3 << 20);
	assert_int_equal(options.min_free_percent, 0);
	assert_int_equal(options.min_free_bytes, 1 << 30);
	assert_int_equal(options.random_delay_ns, 5000000000);
	assert_ptr_equal(options.format, &format_folded);
	assert_int_equal(options.record.frequency_hz, 49);
	assert_true(options.record.no_inlines);
	capture_options_release(&options);
	assert_int_equal(parse(&options, "--dir d --keep 0 --max-size 0 --min-free 0"), 0);
	assert_int_equal(options.keep_s + options.max_size_bytes + options.min_free_bytes +
				 options.min_free_percent,
			 0);
	capture_options_release(&options);
}

static void what_makes_no_sense_is_refused(void **state _unused_)
{
	static const char *const bad[] = {
		"",
		"--dir d --keep soon",
		"--dir d --keep 0.5s",
		"--dir d --max-size -1",
		"--dir d --max-size 1X",
		"--dir d --min-free 100%",
		"--dir d --min-free %",
		"--dir d --to nothing",
		"--dir d --random-delay x",
		"--dir d -p 1 --cgroup g",
		"--dir d operand",
		"--dir d --config /nonexistent/file",
	};
	struct capture_options options;

	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		if (parse(&options, bad[i]) >= 0)
			fail_msg("'%s' is taken", bad[i]);
		capture_options_release(&options);
	}
}

static void a_configuration_has_the_options_by_long_name(void **state _unused_)
{
	struct capture_options options;
	struct error error;

	assert_int_equal(read_config(&options,
				     "# every day\n\n  dir = /var/lib/x \n"
				     "keep=2d\r\n\tno-inline\nmin-free = 7%",
				     &error),
			 0);
	assert_string_equal(options.dir, "/var/lib/x");
	assert_int_equal(options.keep_s, 2 * 86400);
	assert_true(options.record.no_inlines);
	assert_int_equal(options.min_free_percent, 7);
	capture_options_release(&options);
}

static void mistakes_in_a_configuration_have_a_line(void **state _unused_)
{
	static const struct {
		const char *config;
		const char *message;
	} bad[] = {
		{"dir = x\nkeeps = 1d", "x.conf:2: unknown option 'keeps'"},
		{"\n\nkeep", "x.conf:3: expected 'keep = AGE'"},
		{"keep =  ", "x.conf:1: expected 'keep = AGE'"},
		{"no-inline = yes", "x.conf:1: 'no-inline' takes no value"},
		{"config = y", "x.conf:1: unknown option 'config'"},
		{"= 1", "x.conf:1: unknown option ''"},
	};
	struct capture_options options;
	struct error error;

	for (size_t i = 0; i < ARRAY_LENGTH(bad); i++) {
		assert_int_equal(read_config(&options, bad[i].config, &error), -EINVAL);
		assert_string_equal(error.message, bad[i].message);
		capture_options_release(&options);
	}
}

/* A file, and so many events of it and filters that are left after the command line. */
static void assert_events(const char *config, const char *arguments, const char *const *expected,
			  size_t num_filters)
{
	char path[] = "/tmp/capture-options-XXXXXX";
	struct capture_options options;
	char all[256];
	size_t count = 0;
	int fd = mkstemp(path);

	assert_int_equal(write(fd, config, strlen(config)), strlen(config));
	close(fd);
	snprintf(all, sizeof(all), "--dir d --config %s%s", path, arguments);
	assert_int_equal(parse(&options, all), 0);
	for (; expected[count]; count++) {
		assert_true(count < options.record.event_lists.length);
		assert_string_equal(options.record.event_lists.items[count], expected[count]);
	}
	assert_int_equal(options.record.event_lists.length, count);
	assert_int_equal(options.record.filters.length, num_filters);
	capture_options_release(&options);
	unlink(path);
}

static void events_of_the_command_line_replace_those_of_the_configuration(void **state _unused_)
{
	static const char config[] = "event = cycles\nevent = faults\nfilter = x\n";

	assert_events(config, "", (const char *const[]){"cycles", "faults", NULL}, 1);
	assert_events(config, " -e a", (const char *const[]){"a", NULL}, 0);
	assert_events(config, " -e a -e b -e c", (const char *const[]){"a", "b", "c", NULL}, 0);
	assert_events("keep = 1d\n", " -e a -e b", (const char *const[]){"a", "b", NULL}, 0);
}

/* Whoever can write it can have files written and removed. */
static void a_configuration_that_others_can_write_is_refused(void **state _unused_)
{
	static const struct {
		uid_t uid;
		gid_t gid;
		mode_t mode;
		const char *sudo_uid;
		bool is_refused;
	} cases[] = {
		{0, 0, 0644, NULL, false},      {0, 0, 0664, NULL, false},
		{0, 0, 0646, NULL, true},       {0, 1, 0664, NULL, true},
		{0, 1, 0644, NULL, false},      {1000, 0, 0644, NULL, true},
		{1000, 0, 0644, "1000", false}, {1000, 0, 0644, "1001", true},
		{1000, 0, 0646, "1000", true},  {1000, 0, 0644, "x", true},
	};
	struct capture_options options;
	char path[] = "/tmp/capture-options-XXXXXX";
	char arguments[128];
	int fd = mkstemp(path);

	if (geteuid()) {
		close(fd);
		unlink(path);
		skip();
	}
	assert_int_equal(write(fd, "keep = 1d\n", 10), 10);
	snprintf(arguments, sizeof(arguments), "--dir d --config %s", path);
	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		int err;

		assert_int_equal(fchown(fd, cases[i].uid, cases[i].gid), 0);
		assert_int_equal(fchmod(fd, cases[i].mode), 0);
		if (cases[i].sudo_uid)
			setenv("SUDO_UID", cases[i].sudo_uid, 1);
		else
			unsetenv("SUDO_UID");
		err = parse(&options, arguments);
		if ((err < 0) != cases[i].is_refused)
			fail_msg("%d of case %zu", err, i);
		capture_options_release(&options);
	}
	close(fd);
	unlink(path);
	unsetenv("SUDO_UID");
}

static void a_delay_may_be_none(void **state _unused_)
{
	struct capture_options options;

	assert_int_equal(parse(&options, "--dir d --random-delay 5s --random-delay 0"), 0);
	assert_int_equal(options.random_delay_ns, 0);
	capture_options_release(&options);
}

static void short_memory_is_no_mistake_in_the_options(void **state _unused_)
{
	static const char config[] = "dir = y\nmin-free = 7%\nevent = cycles\npid = 1,2\n";
	bool has_failed = true;
	char path[] = "/tmp/capture-options-XXXXXX";
	char arguments[128];
	int fd = mkstemp(path);

	assert_int_equal(write(fd, config, strlen(config)), strlen(config));
	close(fd);
	snprintf(arguments, sizeof(arguments), "--config %s --keep 2d --min-free 9%%", path);
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct capture_options options;

		failing_memory_start(num_before);
		has_failed = failing_memory_end_with(parse(&options, arguments));
		if (!has_failed) {
			assert_string_equal(options.dir, "y");
			assert_int_equal(options.min_free_percent, 9);
			assert_int_equal(options.record.pids.length, 2);
			assert_int_equal(options.record.event_lists.length, 1);
		}
		capture_options_release(&options);
	}
	unlink(path);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_archive_is_bounded_by_default),
		cmocka_unit_test(limits_are_read),
		cmocka_unit_test(a_configuration_that_others_can_write_is_refused),
		cmocka_unit_test(a_delay_may_be_none),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(events_of_the_command_line_replace_those_of_the_configuration),
		cmocka_unit_test(short_memory_is_no_mistake_in_the_options),
		cmocka_unit_test(a_configuration_has_the_options_by_long_name),
		cmocka_unit_test(mistakes_in_a_configuration_have_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
