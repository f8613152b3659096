/* Folders by their paths: whose links are followed, and how many. */
#include "base/file.h"

#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "test_folder.h"

#define OTHER_USER 20001

/* FOLDER/real/inner, and a file FOLDER/real/file */
static char folder[TEST_PATH_BYTES];
static unsigned int num_fds;

static unsigned int count_fds(void)
{
	unsigned int count = 0;

	for (int fd = 0; fd < 100; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static const char *in_folder(const char *path)
{
	static char paths[2][TEST_PATH_BYTES + 300];
	static unsigned int number;
	char *whole = paths[number++ % 2];

	snprintf(whole, sizeof(paths[0]), "%s/%s", folder, path);
	return whole;
}

static int set_up(void **state _unused_)
{
	test_folder_make(folder);
	assert_int_equal(mkdir(in_folder("real"), 0700), 0);
	assert_int_equal(mkdir(in_folder("real/inner"), 0700), 0);
	assert_int_equal(mknod(in_folder("real/file"), S_IFREG | 0600, 0), 0);
	unsetenv("SUDO_UID");
	num_fds = count_fds();
	return 0;
}

static int tear_down(void **state _unused_)
{
	char command[TEST_PATH_BYTES + 16];

	assert_int_equal(count_fds(), num_fds);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

static void link_to(const char *target, const char *path)
{
	assert_int_equal(symlink(target, in_folder(path)), 0);
}

/* Returns 0 when the path leads to that folder, or the error. */
static int lead(const char *path, const char *expected)
{
	int fd = file_open_folder(path);
	struct stat found;
	struct stat wanted;

	if (fd < 0)
		return fd;
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fstat(fd, &found), 0);
	assert_int_equal(stat(in_folder(expected), &wanted), 0);
	assert_true(found.st_dev == wanted.st_dev && found.st_ino == wanted.st_ino);
	close(fd);
	return 0;
}

static void a_path_without_links_leads_to_its_folder(void **state _unused_)
{
	assert_int_equal(lead(in_folder("real/inner"), "real/inner"), 0);
	assert_int_equal(lead(in_folder("real//inner/"), "real/inner"), 0);
	assert_int_equal(lead(in_folder("real/inner/.."), "real"), 0);
	assert_int_equal(lead(in_folder("none"), ""), -ENOENT);
	assert_int_equal(lead(in_folder("real/file"), ""), -ENOTDIR);
	assert_int_equal(lead("", ""), -ENOENT);
}

static void our_links_are_followed(void **state _unused_)
{
	link_to("real", "relative");
	link_to(in_folder("real"), "absolute");
	link_to("../real/inner", "real/up");
	link_to("relative/inner", "through");
	link_to("nowhere", "broken");
	link_to("real/file", "file");
	assert_int_equal(lead(in_folder("relative"), "real"), 0);
	assert_int_equal(lead(in_folder("relative/inner"), "real/inner"), 0);
	assert_int_equal(lead(in_folder("absolute/inner"), "real/inner"), 0);
	assert_int_equal(lead(in_folder("absolute/up/.."), "real"), 0);
	assert_int_equal(lead(in_folder("through"), "real/inner"), 0);
	assert_int_equal(lead(in_folder("through//"), "real/inner"), 0);
	assert_int_equal(lead(in_folder("broken"), ""), -ENOENT);
	assert_int_equal(lead(in_folder("relative/none"), ""), -ENOENT);
	assert_int_equal(lead(in_folder("file"), ""), -ENOTDIR);
	assert_int_equal(lead(in_folder("relative/file/x"), ""), -ENOTDIR);
}

static void a_relative_path_starts_here(void **state _unused_)
{
	char *before = getcwd(NULL, 0);

	link_to("real", "link");
	assert_int_equal(chdir(folder), 0);
	assert_int_equal(lead("real", "real"), 0);
	assert_int_equal(lead("link/inner", "real/inner"), 0);
	assert_int_equal(lead("./link/../real", "real"), 0);
	assert_int_equal(chdir(before), 0);
	free(before);
}

static void links_of_others_are_not_followed(void **state _unused_)
{
	static const char *const links[] = {"link", "real/up"};

	if (geteuid()) {
		print_message("skipped: only root can give links away\n");
		skip();
	}
	link_to("real", "link");
	link_to("inner", "real/up");
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(lchown(in_folder(links[i]), OTHER_USER, OTHER_USER), 0);
	assert_int_equal(lead(in_folder("link"), ""), -EPERM);
	assert_int_equal(lead(in_folder("link/inner"), ""), -EPERM);
	assert_int_equal(lead(in_folder("real/up"), ""), -EPERM);
	assert_int_equal(lead(in_folder("real/inner"), "real/inner"), 0);
	/* A link of ours leads through theirs no further. */
	link_to("link/inner", "ours");
	assert_int_equal(lead(in_folder("ours"), ""), -EPERM);
	/* Who called sudo(8) is no other user. */
	setenv("SUDO_UID", "20001", 1);
	assert_int_equal(lead(in_folder("link/up"), "real/inner"), 0);
	unsetenv("SUDO_UID");
}

/* As many as the kernel follows. */
static void the_number_of_links_is_bounded(void **state _unused_)
{
	char name[16] = "real";

	for (int i = 1; i <= 41; i++) {
		char next[16];

		snprintf(next, sizeof(next), "link%d", i);
		link_to(name, next);
		strcpy(name, next);
	}
	assert_int_equal(lead(in_folder("link40/inner"), "real/inner"), 0);
	assert_int_equal(lead(in_folder("link41/inner"), ""), -ELOOP);
	link_to("loop", "loop");
	assert_int_equal(lead(in_folder("loop"), ""), -ELOOP);
}

static void root_we_and_the_caller_of_sudo_are_ours(void **state _unused_)
{
	static const char *const wrong[] = {"",       "x",      "20001x", " 20001",
					    "-20001", "+20001", "20002"};

	assert_true(file_user_is_ours(0));
	assert_true(file_user_is_ours(geteuid()));
	assert_false(file_user_is_ours(OTHER_USER));
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		setenv("SUDO_UID", wrong[i], 1);
		assert_false(file_user_is_ours(OTHER_USER));
	}
	setenv("SUDO_UID", "20001", 1);
	assert_int_equal(file_user_is_ours(OTHER_USER), !geteuid());
	unsetenv("SUDO_UID");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_path_without_links_leads_to_its_folder),
		TEST(our_links_are_followed),
		TEST(a_relative_path_starts_here),
		TEST(links_of_others_are_not_followed),
		TEST(the_number_of_links_is_bounded),
		TEST(root_we_and_the_caller_of_sudo_are_ours),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
