/* Files have the same hash only where their tables are made of the same. */
#include "unwind/table_cache.h"

#include "unit.h"

#include <errno.h>
#include <unistd.h>

#include "table_fixture.h"

static int hash_of(const struct table_file *file, uint64_t *ret)
{
	struct text bytes = table_file_write(file);
	_cleanup_(objfile_unrefp) struct objfile *objfile = NULL;
	int fd = open_bytes(bytes.data, bytes.length);
	int err;

	assert_int_equal(objfile_open(fd, "/test", NULL, &objfile, NULL), 0);
	err = table_key_hash(objfile, ret);
	text_release(&bytes);
	close(fd);
	return err;
}

static uint64_t hash_with_function(uint64_t start, uint32_t size, bool is_debug_frame)
{
	struct table_file file = table_file_of_text();
	struct frame_writer *frames = is_debug_frame ? &file.debug_frame : &file.eh_frame;
	uint64_t hash;

	frame_writer_add_cie(frames, &usual_cie);
	frame_writer_add_function(frames, start, size, NO_CODE);
	assert_int_equal(hash_of(&file, &hash), 0);
	table_file_release(&file);
	return hash;
}

static void the_same_file_has_the_same_hash(void **state _unused_)
{
	assert_true(hash_with_function(TEXT, 0x100, false) ==
		    hash_with_function(TEXT, 0x100, false));
}

static void every_byte_of_the_call_frame_information_counts(void **state _unused_)
{
	uint64_t hash = hash_with_function(TEXT, 0x100, false);

	assert_true(hash != hash_with_function(TEXT, 0x101, false));
	assert_true(hash != hash_with_function(TEXT + 1, 0x100, false));
	assert_true(hash_with_function(TEXT, 0x100, true) != hash_with_function(TEXT, 0x101, true));
}

static void headers_count(void **state _unused_)
{
	struct table_file file = table_file_of_text();
	uint64_t hash;
	uint64_t other;

	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, TEXT, 0x100, NO_CODE);
	assert_int_equal(hash_of(&file, &hash), 0);
	file.entry = TEXT;
	assert_int_equal(hash_of(&file, &other), 0);
	assert_true(hash != other);
	file.entry = 0;
	file.memory_size = TEXT_SIZE + PAGE;
	assert_int_equal(hash_of(&file, &other), 0);
	assert_true(hash != other);
	table_file_release(&file);
}

static void a_file_that_describes_no_frame_has_none(void **state _unused_)
{
	struct table_file file = table_file_of_text();
	uint64_t hash;

	assert_int_equal(hash_of(&file, &hash), -ENOENT);
	table_file_release(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_same_file_has_the_same_hash),
		cmocka_unit_test(every_byte_of_the_call_frame_information_counts),
		cmocka_unit_test(headers_count),
		cmocka_unit_test(a_file_that_describes_no_frame_has_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
