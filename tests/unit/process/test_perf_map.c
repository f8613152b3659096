#include "process/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/clock.h"
#include "base/text.h"
#include "code_names.h"
#include "failing_memory.h"
#include "fake_proc.h"
#include "open_watch.h"
#include "unit.h"

static struct perf_map *map_of(const char *text)
{
	struct perf_map *map = perf_map_new();

	assert_non_null(map);
	assert_int_equal(perf_map_add_text(map, text, strlen(text)), 0);
	return map;
}

static const char *find_name(const struct perf_map *map, uint64_t pc)
{
	return jit_code_find(perf_map_get_code(map), pc, SIZE_MAX);
}

static void assert_name(const struct perf_map *map, uint64_t pc, const char *name)
{
	assert_code_name(perf_map_get_code(map), UINT64_MAX, pc, name);
}

static void code_is_found_from_its_start_to_before_its_end(_unused_ void **state)
{
	struct perf_map *map = map_of("1000 20 first\n1020 10 second\n");

	assert_name(map, 0xfff, NULL);
	assert_name(map, 0x1000, "first");
	assert_name(map, 0x101f, "first");
	assert_name(map, 0x1020, "second");
	assert_name(map, 0x1030, NULL);
	perf_map_free(map);
}

static void an_empty_map_finds_nothing(_unused_ void **state)
{
	struct perf_map *map = map_of("");

	assert_name(map, 0, NULL);
	perf_map_free(map);
}

static void numbers_may_have_a_prefix_and_capitals(_unused_ void **state)
{
	struct perf_map *map = map_of("0xAB00 0X1f name\n");

	assert_name(map, 0xab1e, "name");
	perf_map_free(map);
}

static void names_are_kept_as_they_are(_unused_ void **state)
{
	struct perf_map *map = map_of("1000 10 Lmy/Class; ::run (int)  \xff\n"
				      "2000 10  py::f:/a b.py\r\n");

	assert_name(map, 0x1000, "Lmy/Class; ::run (int)  \xff");
	assert_name(map, 0x2000, " py::f:/a b.py");
	perf_map_free(map);
}

static void the_later_line_wins(_unused_ void **state)
{
	struct perf_map *map = map_of("1000 30 old\n1010 10 new\n");

	assert_name(map, 0x100f, "old");
	assert_name(map, 0x1010, "new");
	assert_name(map, 0x101f, "new");
	assert_name(map, 0x1020, "old");
	perf_map_free(map);
}

static void code_that_is_made_again_has_its_last_name(_unused_ void **state)
{
	struct perf_map *map = perf_map_new();

	for (int i = 0; i < 5; i++) {
		char line[32];

		snprintf(line, sizeof(line), "1000 10 tier%d\n", i);
		assert_int_equal(perf_map_add_text(map, line, strlen(line)), 0);
	}
	assert_name(map, 0x1000, "tier4");
	perf_map_free(map);
}

static void malformed_lines_are_skipped_and_counted(_unused_ void **state)
{
	struct perf_map *map = map_of("rubbish\n"
				      "1000\n"
				      "1000 10\n"
				      "1000 10 \n"
				      "1000 0 empty\n"
				      "x 10 name\n"
				      "1000 1g name\n"
				      "0x 10 name\n"
				      "ffffffffffffffff 2 wraps\n"
				      "0 4000000000000000 2 much\n"
				      "10000000000000000 2 too large\n"
				      "\n"
				      "2000 10 good\n");

	assert_int_equal(perf_map_get_malformed_count(map), 11);
	assert_name(map, 0x1000, NULL);
	assert_name(map, 0x2000, "good");
	perf_map_free(map);
}

static void a_name_with_a_nul_is_malformed(_unused_ void **state)
{
	static const char text[] = "1000 10 a\0b\n";
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_add_text(map, text, sizeof(text) - 1), 0);
	assert_int_equal(perf_map_get_malformed_count(map), 1);
	perf_map_free(map);
}

/* The oracle: for every address, the last line that covers it. */
static void any_overlap_shows_the_last_line_at_every_address(_unused_ void **state)
{
	enum { SIZE = 96 };
	unsigned seed = 7;

	for (int round = 0; round < 300; round++) {
		struct perf_map *map = perf_map_new();
		int last[SIZE];
		int number = 0;

		memset(last, -1, sizeof(last));
		for (int batch = 0; batch < 4; batch++) {
			_cleanup_(text_release) struct text text = {0};
			int num_lines = rand_r(&seed) % 20;

			for (int i = 0; i < num_lines; i++, number++) {
				int start = rand_r(&seed) % (SIZE - 1);
				int size = 1 + rand_r(&seed) % (SIZE - start - 1) / (1 + i % 5);

				text_printf(&text, "%x %x %d\n", start, size, number);
				for (int at = start; at < start + size; at++)
					last[at] = number;
			}
			assert_int_equal(perf_map_add_text(map, text.data, text.length), 0);
		}
		for (int at = 0; at < SIZE; at++) {
			const char *name = find_name(map, (uint64_t)at);

			assert_int_equal(name ? atoi(name) : -1, last[at]);
		}
		perf_map_free(map);
	}
}

static int file_of(const char *text)
{
	int fd = memfd_create("perf-map", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	return fd;
}

static void append(int fd, const char *text)
{
	assert_true(lseek(fd, 0, SEEK_END) >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void refreshing_reads_what_was_appended(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n");
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0x1000, "a");
	append(fd, "1000 10 b\n");
	assert_name(map, 0x1000, "a");
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0x1000, "b");
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0x1000, "b");
	perf_map_free(map);
}

static const char *find_name_at(const struct perf_map *map, uint64_t pc, uint64_t time_ns)
{
	const struct jit_code *code = perf_map_get_code(map);

	return jit_code_find(code, pc, jit_code_count_until(code, time_ns));
}

static void what_was_appended_is_newer_than_the_last_reading(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n2000 10 b\n3000 10 c\n");
	struct perf_map *map = perf_map_new();
	struct stat status;
	uint64_t read_ns;

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	read_ns = clock_now_ns();
	append(fd, "1000 10 d\n2000 10 e\n");
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_int_equal(fstat(fd, &status), 0);

	assert_string_equal(find_name_at(map, 0x1000, 0), "a");
	assert_string_equal(find_name_at(map, 0x2000, 0), "b");
	assert_string_equal(find_name_at(map, 0x1000, read_ns - NS_PER_SECOND), "a");
	assert_string_equal(find_name_at(map, 0x1000, read_ns), "d");
	/* The last line is as old as the file, or as the line before it. */
	assert_string_equal(
		find_name_at(map, 0x2000, clock_from_calendar_ns(&status.st_mtim) - 20 * NS_PER_MS),
		"b");
	assert_string_equal(find_name_at(map, 0x2000, clock_now_ns()), "e");
	perf_map_free(map);
}

static int file_of_many(unsigned num_lines)
{
	_cleanup_(text_release) struct text text = {0};

	for (unsigned i = 0; i < num_lines; i++)
		text_printf(&text, "%x 10 f%u\n", i * 16, i);
	return file_of(text.data);
}

static void much_is_read_in_steps(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of_many(20000);
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd, 1), 0);
	assert_name(map, 0, "f0");
	assert_name(map, 19999 * 16, NULL);
	for (unsigned i = 0; i < 10; i++)
		assert_int_equal(perf_map_refresh(map, fd, 1), 0);
	assert_name(map, 19999 * 16, "f19999");
	/* They were there when it was opened, all but the last one. */
	assert_string_equal(find_name_at(map, 19998 * 16, 0), "f19998");
	perf_map_free(map);
}

static void half_a_line_waits_for_its_rest(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 na");
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0x1000, NULL);
	append(fd, "me\n");
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0x1000, "name");
	assert_int_equal(perf_map_get_malformed_count(map), 0);
	perf_map_free(map);
}

static void a_file_that_shrank_is_read_anew(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n2000 10 b\nrubbish\n");
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, "1000 10 c\n");
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);

	assert_name(map, 0x1000, "c");
	/* Nothing says that this code is gone. */
	assert_name(map, 0x2000, "b");
	assert_int_equal(perf_map_get_malformed_count(map), 0);
	perf_map_free(map);
}

static void a_file_of_many_pieces_is_read_whole(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of_many(20000);
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);

	assert_name(map, 0, "f0");
	assert_name(map, 19999 * 16 + 15, "f19999");
	assert_int_equal(perf_map_get_malformed_count(map), 0);
	perf_map_free(map);
}

static void an_endless_line_is_skipped(_unused_ void **state)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_close_ int fd = -1;
	struct perf_map *map = perf_map_new();

	text_append_string(&text, "1000 10 a\n2000 10 ");
	for (unsigned i = 0; i < 200000; i++)
		text_append_char(&text, 'x');
	text_append_string(&text, "\n3000 10 c\n");
	fd = file_of(text.data);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);

	assert_name(map, 0x1000, "a");
	assert_name(map, 0x2000, NULL);
	assert_name(map, 0x3000, "c");
	assert_int_equal(perf_map_get_malformed_count(map), 1);
	perf_map_free(map);
}

static void a_file_beyond_the_limit_is_refused_at_its_end(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n");
	struct perf_map *map = perf_map_new();

	/* A hole of zeros: one endless line. */
	assert_int_equal(ftruncate(fd, (off_t)513 << 20), 0);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), -EFBIG);
	assert_name(map, 0x1000, "a");
	perf_map_free(map);
}

static void more_names_than_are_kept_are_left_out(_unused_ void **state)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_close_ int fd = -1;
	struct perf_map *map = perf_map_new();

	for (unsigned i = 1; i < 800000; i++)
		text_printf(&text, "%x000 10 f%u\n", i, i);
	fd = file_of(text.data);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), -EFBIG);
	assert_name(map, 0x1000, "f1");
	assert_name(map, 799999ull << 12, NULL);
	assert_in_range(jit_code_get_size_bytes(perf_map_get_code(map)), 63 << 20, 64 << 20);
	perf_map_free(map);
}

static void a_file_that_grows_is_not_read_from_its_start(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of_many(20000);
	struct perf_map *map = perf_map_new();
	uint64_t before;

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	before = perf_map_get_total_bytes(map);
	for (unsigned i = 0; i < 100; i++) {
		append(fd, "1000 10 a\n");
		assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	}
	assert_int_equal(perf_map_get_total_bytes(map), before + 100 * strlen("1000 10 a\n"));
	perf_map_free(map);
}

static void a_file_that_shrinks_again_and_again_is_done_with(_unused_ void **state)
{
	_cleanup_(text_release) struct text rubbish = {0};
	_cleanup_close_ int fd = file_of("");
	struct perf_map *map = perf_map_new();
	unsigned num_read = 0;

	for (unsigned i = 0; i < 1 << 20; i++)
		text_append_string(&rubbish, "rubbish\n");
	while (num_read < 100) {
		assert_int_equal(ftruncate(fd, 0), 0);
		append(fd, num_read % 2 ? "" : rubbish.data);
		if (perf_map_refresh(map, fd, UINT64_MAX))
			break;
		num_read++;
	}
	assert_in_range(num_read, 10, 40);
	perf_map_free(map);
}

static void rewrite(int fd, const char *text)
{
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, text);
}

static void a_file_that_is_written_anew_is_read_anew(_unused_ void **state)
{
	static const char *const texts[] = {
		"1000 10 same\n3000 10 a_1\n", /* of the same size */
		"1000 10 diff\n3000 10 a_1\n", /* only its first line is another */
		"2000 10 longer\n1000 10 longer\n3000 10 longer\n",
		"2000 10 longer\n1000 10 again!\n3000 10 longer\n2000 10 more\n",
	};
	_cleanup_close_ int fd = file_of("1000 10 a_00\n3000 10 a_0\n");
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0x1000, "a_00");
	for (size_t i = 0; i < ARRAY_LENGTH(texts); i++) {
		static const char *const names[] = {"same", "diff", "longer", "again!"};

		rewrite(fd, texts[i]);
		assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
		assert_name(map, 0x1000, names[i]);
		assert_int_equal(perf_map_get_malformed_count(map), 0);
	}
	assert_name(map, 0x2000, "more");
	perf_map_free(map);
}

static void names_of_a_file_written_anew_have_the_time_of_its_change(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n2000 10 b\n");
	struct perf_map *map = perf_map_new();
	/* The future counts as the present. */
	struct timespec times[2] = {{.tv_sec = INT32_MAX}, {.tv_sec = INT32_MAX}};
	uint64_t before_ns;

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	rewrite(fd, "1000 10 c\n2000 10 d\n");
	assert_int_equal(futimens(fd, times), 0);
	before_ns = clock_now_ns() - 1;
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_string_equal(find_name_at(map, 0x1000, before_ns), "a");
	assert_string_equal(find_name_at(map, 0x2000, before_ns), "b");
	assert_string_equal(find_name_at(map, 0x1000, clock_now_ns()), "c");
	assert_string_equal(find_name_at(map, 0x2000, clock_now_ns()), "d");
	perf_map_free(map);
}

static void a_time_that_was_set_back_is_not_that_of_a_change(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n2000 10 b\n");
	struct perf_map *map = perf_map_new();
	const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
	uint64_t before_ns = clock_now_ns() - NS_PER_SECOND;

	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_string_equal(find_name_at(map, 0x2000, before_ns), "b");
	rewrite(fd, "1000 10 c\n2000 10 d\n");
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_string_equal(find_name_at(map, 0x1000, before_ns), "a");
	assert_string_equal(find_name_at(map, 0x2000, before_ns), "b");
	assert_name(map, 0x1000, "c");
	/* A line that is added. */
	append(fd, "1000 10 e\n");
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_string_equal(find_name_at(map, 0x1000, before_ns), "a");
	assert_name(map, 0x1000, "e");
	perf_map_free(map);
}

/* The last bytes alone are compared where a file is long. */
static void a_long_file_that_is_written_anew_is_read_anew(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of_many(20000);
	struct perf_map *map = perf_map_new();
	_cleanup_(text_release) struct text text = {0};

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 19999 * 16, "f19999");
	for (unsigned i = 0; i < 20000; i++)
		text_printf(&text, "%x 10 g%u\n", i * 16, i);
	rewrite(fd, text.data);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0, "g0");
	assert_name(map, 19999 * 16, "g19999");
	perf_map_free(map);
}

/* Its first and last bytes are the same; first also its size. */
static void a_long_file_that_differs_in_its_middle_is_read_anew(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of_many(20000);
	struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
	struct perf_map *map = perf_map_new();
	char line[32];
	char *middle;
	off_t end = lseek(fd, 0, SEEK_END);
	char *text = malloc((size_t)end + 1);

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 10000 * 16, "f10000");
	assert_int_equal(pread(fd, text, (size_t)end, 0), end);
	text[end] = '\0';
	snprintf(line, sizeof(line), "\n%x 10 f10000\n", 10000 * 16);
	middle = strstr(text, line);
	assert_non_null(middle);
	middle[strlen(line) - 7] = 'g';
	assert_int_equal(pwrite(fd, text, (size_t)end, 0), end);
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 10000 * 16, "g10000");
	assert_name(map, 10001 * 16, "f10001");
	/* Only its time is another. */
	times[1].tv_sec = 2;
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_int_equal(perf_map_get_total_bytes(map), 2 * end);
	/* It has grown, too. */
	middle[strlen(line) - 7] = 'h';
	assert_int_equal(pwrite(fd, text, (size_t)end, 0), end);
	assert_int_equal(pwrite(fd, "ffff0000 10 last\n", 17, end), 17);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 10000 * 16, "h10000");
	assert_name(map, 0xffff0000, "last");
	assert_int_equal(perf_map_get_total_bytes(map), 3 * end + 17);
	/* Growth alone makes nothing be read again. */
	assert_int_equal(pwrite(fd, "ffff1000 10 next\n", 17, end + 17), 17);
	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_name(map, 0xffff1000, "next");
	assert_int_equal(perf_map_get_total_bytes(map), 3 * end + 34);
	free(text);
	perf_map_free(map);
}

static void another_file_in_its_place_is_read_whole(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n2000 10 b\n");
	_cleanup_close_ int next = file_of("1000 10 a\n2000 10 b\n1000 10 c\n");
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd, UINT64_MAX), 0);
	assert_int_equal(perf_map_refresh(map, next, UINT64_MAX), 0);
	assert_name(map, 0x1000, "c");
	assert_int_equal(perf_map_get_total_bytes(map), 50);
	perf_map_free(map);
}

/* A pid that no machine has. */
#define PID 2000000001

static struct fake_proc proc_with_status(unsigned uid, const char *pids)
{
	struct fake_proc proc = fake_proc_new();
	char text[128];

	snprintf(text, sizeof(text), "Name:\tjit\nUid:\t0\t%u\t0\t0\nNSpid:\t%s\n", uid, pids);
	fake_proc_write(&proc, "2000000001/status", text);
	return proc;
}

static int open_map(const struct fake_proc *proc, struct error *error)
{
	int fd = -1;
	int err = perf_map_open(NULL, proc->root, PID, &fd, error);

	if (!err)
		close(fd);
	return err;
}

static void the_pid_inside_the_container_names_the_file(_unused_ void **state)
{
	struct fake_proc proc = proc_with_status(getuid(), "2000000001\t31\t7");

	fake_proc_write(&proc, "2000000001/root/tmp/perf-31.map", "");
	assert_int_equal(open_map(&proc, NULL), -ENOENT);
	fake_proc_write(&proc, "2000000001/root/tmp/perf-7.map", "");
	assert_int_equal(open_map(&proc, NULL), 0);
	fake_proc_remove(&proc);
}

static void without_inner_pids_the_pid_names_the_file(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();
	char text[64];

	snprintf(text, sizeof(text), "Name:\tjit\nUid:\t%u\t%u\t0\t0\n", getuid(), getuid());
	fake_proc_write(&proc, "2000000001/status", text);
	fake_proc_write(&proc, "2000000001/root/tmp/perf-2000000001.map", "");
	assert_int_equal(open_map(&proc, NULL), 0);
	fake_proc_remove(&proc);
}

/* In a process that sees `folder` as /: its exit status. */
static int open_map_below(const char *folder)
{
	int fd;

	/* A user namespace of its own may change its root, too. */
	if (chroot(folder) && (unshare(CLONE_NEWUSER) || chroot(folder)))
		return 77;
	return perf_map_open(NULL, "/proc", PID, &fd, NULL) ? 1 : 0;
}

static void our_own_folder_comes_second(_unused_ void **state)
{
	struct fake_proc root = fake_proc_new();
	/* There, files of ours belong to the user that is nobody's number. */
	uid_t uid = getuid() ? 65534 : 0;
	char text[64];
	pid_t child;
	int status;

	snprintf(text, sizeof(text), "Name:\tjit\nUid:\t%u\t%u\t0\t0\n", uid, uid);
	fake_proc_write(&root, "proc/2000000001/status", text);
	fake_proc_write(&root, "tmp/perf-2000000001.map", "");
	/* What was looked at is opened by its descriptor. */
	for (int fd = 0; fd < 64; fd++) {
		_cleanup_(text_release) struct text link = {0};

		snprintf(text, sizeof(text), "proc/self/fd/%d", fd);
		link = fake_proc_path(&root, text);
		assert_int_equal(symlink("/tmp/perf-2000000001.map", link.data), 0);
	}
	child = fork();
	if (child == 0)
		_exit(open_map_below(root.root));
	assert_true(child > 0);
	assert_int_equal(waitpid(child, &status, 0), child);
	fake_proc_remove(&root);
	if (status == 77 << 8)
		skip();
	assert_int_equal(status, 0);
}

static void an_unknown_process_has_no_perf_map(_unused_ void **state)
{
	struct fake_proc proc = fake_proc_new();

	assert_int_equal(open_map(&proc, NULL), -ENOENT);
	fake_proc_remove(&proc);
}

static void links_are_refused(_unused_ void **state)
{
	struct fake_proc proc = proc_with_status(getuid(), "7");
	struct error error;

	fake_proc_write(&proc, "secret", "");
	fake_proc_link(&proc, "2000000001/root/tmp/perf-7.map", "secret");
	assert_int_equal(open_map(&proc, &error), -EPERM);
	assert_non_null(strstr(error.message, "perf-7.map: must not be a symbolic link"));
	fake_proc_remove(&proc);
}

static void a_fifo_is_refused_without_being_opened(_unused_ void **state)
{
	struct fake_proc proc = proc_with_status(getuid(), "7");
	_cleanup_(text_release) struct text path =
		fake_proc_path(&proc, "2000000001/root/tmp/perf-7.map");

	int watch;

	assert_int_equal(mkfifo(path.data, 0600), 0);
	watch = open_watch_start(path.data);
	assert_int_equal(open_map(&proc, NULL), -EPERM);
	assert_false(open_watch_end(watch));
	fake_proc_remove(&proc);
}

static void the_file_of_another_user_is_refused(_unused_ void **state)
{
	struct fake_proc proc = proc_with_status(getuid() ? getuid() + 1 : 4711, "7");
	_cleanup_(text_release) struct text path =
		fake_proc_path(&proc, "2000000001/root/tmp/perf-7.map");
	struct error error;

	fake_proc_write(&proc, "2000000001/root/tmp/perf-7.map", "");
	/* Root's files are trusted; only root can make one that is not its own. */
	if (getuid() == 0 && chown(path.data, 4712, 4712)) {
		fake_proc_remove(&proc);
		skip();
	}
	assert_int_equal(open_map(&proc, &error), -EPERM);
	assert_non_null(strstr(error.message, "perf-7.map: belongs to user"));
	fake_proc_remove(&proc);
}

/* Whoever reads goes on where the memory ended. */
static void short_memory_is_an_error_of_reading(_unused_ void **state)
{
	static const char text[] = "1000 10 first\nrubbish\n2000 800 second\n";
	bool has_failed = true;

	for (int64_t num_before = 0; has_failed; num_before++) {
		int fd = memfd_create("map", MFD_CLOEXEC);
		struct perf_map *map;
		int err;

		assert_int_equal(write(fd, text, strlen(text)), strlen(text));
		failing_memory_start(num_before);
		map = perf_map_new();
		err = map ? perf_map_refresh(map, fd, UINT64_MAX) : -ENOMEM;
		err = err ? err : perf_map_add_text(map, "3000 10 third", 13);
		has_failed = failing_memory_end_with(err);
		if (!has_failed) {
			assert_name(map, 0x1000, "first");
			assert_name(map, 0x27ff, "second");
			assert_name(map, 0x3000, "third");
			assert_int_equal(perf_map_get_malformed_count(map), 1);
		}
		if (has_failed && map)
			assert_true(perf_map_get_total_bytes(map) <= strlen(text));
		perf_map_free(map);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found_from_its_start_to_before_its_end),
		cmocka_unit_test(an_empty_map_finds_nothing),
		cmocka_unit_test(numbers_may_have_a_prefix_and_capitals),
		cmocka_unit_test(names_are_kept_as_they_are),
		cmocka_unit_test(the_later_line_wins),
		cmocka_unit_test(code_that_is_made_again_has_its_last_name),
		cmocka_unit_test(malformed_lines_are_skipped_and_counted),
		cmocka_unit_test(a_name_with_a_nul_is_malformed),
		cmocka_unit_test(any_overlap_shows_the_last_line_at_every_address),
		cmocka_unit_test(refreshing_reads_what_was_appended),
		cmocka_unit_test(what_was_appended_is_newer_than_the_last_reading),
		cmocka_unit_test(much_is_read_in_steps),
		cmocka_unit_test(half_a_line_waits_for_its_rest),
		cmocka_unit_test(a_file_that_shrank_is_read_anew),
		cmocka_unit_test(a_file_of_many_pieces_is_read_whole),
		cmocka_unit_test(an_endless_line_is_skipped),
		cmocka_unit_test(short_memory_is_an_error_of_reading),
		cmocka_unit_test(a_file_beyond_the_limit_is_refused_at_its_end),
		cmocka_unit_test(more_names_than_are_kept_are_left_out),
		cmocka_unit_test(a_file_that_grows_is_not_read_from_its_start),
		cmocka_unit_test(a_file_that_shrinks_again_and_again_is_done_with),
		cmocka_unit_test(the_pid_inside_the_container_names_the_file),
		cmocka_unit_test(without_inner_pids_the_pid_names_the_file),
		cmocka_unit_test(our_own_folder_comes_second),
		cmocka_unit_test(an_unknown_process_has_no_perf_map),
		cmocka_unit_test(links_are_refused),
		cmocka_unit_test(a_fifo_is_refused_without_being_opened),
		cmocka_unit_test(the_file_of_another_user_is_refused),
		cmocka_unit_test(a_file_that_is_written_anew_is_read_anew),
		cmocka_unit_test(names_of_a_file_written_anew_have_the_time_of_its_change),
		cmocka_unit_test(a_time_that_was_set_back_is_not_that_of_a_change),
		cmocka_unit_test(a_long_file_that_is_written_anew_is_read_anew),
		cmocka_unit_test(a_long_file_that_differs_in_its_middle_is_read_anew),
		cmocka_unit_test(another_file_in_its_place_is_read_whole),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
