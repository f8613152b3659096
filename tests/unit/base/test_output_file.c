#include "base/output_file.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/file.h"
#include "unit.h"

/* Each test runs in an empty folder of its own. */
static int enter_folder(void **state)
{
	char *folder = strdup("/tmp/stackwide-test-XXXXXX");

	*state = folder;
	return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave_folder(void **state)
{
	char command[128];
	int err;

	snprintf(command, sizeof(command), "rm -rf '%s'", (char *)*state);
	err = chdir("/") || system(command);
	free(*state);
	return err;
}

static int count_entries(void)
{
	DIR *folder = opendir(".");
	int count = -2; /* . and .. */

	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

static void assert_content(const char *path, const char *expected)
{
	struct text text = {0};

	assert_int_equal(file_read_at(-100 /* AT_FDCWD */, path, 1000, &text), 0);
	assert_string_equal(text.data, expected);
	text_release(&text);
}

static void put(const char *path, const char *content)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	fputs(content, file);
	fclose(file);
}

static void nothing_is_visible_before_the_commit(void **state _unused_)
{
	struct output_file *file;

	assert_int_equal(output_file_open("x.folded", &file, NULL), 0);
	assert_int_equal(output_file_write(file, "a 1\n", 4), 0);
	assert_int_equal(access("x.folded", F_OK), -1);
	assert_int_equal(output_file_commit(file, NULL), 0);
	assert_int_equal(output_file_get_size(file), 4);
	output_file_free(file);
	assert_content("x.folded", "a 1\n");
	assert_int_equal(count_entries(), 1);
}

static void giving_up_keeps_the_old_file_and_nothing_else(void **state _unused_)
{
	struct output_file *file;

	put("x.folded", "old");
	assert_int_equal(output_file_open("x.folded", &file, NULL), 0);
	assert_int_equal(output_file_write(file, "new", 3), 0);
	output_file_free(file);
	assert_content("x.folded", "old");
	assert_int_equal(count_entries(), 1);
}

static void a_commit_replaces_the_old_file_and_keeps_its_mode(void **state _unused_)
{
	struct output_file *file;
	struct stat status;

	put("x.folded", "old");
	assert_int_equal(chmod("x.folded", 0600), 0);
	assert_int_equal(output_file_open("x.folded", &file, NULL), 0);
	assert_int_equal(output_file_write(file, "new", 3), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	assert_content("x.folded", "new");
	assert_int_equal(stat("x.folded", &status), 0);
	assert_int_equal(status.st_mode & 0777, 0600);
	assert_int_equal(count_entries(), 1);
}

static void a_symbolic_link_stays_one(void **state _unused_)
{
	struct output_file *file;
	struct stat status;

	put("target", "old");
	assert_int_equal(symlink("target", "x.folded"), 0);
	assert_int_equal(output_file_open("x.folded", &file, NULL), 0);
	assert_int_equal(output_file_write(file, "new", 3), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	assert_int_equal(lstat("x.folded", &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_content("target", "new");
}

static void devices_are_written_to_directly(void **state _unused_)
{
	struct output_file *file;

	assert_int_equal(output_file_open("/dev/null", &file, NULL), 0);
	assert_int_equal(output_file_write(file, "x", 1), 0);
	assert_int_equal(output_file_commit(file, NULL), 0);
	output_file_free(file);
	assert_int_equal(output_file_open("/dev/full", &file, NULL), 0);
	assert_int_equal(output_file_write(file, "x", 1), -ENOSPC);
	output_file_free(file);
}

static void a_missing_folder_and_a_folder_are_refused(void **state _unused_)
{
	struct output_file *file;
	struct error error;

	assert_int_equal(output_file_open("none/x.folded", &file, &error), -ENOENT);
	assert_string_equal(error.message,
			    "cannot write 'none/x.folded': No such file or directory");
	assert_int_equal(mkdir("folder", 0777), 0);
	assert_int_equal(output_file_open("folder", &file, &error), -EISDIR);
}

#define folder_test(name) cmocka_unit_test_setup_teardown(name, enter_folder, leave_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		folder_test(nothing_is_visible_before_the_commit),
		folder_test(giving_up_keeps_the_old_file_and_nothing_else),
		folder_test(a_commit_replaces_the_old_file_and_keeps_its_mode),
		folder_test(a_symbolic_link_stays_one),
		folder_test(devices_are_written_to_directly),
		folder_test(a_missing_folder_and_a_folder_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
