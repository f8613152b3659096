/* One line on a terminal, four times a second at most. Terminal and clock are the test's. */
#include <unistd.h>

#include "base/clock.h"

static int isatty_of_test(int fd);
static uint64_t now_of_test(void);

#define isatty       isatty_of_test
#define clock_now_ns now_of_test
#include "cli/options/progress.c"

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static bool is_terminal;
static uint64_t now_ns;
static char printed[256];

static int isatty_of_test(int fd)
{
	assert_int_equal(fd, STDERR_FILENO);
	return is_terminal;
}

static uint64_t now_of_test(void)
{
	return now_ns;
}

static struct progress start(bool terminal, enum log_level level)
{
	struct progress progress;

	is_terminal = terminal;
	now_ns = 5 * NS_PER_SECOND;
	log_set_level(level);
	progress_init(&progress);
	return progress;
}

static void print(struct progress *progress)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);

	progress_print(progress, "%d of %d", 3, 7);
	caught_output_end(&caught, printed, sizeof(printed));
}

static void clear(struct progress *progress)
{
	struct caught_output caught = caught_output_start(STDERR_FILENO);

	progress_clear(progress);
	caught_output_end(&caught, printed, sizeof(printed));
}

static void a_line_takes_the_place_of_the_last_one(void **state _unused_)
{
	struct progress progress = start(true, LOG_LEVEL_NORMAL);

	clear(&progress);
	assert_string_equal(printed, ""); /* there is none */
	assert_int_equal(progress.start_ns, 5 * NS_PER_SECOND);
	assert_true(progress_is_due(&progress));
	print(&progress);
	assert_string_equal(printed, "\r\033[K3 of 7");
	clear(&progress);
	assert_string_equal(printed, "\r\033[K");
	clear(&progress);
	assert_string_equal(printed, "");
}

static void lines_come_four_times_a_second(void **state _unused_)
{
	struct progress progress = start(true, LOG_LEVEL_NORMAL);

	print(&progress);
	assert_false(progress_is_due(&progress));
	now_ns += 250 * NS_PER_MS - 1;
	assert_false(progress_is_due(&progress));
	now_ns++;
	assert_true(progress_is_due(&progress));
}

static void without_a_terminal_there_is_none(void **state _unused_)
{
	struct progress hidden[] = {start(false, LOG_LEVEL_NORMAL), start(true, LOG_LEVEL_QUIET)};

	for (size_t i = 0; i < 2; i++) {
		assert_false(progress_is_due(&hidden[i]));
		print(&hidden[i]);
		assert_string_equal(printed, "");
		clear(&hidden[i]);
		assert_string_equal(printed, "");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_takes_the_place_of_the_last_one),
		cmocka_unit_test(lines_come_four_times_a_second),
		cmocka_unit_test(without_a_terminal_there_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
