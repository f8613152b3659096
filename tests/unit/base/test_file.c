#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "unit.h"

static void what_is_written_at_an_offset_is_read_from_it(void **state _unused_)
{
	struct error error;
	int fd = file_open_nameless(file_get_temporary_folder(), &error);
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
	int fd = file_open_nameless(file_get_temporary_folder(), &error);
	char bytes[4];

	assert_true(fd >= 0);
	assert_int_equal(file_write_at(fd, "abc", 3, 0), 0);
	assert_int_equal(file_read_range(fd, bytes, 4, 0), -EIO);
	close(fd);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_at_an_offset_is_read_from_it),
		cmocka_unit_test(less_than_the_range_is_an_error),
		cmocka_unit_test(the_environment_says_where_temporary_files_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
