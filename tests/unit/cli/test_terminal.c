/* How wide standard output is, and that an error of writing there is reported. The terminal is the test's. */
#include <sys/ioctl.h>
#include <unistd.h>

static int isatty_of_test(int fd);
static int ioctl_of_test(int fd, unsigned long request, struct winsize *ret);

#define isatty isatty_of_test
#define ioctl  ioctl_of_test
#include "cli/options/terminal.c"
#undef isatty
#undef ioctl

#include <errno.h>
#include <stdlib.h>

/* clang-format off */
#include "caught_output.h"
/* clang-format on */

static bool is_terminal;
static int columns; /* -1: not known */

static int isatty_of_test(int fd)
{
	assert_int_equal(fd, STDOUT_FILENO);
	return is_terminal;
}

static int ioctl_of_test(int fd, unsigned long request, struct winsize *ret)
{
	assert_int_equal(fd, STDOUT_FILENO);
	assert_int_equal(request, TIOCGWINSZ);
	ret->ws_col = (unsigned short)columns;
	return columns < 0 ? -1 : 0;
}

static int set_up(void **state _unused_)
{
	is_terminal = true;
	columns = 132;
	unsetenv("NO_COLOR");
	setenv("TERM", "xterm", 1);
	return 0;
}

static void what_is_no_terminal_has_no_width(void **state _unused_)
{
	is_terminal = false;
	assert_int_equal(terminal_get().num_columns, 0);
	assert_false(terminal_get().has_color);
}

static void the_width_is_the_windows_or_the_usual_one(void **state _unused_)
{
	assert_int_equal(terminal_get().num_columns, 132);
	columns = 0;
	assert_int_equal(terminal_get().num_columns, 80);
	columns = -1;
	assert_int_equal(terminal_get().num_columns, 80);
}

static void colors_can_be_refused(void **state _unused_)
{
	assert_true(terminal_get().has_color);
	setenv("NO_COLOR", "", 1);
	assert_true(terminal_get().has_color);
	setenv("NO_COLOR", "1", 1);
	assert_false(terminal_get().has_color);
	unsetenv("NO_COLOR");
	setenv("TERM", "dumb", 1);
	assert_false(terminal_get().has_color);
	unsetenv("TERM");
	assert_false(terminal_get().has_color);
}

static int write_error;

static int write_some(void *context, const struct sink *sink)
{
	int err = sink->write(sink->context, context, strlen(context));

	return write_error ? write_error : err;
}

static void what_is_written_comes_out(void **state _unused_)
{
	char text[] = "some\n";
	char printed[64];
	struct error error = {0};
	struct caught_output caught = caught_output_start(STDOUT_FILENO);
	int err = terminal_write(write_some, text, &error);
	int failure;

	write_error = -EIO;
	failure = terminal_write(write_some, text, &error);
	write_error = 0;
	caught_output_end(&caught, printed, sizeof(printed));
	assert_int_equal(err, 0);
	assert_int_equal(strncmp(printed, "some\n", 5), 0);
	assert_int_equal(failure, -EIO);
	assert_string_equal(error.message, "cannot write to standard output: Input/output error");
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_no_terminal_has_no_width),
		TEST(the_width_is_the_windows_or_the_usual_one),
		TEST(colors_can_be_refused),
		TEST(what_is_written_comes_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
