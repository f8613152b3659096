#include "cli/files/input_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/log.h"
#include "base/text.h"
#include "caught_output.h"
#include "formats/compressed_text.h"

/* clang-format off */
#include "test_folder.h"
#include "unit.h"
/* clang-format on */

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

static const char *write_file(const char *name, const void *data, size_t size)
{
	static char path[512];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
	return path;
}

static void assert_holds(const struct input_file *file, const char *text)
{
	assert_int_equal(input_file_get_size(file), strlen(text));
	assert_memory_equal(input_file_get_data(file), text, strlen(text));
}

static void a_plain_file_is_read_as_it_is(void **state _unused_)
{
	struct input_file *file;

	assert_int_equal(input_file_open(write_file("a", "a;b 1\n", 6), &file, NULL), 0);
	assert_holds(file, "a;b 1\n");
	input_file_free(file);
}

static void an_empty_file_has_no_bytes(void **state _unused_)
{
	struct input_file *file;

	assert_int_equal(input_file_open(write_file("a", "", 0), &file, NULL), 0);
	assert_int_equal(input_file_get_size(file), 0);
	assert_false(input_file_is_folder(file));
	input_file_free(file);
}

static void gzip_files_one_after_the_other_are_decompressed(void **state _unused_)
{
	uint8_t compressed[256];
	size_t size = compress_gzip("a;b 1\n", 6, compressed, sizeof(compressed));
	struct input_file *file;

	size += compress_gzip("c 2\n", 4, compressed + size, sizeof(compressed) - size);
	assert_int_equal(input_file_open(write_file("a.gz", compressed, size), &file, NULL), 0);
	assert_holds(file, "a;b 1\nc 2\n");
	input_file_free(file);
}

static void each_compression_is_read(void **state _unused_)
{
	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		uint8_t compressed[512];
		size_t size = compressed_kinds[i].compress("a;b 1\n", 6, compressed, 256);
		struct input_file *file;

		size += compressed_kinds[i].compress("c 2\n", 4, compressed + size, 256);
		assert_int_equal(input_file_open(write_file("a", compressed, size), &file, NULL),
				 0);
		assert_holds(file, "a;b 1\nc 2\n");
		input_file_free(file);
	}
}

static void compressed_files_are_compressed_again(void **state _unused_)
{
	uint8_t inner[256];
	uint8_t outer[512];
	size_t size = compress_gzip("a;b 1\n", 6, inner, sizeof(inner));
	struct input_file *file;

	size = compress_zstd(inner, size, outer, sizeof(outer));
	assert_int_equal(input_file_open(write_file("a.zst", outer, size), &file, NULL), 0);
	assert_holds(file, "a;b 1\n");
	input_file_free(file);
}

static void data_that_ends_early_is_bad_input(void **state _unused_)
{
	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		uint8_t compressed[256];
		size_t size =
			compressed_kinds[i].compress("a;b 1\n", 6, compressed, sizeof(compressed));
		char expected[64];
		struct input_file *file;
		struct error error = {0};

		snprintf(expected, sizeof(expected), ": the %s data is truncated",
			 compression_get_name(compressed_kinds[i].compression));
		for (size_t length = 6; length < size; length++) {
			assert_int_equal(input_file_open(write_file("a.z", compressed, length),
							 &file, &error),
					 -EBADMSG);
			assert_non_null(strstr(error.message, "a.z: at byte "));
			assert_non_null(strstr(error.message, expected));
		}
	}
}

static void damaged_data_is_bad_input(void **state _unused_)
{
	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		uint8_t compressed[256];
		size_t size =
			compressed_kinds[i].compress("a;b 1\n", 6, compressed, sizeof(compressed));
		char expected[64];
		struct input_file *file;
		struct error error = {0};

		snprintf(expected, sizeof(expected), ": the %s data is damaged",
			 compression_get_name(compressed_kinds[i].compression));
		/* In a sum of the data, or of what is in front of it. */
		compressed[size - (compressed_kinds[i].compression == COMPRESSION_XZ ? 5 : 2)] ^= 1;
		assert_int_equal(
			input_file_open(write_file("a.z", compressed, size), &file, &error),
			-EBADMSG);
		assert_non_null(strstr(error.message, expected));
	}
}

static void a_decompression_bomb_is_refused(void **state _unused_)
{
	size_t size = 128u << 20;
	uint8_t *zeros = calloc(1, size);
	size_t room = size + (1u << 20); /* which liblz4 wants */
	uint8_t *compressed = malloc(room);

	assert_non_null(zeros);
	assert_non_null(compressed);
	for (size_t i = 0; i < NUM_COMPRESSED_KINDS; i++) {
		size_t packed = compressed_kinds[i].compress(zeros, size, compressed, room);
		struct input_file *file;
		struct error error = {0};

		assert_true(packed > 0);
		assert_int_equal(
			input_file_open(write_file("bomb", compressed, packed), &file, &error),
			-EBADMSG);
		assert_non_null(strstr(error.message, "expands to over"));
		/* Known by its beginning, before the rest lies in memory. */
		assert_true(strtoul(strstr(error.message, "at byte ") + 8, NULL, 10) <
			    packed / 5 * 4);
	}
	free(zeros);
	free(compressed);
}

/* Each layer expands less than a bomb of one layer. */
static void a_bomb_of_several_layers_is_refused(void **state _unused_)
{
	size_t size = 128u << 20;
	uint8_t *data = calloc(1, size);
	uint8_t *compressed = malloc(2u << 20);
	struct input_file *file;
	struct error error = {0};

	assert_non_null(data);
	assert_non_null(compressed);
	size = compress_gzip(data, size, compressed, 2u << 20);
	size = compress_zstd(compressed, size, data, 2u << 20);
	assert_true(size > 0);
	assert_int_equal(input_file_open(write_file("bomb", data, size), &file, &error), -EBADMSG);
	assert_non_null(strstr(error.message, "expands to over"));
	free(data);
	free(compressed);
}

static void bytes_behind_compressed_data_are_told(void **state _unused_)
{
	uint8_t compressed[256] = {0};
	size_t size = compress_bzip2("a;b 1\n", 6, compressed, sizeof(compressed));
	struct caught_output caught;
	struct input_file *file;
	char message[1024];

	log_set_level(LOG_LEVEL_NORMAL);
	caught = caught_output_start(STDERR_FILENO);
	assert_int_equal(input_file_open(write_file("a", compressed, size + 9), &file, NULL), 0);
	assert_holds(file, "a;b 1\n");
	input_file_free(file);
	caught_output_end(&caught, message, sizeof(message));
	assert_string_equal(message, ""); /* zeros are padding */
	compressed[size] = 'x';
	caught = caught_output_start(STDERR_FILENO);
	assert_int_equal(input_file_open(write_file("a", compressed, size + 9), &file, NULL), 0);
	assert_holds(file, "a;b 1\n");
	input_file_free(file);
	caught_output_end(&caught, message, sizeof(message));
	assert_non_null(strstr(message, "9 bytes after the bzip2 data are ignored"));
}

static void utf16_becomes_utf8(void **state _unused_)
{
	static const char text[] = "\xff\xfe"
				   "a\0;\0b\0 \0"
				   "1\0\n";
	uint8_t compressed[256];
	size_t size = compress_gzip(text, sizeof(text), compressed, sizeof(compressed));
	struct input_file *file;

	assert_int_equal(input_file_open(write_file("a", text, sizeof(text)), &file, NULL), 0);
	assert_holds(file, "a;b 1\n");
	input_file_free(file);
	assert_int_equal(input_file_open(write_file("a", compressed, size), &file, NULL), 0);
	assert_holds(file, "a;b 1\n");
	input_file_free(file);
}

static void members_of_a_folder_are_opened_by_name(void **state _unused_)
{
	struct input_file *file;
	const uint8_t *data;
	size_t size;

	write_file("log.xml", "<x/>", 4);
	assert_int_equal(input_file_open(folder, &file, NULL), 0);
	assert_true(input_file_is_folder(file));
	assert_int_equal(input_file_open_member(file, "log.xml", &data, &size), 0);
	assert_int_equal(size, 4);
	assert_int_equal(input_file_open_member(file, "none", &data, &size), -ENOENT);
	input_file_free(file);
}

static void files_below_a_folder_are_listed_but_links_are_not(void **state _unused_)
{
	struct input_file *file;
	const char *const *members;
	size_t num_members;
	char path[600];

	snprintf(path, sizeof(path), "%s/x.er", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file("x.er/log.xml", "", 0);
	snprintf(path, sizeof(path), "%s/x.er/_f1.er", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	write_file("x.er/_f1.er/log.xml", "", 0);
	snprintf(path, sizeof(path), "%s/x.er/link", folder);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	snprintf(path, sizeof(path), "%s/x.er", folder);

	assert_int_equal(input_file_open(path, &file, NULL), 0);
	assert_int_equal(input_file_list_members(file, &members, &num_members), 0);
	assert_int_equal(num_members, 2);
	assert_int_equal(
		string_equals(members[0], "log.xml") + string_equals(members[1], "log.xml"), 1);
	assert_int_equal(string_equals(members[0], "_f1.er/log.xml") +
				 string_equals(members[1], "_f1.er/log.xml"),
			 1);
	input_file_free(file);
}

static void a_file_has_no_members(void **state _unused_)
{
	struct input_file *file;
	const char *const *members;
	size_t num_members;

	assert_int_equal(input_file_open(write_file("a", "a", 1), &file, NULL), 0);
	assert_int_equal(input_file_list_members(file, &members, &num_members), 0);
	assert_int_equal(num_members, 0);
	input_file_free(file);
}

static void no_member_lies_above_its_folder(void **state _unused_)
{
	struct input_file *file;
	const uint8_t *data;
	size_t size;

	assert_int_equal(input_file_open(folder, &file, NULL), 0);
	assert_int_equal(input_file_open_member(file, "/etc/passwd", &data, &size), -EINVAL);
	assert_int_equal(input_file_open_member(file, "../x", &data, &size), -EINVAL);
	assert_int_equal(input_file_open_member(file, "a/../../x", &data, &size), -EINVAL);
	assert_int_equal(input_file_open_member(file, "a/..", &data, &size), -EINVAL);
	input_file_free(file);
}

static void what_is_given_back_leaves_the_rest_readable(void **state _unused_)
{
	size_t size = 9u << 20;
	char *text = malloc(size);
	struct input_file *file;

	assert_non_null(text);
	memset(text, 'x', size);
	assert_int_equal(input_file_open(write_file("big", text, size), &file, NULL), 0);
	input_file_advance(file, 5u << 20);
	input_file_advance(file, 4u << 20);
	assert_int_equal(input_file_get_data(file)[size - 1], 'x');
	assert_int_equal(input_file_get_data(file)[5u << 20], 'x');
	input_file_advance(file, size);
	input_file_free(file);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_plain_file_is_read_as_it_is),
		cmocka_unit_test(an_empty_file_has_no_bytes),
		cmocka_unit_test(gzip_files_one_after_the_other_are_decompressed),
		cmocka_unit_test(each_compression_is_read),
		cmocka_unit_test(compressed_files_are_compressed_again),
		cmocka_unit_test(data_that_ends_early_is_bad_input),
		cmocka_unit_test(damaged_data_is_bad_input),
		cmocka_unit_test(a_decompression_bomb_is_refused),
		cmocka_unit_test(a_bomb_of_several_layers_is_refused),
		cmocka_unit_test(bytes_behind_compressed_data_are_told),
		cmocka_unit_test(utf16_becomes_utf8),
		cmocka_unit_test(members_of_a_folder_are_opened_by_name),
		cmocka_unit_test(files_below_a_folder_are_listed_but_links_are_not),
		cmocka_unit_test(a_file_has_no_members),
		cmocka_unit_test(no_member_lies_above_its_folder),
		cmocka_unit_test(what_is_given_back_leaves_the_rest_readable),
	};

	return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
