#include "process/proc_maps.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "unit.h"

static struct proc_mapping read_good(const char *line)
{
	struct proc_mapping mapping;
	struct error error = {0};

	if (proc_mapping_read(line, strlen(line), &mapping, &error))
		fail_msg("%s: %s", line, error.message);
	return mapping;
}

static void every_field_is_read(_unused_ void **state)
{
	struct proc_mapping mapping = read_good(
		"7f8fe0476000-7f8fe0480000 r-xp 00027000 fe:01 332383                     /usr/lib/ld.so");

	assert_int_equal(mapping.start, 0x7f8fe0476000);
	assert_int_equal(mapping.end, 0x7f8fe0480000);
	assert_int_equal(mapping.file_offset, 0x27000);
	assert_int_equal(mapping.dev_major, 0xfe);
	assert_int_equal(mapping.dev_minor, 1);
	assert_int_equal(mapping.inode, 332383);
	assert_true(mapping.is_executable);
	assert_false(mapping.is_deleted);
	assert_string_equal(mapping.path, "/usr/lib/ld.so");
}

static void data_is_not_executable(_unused_ void **state)
{
	assert_false(read_good("1000-2000 rw-s 00000000 00:00 0 /x").is_executable);
}

static void the_highest_addresses_are_read(_unused_ void **state)
{
	struct proc_mapping mapping =
		read_good("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]");

	assert_true(mapping.start == 0xffffffffff600000);
	assert_string_equal(mapping.path, "[vsyscall]");
}

static void large_device_numbers_are_read(_unused_ void **state)
{
	struct proc_mapping mapping = read_good("1000-2000 r-xp 0 103:fffff 9 /x");

	assert_int_equal(mapping.dev_major, 0x103);
	assert_int_equal(mapping.dev_minor, 0xfffff);
}

static void anonymous_memory_has_no_path(_unused_ void **state)
{
	assert_string_equal(read_good("1000-2000 rwxp 00000000 00:00 0 ").path, "");
	assert_string_equal(read_good("1000-2000 rwxp 00000000 00:00 0").path, "");
}

static void spaces_belong_to_the_path(_unused_ void **state)
{
	assert_string_equal(read_good("1000-2000 r-xp 0 1:2 3    /a b  c ").path, "/a b  c ");
}

static void a_newline_is_the_only_escape(_unused_ void **state)
{
	assert_string_equal(read_good("1000-2000 r-xp 0 1:2 3 /a\\012b\\040\\01").path,
			    "/a\nb\\040\\01");
}

static void deleted_is_no_part_of_the_path(_unused_ void **state)
{
	struct proc_mapping mapping = read_good("1000-2000 r-xp 0 1:2 3 /a (deleted)");

	assert_true(mapping.is_deleted);
	assert_string_equal(mapping.path, "/a");
}

static struct proc_mapping read_path_of_length(size_t length)
{
	_cleanup_(text_release) struct text line = {0};

	text_append_string(&line, "1000-2000 r-xp 0 1:2 3 /");
	for (size_t i = 1; i < length; i++)
		text_append_char(&line, 'x');
	assert_false(line.failed);
	return read_good(line.data);
}

static void the_longest_path_fits(_unused_ void **state)
{
	assert_int_equal(strlen(read_path_of_length(4096).path), 4096);
}

static void a_path_beyond_has_the_name_that_events_give_it(_unused_ void **state)
{
	assert_string_equal(read_path_of_length(4097).path, "//toolong");
}

static void malformed_lines_are_refused(_unused_ void **state)
{
	static const char *const lines[] = {
		"",
		"1000",
		"1000-",
		"1000 2000 r-xp 0 1:2 3 /x",
		"-2000 r-xp 0 1:2 3 /x",
		"1000-2000r-xp 0 1:2 3 /x",
		"1000-2000 r-x 0 1:2 3 /x",
		"1000-2000 r-xq 0 1:2 3 /x",
		"1000-2000 r-xp g 1:2 3 /x",
		"1000-2000 r-xp 0 1 3 /x",
		"1000-2000 r-xp 0 1:2 f /x",
		"1000-2000 r-xp 0 1:2 3/x",
		"1000-2000 r-xp 0 1:2",
		"2000-1000 r-xp 0 1:2 3 /x",
		"1000-1000 r-xp 0 1:2 3 /x",
		"1000-10000000000000000 r-xp 0 1:2 3 /x",
		"1000-2000 r-xp 0 100000000:2 3 /x",
		"1000-2000 r-xp 0 1:2 18446744073709551616 /x",
	};

	for (size_t i = 0; i < ARRAY_LENGTH(lines); i++) {
		struct proc_mapping mapping = {.start = 7};
		struct error error = {0};

		if (proc_mapping_read(lines[i], strlen(lines[i]), &mapping, &error) != -EINVAL)
			fail_msg("was taken: %s", lines[i]);
		assert_int_equal(mapping.start, 7);
		assert_string_not_equal(error.message, "");
	}
}

static void a_nul_in_a_path_is_refused(_unused_ void **state)
{
	static const char line[] = "1000-2000 r-xp 0 1:2 3 /x\0y";
	struct proc_mapping mapping;

	assert_int_equal(proc_mapping_read(line, sizeof(line) - 1, &mapping, NULL), -EINVAL);
}

struct seen {
	uint64_t starts[4];
	size_t num;
	int answer;
};

static int see(const struct proc_mapping *mapping, void *context)
{
	struct seen *seen = context;

	seen->starts[seen->num++] = mapping->start;
	return seen->answer;
}

static void mappings_are_visited_in_order(_unused_ void **state)
{
	static const char text[] = "1000-2000 r-xp 0 1:2 3 /x\n3000-4000 r-xp 0 1:2 3 /x";
	struct seen seen = {0};

	assert_int_equal(proc_maps_for_each(text, strlen(text), see, &seen, NULL), 0);
	assert_int_equal(seen.num, 2);
	assert_int_equal(seen.starts[0], 0x1000);
	assert_int_equal(seen.starts[1], 0x3000);
}

static void an_empty_text_has_no_mappings(_unused_ void **state)
{
	struct seen seen = {0};

	assert_int_equal(proc_maps_for_each(NULL, 0, see, &seen, NULL), 0);
	assert_int_equal(seen.num, 0);
}

static void the_malformed_line_is_named(_unused_ void **state)
{
	static const char text[] =
		"1000-2000 r-xp 0 1:2 3 /x\nrubbish\n3000-4000 r-xp 0 1:2 3 /x\n";
	struct seen seen = {0};
	struct error error;

	assert_int_equal(proc_maps_for_each(text, strlen(text), see, &seen, &error), -EINVAL);
	assert_true(string_starts_with(error.message, "maps line 2: "));
	assert_int_equal(seen.num, 1);
}

static void the_visitor_can_stop(_unused_ void **state)
{
	static const char text[] = "1000-2000 r-xp 0 1:2 3 /x\n3000-4000 r-xp 0 1:2 3 /x\n";
	struct seen seen = {.answer = -ENOMEM};

	assert_int_equal(proc_maps_for_each(text, strlen(text), see, &seen, NULL), -ENOMEM);
	assert_int_equal(seen.num, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_field_is_read),
		cmocka_unit_test(data_is_not_executable),
		cmocka_unit_test(the_highest_addresses_are_read),
		cmocka_unit_test(large_device_numbers_are_read),
		cmocka_unit_test(anonymous_memory_has_no_path),
		cmocka_unit_test(spaces_belong_to_the_path),
		cmocka_unit_test(a_newline_is_the_only_escape),
		cmocka_unit_test(deleted_is_no_part_of_the_path),
		cmocka_unit_test(the_longest_path_fits),
		cmocka_unit_test(a_path_beyond_has_the_name_that_events_give_it),
		cmocka_unit_test(malformed_lines_are_refused),
		cmocka_unit_test(a_nul_in_a_path_is_refused),
		cmocka_unit_test(mappings_are_visited_in_order),
		cmocka_unit_test(an_empty_text_has_no_mappings),
		cmocka_unit_test(the_malformed_line_is_named),
		cmocka_unit_test(the_visitor_can_stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
