/* What is listed, and the status where nothing is. The machine's events are the test's. */
#define events_list list_of_test
#include "cli/cmd_events.c"

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static const struct event_offer offers[] = {
	{.kind = EVENT_SOFTWARE, .name = "page-faults", .alias = "faults", .purpose = "new memory"},
	{.kind = EVENT_SOFTWARE, .name = "cpu-clock"},
	{.kind = EVENT_HARDWARE, .name = "cycles", .purpose = "of a CPU"},
};
static size_t num_offers;
static int list_error;
static const char *asked_for;
static char printed[4096], message[4096];

int list_of_test(const struct event_paths *paths _unused_, const char *pattern,
		 int (*handle_offer)(const struct event_offer *offer, void *context), void *context)
{
	asked_for = pattern;
	for (size_t i = 0; i < num_offers; i++)
		assert_int_equal(handle_offer(&offers[i], context), 0);
	return list_error;
}

static int set_up(void **state _unused_)
{
	num_offers = ARRAY_LENGTH(offers);
	list_error = 0;
	asked_for = NULL;
	log_set_level(LOG_LEVEL_NORMAL);
	return 0;
}

static int run(const char *first, const char *second)
{
	char *argv[] = {(char *)(uintptr_t) "stackwide events", (char *)(uintptr_t)first,
			(char *)(uintptr_t)second, NULL};
	struct caught_output out = caught_output_start(STDOUT_FILENO);
	struct caught_output error = caught_output_start(STDERR_FILENO);
	int status = command_events.run(1 + !!first + !!second, argv);

	caught_output_end(&error, message, sizeof(message));
	caught_output_end(&out, printed, sizeof(printed));
	return status;
}

static void events_stand_below_their_kind(void **state _unused_)
{
	char expected[256];

	assert_int_equal(run(NULL, NULL), EXIT_DONE);
	assert_null(asked_for);
	snprintf(expected, sizeof(expected),
		 "%s\n  %-45s new memory\n  cpu-clock\n\n%s\n  %-45s of a CPU\n",
		 event_kind_get_name(EVENT_SOFTWARE), "page-faults, faults",
		 event_kind_get_name(EVENT_HARDWARE), "cycles");
	assert_string_equal(printed, expected);
	assert_string_equal(message, "");
	assert_int_equal(run("fault", NULL), EXIT_DONE);
	assert_string_equal(asked_for, "fault");
}

static void a_second_pattern_is_refused(void **state _unused_)
{
	assert_int_equal(run("fault", "cycles"), EXIT_USAGE);
	assert_string_equal(message, "stackwide: unexpected 'cycles': expected one pattern\n");
	assert_string_equal(printed, "");
	assert_int_equal(run("--nothing", NULL), EXIT_USAGE);
	assert_int_equal(run("--help", NULL), EXIT_SHOW_HELP);
}

static void what_cannot_be_listed_is_said(void **state _unused_)
{
	list_error = -EACCES;
	assert_int_equal(run(NULL, NULL), EXIT_DONE);
	assert_non_null(strstr(message, "warning: tracepoints are not listed: only root may read"));
	list_error = -EIO;
	assert_int_equal(run(NULL, NULL), EXIT_FAILED);
	assert_non_null(strstr(message, "cannot list the events: Input/output error"));
}

static void a_pattern_without_events_fails(void **state _unused_)
{
	num_offers = 0;
	assert_int_equal(run("nothing", NULL), EXIT_FAILED);
	assert_string_equal(message, "stackwide: no event 'nothing' on this machine\n");
	/* It may be among those that were not listed. */
	list_error = -EACCES;
	assert_int_equal(run("block:*", NULL), EXIT_FAILED);
	assert_non_null(strstr(message, "tracepoints are not listed"));
	assert_non_null(strstr(message, "stackwide: no listed event matches 'block:*'\n"));
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(events_stand_below_their_kind),
		TEST(a_second_pattern_is_refused),
		TEST(what_cannot_be_listed_is_said),
		TEST(a_pattern_without_events_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
