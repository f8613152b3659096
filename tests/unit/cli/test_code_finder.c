#include "cli/files/code_finder.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/attributes.h"

/* clang-format off */
#include "test_folder.h"
#include "unit.h"
/* clang-format on */

#include "objfile/elf_writer.h"

#define ID_BYTES 4

static char folder[TEST_PATH_BYTES];

static int make_folder(void **state _unused_)
{
	test_folder_make(folder);
	return 0;
}

static int remove_folder(void **state _unused_)
{
	char command[300];

	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command);
}

/* A program with this build ID, or what a debug file has of it, at FOLDER/PATH. */
static void write_program(const char *path, const char *id, bool is_debug_file)
{
	struct elf_writer writer = {0};
	char command[600];
	struct text bytes;
	char full[512];
	int fd;

	elf_writer_add(&writer,
		       (struct elf_section){.name = ".text",
					    .type = is_debug_file ? SHT_NOBITS : SHT_PROGBITS,
					    .flags = SHF_ALLOC | SHF_EXECINSTR,
					    .address = 0x1000,
					    .data = is_debug_file ? "" : NULL,
					    .size = is_debug_file ? 0 : 16});
	elf_writer_add_build_id(&writer, id, ID_BYTES);
	bytes = elf_writer_write(&writer);
	snprintf(full, sizeof(full), "%s/%s", folder, path);
	snprintf(command, sizeof(command), "mkdir -p \"$(dirname '%s')\"", full);
	assert_int_equal(system(command), 0);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_int_equal(write(fd, bytes.data, bytes.length), (ssize_t)bytes.length);
	close(fd);
	text_release(&bytes);
}

struct found {
	char path[512]; /* below the folder; empty: none */
	bool differs;
};

/* Look for a program with this build ID (NULL: it is not known) in FOLDER/a and FOLDER/b. */
static struct found find(const char *path, const char *id)
{
	char a[300], b[300], link[64], target[512];
	const char *folders[] = {a, b};
	const struct code_finder finder = {.folders = folders, .num_folders = 2};
	struct module module = {.build_id_size = id ? ID_BYTES : 0};
	struct found found = {0};
	ssize_t length;
	int fd;

	snprintf(a, sizeof(a), "%s/a", folder);
	snprintf(b, sizeof(b), "%s/b", folder);
	if (id)
		memcpy(module.build_id, id, ID_BYTES);
	fd = code_finder_open(&finder, path, &module, &found.differs);
	if (fd < 0)
		return found;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	length = readlink(link, target, sizeof(target) - 1);
	assert_true(length > (ssize_t)strlen(folder));
	target[length] = '\0';
	strcpy(found.path, target + strlen(folder) + 1);
	close(fd);
	return found;
}

static void a_program_is_found_by_build_id(void **state _unused_)
{
	write_program("a/.build-id/49/444141", "IDAA", false);
	assert_string_equal(find("/gone/program", "IDAA").path, "a/.build-id/49/444141");
}

static void a_program_is_found_by_its_path_below_a_folder(void **state _unused_)
{
	write_program("a/gone/program", "IDAA", false);
	write_program("a/program", "IDAA", false);
	assert_string_equal(find("/gone/program", "IDAA").path, "a/gone/program");
}

static void a_program_is_found_by_its_name(void **state _unused_)
{
	write_program("b/program", "IDAA", false);
	assert_string_equal(find("/gone/program", "IDAA").path, "b/program");
	assert_string_equal(find("/gone/program", NULL).path, "b/program");
}

static void folders_are_asked_in_their_order(void **state _unused_)
{
	write_program("a/program", "IDAA", false);
	write_program("b/program", "IDAA", false);
	assert_string_equal(find("/gone/program", "IDAA").path, "a/program");
}

static void another_build_is_not_taken(void **state _unused_)
{
	struct found found;

	write_program("a/program", "IDBB", false);
	found = find("/gone/program", "IDAA");
	assert_string_equal(found.path, "");
	assert_true(found.differs);
	write_program("b/program", "IDAA", false);
	found = find("/gone/program", "IDAA");
	assert_string_equal(found.path, "b/program");
	assert_false(found.differs);
}

static void a_debug_file_is_no_program(void **state _unused_)
{
	struct found found;

	write_program("a/program", "IDAA", true);
	found = find("/gone/program", "IDAA");
	assert_string_equal(found.path, "");
	assert_false(found.differs);
	write_program("b/program", "IDAA", false);
	assert_string_equal(find("/gone/program", "IDAA").path, "b/program");
}

static void a_recorded_path_does_not_lead_out_of_a_folder(void **state _unused_)
{
	write_program("secret", "IDAA", false);
	write_program("a/x", "IDBB", false);
	assert_string_equal(find("/../secret", "IDAA").path, "");
	assert_string_equal(find("/x/../../secret", NULL).path, "");
}

static void a_pipe_is_not_opened(void **state _unused_)
{
	char path[512];

	write_program("b/x", "IDBB", false);
	snprintf(path, sizeof(path), "%s/b/program", folder);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_string_equal(find("/gone/program", NULL).path, "");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, make_folder, remove_folder)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_program_is_found_by_build_id),
		TEST(a_program_is_found_by_its_path_below_a_folder),
		TEST(a_program_is_found_by_its_name),
		TEST(folders_are_asked_in_their_order),
		TEST(another_build_is_not_taken),
		TEST(a_debug_file_is_no_program),
		TEST(a_recorded_path_does_not_lead_out_of_a_folder),
		TEST(a_pipe_is_not_opened),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
