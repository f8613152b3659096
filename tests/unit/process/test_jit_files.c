/* Files that name generated code: what is read of them, and when they are closed. The test makes reading fail. */
#include "process/jitdump.h"
#include "process/perf_map.h"

static int perf_map_error;
static int jitdump_error;

static int refresh_perf_map(struct perf_map *map, int fd, uint64_t limit_bytes)
{
	int err = perf_map_refresh(map, fd, limit_bytes);

	return perf_map_error ? perf_map_error : err;
}

static int refresh_jitdump(struct jitdump *dump, int fd, uint64_t limit_bytes)
{
	int err = jitdump_refresh(dump, fd, limit_bytes);

	return jitdump_error ? jitdump_error : err;
}

#define perf_map_refresh refresh_perf_map
#define jitdump_refresh  refresh_jitdump
#include "process/jit_files.c"
#undef perf_map_refresh
#undef jitdump_refresh

#include "unit.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/jitdump_writer.h"

#define JIT_PID  7
#define MAP_TEXT "1000 100 first\n2000 100 second\n"
#define LATE_NS  UINT64_MAX

static struct jit_files jit;

static int open_bytes(const void *bytes, size_t size)
{
	FILE *file = tmpfile();
	int fd;

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, size, file), size);
	assert_int_equal(fflush(file), 0);
	fd = dup(fileno(file));
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	fclose(file);
	return fd;
}

static void add_perf_map(void)
{
	jit.perf_map = perf_map_new();
	assert_non_null(jit.perf_map);
	jit.perf_map_fd = open_bytes(MAP_TEXT, strlen(MAP_TEXT));
}

/* Returns its size. */
static size_t add_jitdump(void)
{
	struct jitdump_writer writer = {.pid = JIT_PID};
	size_t size;

	jitdump_put_header(&writer, 0);
	jitdump_put_load(&writer, 10, 0x3000, 16, "third");
	size = writer.text.length;
	jit.jitdump = jitdump_new(JIT_PID);
	assert_non_null(jit.jitdump);
	jit.jitdump_fd = open_bytes(writer.text.data, size);
	text_release(&writer.text);
	return size;
}

static int set_up(void **state _unused_)
{
	perf_map_error = jitdump_error = 0;
	jit_files_init(&jit);
	return 0;
}

static int tear_down(void **state _unused_)
{
	jit_files_release(&jit);
	return 0;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

static void both_files_are_read_and_stay_open(void **state _unused_)
{
	uint64_t left = 1 << 20;
	uint64_t size;

	add_perf_map();
	assert_int_equal(jit_files_read(&jit, &left), 0);
	size = jit.size_bytes;
	assert_true(size > 0);
	add_jitdump();
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_true(jit.size_bytes > size);
	assert_string_equal(jit_files_find(&jit, 0x1010, LATE_NS), "first");
	assert_string_equal(jit_files_find(&jit, 0x3008, LATE_NS), "third");
	assert_true(is_open(jit.perf_map_fd));
	assert_true(is_open(jit.jitdump_fd));
	assert_false(jit.are_names_truncated);
}

/* Names that were read stay. */
static void a_file_that_is_too_large_is_closed(void **state _unused_)
{
	uint64_t left = 1 << 20;
	int map_fd;
	int dump_fd;

	add_perf_map();
	add_jitdump();
	map_fd = jit.perf_map_fd;
	dump_fd = jit.jitdump_fd;
	perf_map_error = -EFBIG;
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_true(jit.are_names_truncated);
	assert_int_equal(jit.perf_map_fd, -1);
	assert_false(is_open(map_fd));
	assert_true(is_open(dump_fd));
	assert_string_equal(jit_files_find(&jit, 0x1010, LATE_NS), "first");
	jit.are_names_truncated = false;
	jitdump_error = -EFBIG;
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_true(jit.are_names_truncated);
	assert_int_equal(jit.jitdump_fd, -1);
	assert_false(is_open(dump_fd));
	/* Nothing is read any more. */
	jit.are_names_truncated = false;
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_false(jit.are_names_truncated);
}

static void a_broken_file_is_closed_and_has_all_its_names(void **state _unused_)
{
	uint64_t left = 1 << 20;
	int map_fd;
	int dump_fd;

	add_perf_map();
	add_jitdump();
	map_fd = jit.perf_map_fd;
	dump_fd = jit.jitdump_fd;
	perf_map_error = jitdump_error = -EINVAL;
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_false(jit.are_names_truncated);
	assert_false(is_open(map_fd));
	assert_false(is_open(dump_fd));
}

static void without_memory_nothing_is_closed(void **state _unused_)
{
	uint64_t left = 1 << 20;

	add_perf_map();
	perf_map_error = -ENOMEM;
	assert_int_equal(jit_files_read(&jit, &left), -ENOMEM);
	assert_true(is_open(jit.perf_map_fd));
	add_jitdump();
	perf_map_error = 0;
	jitdump_error = -ENOMEM;
	assert_int_equal(jit_files_read(&jit, &left), -ENOMEM);
	assert_true(is_open(jit.jitdump_fd));
}

static void bytes_that_were_read_are_taken_off(void **state _unused_)
{
	uint64_t left = 1000;
	uint64_t of_dump;

	add_perf_map();
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_int_equal(left, 1000 - strlen(MAP_TEXT));
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_int_equal(left, 1000 - strlen(MAP_TEXT));
	add_jitdump();
	assert_int_equal(jit_files_read(&jit, &left), 0);
	of_dump = jitdump_get_total_bytes(jit.jitdump);
	assert_true(of_dump > 0);
	assert_int_equal(left, 1000 - strlen(MAP_TEXT) - of_dump);
}

static void nothing_is_read_without_bytes_left(void **state _unused_)
{
	uint64_t left = 0;

	add_perf_map();
	add_jitdump();
	perf_map_error = jitdump_error = -EINVAL;
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_int_equal(left, 0);
	assert_true(is_open(jit.perf_map_fd));
	assert_true(is_open(jit.jitdump_fd));
	assert_null(jit_files_find(&jit, 0x1010, LATE_NS));
}

static void another_perf_map_in_its_place_is_read_after_it(void **state _unused_)
{
	static const char text[] = "1000 100 next\n";
	uint64_t left = 1 << 20;
	int old_fd;

	add_perf_map();
	old_fd = jit.perf_map_fd;
	jit.next_perf_map_fd = open_bytes(text, strlen(text));
	assert_int_equal(jit_files_read(&jit, &left), 0);
	assert_false(is_open(old_fd));
	assert_true(is_open(jit.perf_map_fd));
	assert_int_equal(jit.next_perf_map_fd, -1);
	assert_int_equal(left, (1 << 20) - strlen(MAP_TEXT) - strlen(text));
	assert_string_equal(jit_files_find(&jit, 0x1010, LATE_NS), "next");
	assert_string_equal(jit_files_find(&jit, 0x2010, LATE_NS), "second");
}

static void emptied_files_have_no_names_for_good(void **state _unused_)
{
	const struct mapping_list mappings = {0};
	struct jit_files before;
	uint64_t left = 1 << 20;

	add_perf_map();
	add_jitdump();
	assert_int_equal(jit_files_read(&jit, &left), 0);
	jit.owner = 1234;
	jit.is_followed = true;
	jit.next_search_ns = 99;
	before = jit;
	jit_files_empty(&jit);
	assert_false(is_open(before.perf_map_fd));
	assert_false(is_open(before.jitdump_fd));
	assert_null(jit_files_find(&jit, 0x1010, LATE_NS));
	assert_null(jit_files_find_first(&jit, 0x3008));
	assert_int_equal(jit.size_bytes, 0);
	assert_int_equal(jit.owner, 1234);
	assert_int_equal(jit.next_search_ns, 99);
	assert_true(jit.is_followed);
	assert_true(jit.are_names_truncated);
	assert_int_equal(jit_files_search(&jit, "/nonexistent", JIT_PID, NULL, &mappings, -1), 0);
	assert_null(jit.perf_map);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(both_files_are_read_and_stay_open),
		TEST(a_file_that_is_too_large_is_closed),
		TEST(a_broken_file_is_closed_and_has_all_its_names),
		TEST(without_memory_nothing_is_closed),
		TEST(bytes_that_were_read_are_taken_off),
		TEST(nothing_is_read_without_bytes_left),
		TEST(another_perf_map_in_its_place_is_read_after_it),
		TEST(emptied_files_have_no_names_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
