/* Files of others: found as they see them, opened by a process that may be given up. */
#include "process/foreign_file.h"

#include "test_folder.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"

struct fixture {
	char root[TEST_PATH_BYTES];
	struct slow_opener *opener;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	char command[3 * TEST_PATH_BYTES];

	test_folder_make(fixture->root);
	snprintf(command, sizeof(command),
		 "cd '%s' && mkdir usr && echo content > usr/file && ln -s /usr/file link && "
		 "mkfifo fifo",
		 fixture->root);
	assert_int_equal(system(command), 0);
	assert_int_equal(slow_opener_new(&fixture->opener), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[TEST_PATH_BYTES + 16];

	slow_opener_free(fixture->opener);
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->root);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static void expect_content(struct slow_opener *opener, const char *root, const char *path)
{
	struct foreign_file file;
	char content[16] = "";
	struct stat status;
	int fd;

	assert_int_equal(foreign_file_find(opener, root, path, 0, &file), 0);
	assert_false(file.may_hang);
	assert_int_equal(fstat(file.handle, &status), 0);
	assert_true(file.inode == status.st_ino);
	fd = foreign_file_open(opener, &file);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, content, sizeof(content)), 8);
	assert_string_equal(content, "content\n");
	close(fd);
	close(file.handle);
}

static void a_file_is_found_below_a_root(void **state)
{
	const struct fixture *fixture = *state;

	expect_content(fixture->opener, fixture->root, "/usr/file");
	expect_content(NULL, fixture->root, "/usr/file");
}

static void links_lead_where_they_do_below_that_root(void **state)
{
	const struct fixture *fixture = *state;

	expect_content(fixture->opener, fixture->root, "/link");
	expect_content(fixture->opener, fixture->root, "/../link");
}

static void what_is_no_regular_file_is_not_opened(void **state)
{
	const struct fixture *fixture = *state;
	struct foreign_file file;

	assert_int_equal(foreign_file_find(fixture->opener, fixture->root, "/fifo", 0, &file),
			 -ENOTSUP);
	assert_int_equal(foreign_file_find(fixture->opener, fixture->root, "/usr", 0, &file),
			 -ENOTSUP);
	assert_int_equal(
		foreign_file_find(fixture->opener, fixture->root, "/link", O_NOFOLLOW, &file),
		-ELOOP);
	assert_int_equal(foreign_file_find(fixture->opener, fixture->root, "/none", 0, &file),
			 -ENOENT);
}

/* What the kernel has not in memory, or does not say, is asked for in the process. */
static void the_process_finds_and_opens(void **state)
{
	const struct fixture *fixture = *state;
	int root = open(fixture->root, O_PATH | O_CLOEXEC);
	int handle = slow_opener_find(fixture->opener, root, "/link", 0);
	char content[16] = "";
	int fd;

	assert_true(handle >= 0);
	assert_int_equal(slow_opener_find(fixture->opener, root, "/none", 0), -ENOENT);
	fd = slow_opener_open(fixture->opener, handle);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, content, sizeof(content)), 8);
	assert_string_equal(content, "content\n");
	close(fd);
	close(handle);
	close(root);
}

static void what_does_not_answer_is_given_up(void **state)
{
	const struct fixture *fixture = *state;
	_cleanup_(text_release) struct text text = {0};
	char path[TEST_PATH_BYTES + 16];
	uint64_t begin_ns;

	assert_int_equal(slow_opener_read(fixture->opener, "/proc/self/cmdline", 4096, &text), 0);
	assert_true(text.length > 0);
	snprintf(path, sizeof(path), "%s/fifo", fixture->root);
	for (int i = 0; i < 5; i++) {
		begin_ns = clock_now_ns();
		assert_int_equal(slow_opener_read(fixture->opener, path, 4096, &text), -ETIMEDOUT);
		assert_true(clock_now_ns() - begin_ns > 900 * NS_PER_MS);
		/* The next process does. */
		text.length = 0;
		assert_int_equal(
			slow_opener_read(fixture->opener, "/proc/self/cmdline", 4096, &text),
			i < 4 ? 0 : -ETIMEDOUT);
	}
	begin_ns = clock_now_ns();
	assert_int_equal(slow_opener_read(fixture->opener, path, 4096, &text), -ETIMEDOUT);
	assert_true(clock_now_ns() - begin_ns < 900 * NS_PER_MS);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_found_below_a_root),
		TEST(links_lead_where_they_do_below_that_root),
		TEST(what_is_no_regular_file_is_not_opened),
		TEST(the_process_finds_and_opens),
		TEST(what_does_not_answer_is_given_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
