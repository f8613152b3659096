/* The captures of a range of time, and what is wrong with a range. */
#include "cli/files/archive_inputs.h"

#include <string.h>
#include <time.h>

#include "base/log.h"
#include "cli/options/command.h"

/* clang-format off */
#include "archive/archive_fixture.h"
#include "caught_output.h"
/* clang-format on */

static char message[4096];

static int set_up(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	log_set_level(LOG_LEVEL_NORMAL);
	return fixture_init(state);
}

/* The messages are in `message` then. */
static int list(const struct archive_inputs *inputs, char *const *operands, size_t num_operands,
		struct input_paths *ret)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status = archive_inputs_list(inputs, operands, num_operands, "report", ret);

	caught_output_end(&caught, message, sizeof(message));
	return status;
}

static int list_range(const char *dir, const char *range, struct input_paths *ret)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	int status = archive_inputs_list_range(dir, "--before", range, ret);

	caught_output_end(&caught, message, sizeof(message));
	return status;
}

static void assert_has(const char *part)
{
	if (!strstr(message, part))
		fail_msg("no '%s' in: %s", part, message);
}

static void files_are_taken_as_they_are(void **state _unused_)
{
	static const struct archive_inputs inputs;
	char first[] = "a.folded", second[] = "/b";
	char *operands[] = {first, second};
	struct input_paths paths;

	assert_int_equal(list(&inputs, operands, 2, &paths), EXIT_DONE);
	assert_int_equal(paths.items.length, 2);
	assert_string_equal(paths.items.items[0], "a.folded");
	assert_string_equal(paths.items.items[1], "/b");
	input_paths_release(&paths);
}

static void captures_of_the_range_come_in_order_of_time(void **state)
{
	struct fixture *fixture = *state;
	struct archive_inputs inputs = {.dir = fixture->path};
	struct input_paths paths;

	for (int64_t hour = 3; hour >= 0; hour--)
		fixture_add(fixture, NOON + 3600 * hour, 10);
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_DONE);
	assert_int_equal(paths.items.length, 4);
	input_paths_release(&paths);
	/* From the first of both on, and before the other one. */
	inputs.since = "2026-11-21T13:00:00Z";
	inputs.until = "2026-11-21T15:00:00Z";
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_DONE);
	assert_int_equal(paths.items.length, 2);
	assert_non_null(strstr(paths.items.items[0], "/130000Z"));
	assert_non_null(strstr(paths.items.items[1], "/140000Z"));
	assert_true(string_starts_with(paths.items.items[0], fixture->path));
	input_paths_release(&paths);
	assert_int_equal(list_range(fixture->path, "2026-11-21T14:00:00Z..2026-11-22", &paths),
			 EXIT_DONE);
	assert_int_equal(paths.items.length, 2);
	input_paths_release(&paths);
}

static void a_range_without_captures_is_told_as_it_was_given(void **state)
{
	struct fixture *fixture = *state;
	struct archive_inputs inputs = {.dir = fixture->path, .since = "2026-11-22"};
	struct input_paths paths;

	fixture_add(fixture, NOON, 10);
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_FAILED);
	assert_has("from 2026-11-22 00:00:00 +0000 to the end\n");
	inputs.until = "2026-11-23T04:00:00Z";
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_FAILED);
	assert_has("from 2026-11-22 00:00:00 +0000 to 2026-11-23 04:00:00 +0000\n");
	inputs.since = NULL;
	inputs.until = "2026-11-20";
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_FAILED);
	assert_has("from the start to 2026-11-20 00:00:00 +0000\n");
	assert_int_equal(list_range(fixture->path, "2026-11-19..2026-11-20", &paths), EXIT_FAILED);
	assert_has("from 2026-11-19 00:00:00 +0000 to 2026-11-20 00:00:00 +0000\n");
}

static void a_range_that_is_none_is_a_usage_error(void **state)
{
	struct fixture *fixture = *state;
	struct archive_inputs inputs = {.dir = fixture->path};
	struct input_paths paths;

	inputs.since = "2026-11-22";
	inputs.until = "2026-11-22";
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_USAGE);
	assert_has("--until '2026-11-22' is not after --since '2026-11-22'");
	inputs.until = "soon";
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_USAGE);
	assert_has("--until 'soon': expected a time");
	inputs.since = "late";
	assert_int_equal(list(&inputs, NULL, 0, &paths), EXIT_USAGE);
	assert_has("--since 'late': expected a time");
	assert_int_equal(list_range(fixture->path, "2026-11-22..2026-11-22", &paths), EXIT_USAGE);
	assert_has("--before '2026-11-22..2026-11-22': the end is not after the start");
	assert_int_equal(list_range(fixture->path, "2026-11-22", &paths), EXIT_USAGE);
	assert_has("--before '2026-11-22': expected FROM..TO");
}

static void times_need_an_archive_and_files_none(void **state)
{
	struct fixture *fixture = *state;
	struct archive_inputs inputs = {.until = "today"};
	char file[] = "a.folded";
	char *operands[] = {file};
	struct input_paths paths;

	assert_int_equal(list(&inputs, operands, 1, &paths), EXIT_USAGE);
	assert_has("--since and --until need --dir DIR; see 'stackwide help report'");
	inputs = (struct archive_inputs){.since = "today"};
	assert_int_equal(list(&inputs, operands, 1, &paths), EXIT_USAGE);
	assert_has("--since and --until need --dir DIR");
	inputs = (struct archive_inputs){.dir = fixture->path};
	assert_int_equal(list(&inputs, operands, 1, &paths), EXIT_USAGE);
	assert_has("unexpected 'a.folded': give files or --dir, not both");
}

static void who_opens_an_archive_gets_it_with_its_captures(void **state)
{
	struct fixture *fixture = *state;
	struct archive_inputs inputs = {.dir = fixture->path};
	struct archive *archive = NULL;
	struct archive_list captures;
	struct caught_output caught;
	int status;

	fixture_add(fixture, NOON, 10);
	assert_int_equal(archive_inputs_open(&inputs, &archive, &captures), EXIT_DONE);
	assert_non_null(archive);
	assert_int_equal(captures.captures.length, 1);
	archive_list_release(&captures);
	archive_free(archive);
	archive = NULL;
	inputs.dir = "/nowhere/at/all";
	caught = caught_output_start(STDERR_FILENO);
	status = archive_inputs_open(&inputs, &archive, &captures);
	caught_output_end(&caught, message, sizeof(message));
	assert_int_equal(status, EXIT_FAILED);
	assert_has("/nowhere/at/all");
	assert_null(archive);
	archive_list_release(&captures);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, fixture_release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_are_taken_as_they_are),
		TEST(captures_of_the_range_come_in_order_of_time),
		TEST(a_range_without_captures_is_told_as_it_was_given),
		TEST(a_range_that_is_none_is_a_usage_error),
		TEST(times_need_an_archive_and_files_none),
		TEST(who_opens_an_archive_gets_it_with_its_captures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
