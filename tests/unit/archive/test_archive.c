#include <fcntl.h>
#include <seccomp.h>
#include <sys/wait.h>
#include <time.h>

#include "archive_fixture.h"

static void a_capture_appears_when_it_is_committed(void **state)
{
	struct fixture *fixture = *state;
	struct archive_file *file;
	struct stat status;
	char path[512];

	umask(0);
	assert_int_equal(archive_file_new(fixture->archive, NOON, "web", ".folded", &file, NULL),
			 0);
	assert_int_equal(archive_file_write(file, "a 1\n", 4), 0);
	fixture_assert_lists(fixture, "");
	assert_int_equal(archive_file_commit(file, NULL), 0);
	assert_int_equal(archive_file_get_size(file), 4);
	archive_file_free(file);
	fixture_assert_lists(fixture, "2026/11/21/120000Z-web.folded");
	fixture_join(fixture, "2026/11/21/120000Z-web.folded", path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0640);
	assert_int_equal(status.st_size, 4);
	fixture_join(fixture, "2026/11", path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0750);
}

static void a_capture_that_is_given_up_leaves_nothing(void **state)
{
	struct fixture *fixture = *state;
	struct archive_file *file;
	char path[512];

	assert_int_equal(archive_file_new(fixture->archive, NOON, "web", ".folded", &file, NULL),
			 0);
	assert_int_equal(archive_file_write(file, "a 1\n", 4), 0);
	archive_file_free(file);
	fixture_join(fixture, "2026/11/21", path);
	assert_int_equal(rmdir(path), 0); /* it is empty */
}

static void captures_of_one_second_stand_beside_each_other(void **state)
{
	struct fixture *fixture = *state;

	for (int i = 0; i < 3; i++)
		fixture_add(fixture, NOON, 1);
	fixture_assert_lists(fixture, "2026/11/21/120000Z-host.2.folded "
				      "2026/11/21/120000Z-host.3.folded "
				      "2026/11/21/120000Z-host.folded");
}

static void captures_are_listed_by_time(void **state)
{
	struct fixture *fixture = *state;
	struct text names;

	fixture_add(fixture, NOON + 40 * DAY, 1);
	fixture_add(fixture, NOON, 1);
	fixture_add(fixture, NOON + 1, 1);
	fixture_assert_lists(fixture, "2026/11/21/120000Z-host.folded "
				      "2026/11/21/120001Z-host.folded "
				      "2026/12/31/120000Z-host.folded");
	names = fixture_list(fixture, NOON + 1, NOON + 40 * DAY);
	assert_string_equal(names.data, "2026/11/21/120001Z-host.folded");
	text_release(&names);
	names = fixture_list(fixture, NOON + 40 * DAY, NOON + 40 * DAY + 1);
	assert_string_equal(names.data, "2026/12/31/120000Z-host.folded");
	text_release(&names);
	names = fixture_list(fixture, NOON + 2, NOON + 2);
	assert_string_equal(names.data, "");
	text_release(&names);
}

static void what_is_not_ours_is_not_listed(void **state)
{
	struct fixture *fixture = *state;
	char target[512];
	char link[512];

	fixture_add(fixture, NOON, 1);
	fixture_make_file(fixture, "2026/11/21/notes.txt");
	fixture_make_file(fixture, "2026/11/120000Z-host.folded");
	fixture_join(fixture, "2026/11/21/120000Z-host.folded", target);
	fixture_join(fixture, "2026/11/21/130000Z-host.folded", link);
	assert_int_equal(symlink(target, link), 0);
	fixture_join(fixture, "2026", target);
	fixture_join(fixture, "2027", link);
	assert_int_equal(symlink(target, link), 0);
	fixture_join(fixture, "2026/11/21/140000Z-host.folded", link);
	assert_int_equal(mkdir(link, 0700), 0);
	fixture_assert_lists(fixture, "2026/11/21/120000Z-host.folded");
}

/* 0, or why another process that has opened the archive itself does not get the lock. */
static int lock_in_other_process(const struct fixture *fixture)
{
	struct archive *archive;
	int status;
	pid_t child = fork();

	if (!child)
		_exit(archive_open(fixture->path, false, &archive, NULL)
			      ? EINVAL
			      : -archive_lock(archive, NULL));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void one_at_a_time_has_the_lock(void **state)
{
	struct fixture *fixture = *state;

	assert_int_equal(lock_in_other_process(fixture), EBUSY);
	archive_free(fixture->archive);
	fixture->archive = NULL;
	assert_int_equal(lock_in_other_process(fixture), 0);
}

/* Who finds the lock taken learns whose it is, since when, and how many have found it so. */
static void those_that_find_it_locked_are_counted(void **state)
{
	struct fixture *fixture = *state;
	int64_t now_s = time(NULL);
	struct archive_holder holder;
	struct archive *other;

	assert_int_equal(archive_open(fixture->path, false, &other, NULL), 0);
	for (uint32_t i = 1; i <= 3; i++) {
		holder = archive_count_left_out(other);
		assert_int_equal(holder.num_left_out, i);
		assert_int_equal(holder.pid, getpid());
		assert_in_range(holder.since_s, now_s - 600, now_s);
	}
	archive_free(other);
	/* The next one that has it starts anew. */
	archive_free(fixture->archive);
	assert_int_equal(archive_open(fixture->path, false, &fixture->archive, NULL), 0);
	assert_int_equal(archive_lock(fixture->archive, NULL), 0);
	assert_int_equal(archive_count_left_out(fixture->archive).num_left_out, 1);
}

static void a_capture_can_start_over(void **state)
{
	struct fixture *fixture = *state;
	struct archive_capture described;
	struct archive_file *file;
	char content[8] = "";
	int fd;

	assert_int_equal(archive_file_new(fixture->archive, NOON, "web", ".folded", &file, NULL),
			 0);
	assert_int_equal(archive_file_write(file, "damaged", 7), 0);
	assert_int_equal(archive_file_rewind(file), 0);
	assert_int_equal(archive_file_get_size(file), 0);
	assert_int_equal(archive_file_write(file, "a 1\n", 4), 0);
	assert_int_equal(archive_file_commit(file, NULL), 0);
	assert_int_equal(archive_file_describe(file, &described), 0);
	assert_string_equal(described.name, "2026/11/21/120000Z-web.folded");
	assert_int_equal(described.time_s, NOON);
	assert_int_equal(described.length_bytes, 4);
	fd = archive_file_reopen(file);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, content, sizeof(content)), 4);
	assert_string_equal(content, "a 1\n");
	assert_int_equal(write(fd, "b", 1), -1);
	close(fd);
	archive_file_free(file);
}

static void the_lock_goes_with_the_one_that_had_it(void **state)
{
	struct fixture *fixture = *state;
	pid_t child;

	archive_free(fixture->archive);
	fixture->archive = NULL;
	child = fork();
	if (!child) {
		struct archive *archive;

		_exit(archive_open(fixture->path, false, &archive, NULL) ||
		      archive_lock(archive, NULL));
	}
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(archive_open(fixture->path, false, &fixture->archive, NULL), 0);
	assert_int_equal(archive_lock(fixture->archive, NULL), 0);
}

/* Nor do those hold it who were forked by it, and live on. */
static void the_lock_does_not_wait_for_children(void **state)
{
	struct fixture *fixture = *state;
	int fds[2];
	pid_t child;
	char byte;

	archive_free(fixture->archive);
	fixture->archive = NULL;
	assert_int_equal(pipe(fds), 0);
	child = fork();
	if (!child) {
		struct archive *archive;
		bool has_lock = archive_open(fixture->path, false, &archive, NULL) == 0 &&
				archive_lock(archive, NULL) == 0;

		close(fds[1]);
		if (!fork())
			_exit(read(fds[0], &byte, 1) != 0); /* until the test lets it go */
		_exit(!has_lock);
	}
	close(fds[0]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(lock_in_other_process(fixture), 0);
	close(fds[1]);
}

static void what_a_killed_run_left_is_removed(void **state)
{
	struct fixture *fixture = *state;

	fixture_add(fixture, NOON, 1);
	fixture_make_file(fixture, "2026/11/21/.stackwide-123.tmp");
	fixture_make_file(fixture, "2026/11/21/.mine.tmp");
	archive_free(fixture->archive);
	assert_int_equal(archive_open(fixture->path, false, &fixture->archive, NULL), 0);
	assert_int_equal(archive_lock(fixture->archive, NULL), 0);
	assert_false(fixture_has(fixture, "2026/11/21/.stackwide-123.tmp"));
	assert_true(fixture_has(fixture, "2026/11/21/.mine.tmp"));
	fixture_assert_lists(fixture, "2026/11/21/120000Z-host.folded");
}

static void a_folder_is_made_only_when_asked_for(void **state)
{
	struct fixture *fixture = *state;
	struct error error = {0};
	struct archive *archive;
	char path[512];

	fixture_join(fixture, "new", path);
	assert_int_equal(archive_open(path, false, &archive, &error), -ENOENT);
	assert_non_null(strstr(error.message, path));
	assert_int_equal(archive_open(path, true, &archive, &error), 0);
	archive_free(archive);
	fixture_join(fixture, ".stackwide.lock", path);
	assert_int_equal(archive_open(path, true, &archive, &error), -ENOTDIR);
}

/* For the rest of this process, no file system can make files without a name: NFS cannot. */
static int forbid_anonymous_files(_unused_ void **state)
{
	scmp_filter_ctx filter = seccomp_init(SCMP_ACT_ALLOW);

	assert_non_null(filter);
	assert_int_equal(seccomp_rule_add(filter, SCMP_ACT_ERRNO(EOPNOTSUPP), SCMP_SYS(openat), 1,
					  SCMP_A2(SCMP_CMP_MASKED_EQ, O_TMPFILE, O_TMPFILE)),
			 0);
	assert_int_equal(seccomp_load(filter), 0);
	seccomp_release(filter);
	assert_int_equal(openat(AT_FDCWD, "/tmp", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600), -1);
	assert_int_equal(errno, EOPNOTSUPP);
	return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_init, fixture_release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_capture_appears_when_it_is_committed),
		TEST(a_capture_that_is_given_up_leaves_nothing),
		TEST(captures_of_one_second_stand_beside_each_other),
		TEST(captures_are_listed_by_time),
		TEST(what_is_not_ours_is_not_listed),
		TEST(one_at_a_time_has_the_lock),
		TEST(those_that_find_it_locked_are_counted),
		TEST(a_capture_can_start_over),
		TEST(the_lock_goes_with_the_one_that_had_it),
		TEST(the_lock_does_not_wait_for_children),
		TEST(what_a_killed_run_left_is_removed),
		TEST(a_folder_is_made_only_when_asked_for),
	};
	const struct CMUnitTest tests_with_names[] = {
		TEST(a_capture_appears_when_it_is_committed),
		TEST(a_capture_that_is_given_up_leaves_nothing),
		TEST(captures_of_one_second_stand_beside_each_other),
	};
	int num_failed = cmocka_run_group_tests(tests, NULL, NULL);

	return num_failed + cmocka_run_group_tests_name("every file has a name", tests_with_names,
							forbid_anonymous_files, NULL);
}
