/* A file that one user alone may read is opened with that user's rights, and no others. */
#include "process/user_opener.h"

#include "test_folder.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define USER  20001
#define GROUP 20002

struct fixture {
	char root[TEST_PATH_BYTES];
	pid_t process; /* of the user */
};

/* A process with these users, which does nothing. */
static pid_t start_process(uid_t real, uid_t effective)
{
	const gid_t groups[] = {20003};
	int ends[2];
	pid_t child;
	char byte = 0;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (setgroups(1, groups) || setresgid(GROUP, GROUP, GROUP) ||
		    setresuid(real, effective, effective) || write(ends[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return child;
}

static void end_process(pid_t process)
{
	kill(process, SIGKILL);
	assert_int_equal(waitpid(process, NULL, 0), process);
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	test_folder_make(fixture->root);
	fixture->process = geteuid() ? 0 : start_process(USER, USER);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[TEST_PATH_BYTES + 16];

	if (fixture->process)
		end_process(fixture->process);
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->root);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static void need_root(void)
{
	if (!geteuid())
		return;
	print_message("skipped: only root can become other users\n");
	skip();
}

/* A handle of a file with this content, owner and mode. */
static int make_file(const struct fixture *fixture, uid_t owner, gid_t group, mode_t mode)
{
	char path[TEST_PATH_BYTES + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/file", fixture->root);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, "content", 7), 7);
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(fchown(fd, owner, group), 0);
	close(fd);
	fd = open(path, O_PATH | O_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

static void expect(pid_t process, int handle, int expected)
{
	struct user_file file;
	struct stat status;
	char content[16] = "";
	int fd = -1;

	assert_int_equal(user_opener_open(process, handle, &file, &fd), expected);
	if (!expected) {
		assert_int_equal(fstat(handle, &status), 0);
		assert_true(file.inode == status.st_ino && file.device == status.st_dev);
		assert_int_equal(read(fd, content, sizeof(content)), 7);
		assert_string_equal(content, "content");
		close(fd);
	}
	close(handle);
}

static void files_of_the_user_and_of_its_groups_are_opened(void **state)
{
	const struct fixture *fixture = *state;

	need_root();
	expect(fixture->process, make_file(fixture, USER, 0, 0400), 0);
	expect(fixture->process, make_file(fixture, 0, GROUP, 0040), 0);
	expect(fixture->process, make_file(fixture, 0, 20003, 0040), 0);
}

static void files_of_others_are_not(void **state)
{
	const struct fixture *fixture = *state;

	need_root();
	expect(fixture->process, make_file(fixture, 0, 0, 0400), -EACCES);
	expect(fixture->process, make_file(fixture, 20005, 0, 0400), -EACCES);
	expect(fixture->process, make_file(fixture, 0, 20005, 0040), -EACCES);
}

static void a_file_is_looked_at_without_being_opened(void **state)
{
	const struct fixture *fixture = *state;
	int handle = make_file(fixture, 0, 0, 0400);
	struct user_file file;
	struct stat status;

	need_root();
	assert_int_equal(user_opener_open(fixture->process, handle, &file, NULL), 0);
	assert_int_equal(fstat(handle, &status), 0);
	assert_true(file.inode == status.st_ino && file.device == status.st_dev);
	close(handle);
}

static void folders_are_not_opened(void **state)
{
	const struct fixture *fixture = *state;

	need_root();
	expect(fixture->process, open(fixture->root, O_PATH | O_CLOEXEC), -ENOTSUP);
}

/* Of root's there is nothing to be tried, and of a set-user-ID program's nobody knows whose it is. */
static void root_and_processes_of_two_users_are_refused(void **state)
{
	const struct fixture *fixture = *state;
	pid_t process;

	need_root();
	expect(getpid(), make_file(fixture, 0, 0, 0444), -EACCES);
	process = start_process(USER, 20005);
	expect(process, make_file(fixture, 0, 0, 0444), -EACCES);
	end_process(process);
	process = start_process(USER, 0);
	expect(process, make_file(fixture, 0, 0, 0444), -EACCES);
	end_process(process);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(files_of_the_user_and_of_its_groups_are_opened), TEST(files_of_others_are_not),
		TEST(a_file_is_looked_at_without_being_opened),       TEST(folders_are_not_opened),
		TEST(root_and_processes_of_two_users_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
