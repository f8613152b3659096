/*
 * Where the perf-map of a process is looked for, and which file is believed. File systems and owners are the test's: each
 * of the two paths has an error, or a file.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/file.h"
#include "process/code_owner.h"
#include "process/foreign_file.h"

int find_of_test(struct slow_opener *opener, pid_t pid, const char *root, const char *path,
		 int flags, struct foreign_file *ret);
int open_of_test(int handle);
int read_owner_of_test(const char *proc_root, pid_t pid, struct code_owner *ret);
int check_owner_of_test(const struct code_owner *owner, const char *path, int fd,
			struct error *error);

#define foreign_file_find find_of_test
#define file_open_found   open_of_test
#define code_owner_read   read_owner_of_test
#define code_owner_check  check_owner_of_test
#include "process/perf_map_open.c"

#include "failing_memory.h"
#include "unit.h"

#define PID   8
#define INNER 6

enum { THEIR_VIEW, OUR_VIEW, NUM_VIEWS };

static int find_errors[NUM_VIEWS];
static int open_errors[NUM_VIEWS];
static int check_errors[NUM_VIEWS];
static bool may_hang;
static int owner_error;
static int view;       /* the last one */
static char story[64]; /* a letter for each that was looked at */
static struct slow_opener *const helper = (struct slow_opener *)story; /* only handed on */
static struct slow_opener *opener;

int find_of_test(struct slow_opener *asked, pid_t pid, const char *root, const char *path,
		 int flags, struct foreign_file *ret)
{
	assert_ptr_equal(asked, opener);
	assert_int_equal(pid, PID);
	assert_int_equal(flags, O_NOFOLLOW);
	view = string_equals(root, "/") ? OUR_VIEW : THEIR_VIEW;
	strcat(story, view == OUR_VIEW ? "o" : "t");
	if (view == THEIR_VIEW)
		assert_string_equal(root, "/proc/8/root");
	assert_string_equal(path, view == OUR_VIEW ? "/tmp/perf-8.map" : "/tmp/perf-6.map");
	if (find_errors[view])
		return find_errors[view];
	*ret = (struct foreign_file){.handle = open("/dev/null", O_PATH | O_CLOEXEC),
				     .may_hang = may_hang};
	return 0;
}

int open_of_test(int handle)
{
	assert_true(handle >= 0);
	return open_errors[view] ? open_errors[view] : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int read_owner_of_test(const char *proc_root, pid_t pid, struct code_owner *ret)
{
	assert_string_equal(proc_root, "/proc");
	*ret = (struct code_owner){.uid = 1000, .inner_pid = INNER};
	assert_int_equal(pid, PID);
	return owner_error;
}

int check_owner_of_test(const struct code_owner *owner, const char *path, int fd,
			struct error *error)
{
	assert_int_equal(owner->uid, 1000);
	assert_true(fd >= 0);
	assert_string_equal(path,
			    view == OUR_VIEW ? "/tmp/perf-8.map" : "/proc/8/root/tmp/perf-6.map");
	return check_errors[view] ? error_set(error, check_errors[view], "not theirs") : 0;
}

static int set_up(void **state _unused_)
{
	for (int i = 0; i < NUM_VIEWS; i++)
		find_errors[i] = open_errors[i] = check_errors[i] = 0;
	may_hang = false;
	owner_error = 0;
	opener = helper;
	return 0;
}

/* Whether it was opened; else the error has this in it. */
static void expect(int expected, const char *expected_story, const char *message)
{
	struct error error = {.message = ""};
	int fd = -1;
	int err;

	story[0] = '\0';
	err = perf_map_open(opener, "/proc", PID, &fd, &error);
	assert_int_equal(err, expected);
	assert_string_equal(story, expected_story);
	assert_int_equal(fd >= 0, !expected);
	if (expected && !strstr(error.message, message))
		fail_msg("%s", error.message);
	if (fd >= 0)
		assert_int_equal(close(fd), 0);
}

static void it_is_looked_for_as_the_process_sees_it(void **state _unused_)
{
	expect(0, "t", "");
}

/* We may lack the right to look into its root. */
static void it_is_looked_for_in_our_view_where_theirs_has_none(void **state _unused_)
{
	find_errors[THEIR_VIEW] = -ENOENT;
	expect(0, "to", "");
	find_errors[THEIR_VIEW] = -EACCES;
	expect(0, "to", "");
	find_errors[OUR_VIEW] = -ENOENT;
	expect(-ENOENT, "to", "/tmp/perf-8.map: cannot open it: No such file");
	find_errors[THEIR_VIEW] = -ETIMEDOUT;
	expect(-ETIMEDOUT, "t", "/proc/8/root/tmp/perf-6.map: cannot open it: ");
}

/* It is there: another one of the same name is not it. */
static void one_that_is_refused_is_not_looked_for_elsewhere(void **state _unused_)
{
	check_errors[THEIR_VIEW] = -EPERM;
	expect(-EPERM, "t", "not theirs");
	find_errors[THEIR_VIEW] = -ELOOP;
	expect(-EPERM, "t", "/proc/8/root/tmp/perf-6.map: must not be a symbolic link");
	find_errors[THEIR_VIEW] = -ENOTSUP;
	expect(-EPERM, "t", "/proc/8/root/tmp/perf-6.map: must be a regular file");
	find_errors[THEIR_VIEW] = 0;
	open_errors[THEIR_VIEW] = -EMFILE;
	expect(-EMFILE, "t", "cannot open it: Too many open files");
	find_errors[THEIR_VIEW] = -ENOENT;
	check_errors[OUR_VIEW] = -EPERM;
	expect(-EPERM, "to", "not theirs");
}

/* One that grows cannot be copied. Without a helper whoever asks waits. */
static void one_on_a_file_system_that_may_not_answer_is_not_read(void **state _unused_)
{
	may_hang = true;
	expect(-EREMOTE, "t", "cannot open it");
	opener = NULL;
	expect(0, "t", "");
}

static void without_an_owner_nobody_is_believed(void **state _unused_)
{
	owner_error = -ENOENT;
	expect(-ENOENT, "", "/proc/8/status: cannot read it: No such file");
}

static int open_anew(void *context _unused_)
{
	struct error error;
	int fd = -1;
	int err;

	story[0] = '\0';
	err = perf_map_open(opener, "/proc", PID, &fd, &error);
	if (fd >= 0)
		close(fd);
	return err;
}

static void short_memory_is_an_error(void **state _unused_)
{
	failing_memory_try_all(open_anew, NULL);
	find_errors[THEIR_VIEW] = -ENOENT;
	failing_memory_try_all(open_anew, NULL);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_is_looked_for_as_the_process_sees_it),
		TEST(it_is_looked_for_in_our_view_where_theirs_has_none),
		TEST(one_that_is_refused_is_not_looked_for_elsewhere),
		TEST(one_on_a_file_system_that_may_not_answer_is_not_read),
		TEST(without_an_owner_nobody_is_believed),
		TEST(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
