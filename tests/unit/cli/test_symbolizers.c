/*
 * Symbolizers may die, hang or be stopped at any point. The tests check which file is blamed and whether another one
 * starts. Namers are children that act as the test says. The test controls the clock.
 */
#include "base/clock.h"
#include "symbolize/symbolizer.h"

#include <stdint.h>

static uint64_t fake_now_ns;  /* 0: real time */
static uint64_t fake_step_ns; /* added at each read */
static uint64_t read_now(void)
{
	if (!fake_now_ns)
		return clock_now_ns();
	fake_now_ns += fake_step_ns;
	return fake_now_ns;
}

static struct symbolizer *act(const struct file_table *files, const struct process_table *processes,
			      const struct symbolizer_opts *opts);

#define clock_now_ns() read_now()
#define symbolizer_new act
#include "cli/record/symbolizers.c"
#undef symbolizer_new
#undef clock_now_ns

#include "caught_output.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#define NUM_FILES (MAX_PROCESSES + 8)

/* Behavior of a process. */
enum deed {
	DIE_OF_FILE,  /* as long as it reads anything of file 1 */
	DIE_OF_EACH,  /* of the first file without a fault */
	FAIL_OF_FILE, /* out of memory in file 2 */
	DIE_OF_NONE,
	HANG,
	HANG_ONCE,
	STOP_ONCE,
	SUCCEED,
};

static enum deed deed;
static struct file_table *files;
static struct profile *profile;

struct recorded_code recorder_get_code(const struct recorder *recorder _unused_)
{
	return (struct recorded_code){.files = files};
}

struct profile *recorder_get_profile(struct recorder *recorder _unused_)
{
	return profile;
}

const struct user_stack_count *recorder_get_user_stacks(const struct recorder *recorder _unused_,
							size_t *ret_count)
{
	*ret_count = 0;
	return NULL;
}

static void read_file(struct symbolizers *symbolizers, uint32_t file)
{
	symbolizers->state->file = file;
}

/* Replaces symbolizer_new() in the process. */
static struct symbolizer *act(const struct file_table *read _unused_,
			      const struct process_table *processes _unused_,
			      const struct symbolizer_opts *opts)
{
	struct symbolizers *symbolizers = ((struct symbolizer_process *)opts->context)->symbolizers;
	uint32_t file = 0;

	switch (deed) {
	case DIE_OF_FILE:
		read_file(symbolizers, 1);
		if (symbolizers->cautions[1] < READ_NOTHING)
			raise(SIGKILL);
		break;
	case DIE_OF_EACH:
		while (file < NUM_FILES && symbolizers->cautions[file])
			file++;
		if (file == NUM_FILES)
			break;
		read_file(symbolizers, file);
		raise(SIGKILL);
		break;
	case FAIL_OF_FILE:
		read_file(symbolizers, 2);
		if (symbolizers->cautions[2] < READ_NOTHING)
			return NULL;
		break;
	case DIE_OF_NONE:
		raise(SIGKILL);
		break;
	case HANG_ONCE:
		if (symbolizers->num_started > 1)
			break;
		read_file(symbolizers, 3);
		pause();
		break;
	case HANG:
		read_file(symbolizers, 3);
		pause();
		break;
	case STOP_ONCE:
		raise(SIGSTOP);
		break;
	case SUCCEED:
		break;
	}
	_exit(EXIT_SUCCESS);
}

static int set_up(void **state _unused_)
{
	const struct file_identity identity = {.path = "/lib/some.so"};

	fake_now_ns = fake_step_ns = 0;
	deed = SUCCEED;
	files = file_table_new("/nonexistent", NULL);
	assert_non_null(files);
	for (uint32_t i = 0; i < NUM_FILES; i++) {
		assert_int_equal(file_table_add_sought(files, &identity), 0);
		file_table_set_found(files, i, -1, false);
	}
	profile = profile_new();
	assert_non_null(profile);
	return 0;
}

/* Files up to last are root's. */
static void trust_files(uint32_t last)
{
	for (uint32_t i = 0; i <= last; i++)
		file_table_set_found(files, i, open("/proc/self/exe", O_RDONLY | O_CLOEXEC), false);
	assert_true(file_user_is_ours(file_table_get(files, last)->owner));
	assert_false(file_user_is_ours(file_table_get(files, last + 1)->owner));
}

static int tear_down(void **state _unused_)
{
	file_table_free(files);
	profile_free(profile);
	return 0;
}

static struct symbolizers *start_with(enum deed what, const struct symbolizers_opts *opts)
{
	struct symbolizers *symbolizers;

	deed = what;
	assert_int_equal(symbolizers_new(NULL, opts, -1, &symbolizers), 0);
	return symbolizers;
}

static const struct symbolizers_opts usual = {.limit_ns = 1000 * NS_PER_SECOND};

/* Tend until the last symbolizer has ended. */
static void tend(struct symbolizers *symbolizers)
{
	while (symbolizers_tend(symbolizers)) {
		struct pollfd ended = {.fd = symbolizers_get_fd(symbolizers), .events = POLLIN};

		poll(&ended, 1, 20);
	}
	assert_int_equal(symbolizers->pid, 0);
	assert_int_equal(symbolizers_get_fd(symbolizers), -1);
}

static void expect_fault(const struct symbolizers *symbolizers, size_t number, uint32_t file,
			 enum symbolizer_caution caution)
{
	assert_true(number < symbolizers->faults.length);
	assert_int_equal(symbolizers->faults.items[number].file, file);
	assert_int_equal(symbolizers->faults.items[number].caution, caution);
}

static void a_symbolizer_that_succeeds_is_not_replaced(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(SUCCEED, &usual);

	tend(symbolizers);
	assert_int_equal(symbolizers->num_started, 1);
	assert_int_equal(symbolizers->faults.length, 0);
	assert_false(symbolizers->has_given_up);
	assert_true(symbolizers_get_cost(symbolizers).max_rss_bytes > 0);
	symbolizers_free(symbolizers);
}

static void each_death_makes_the_next_symbolizer_read_less_of_the_file(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(DIE_OF_FILE, &usual);

	tend(symbolizers);
	assert_int_equal(symbolizers->num_started, READ_NOTHING + 1);
	assert_int_equal(symbolizers->faults.length, READ_NOTHING);
	for (uint32_t i = 0; i < READ_NOTHING; i++)
		expect_fault(symbolizers, i, 1, (enum symbolizer_caution)(i + 1));
	assert_false(symbolizers->faults.items[0].was_late);
	assert_int_equal(WTERMSIG(symbolizers->faults.items[0].wait_status), SIGKILL);
	assert_false(symbolizers->has_given_up);
	assert_int_equal(symbolizers->cautions[0] + symbolizers->cautions[2], 0);
	symbolizers_report(symbolizers);
	symbolizers_free(symbolizers);
}

static void without_inlines_the_next_symbolizer_skips_the_file(void **state _unused_)
{
	struct symbolizers_opts opts = usual;
	struct symbolizers *symbolizers;

	opts.no_inlines = true;
	symbolizers = start_with(DIE_OF_FILE, &opts);
	tend(symbolizers);
	assert_int_equal(symbolizers->num_started, 2);
	expect_fault(symbolizers, 0, 1, READ_NOTHING);
	symbolizers_free(symbolizers);
}

static void a_symbolizer_out_of_memory_has_failed(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(FAIL_OF_FILE, &usual);

	tend(symbolizers);
	assert_int_equal(symbolizers->faults.length, READ_NOTHING);
	assert_true(WIFEXITED(symbolizers->faults.items[0].wait_status));
	assert_int_equal(WEXITSTATUS(symbolizers->faults.items[0].wait_status), EXIT_FAILURE);
	symbolizers_free(symbolizers);
}

static void the_number_of_symbolizers_is_bounded(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(DIE_OF_EACH, &usual);

	tend(symbolizers);
	assert_int_equal(symbolizers->num_started, MAX_PROCESSES);
	assert_int_equal(symbolizers->faults.length, MAX_PROCESSES);
	assert_true(symbolizers->has_given_up);
	symbolizers_report(symbolizers);
	symbolizers_free(symbolizers);
}

/* One user's files do not take the symbolizers from all others. */
static void faults_of_an_owner_count_for_all_of_its_files(void **state _unused_)
{
	struct symbolizers_opts opts = usual;
	struct symbolizers *symbolizers;

	opts.has_owner_budgets = true;
	trust_files(1);
	symbolizers = start_with(DIE_OF_EACH, &opts);
	tend(symbolizers);
	assert_false(symbolizers->has_given_up);
	/* Two of root's, and three of another one's. */
	assert_int_equal(symbolizers->num_started, 6);
	assert_int_equal(symbolizers->faults.length, 5);
	for (uint32_t i = 0; i < 5; i++)
		expect_fault(symbolizers, i, i, READ_SYMBOLS);
	assert_false(symbolizers->faults.items[1].is_of_owner);
	assert_false(symbolizers->faults.items[3].is_of_owner);
	assert_true(symbolizers->faults.items[4].is_of_owner);
	assert_int_equal(symbolizers->faults.items[4].owner, FILE_OWNER_UNKNOWN);
	for (uint32_t i = 0; i < NUM_FILES; i++)
		assert_int_equal(symbolizers->cautions[i], READ_SYMBOLS);
	symbolizers_report(symbolizers);
	symbolizers_free(symbolizers);
}

static void a_file_of_root_is_in_no_budget(void **state _unused_)
{
	struct symbolizers_opts opts = usual;
	struct symbolizers *symbolizers;

	opts.has_owner_budgets = true;
	trust_files(3);
	symbolizers = start_with(HANG, &opts);
	while (symbolizers->state->file != 3)
		poll(NULL, 0, 1);
	assert_false(is_late(symbolizers, symbolizers->watch.worked_ns));
	symbolizers->watch.worked_cpu_ns = UINT64_MAX;
	symbolizers->watch.start_cpu_ns = child_read_cpu_ns(symbolizers->pid);
	assert_false(
		is_late(symbolizers, symbolizers->watch.worked_ns + symbolizers->file_limit_ns));
	assert_true(is_late(symbolizers,
			    symbolizers->watch.worked_ns + symbolizers->file_limit_ns + 1));
	assert_false(symbolizers->is_over_budget);
	assert_int_equal(symbolizers->budgets.owners.length, 0);
	symbolizers_free(symbolizers);
}

static void the_time_of_an_owners_file_is_short_and_counts_for_the_owner(void **state _unused_)
{
	struct symbolizers_opts opts = usual;
	uint64_t limit_ns;
	struct symbolizers *symbolizers;

	opts.has_owner_budgets = true;
	trust_files(1);
	symbolizers = start_with(HANG, &opts);
	while (symbolizers->state->file != 3)
		poll(NULL, 0, 1);
	assert_false(is_late(symbolizers, 1000000));
	limit_ns = owner_budgets_get_limit(&symbolizers->budgets, FILE_OWNER_UNKNOWN);
	assert_true(limit_ns < symbolizers->file_limit_ns);
	symbolizers->watch.worked_cpu_ns = UINT64_MAX;
	symbolizers->watch.worked_ns = 1000000;
	symbolizers->watch.start_cpu_ns = child_read_cpu_ns(symbolizers->pid);
	assert_false(is_late(symbolizers, 1000000 + limit_ns));
	assert_int_equal(symbolizers->cautions[3], READ_ALL);
	assert_true(is_late(symbolizers, 1000000 + limit_ns + 1));
	assert_true(symbolizers->is_over_budget);
	assert_int_equal(symbolizers->cautions[1], READ_ALL);
	for (uint32_t i = 2; i < NUM_FILES; i++)
		assert_int_equal(symbolizers->cautions[i], READ_SYMBOLS);
	/* CPU time is charged once. */
	owner_budgets_release(&symbolizers->budgets);
	symbolizers->budgets = (struct owner_budgets){.limit_ns = 60 * limit_ns};
	symbolizers->watch.charged_cpu_ns = symbolizers->watch.start_cpu_ns - limit_ns;
	symbolizers->watch.worked_ns = 2000000;
	assert_false(is_late(symbolizers, 2000000));
	assert_int_equal(symbolizers->budgets.all.spent_ns, limit_ns);
	assert_false(is_late(symbolizers, 2000000));
	assert_int_equal(symbolizers->budgets.all.spent_ns, limit_ns);
	symbolizers_free(symbolizers);
}

static void deaths_outside_of_files_are_bounded(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(DIE_OF_NONE, &usual);

	tend(symbolizers);
	assert_int_equal(symbolizers->num_started, MAX_OTHER_FAULTS);
	assert_int_equal(symbolizers->faults.length, 0);
	assert_true(symbolizers->has_given_up);
	symbolizers_free(symbolizers);
}

static void a_stop_ends_the_symbolizer_for_good(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(HANG, &usual);

	assert_true(symbolizers_tend(symbolizers));
	symbolizers_stop(symbolizers);
	assert_true(symbolizers->is_stopped);
	assert_false(symbolizers_tend(symbolizers));
	assert_int_equal(symbolizers->num_started, 1);
	assert_int_equal(symbolizers->faults.length, 0);
	symbolizers_stop(symbolizers);
	symbolizers_free(symbolizers);
}

static void a_stop_after_the_end_has_no_effect(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(SUCCEED, &usual);

	tend(symbolizers);
	symbolizers_stop(symbolizers);
	assert_false(symbolizers->is_stopped);
	symbolizers_free(symbolizers);
}

static void the_time_limit_ends_the_symbolizer_for_good(void **state _unused_)
{
	struct symbolizers *symbolizers;

	fake_now_ns = 5000 * NS_PER_SECOND;
	symbolizers = start_with(HANG, &usual);
	fake_now_ns += usual.limit_ns - 1;
	symbolizers->file_limit_ns = UINT64_MAX;
	assert_true(symbolizers_tend(symbolizers));
	fake_now_ns++;
	assert_false(symbolizers_tend(symbolizers));
	assert_true(symbolizers->is_over);
	assert_int_equal(symbolizers->num_started, 1);
	symbolizers_free(symbolizers);
}

static void a_symbolizer_that_hangs_in_a_file_is_replaced(void **state _unused_)
{
	struct symbolizers *symbolizers;

	fake_now_ns = 5000 * NS_PER_SECOND;
	symbolizers = start_with(HANG_ONCE, &usual);
	assert_int_equal(symbolizers->file_limit_ns, usual.limit_ns / FILE_SHARE);
	while (symbolizers->state->file != 3)
		poll(NULL, 0, 1);
	assert_true(symbolizers_tend(symbolizers)); /* starts the watch of file 3 */
	symbolizers->watch.worked_cpu_ns = UINT64_MAX;
	symbolizers->watch.start_cpu_ns = child_read_cpu_ns(symbolizers->pid);
	fake_now_ns += usual.limit_ns / FILE_SHARE;
	assert_true(symbolizers_tend(symbolizers));
	assert_int_equal(symbolizers->num_started, 1);
	fake_now_ns++;
	assert_true(symbolizers_tend(symbolizers));
	assert_int_equal(symbolizers->num_started, 2);
	expect_fault(symbolizers, 0, 3, 1);
	assert_true(symbolizers->faults.items[0].was_late);
	/* What the first one used and how long it was idle is not the second one's. */
	assert_int_equal(symbolizers->watch.file, FILE_NONE);
	assert_int_equal(symbolizers->watch.worked_cpu_ns, 0);
	assert_int_equal(symbolizers->watch.charged_cpu_ns, 0);
	assert_int_equal(symbolizers->watch.worked_ns, fake_now_ns);
	assert_false(symbolizers->was_late);
	assert_true(symbolizers->file_limit_ns <
		    usual.limit_ns / FILE_SHARE); /* a share of the time left */
	tend(symbolizers);
	assert_int_equal(symbolizers->num_started, 2);
	assert_false(symbolizers->has_given_up);
	symbolizers_report(symbolizers);
	symbolizers_free(symbolizers);
}

static void a_file_has_a_minimum_time(void **state _unused_)
{
	struct symbolizers_opts opts = usual;
	struct symbolizers *symbolizers;

	opts.limit_ns = MIN_FILE_NS;
	fake_now_ns = 5000 * NS_PER_SECOND;
	symbolizers = start_with(SUCCEED, &opts);
	assert_int_equal(symbolizers->file_limit_ns, MIN_FILE_NS);
	symbolizers_free(symbolizers);
}

static void the_watch_starts_with_each_file(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(HANG, &usual);

	while (symbolizers->state->file != 3)
		poll(NULL, 0, 1);
	symbolizers->file_limit_ns = 100;
	assert_false(is_late(symbolizers, 1000000));
	symbolizers->watch.start_cpu_ns = child_read_cpu_ns(symbolizers->pid);
	symbolizers->watch.worked_cpu_ns = UINT64_MAX;
	assert_false(is_late(symbolizers, 1000100));
	assert_true(is_late(symbolizers, 1000101));
	/* CPU time counts, too. */
	symbolizers->watch.worked_ns = 1000101;
	symbolizers->watch.start_cpu_ns -= 100;
	assert_false(is_late(symbolizers, 1000101));
	symbolizers->watch.start_cpu_ns--;
	assert_true(is_late(symbolizers, 1000101));
	/* The next file. */
	symbolizers->state->file = 4;
	assert_false(is_late(symbolizers, 1000101));
	symbolizers_free(symbolizers);
}

static void a_stopped_symbolizer_is_continued(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(STOP_ONCE, &usual);

	tend(symbolizers);
	assert_int_equal(symbolizers->num_started, 1);
	assert_false(symbolizers->has_given_up);
	symbolizers_free(symbolizers);
}

/* What is printed of these faults, and of how the naming ended. */
static void assert_report(const struct symbolizers *symbolizers, const char *expected)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);
	char message[2048];

	log_set_level(LOG_LEVEL_NORMAL);
	symbolizers_report(symbolizers);
	caught_output_end(&caught, message, sizeof(message));
	assert_string_equal(message, expected);
}

#define WARNING "stackwide: warning: "
#define REST    "; remaining frames are shown as file+offset\n"

static void what_a_file_has_done_is_told(void **state _unused_)
{
	struct symbolizing_fault faults[] = {
		{.file = 1, .caution = READ_SYMBOLS, .wait_status = SIGSEGV},
		{.file = 2, .caution = READ_NOTHING, .wait_status = 1 << 8},
		{.file = 3,
		 .caution = READ_NOTHING,
		 .was_late = true,
		 .is_of_owner = true,
		 .owner = 1000,
		 .wait_status = SIGKILL},
		{.file = 4,
		 .caution = READ_SYMBOLS,
		 .was_late = true,
		 .is_of_owner = true,
		 .owner = FILE_OWNER_UNKNOWN},
		{.file = 5},
		{.file = 6},
	};
	struct symbolizers symbolizers = {.opts = {.limit_ns = 1500 * NS_PER_MS}};

	assert_report(&symbolizers, "");
	symbolizers.faults.items = faults;
	symbolizers.faults.length = 4;
	assert_report(
		&symbolizers, WARNING
		"'/lib/some.so': skipped debug information: the symbolizer process died (signal 11)\n" WARNING
		"'/lib/some.so': skipped symbols: it took too much memory\n" WARNING
		"'/lib/some.so' and other files of user 1000: skipped symbols: timed out\n" WARNING
		"'/lib/some.so' and other files that several users can write: "
		"skipped debug information: timed out\n");
	symbolizers.faults.items = faults + 1;
	symbolizers.faults.length = 5;
	{
		struct caught_output caught = caught_output_start(STDERR_FILENO);
		char message[2048];

		symbolizers_report(&symbolizers);
		caught_output_end(&caught, message, sizeof(message));
		assert_non_null(strstr(message, WARNING "the same for 1 more\n"));
	}
}

static void how_symbolization_ended_is_told(void **state _unused_)
{
	struct symbolizers symbolizers = {.opts = {.limit_ns = 1500 * NS_PER_MS},
					  .has_given_up = true};

	assert_report(&symbolizers, WARNING "symbolization failed" REST);
	symbolizers.is_stopped = true;
	assert_report(&symbolizers, WARNING "symbolization was interrupted" REST);
	symbolizers.is_over = true;
	assert_report(&symbolizers,
		      WARNING "symbolization stopped after 1.5 s (--symbolize-limit)" REST);
}

static void free_leaves_no_process_and_no_socket(void **state _unused_)
{
	struct symbolizers *symbolizers = start_with(HANG, &usual);
	pid_t broker = symbolizers->broker;
	pid_t pid = symbolizers->pid;
	int fds[] = {symbolizers->questions[0], symbolizers->pid_fd};

	assert_true(broker > 0);
	assert_int_equal(symbolizers->questions[1], -1);
	symbolizers_free(symbolizers);
	assert_int_equal(kill(broker, 0), -1);
	assert_int_equal(kill(pid, 0), -1);
	for (size_t i = 0; i < ARRAY_LENGTH(fds); i++)
		if (fds[i] >= 0)
			assert_int_equal(fcntl(fds[i], F_GETFD), -1);
	symbolizers_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_symbolizer_that_succeeds_is_not_replaced),
		TEST(each_death_makes_the_next_symbolizer_read_less_of_the_file),
		TEST(without_inlines_the_next_symbolizer_skips_the_file),
		TEST(a_symbolizer_out_of_memory_has_failed),
		TEST(the_number_of_symbolizers_is_bounded),
		TEST(faults_of_an_owner_count_for_all_of_its_files),
		TEST(a_file_of_root_is_in_no_budget),
		TEST(the_time_of_an_owners_file_is_short_and_counts_for_the_owner),
		TEST(deaths_outside_of_files_are_bounded),
		TEST(a_stop_ends_the_symbolizer_for_good),
		TEST(a_stop_after_the_end_has_no_effect),
		TEST(the_time_limit_ends_the_symbolizer_for_good),
		TEST(a_symbolizer_that_hangs_in_a_file_is_replaced),
		TEST(a_file_has_a_minimum_time),
		TEST(the_watch_starts_with_each_file),
		TEST(a_stopped_symbolizer_is_continued),
		TEST(what_a_file_has_done_is_told),
		TEST(how_symbolization_ended_is_told),
		TEST(free_leaves_no_process_and_no_socket),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
