#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "open_watch.h"
#include "test_folder.h"
#include "unit.h"

static void what_is_written_at_an_offset_is_read_from_it(void **state _unused_)
{
	struct error error;
	int fd = file_open_anonymous(file_get_temporary_folder(), &error);
	char bytes[4] = {0};

	assert_true(fd >= 0);
	assert_int_equal(file_write_at(fd, "abcdef", 6, 10), 0);
	assert_int_equal(file_write_at(fd, "XY", 2, 12), 0);
	assert_int_equal(file_read_range(fd, bytes, 4, 11), 0);
	assert_memory_equal(bytes, "bXYe", 4);
	close(fd);
}

static void less_than_the_range_is_an_error(void **state _unused_)
{
	struct error error;
	int fd = file_open_anonymous(file_get_temporary_folder(), &error);
	char bytes[4];

	assert_true(fd >= 0);
	assert_int_equal(file_write_at(fd, "abc", 3, 0), 0);
	assert_int_equal(file_read_range(fd, bytes, 4, 0), -EIO);
	close(fd);
}

static void an_open_file_has_its_path_or_that_is_too_long(void **state _unused_)
{
	int fd = open("/dev/null", O_PATH | O_CLOEXEC);
	char path[16];

	assert_true(fd >= 0);
	assert_int_equal(file_read_path(fd, path, sizeof(path)), 0);
	assert_string_equal(path, "/dev/null");
	assert_int_equal(file_read_path(fd, path, strlen("/dev/null") + 1), 0);
	assert_int_equal(file_read_path(fd, path, strlen("/dev/null")), -ENAMETOOLONG);
	close(fd);
	assert_int_equal(file_read_path(fd, path, sizeof(path)), -ENOENT);
}

static void the_environment_says_where_temporary_files_go(void **state _unused_)
{
	const char *folder = getenv("TMPDIR");
	char *before = folder ? strdup(folder) : NULL;

	assert_int_equal(setenv("TMPDIR", "/here", 1), 0);
	assert_string_equal(file_get_temporary_folder(), "/here");
	assert_int_equal(setenv("TMPDIR", "", 1), 0);
	assert_string_equal(file_get_temporary_folder(), "/var/tmp");
	assert_int_equal(before ? setenv("TMPDIR", before, 1) : unsetenv("TMPDIR"), 0);
	free(before);
}

static void a_file_above_the_limit_leaves_the_text_as_it_was(void **state _unused_)
{
	_cleanup_(text_release) struct text text = {0};
	static char bytes[100000];
	struct error error;
	int fd = file_open_anonymous(file_get_temporary_folder(), &error);

	assert_true(fd >= 0);
	assert_int_equal(file_write_at(fd, bytes, sizeof(bytes), 0), 0);
	text_append_string(&text, "before");
	assert_int_equal(file_read_fd(fd, sizeof(bytes) - 1, &text), -EFBIG);
	assert_int_equal(text.length, 6);
	assert_string_equal(text.data, "before");
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(file_read_fd(fd, sizeof(bytes), &text), 0);
	assert_int_equal(text.length, 6 + sizeof(bytes));
	close(fd);
}

static void only_a_regular_file_is_opened(void **state _unused_)
{
	char folder[TEST_PATH_BYTES];
	struct stat status;
	int folder_fd;
	int watch;
	int fd;

	test_folder_make(folder);
	folder_fd = open(folder, O_PATH | O_DIRECTORY);
	close(openat(folder_fd, "file", O_WRONLY | O_CREAT, 0600));
	assert_int_equal(symlinkat("file", folder_fd, "link"), 0);
	assert_int_equal(mkfifoat(folder_fd, "pipe", 0600), 0);

	fd = file_open_regular(folder_fd, "link", 0, &status);
	assert_true(fd >= 0);
	assert_true(S_ISREG(status.st_mode));
	close(fd);
	assert_int_equal(file_open_regular(folder_fd, "link", O_NOFOLLOW, NULL), -ELOOP);
	assert_int_equal(file_open_regular(folder_fd, "none", 0, NULL), -ENOENT);
	assert_int_equal(file_open_regular(folder_fd, ".", 0, NULL), -ENOTSUP);
	assert_int_equal(file_open_regular(AT_FDCWD, "/dev/null", 0, NULL), -ENOTSUP);
	assert_int_equal(fchdir(folder_fd), 0);
	watch = open_watch_start("pipe");
	assert_int_equal(file_open_regular(folder_fd, "pipe", 0, NULL), -ENOTSUP);
	assert_false(open_watch_end(watch));

	assert_int_equal(unlink("file") || unlink("link") || unlink("pipe"), 0);
	assert_int_equal(chdir("/") || rmdir(folder), 0);
	close(folder_fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_at_an_offset_is_read_from_it),
		cmocka_unit_test(less_than_the_range_is_an_error),
		cmocka_unit_test(a_file_above_the_limit_leaves_the_text_as_it_was),
		cmocka_unit_test(only_a_regular_file_is_opened),
		cmocka_unit_test(an_open_file_has_its_path_or_that_is_too_long),
		cmocka_unit_test(the_environment_says_where_temporary_files_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
