/* Why there are no samples, as far as /proc says. What it says is the test's. */
#define target_read_state read_state_of_test
#include "cli/record/target_hints.c"

#include <errno.h>

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

/* Above pid_max: it has no wait channel. */
#define FIRST_ID 0x7fff0000

static struct target_state states[12];
static int read_error;
static char message[4096];

int read_state_of_test(pid_t id, struct target_state *ret)
{
	assert_in_range(id, FIRST_ID, FIRST_ID + ARRAY_LENGTH(states) - 1);
	*ret = states[id - FIRST_ID];
	return ret->letter ? read_error : -ESRCH;
}

static int set_up(void **state _unused_)
{
	for (size_t i = 0; i < ARRAY_LENGTH(states); i++)
		states[i] = (struct target_state){.comm = "work", .letter = 'S'};
	read_error = 0;
	log_set_level(LOG_LEVEL_NORMAL);
	return 0;
}

static void call(void (*hint)(const struct record_options *options), size_t num_pids,
		 size_t num_tids)
{
	struct record_options options = {0};
	struct caught_output caught;

	for (size_t i = 0; i < num_pids; i++)
		*(pid_t *)array_add(&options.pids) = FIRST_ID + (pid_t)i;
	for (size_t i = 0; i < num_tids; i++)
		*(pid_t *)array_add(&options.tids) = FIRST_ID + (pid_t)i;
	caught = caught_output_start(STDERR_FILENO);
	hint(&options);
	caught_output_end(&caught, message, sizeof(message));
	array_release(&options.pids);
	array_release(&options.tids);
}

static void explain(const struct record_options *options)
{
	target_hints_explain_no_samples(options, 2500000000);
}

static void explain_locks(const struct record_options *options)
{
	struct record_options locks = *options;

	locks.only_futexes = true;
	explain(&locks);
}

static void explain_waits(const struct record_options *options)
{
	struct record_options waits = *options;

	waits.records_off_cpu = true;
	explain(&waits);
}

static void explain_events(const struct record_options *options)
{
	static const char *lists[] = {"page-faults"};
	struct record_options events = *options;

	events.event_lists.items = lists;
	events.event_lists.length = 1;
	explain(&events);
}

static void assert_has(const char *part)
{
	if (!strstr(message, part))
		fail_msg("no '%s' in: %s", part, message);
}

static size_t count_lines(void)
{
	size_t count = 0;

	for (const char *c = message; *c; c++)
		count += *c == '\n';
	return count;
}

static void each_state_has_its_word(void **state _unused_)
{
	static const struct {
		char letter;
		const char *explanation;
	} cases[] = {
		{'R', "it is runnable now\n"},
		{'S', "it is waiting\n"},
		{'I', "it is waiting\n"},
		{'D', "it is in an uninterruptible wait, for a disk or a lock\n"},
		{'T', "it is stopped until it gets SIGCONT\n"},
		{'t', "it is stopped by a debugger\n"},
		{'P', "it is not running\n"},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		states[0].letter = cases[i].letter;
		call(explain, 1, 0);
		assert_has("process 2147418112 (work) did not run at any tick in 2.5 s: ");
		assert_has(cases[i].explanation);
		assert_int_equal(count_lines(), 1);
	}
	call(explain, 0, 1);
	assert_has("thread 2147418112 (work) did not run");
}

static void what_has_ended_is_not_called_idle(void **state _unused_)
{
	static const char ended[] =
		"stackwide: warning: no samples: process 2147418112 ended without running at any tick\n";

	states[0] = (struct target_state){.comm = "work", .letter = 'Z', .has_ended = true};
	call(explain, 1, 0);
	assert_string_equal(message, ended);
	states[0].letter = '\0'; /* nor is it there any more */
	call(explain, 1, 0);
	assert_string_equal(message, ended);
	/* Its first thread alone has. */
	states[0] = (struct target_state){.comm = "work", .letter = 'Z'};
	call(explain, 1, 0);
	assert_has("(work) did not run at any tick in 2.5 s: it is not running\n");
}

static void what_cannot_be_read_has_not_ended(void **state _unused_)
{
	read_error = -ENOMEM;
	call(explain, 1, 0);
	assert_string_equal(
		message,
		"stackwide: warning: no samples: process 2147418112 did not run at any tick in 2.5 s\n");
}

static void without_a_target_there_is_one_sentence(void **state _unused_)
{
	call(explain, 0, 0);
	assert_string_equal(
		message,
		"stackwide: warning: no samples: the target did not run at any tick; sample more "
		"often with -F, or record its waits with --off-cpu\n");
	call(explain_locks, 0, 0);
	assert_has("did not run at any tick, and waited for no lock\n");
	call(explain_waits, 0, 0);
	assert_has("did not run at any tick, and did not wait\n");
	call(explain_events, 1, 0);
	assert_string_equal(message,
			    "stackwide: warning: no samples: no event happened in the target\n");
}

static void no_more_is_said_than_a_person_reads(void **state _unused_)
{
	call(explain, 8, 0);
	assert_int_equal(count_lines(), 8);
	call(explain, 9, 0);
	assert_int_equal(count_lines(), 8);
	call(explain, 0, 12);
	assert_int_equal(count_lines(), 8);
}

static void kernel_threads_are_called_that(void **state _unused_)
{
	call(target_hints_warn_of_kernel_threads, 2, 2);
	assert_string_equal(message, "");
	states[1].is_kernel_thread = true;
	call(target_hints_warn_of_kernel_threads, 2, 0);
	assert_string_equal(
		message,
		"stackwide: warning: process 2147418113 (work) is a kernel thread: it has only kernel stacks\n");
	call(target_hints_warn_of_kernel_threads, 0, 2);
	assert_has("thread 2147418113 (work) is a kernel thread");
	for (size_t i = 0; i < ARRAY_LENGTH(states); i++)
		states[i].is_kernel_thread = true;
	call(target_hints_warn_of_kernel_threads, 12, 0);
	assert_int_equal(count_lines(), 8);
	call(target_hints_warn_of_kernel_threads, 0, 12);
	assert_int_equal(count_lines(), 8);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(each_state_has_its_word),
		TEST(what_has_ended_is_not_called_idle),
		TEST(what_cannot_be_read_has_not_ended),
		TEST(without_a_target_there_is_one_sentence),
		TEST(no_more_is_said_than_a_person_reads),
		TEST(kernel_threads_are_called_that),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
