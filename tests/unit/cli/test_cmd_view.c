/* Where the page goes, and what is left when it cannot be written. Writing it is the test's. */
#include "cli/options/command.h"

#define viewer_page_exists      has_page
#define viewer_page_write_empty write_empty_page
#include "cli/cmd_view.c"

#include <dirent.h>
#include <sys/stat.h>

/* clang-format off */
#include "caught_output.h"
#include "test_folder.h"
/* clang-format on */

static char folder[TEST_PATH_BYTES];
static bool page_exists;
static int write_error;
static char printed[1024], message[1024];

bool has_page(void)
{
	return page_exists;
}

int write_empty_page(const struct sink *sink)
{
	return write_error ? write_error : sink->write(sink->context, "<page>", 6);
}

static int set_up(void **state _unused_)
{
	test_folder_make(folder);
	setenv("TMPDIR", folder, 1);
	unsetenv("BROWSER");
	unsetenv("DISPLAY");
	unsetenv("WAYLAND_DISPLAY");
	page_exists = true;
	write_error = 0;
	log_set_level(LOG_LEVEL_NORMAL);
	return 0;
}

static int tear_down(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 32];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	*strrchr(folder, '/') = '\0';
	setenv("TMPDIR", folder, 1);
	return system(command);
}

static int run(const char *first, const char *second)
{
	char *argv[] = {(char *)(uintptr_t) "stackwide view", (char *)(uintptr_t)first,
			(char *)(uintptr_t)second, NULL};
	struct caught_output out = caught_output_start(STDOUT_FILENO);
	struct caught_output error = caught_output_start(STDERR_FILENO);
	int status = command_view.run(1 + !!first + !!second, argv);

	caught_output_end(&error, message, sizeof(message));
	caught_output_end(&out, printed, sizeof(printed));
	return status;
}

static size_t count_files(void)
{
	DIR *opened = opendir(folder);
	struct dirent *entry;
	size_t count = 0;

	assert_non_null(opened);
	while ((entry = readdir(opened)))
		count += entry->d_name[0] != '.';
	closedir(opened);
	return count;
}

static void without_a_browser_the_path_is_printed(void **state _unused_)
{
	struct stat status;

	assert_int_equal(run(NULL, NULL), EXIT_DONE);
	assert_non_null(strstr(message, "warning: no browser found: open this file in a browser"));
	printed[strcspn(printed, "\n")] = '\0';
	assert_int_equal(strncmp(printed, folder, strlen(folder)), 0);
	assert_true(string_ends_with(printed, ".html"));
	assert_int_equal(stat(printed, &status), 0);
	assert_int_equal(status.st_size, 6);
	assert_int_equal(count_files(), 1);
}

static void a_browser_is_started_with_the_page(void **state _unused_)
{
	setenv("BROWSER", "true", 1);
	assert_int_equal(run(NULL, NULL), EXIT_DONE);
	assert_string_equal(message, "");
	/* A missing one does not count. */
	setenv("BROWSER", "/no/browser", 1);
	setenv("PATH", "/usr/bin:/bin", 1);
	assert_int_equal(run(NULL, NULL), EXIT_DONE);
	assert_int_equal(count_files(), 2);
}

static void a_page_that_cannot_be_written_leaves_no_file(void **state _unused_)
{
	char path[TEST_PATH_BYTES + 32];

	write_error = -ENOSPC;
	assert_int_equal(run(NULL, NULL), EXIT_FAILED);
	assert_non_null(strstr(message, "No space left on device"));
	assert_string_equal(printed, "");
	assert_int_equal(count_files(), 0);
	snprintf(path, sizeof(path), "%s/page.html", folder);
	assert_int_equal(run("-o", path), EXIT_FAILED);
	assert_non_null(strstr(message, "page.html': No space left on device"));
	assert_int_equal(count_files(), 0);
	/* Nor where there is no folder for it. */
	setenv("TMPDIR", "/no/folder", 1);
	assert_int_equal(run(NULL, NULL), EXIT_FAILED);
	assert_non_null(strstr(message, "cannot create a file in '/no/folder': No such file"));
}

static void what_cannot_be_read_is_not_shown(void **state _unused_)
{
	assert_int_equal(run("/no/file", NULL), EXIT_FAILED);
	assert_int_equal(count_files(), 0);
	page_exists = false;
	assert_int_equal(run(NULL, NULL), EXIT_FAILED);
	assert_non_null(strstr(message, "built without the viewer"));
	assert_int_equal(run("--nothing", NULL), EXIT_USAGE);
	assert_int_equal(run("--help", NULL), EXIT_SHOW_HELP);
}

static void a_named_page_is_written_and_not_opened(void **state _unused_)
{
	char path[TEST_PATH_BYTES + 32];

	snprintf(path, sizeof(path), "%s/page.html", folder);
	assert_int_equal(run("-o", path), EXIT_DONE);
	assert_string_equal(message, "");
	assert_string_equal(printed, "");
	assert_int_equal(count_files(), 1);
	assert_int_equal(run("-o", "-"), EXIT_DONE);
	assert_string_equal(printed, "<page>");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(without_a_browser_the_path_is_printed),
		TEST(a_browser_is_started_with_the_page),
		TEST(a_page_that_cannot_be_written_leaves_no_file),
		TEST(what_cannot_be_read_is_not_shown),
		TEST(a_named_page_is_written_and_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
