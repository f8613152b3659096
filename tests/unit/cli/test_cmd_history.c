/* What is listed of the captures of an archive, and with which status. The width of the terminal is the test's. */
#include "cli/options/terminal.h"

static struct terminal terminal_of_test(void);

#define terminal_get terminal_of_test
#include "cli/cmd_history.c"
#undef terminal_get

#include <string.h>
#include <time.h>

#include "base/text.h"

/* clang-format off */
#include "archive/archive_fixture.h"
#include "caught_output.h"
/* clang-format on */

static size_t columns; /* 0: it is no terminal */
static char printed[65536], message[4096];

static struct terminal terminal_of_test(void)
{
	return (struct terminal){.num_columns = columns};
}

static int set_up(void **state)
{
	columns = 0;
	setenv("TZ", "UTC", 1);
	tzset();
	log_set_level(LOG_LEVEL_NORMAL);
	return fixture_init(state);
}

/* A capture of this text. */
static void add(const struct fixture *fixture, int64_t time_s, const char *text)
{
	struct archive_file *file;

	assert_int_equal(archive_file_new(fixture->archive, time_s, "host", ".folded", &file, NULL),
			 0);
	assert_int_equal(archive_file_write(file, text, strlen(text)), 0);
	assert_int_equal(archive_file_commit(file, NULL), 0);
	archive_file_free(file);
}

static int run(const char *first, const char *second, const char *third)
{
	const char *given[] = {"stackwide history", first, second, third, NULL};
	char *argv[ARRAY_LENGTH(given)];
	struct caught_output out, error;
	int argc = 0;
	int status;

	memcpy(argv, given, sizeof(argv));
	while (argv[argc])
		argc++;
	out = caught_output_start(STDOUT_FILENO);
	error = caught_output_start(STDERR_FILENO);
	status = command_history.run(argc, argv);
	caught_output_end(&error, message, sizeof(message));
	caught_output_end(&out, printed, sizeof(printed));
	return status;
}

static size_t count(const char *text, const char *part)
{
	size_t found = 0;

	for (const char *at = text; (at = strstr(at, part)); at += strlen(part))
		found++;
	return found;
}

static void good_captures_have_a_line_each(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, NOON, "web;main 3\n");
	add(fixture, NOON + 60, "web;main;work 5\n");
	assert_int_equal(run("--dir", fixture->path, NULL), EXIT_DONE);
	assert_string_equal(message, "");
	assert_int_equal(count(printed, "\n"), 3);
	assert_int_equal(count(printed, "began"), 1);
	assert_non_null(strstr(printed, "2026-11-21 12:00:00 +0000"));
	assert_non_null(strstr(printed, "2026-11-21 12:01:00 +0000"));
}

static void damaged_captures_are_listed_and_the_status_is_bad_input(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, NOON, "web;main 3\n");
	add(fixture, NOON + 60, "no count\n");
	assert_int_equal(run("--dir", fixture->path, NULL), EXIT_BAD_INPUT);
	assert_non_null(strstr(printed, "2026-11-21 12:01:00 +0000  damaged\n"));
	assert_int_equal(run("--dir", fixture->path, "--json"), EXIT_BAD_INPUT);
	assert_non_null(strstr(printed, "\"time\": \"2026-11-21T12:01:00Z\", \"damaged\": true}"));
}

/* What a person has to know is told each time; the rest comes out of the index. */
static void captures_with_a_warning_are_read_again(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, NOON, "web;main 3\n");
	add(fixture, NOON + 60, "web;main 3\nno count\n");
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(run("--dir", fixture->path, NULL), EXIT_DONE);
		assert_int_equal(count(message, "malformed"), 1);
		assert_int_equal(count(printed, "\n"), 3);
	}
}

static void json_is_one_object(void **state)
{
	struct fixture *fixture = *state;

	for (int64_t i = 0; i < 3; i++)
		add(fixture, NOON + 60 * i, "web;main 3\n");
	assert_int_equal(run("--dir", fixture->path, "--json"), EXIT_DONE);
	assert_int_equal(strncmp(printed, "{\n  \"version\": \"", 16), 0);
	assert_int_equal(count(printed, "\"file\": "), 3);
	assert_int_equal(count(printed, "},\n    {"), 2);
	assert_true(string_ends_with(printed, "}\n  ]\n}\n"));
}

static void a_terminal_gets_the_load_over_time(void **state)
{
	struct fixture *fixture = *state;

	add(fixture, NOON, "web;main 3\n");
	columns = 80;
	assert_int_equal(run("--dir", fixture->path, NULL), EXIT_DONE);
	assert_int_equal(count(printed, "load over time:"), 0); /* one capture makes no chart */
	add(fixture, NOON + 60, "web;main 3\n");
	assert_int_equal(run("--dir", fixture->path, NULL), EXIT_DONE);
	assert_int_equal(count(printed, "load over time:\n"), 1);
	assert_int_equal(run("--dir", fixture->path, "--json"), EXIT_DONE);
	assert_int_equal(count(printed, "load over time:"), 0);
	columns = 19; /* too narrow */
	assert_int_equal(run("--dir", fixture->path, NULL), EXIT_DONE);
	assert_int_equal(count(printed, "load over time:"), 0);
}

static void without_captures_or_archive_it_fails(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(run("--dir", fixture->path, NULL), EXIT_FAILED);
	assert_non_null(strstr(message, "no capture in '"));
	assert_string_equal(printed, "");
	assert_int_equal(run(NULL, NULL, NULL), EXIT_USAGE);
	assert_non_null(strstr(message, "expected --dir DIR, the directory of the archive"));
	assert_int_equal(run("--dir", fixture->path, "more"), EXIT_USAGE);
	assert_non_null(strstr(message, "unexpected 'more'"));
	assert_int_equal(run("--help", NULL, NULL), EXIT_SHOW_HELP);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(good_captures_have_a_line_each),
		TEST(damaged_captures_are_listed_and_the_status_is_bad_input),
		TEST(captures_with_a_warning_are_read_again),
		TEST(json_is_one_object),
		TEST(a_terminal_gets_the_load_over_time),
		TEST(without_captures_or_archive_it_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
