#include "cli/files/code_copies.h"

#include <errno.h>
#include <unistd.h>

#include "base/text.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

#include "formats/tar_writer.h"

static void assert_copy(struct code_copies *copies, const char *path, const char *expected)
{
	int fd = code_copies_open(copies, path);
	char content[64] = "";

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, content, sizeof(content) - 1, 0), (ssize_t)strlen(expected));
	assert_string_equal(content, expected);
	close(fd);
}

static void a_copy_in_an_archive_is_its_last_file_of_that_path(void **state _unused_)
{
	struct import import = {0};
	struct code_copies copies = {.import = &import};
	struct text tar = {0};

	tar_put_file(&tar, "./x.er/archives/work_abc", "first");
	tar_put_file(&tar, "x.er/archives/libc_abc", "library");
	tar_put_file(&tar, "x.er/archives/work_abc", "second");
	tar_finish(&tar);
	import.data = (const uint8_t *)tar.data;
	import.size = tar.length;
	assert_copy(&copies, "x.er/archives/work_abc", "second");
	assert_copy(&copies, "x.er/archives/libc_abc", "library");
	assert_int_equal(code_copies_open(&copies, "x.er/archives/work"), -1);
	code_copies_release(&copies);
	text_release(&tar);
}

static int open_member(void *context, const char *path, const uint8_t **ret_data, size_t *ret_size)
{
	if (!string_equals(path, context))
		return -ENOENT;
	*ret_data = (const uint8_t *)"member";
	*ret_size = strlen("member");
	return 0;
}

static void a_copy_in_a_folder_is_asked_of_who_reads_it(void **state _unused_)
{
	char path[] = "archives/work_abc";
	struct import import = {.open_member = open_member, .context = path};
	struct code_copies copies = {.import = &import};

	assert_copy(&copies, "archives/work_abc", "member");
	assert_int_equal(code_copies_open(&copies, "archives/other_abc"), -1);
	code_copies_release(&copies);
}

static void an_input_that_is_one_file_has_no_copies(void **state _unused_)
{
	struct import import = {.data = (const uint8_t *)"PERFILE2", .size = 8};
	struct code_copies copies = {.import = &import};

	assert_int_equal(code_copies_open(&copies, "archives/work_abc"), -1);
	code_copies_release(&copies);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_copy_in_an_archive_is_its_last_file_of_that_path),
		cmocka_unit_test(a_copy_in_a_folder_is_asked_of_who_reads_it),
		cmocka_unit_test(an_input_that_is_one_file_has_no_copies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
