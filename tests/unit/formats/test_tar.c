#include "formats/tar.h"

#include "tar_writer.h"
#include "unit.h"

/* Every file as "path=content\n", and then what ended the reading. */
static void assert_files(struct text *archive, const char *expected)
{
	size_t size = archive->length;
	uint8_t *copy = malloc(size ? size : 1); /* so that sanitizers see every read beyond */
	struct text found = {0};
	struct tar tar = {0};

	assert_non_null(copy);
	if (size)
		memcpy(copy, archive->data, size);
	assert_int_equal(tar_read(&tar, copy, size), 0);
	text_append_string(&found, "");
	array_for_each (&tar.files, file) {
		text_printf(&found, "%s=", tar_get_path(&tar, file));
		text_append(&found, copy + file->offset, file->size);
		text_append_char(&found, '\n');
	}
	if (tar.fault)
		text_printf(&found, "%zu: %s", tar.fault_offset, tar.fault);
	assert_string_equal(found.data, expected);
	tar_release(&tar);
	text_release(&found);
	text_release(archive);
	free(copy);
}

static void files_are_listed_with_their_content(void **state _unused_)
{
	struct text archive = {0};

	tar_put(&archive, "x.er/", '5', "", 0);
	tar_put_file(&archive, "x.er/log.xml", "one");
	tar_put_file(&archive, "./x.er//map.xml", "");
	tar_finish(&archive);
	assert_files(&archive, "x.er/log.xml=one\nx.er/map.xml=\n");
}

static void paths_that_lead_out_are_left_out(void **state _unused_)
{
	struct text archive = {0};

	tar_put_file(&archive, "../passwd", "a");
	tar_put_file(&archive, "x/../../passwd", "b");
	tar_put_file(&archive, "/etc/passwd", "c");
	tar_finish(&archive);
	assert_files(&archive, "etc/passwd=c\n");
}

static void links_and_devices_have_no_content(void **state _unused_)
{
	struct text archive = {0};

	tar_put_raw(&archive, "link", '2', "00000001000", "", 0);
	tar_put_file(&archive, "file", "a");
	tar_finish(&archive);
	assert_files(&archive, "file=a\n");
}

static void long_names_of_gnu_and_of_pax_are_taken(void **state _unused_)
{
	struct text archive = {0};

	tar_put(&archive, "././@LongLink", 'L', "a/long", 7);
	tar_put_file(&archive, "cut", "1");
	tar_put(&archive, "PaxHeader", 'x', "15 path=b/long\n18 mtime=123.4567\n", 33);
	tar_put_file(&archive, "cut", "2");
	tar_put_file(&archive, "short", "3");
	tar_finish(&archive);
	assert_files(&archive, "a/long=1\nb/long=2\nshort=3\n");
}

static void a_name_ends_at_a_nul(void **state _unused_)
{
	struct text archive = {0};

	tar_put(&archive, "PaxHeader", 'x', "13 path=\0abc\n", 13);
	tar_put_file(&archive, "none", "1");
	tar_put(&archive, "PaxHeader", 'x', "14 path=ab\0cd\n", 14);
	tar_put_file(&archive, "none", "2");
	tar_finish(&archive);
	assert_files(&archive, "ab=2\n");
}

static void sizes_may_be_numbers_of_base_256(void **state _unused_)
{
	struct text archive = {0};

	tar_put_raw(&archive, "file", '0', "\x80\0\0\0\0\0\0\0\0\0\0\x05", "hello", 5);
	tar_finish(&archive);
	assert_files(&archive, "file=hello\n");
}

static void a_size_beyond_the_archive_ends_it(void **state _unused_)
{
	struct text archive = {0};

	tar_put_file(&archive, "a", "1");
	tar_put_raw(&archive, "b", '0', "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", "2", 1);
	assert_files(&archive, "a=1\n1024: a file of the archive is truncated");
	tar_put_raw(&archive, "b", '0', "77777777777", "2", 1);
	assert_files(&archive, "0: a file of the archive is truncated");
}

static void damage_ends_the_list(void **state _unused_)
{
	struct text archive = {0};

	tar_put_file(&archive, "a", "1");
	tar_put_file(&archive, "b", "2");
	archive.data[1024]++;
	assert_files(&archive, "a=1\n1024: not a header of a tar archive");
	tar_put_file(&archive, "a", "1");
	archive.length -= 600;
	assert_files(&archive, "0: the archive is truncated");
}

static void only_a_header_with_the_right_sum_is_one(void **state _unused_)
{
	struct text archive = {0};

	tar_put_file(&archive, "a", "1");
	assert_true(tar_detect((const uint8_t *)archive.data, archive.length));
	assert_false(tar_detect((const uint8_t *)archive.data, 511));
	archive.data[0]++;
	assert_false(tar_detect((const uint8_t *)archive.data, archive.length));
	text_release(&archive);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(files_are_listed_with_their_content),
		cmocka_unit_test(paths_that_lead_out_are_left_out),
		cmocka_unit_test(links_and_devices_have_no_content),
		cmocka_unit_test(long_names_of_gnu_and_of_pax_are_taken),
		cmocka_unit_test(a_name_ends_at_a_nul),
		cmocka_unit_test(sizes_may_be_numbers_of_base_256),
		cmocka_unit_test(a_size_beyond_the_archive_ends_it),
		cmocka_unit_test(damage_ends_the_list),
		cmocka_unit_test(only_a_header_with_the_right_sum_is_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
