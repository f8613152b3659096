/* The names in a directory, sorted, and what happens when it cannot be read. */
#include "base/attributes.h"

#include <dirent.h>
#include <errno.h>

DIR *open_of_test(const char *name);

#define opendir open_of_test
#include "collect/kernel/name_list.c"
#undef opendir

#include "failing_memory.h"
#include "process/fake_proc.h"
#include "unit.h"

static int open_error; /* of a directory; 0: it is opened */

DIR *open_of_test(const char *name)
{
	errno = open_error;
	return open_error ? NULL : opendir(name);
}

static struct fake_proc folder;
static struct name_list names;

static int set_up(void **state _unused_)
{
	open_error = 0;
	folder = fake_proc_new();
	return 0;
}

static int tear_down(void **state _unused_)
{
	name_list_release(&names);
	fake_proc_remove(&folder);
	return 0;
}

static void names_are_sorted_without_those_that_start_with_a_dot(void **state _unused_)
{
	fake_proc_write(&folder, "c", "");
	fake_proc_write(&folder, ".hidden", "");
	fake_proc_write(&folder, "a.unit", "");
	fake_proc_write(&folder, "b/file", "");
	assert_int_equal(name_list_read(folder.root, &names), 0);
	assert_int_equal(names.names.length, 3);
	assert_string_equal(names.names.items[0], "a.unit");
	assert_string_equal(names.names.items[1], "b");
	assert_string_equal(names.names.items[2], "c");
}

static void a_directory_that_is_missing_has_none(void **state _unused_)
{
	_cleanup_(text_release) struct text path = fake_proc_path(&folder, "missing");

	assert_int_equal(name_list_read(folder.root, &names), 0);
	assert_int_equal(name_list_read(path.data, &names), 0);
	fake_proc_write(&folder, "missing", "");
	assert_int_equal(name_list_read(path.data, &names), 0);
	assert_int_equal(names.names.length, 0);
}

static void one_that_may_not_be_read_is_an_error(void **state _unused_)
{
	open_error = EACCES;
	assert_int_equal(name_list_read(folder.root, &names), -EACCES);
	open_error = EMFILE;
	assert_int_equal(name_list_read(folder.root, &names), -EMFILE);
}

static int read_anew(void *context _unused_)
{
	struct name_list read = {0};
	int err = name_list_read(folder.root, &read);

	name_list_release(&read);
	return err;
}

static void short_memory_is_an_error_of_each_name(void **state _unused_)
{
	char name[8];

	for (int i = 0; i < 40; i++) {
		snprintf(name, sizeof(name), "%d", i);
		fake_proc_write(&folder, name, "");
	}
	failing_memory_try_all(read_anew, NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(names_are_sorted_without_those_that_start_with_a_dot),
		TEST(a_directory_that_is_missing_has_none),
		TEST(one_that_may_not_be_read_is_an_error),
		TEST(short_memory_is_an_error_of_each_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
