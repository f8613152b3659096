/*
 * Files of others: found as they see them, opened by a process that may be given up. The test shortens waits for
 * answers that never come.
 */
#include "late_answers.h"

#include "process/slow_opener.c"
#undef poll

#include "process/foreign_file.h"

#include "test_folder.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

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

	assert_int_equal(foreign_file_find(opener, getpid(), root, path, 0, &file), 0);
	assert_false(file.may_hang);
	assert_int_equal(fstat(file.handle, &status), 0);
	assert_true(file.inode == status.st_ino);
	fd = foreign_file_open(opener, getpid(), &file);
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

	assert_int_equal(
		foreign_file_find(fixture->opener, getpid(), fixture->root, "/fifo", 0, &file),
		-ENOTSUP);
	assert_int_equal(
		foreign_file_find(fixture->opener, getpid(), fixture->root, "/usr", 0, &file),
		-ENOTSUP);
	assert_int_equal(foreign_file_find(fixture->opener, getpid(), fixture->root, "/link",
					   O_NOFOLLOW, &file),
			 -ELOOP);
	assert_int_equal(
		foreign_file_find(fixture->opener, getpid(), fixture->root, "/none", 0, &file),
		-ENOENT);
}

/* What the kernel has not in memory, or does not say, is asked for in the process. */
static void the_process_finds_and_opens(void **state)
{
	const struct fixture *fixture = *state;
	const char *root = fixture->root;
	int handle = slow_opener_find(fixture->opener, 0, root, "/link", 0);
	char content[16] = "";
	int fd;

	assert_true(handle >= 0);
	assert_int_equal(slow_opener_find(fixture->opener, 0, root, "/none", 0), -ENOENT);
	fd = slow_opener_open(fixture->opener, 0, handle, false);
	assert_true(fd >= 0);
	assert_int_equal(read(fd, content, sizeof(content)), 8);
	assert_string_equal(content, "content\n");
	close(fd);
	close(handle);
}

/* A process of another user's, which does nothing. */
static pid_t start_process_of(uid_t uid)
{
	int ends[2];
	pid_t child;
	char byte = 0;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		if (setresgid(uid, uid, uid) || setresuid(uid, uid, uid) ||
		    prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) || write(ends[1], &byte, 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	/* Until it is that user's. */
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	close(ends[0]);
	return child;
}

static void end_process(pid_t child)
{
	int status;

	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
}

static void read_as(struct slow_opener *opener, pid_t pid, const char *path, int expected)
{
	_cleanup_(text_release) struct text text = {0};

	assert_int_equal(slow_opener_read(opener, pid, path, 4096, &text), expected);
	assert_true((text.length > 0) == !expected);
}

/*
 * Reads a file that never answers. Returns how often the opener was asked, each time for as long as
 * a request may take. If it was not asked, that is counted.
 */
static unsigned int count_waits(struct slow_opener *opener, pid_t pid, const char *path)
{
	struct slow_opener_counts before = slow_opener_get_counts(opener);
	struct slow_opener_counts after;
	unsigned int num_waits;

	asked_ms = 0;
	shortened_ms = 20;
	read_as(opener, pid, path, -ETIMEDOUT);
	shortened_ms = 0;
	after = slow_opener_get_counts(opener);
	num_waits = (unsigned int)(after.num_late - before.num_late);
	assert_int_equal(after.num_refused, before.num_refused + !num_waits);
	assert_int_equal(asked_ms, num_waits ? 1000 : 0);
	return num_waits;
}

/* The machine may be busy. */
static void a_request_that_is_late_once_is_made_again(void **state)
{
	const struct fixture *fixture = *state;
	struct slow_opener *opener = fixture->opener;
	struct slow_opener_counts counts;

	num_late = 1;
	read_as(opener, getpid(), "/proc/self/cmdline", 0);
	assert_int_equal(num_late, 0);
	read_as(opener, getpid(), "/proc/self/cmdline", 0);
	num_late = 1;
	read_as(opener, 0, "/proc/self/cmdline", 0);
	counts = slow_opener_get_counts(opener);
	assert_int_equal(counts.num_late, 2);
	assert_int_equal(counts.num_refused, 0);
	/* Only the first one of a process. */
	num_late = 1;
	read_as(opener, getpid(), "/proc/self/cmdline", -ETIMEDOUT);
	assert_int_equal(slow_opener_get_counts(opener).num_late, 3);
}

/* A copy takes three seconds, and memory may never answer. */
static void copies_and_memory_that_are_late_are_not_read_again(void **state)
{
	const struct fixture *fixture = *state;
	int handle = slow_opener_find(fixture->opener, 0, fixture->root, "/link", 0);
	char byte = 0;

	assert_true(handle >= 0);
	num_late = 1;
	assert_int_equal(slow_opener_open(fixture->opener, getpid(), handle, false), -ETIMEDOUT);
	assert_int_equal(slow_opener_get_counts(fixture->opener).num_late, 1);
	close(handle);
	fixture->opener->silent.length = 0;
	num_late = 1;
	assert_int_equal(slow_opener_read_memory(fixture->opener, getpid(), (uintptr_t)&byte, &byte,
						 sizeof(byte)),
			 -ETIMEDOUT);
	assert_int_equal(slow_opener_get_counts(fixture->opener).num_late, 2);
}

static void what_does_not_answer_is_given_up(void **state)
{
	const struct fixture *fixture = *state;
	struct slow_opener *opener = fixture->opener;
	struct slow_opener_counts counts;
	char path[TEST_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/fifo", fixture->root);
	read_as(opener, getpid(), "/proc/self/cmdline", 0);
	assert_int_equal(count_waits(opener, getpid(), path), 2);
	/* Nothing more of that process. The next opener answers for others. */
	assert_int_equal(count_waits(opener, getpid(), path), 0);
	assert_int_equal(count_waits(opener, getpid(), "/proc/self/cmdline"), 0);
	read_as(opener, 0, "/proc/self/cmdline", 0);
	counts = slow_opener_get_counts(opener);
	assert_int_equal(counts.num_late, 2);
	assert_int_equal(counts.num_refused, 2);
	/* After a second it is asked once more. */
	opener->silent.items[0].failed_ns -= NS_PER_SECOND;
	assert_int_equal(count_waits(opener, getpid(), path), 1);
	assert_int_equal(count_waits(opener, getpid(), path), 0);
}

/* One user's processes cost the others nothing. */
static void a_user_whose_processes_do_not_answer_is_given_up(void **state)
{
	const struct fixture *fixture = *state;
	struct slow_opener *opener = fixture->opener;
	char path[TEST_PATH_BYTES + 16];
	static const unsigned int waits[] = {2, 2, 1, 0};
	pid_t children[ARRAY_LENGTH(waits)];
	pid_t other;

	if (geteuid()) {
		print_message("skipped: only root can become other users\n");
		skip();
	}
	snprintf(path, sizeof(path), "%s/fifo", fixture->root);
	other = start_process_of(20002);
	for (size_t i = 0; i < ARRAY_LENGTH(children); i++) {
		children[i] = start_process_of(20001);
		assert_int_equal(count_waits(opener, children[i], path), waits[i]);
		read_as(opener, other, "/proc/self/cmdline", 0);
	}
	assert_int_equal(slow_opener_get_counts(opener).num_late, 5);
	assert_int_equal(slow_opener_get_counts(opener).num_refused, 1);
	read_as(opener, 1, "/proc/self/cmdline", 0);
	assert_int_equal(count_waits(opener, other, path), 2);
	for (size_t i = 0; i < ARRAY_LENGTH(children); i++)
		end_process(children[i]);
	end_process(other);
}

/* Who has got hold of the socket, but is not the process that started the opener. */
static void another_process_is_not_served(void **state)
{
	const struct fixture *fixture = *state;
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		struct text text = {0};
		int err = slow_opener_read(fixture->opener, 0, "/proc/self/cmdline", 4096, &text);

		_exit(err == -EPERM && !text.length ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	read_as(fixture->opener, 0, "/proc/self/cmdline", 0);
}

static void nothing_is_served_after_the_end(void **state)
{
	const struct fixture *fixture = *state;

	slow_opener_end(fixture->opener);
	read_as(fixture->opener, 0, "/proc/self/cmdline", -ESHUTDOWN);
	slow_opener_end(fixture->opener);
	slow_opener_end(NULL);
}

static void long_and_short_files_are_read_whole(void **state)
{
	static const size_t sizes[] = {0, 1, 65535, 65536, 65537, 300000};
	const struct fixture *fixture = *state;
	char path[TEST_PATH_BYTES + 16];

	snprintf(path, sizeof(path), "%s/sized", fixture->root);
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		_cleanup_(text_release) struct text text = {0};
		FILE *file = fopen(path, "w");

		assert_non_null(file);
		for (size_t byte = 0; byte < sizes[i]; byte++)
			putc((int)('a' + byte % 23), file);
		fclose(file);
		text_append_string(&text, "before");
		assert_int_equal(slow_opener_read(fixture->opener, 0, path, 300000, &text), 0);
		assert_int_equal(text.length, sizes[i] + 6);
		assert_memory_equal(text.data, "before", 6);
		for (size_t byte = 0; byte < sizes[i]; byte++)
			assert_int_equal(text.data[6 + byte], 'a' + byte % 23);
		if (sizes[i])
			assert_int_equal(
				slow_opener_read(fixture->opener, 0, path, sizes[i] - 1, &text),
				-EFBIG);
	}
}

/* The limit of descriptors is a third of the files. */
static void an_opener_keeps_no_descriptor(void **state)
{
	const struct fixture *fixture = *state;
	struct slow_opener *opener;
	struct rlimit limit;
	struct rlimit few;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){.rlim_cur = 32, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(slow_opener_new(&opener), 0);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	for (int i = 0; i < 100; i++) {
		int handle = slow_opener_find(opener, 0, fixture->root, "/link", 0);
		int fd = slow_opener_open(opener, 0, handle, false);

		assert_true(handle >= 0);
		assert_true(fd >= 0);
		assert_false(slow_opener_may_hang(opener, 0, handle, (dev_t)i));
		assert_int_equal(slow_opener_find(opener, 0, fixture->root, "/none", 0), -ENOENT);
		close(handle);
		close(fd);
	}
	assert_int_equal(slow_opener_get_counts(opener).num_late, 0);
	slow_opener_free(opener);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_found_below_a_root),
		TEST(links_lead_where_they_do_below_that_root),
		TEST(what_is_no_regular_file_is_not_opened),
		TEST(the_process_finds_and_opens),
		TEST(a_request_that_is_late_once_is_made_again),
		TEST(copies_and_memory_that_are_late_are_not_read_again),
		TEST(what_does_not_answer_is_given_up),
		TEST(a_user_whose_processes_do_not_answer_is_given_up),
		TEST(another_process_is_not_served),
		TEST(nothing_is_served_after_the_end),
		TEST(long_and_short_files_are_read_whole),
		TEST(an_opener_keeps_no_descriptor),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
