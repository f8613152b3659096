/* Whose files are believed to name a process's code: what /proc says of its users and pids, and of whose a file is. */
#include "process/code_owner.h"

#include <sys/stat.h>

int stat_of_test(int fd, struct stat *ret);

#define fstat stat_of_test
#include "process/code_owner.c"
#undef fstat

#include "failing_memory.h"
#include "fake_proc.h"
#include "unit.h"

#define PID 8

static struct stat file;
static int stat_error;

int stat_of_test(int fd, struct stat *ret)
{
	assert_int_equal(fd, 5);
	errno = stat_error;
	*ret = file;
	return stat_error ? -1 : 0;
}

static struct fake_proc proc;

static int set_up(void **state _unused_)
{
	proc = fake_proc_new();
	return 0;
}

static int tear_down(void **state _unused_)
{
	fake_proc_remove(&proc);
	return 0;
}

static struct code_owner read_status(const char *status)
{
	struct code_owner owner;

	fake_proc_write(&proc, "8/status", status);
	assert_int_equal(code_owner_read(proc.root, PID, &owner), 0);
	return owner;
}

static void a_process_has_two_users_and_a_pid_of_its_own(void **state _unused_)
{
	struct code_owner owner = read_status("Name:\tnode\n"
					      "Pid:\t8\n"
					      "Uid:\t1000\t1001\t1002\t1003\n"
					      "Gid:\t2000\t2001\t2002\t2003\n"
					      "NSpid:\t8\t70\t6\n");

	assert_int_equal(owner.real_uid, 1000);
	assert_int_equal(owner.uid, 1001);
	assert_int_equal(owner.inner_pid, 6);
}

static void a_number_may_start_with_any_digit(void **state _unused_)
{
	struct code_owner owner = read_status("Uid:\t900\t9\t0\t0\nNSpid:\t8\t99\n");

	assert_int_equal(owner.real_uid, 900);
	assert_int_equal(owner.uid, 9);
	assert_int_equal(owner.inner_pid, 99);
}

/* A program may call itself anything. */
static void a_name_is_no_line_of_its_own(void **state _unused_)
{
	struct code_owner owner = read_status("Name:\tUid: 1 1 NSpid: 5\n"
					      "Uid:\t1000\t1001\t1002\t1003\n"
					      "NSpid:\t8\n");

	assert_int_equal(owner.real_uid, 1000);
	assert_int_equal(owner.uid, 1001);
	assert_int_equal(owner.inner_pid, 8);
}

/* Then only root's files are believed. */
static void what_is_missing_is_roots(void **state _unused_)
{
	static const char *const statuses[] = {"", "Name:\tnode\n", "Uid:\nNSpid:\n",
					       "Uid:\tx\tx\nNSpid:\tx\n",
					       "Uid:\t0\t0\t0\t0\nNSpid:\t8\t0\n"};

	for (size_t i = 0; i < ARRAY_LENGTH(statuses); i++) {
		struct code_owner owner = read_status(statuses[i]);

		assert_int_equal(owner.uid, 0);
		assert_int_equal(owner.real_uid, 0);
		assert_int_equal(owner.inner_pid, PID);
	}
}

/* One user stands for both; what is no number ends the line. */
static void a_line_may_be_short(void **state _unused_)
{
	struct code_owner owner = read_status("Uid:\t1000\nNSpid:\t8\t70 x 9");

	assert_int_equal(owner.uid, 1000);
	assert_int_equal(owner.real_uid, 1000);
	assert_int_equal(owner.inner_pid, 70);
}

static void a_process_that_is_gone_is_an_error(void **state _unused_)
{
	struct code_owner owner = {.uid = 77};

	assert_int_equal(code_owner_read(proc.root, PID, &owner), -ENOENT);
	assert_int_equal(owner.uid, 77);
}

static int read_anew(void *context _unused_)
{
	struct code_owner owner;

	return code_owner_read(proc.root, PID, &owner);
}

static void short_memory_is_an_error(void **state _unused_)
{
	(void)read_status("Uid:\t1000\t1000\t1000\t1000\n");
	failing_memory_try_all(read_anew, NULL);
}

static int check(uid_t owner_uid, uid_t file_uid, mode_t mode, const char *message)
{
	const struct code_owner owner = {.uid = owner_uid};
	struct error error = {.message = ""};
	int err;

	file = (struct stat){.st_uid = file_uid, .st_mode = mode};
	err = code_owner_check(&owner, "/tmp/perf-8.map", 5, &error);
	assert_string_equal(error.message, message);
	return err;
}

#define PATH "/tmp/perf-8.map: "

static void a_file_of_the_user_or_of_root_is_believed(void **state _unused_)
{
	stat_error = 0;
	assert_int_equal(check(1000, 1000, S_IFREG | 0644, ""), 0);
	assert_int_equal(check(1000, 0, S_IFREG | 0644, ""), 0);
	assert_int_equal(check(0, 0, S_IFREG | 0600, ""), 0);
	assert_int_equal(check(1000, 1001, S_IFREG | 0644,
			       PATH "belongs to user 1001, not to user 1000 or root"),
			 -EPERM);
	assert_int_equal(
		check(0, 1000, S_IFREG | 0644, PATH "belongs to user 1000, not to user 0 or root"),
		-EPERM);
}

/* What is root's and may be written by anybody is anybody's word, but to root itself. */
static void roots_file_is_written_by_root_alone(void **state _unused_)
{
	assert_int_equal(
		check(1000, 0, S_IFREG | 0646, PATH "belongs to root, but others can write it"),
		-EPERM);
	assert_int_equal(check(0, 0, S_IFREG | 0666, ""), 0);
	assert_int_equal(check(1000, 1000, S_IFREG | 0666, ""), 0);
	assert_int_equal(check(1000, 0, S_IFREG | 0664, ""), 0);
}

static void only_a_regular_file_is_believed(void **state _unused_)
{
	assert_int_equal(check(1000, 1000, S_IFIFO | 0644, PATH "must be a regular file"), -EPERM);
	assert_int_equal(check(1000, 1000, S_IFDIR | 0755, PATH "must be a regular file"), -EPERM);
	stat_error = EBADF;
	assert_int_equal(check(1000, 1000, S_IFREG, PATH "cannot read it: Bad file descriptor"),
			 -EBADF);
	stat_error = 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_process_has_two_users_and_a_pid_of_its_own),
		TEST(a_number_may_start_with_any_digit),
		TEST(a_name_is_no_line_of_its_own),
		TEST(what_is_missing_is_roots),
		TEST(a_line_may_be_short),
		TEST(a_process_that_is_gone_is_an_error),
		TEST(short_memory_is_an_error),
		cmocka_unit_test(a_file_of_the_user_or_of_root_is_believed),
		cmocka_unit_test(roots_file_is_written_by_root_alone),
		cmocka_unit_test(only_a_regular_file_is_believed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
