/* File systems of the kernel's that are mounted in no folder. */
#include "collect/kernel/private_mount.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

static int find_free_fd(void)
{
	int fd = dup(0);

	assert_true(fd >= 0);
	close(fd);
	return fd;
}

static void its_files_are_seen_through_the_descriptor_alone(void **state _unused_)
{
	int fd = private_mount_open("proc");
	struct stat status;
	char path[64];

	if (fd == -EPERM)
		skip(); /* without root */
	assert_true(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d/self/status", fd);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	close(fd);
	assert_int_not_equal(stat(path, &status), 0);
}

static void what_the_kernel_does_not_have_is_not_mounted(void **state _unused_)
{
	int fd = private_mount_open("no such file system");

	assert_true(fd == -ENODEV || fd == -EPERM);
}

/* The file system was made, and has no descriptor. */
static void a_mount_that_fails_leaves_nothing_open(void **state _unused_)
{
	int first_free = find_free_fd();
	struct rlimit limit;
	struct rlimit few;
	int fd;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)first_free + 1, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	fd = private_mount_open("proc");
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	if (fd == -EPERM)
		skip(); /* without root */
	assert_int_equal(fd, -EMFILE);
	assert_int_equal(find_free_fd(), first_free);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(its_files_are_seen_through_the_descriptor_alone),
		cmocka_unit_test(what_the_kernel_does_not_have_is_not_mounted),
		cmocka_unit_test(a_mount_that_fails_leaves_nothing_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
