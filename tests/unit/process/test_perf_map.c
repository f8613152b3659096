#include "process/perf_map.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/attributes.h"
#include "base/text.h"
#include "fake_proc.h"
#include "unit.h"

static struct perf_map *map_of(const char *text)
{
	struct perf_map *map = perf_map_new();

	assert_non_null(map);
	assert_int_equal(perf_map_add_text(map, text, strlen(text)), 0);
	return map;
}

static void assert_name(const struct perf_map *map, uint64_t pc, const char *name)
{
	const char *found = perf_map_find(map, pc);

	if (!name)
		assert_null(found);
	else if (!found || !string_equals(found, name))
		fail_msg("at %#lx: %s instead of %s", (unsigned long)pc, found ? found : "nothing",
			 name);
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
				      "10000000000000000 2 too large\n"
				      "\n"
				      "2000 10 good\n");

	assert_int_equal(perf_map_get_malformed_count(map), 10);
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
			const char *name = perf_map_find(map, (uint64_t)at);

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

	assert_int_equal(perf_map_refresh(map, fd), 0);
	assert_name(map, 0x1000, "a");
	append(fd, "1000 10 b\n");
	assert_name(map, 0x1000, "a");
	assert_int_equal(perf_map_refresh(map, fd), 0);
	assert_name(map, 0x1000, "b");
	assert_int_equal(perf_map_refresh(map, fd), 0);
	assert_name(map, 0x1000, "b");
	perf_map_free(map);
}

static void half_a_line_waits_for_its_rest(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 na");
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd), 0);
	assert_name(map, 0x1000, NULL);
	append(fd, "me\n");
	assert_int_equal(perf_map_refresh(map, fd), 0);
	assert_name(map, 0x1000, "name");
	assert_int_equal(perf_map_get_malformed_count(map), 0);
	perf_map_free(map);
}

static void a_file_that_shrank_is_read_anew(_unused_ void **state)
{
	_cleanup_close_ int fd = file_of("1000 10 a\n2000 10 b\nrubbish\n");
	struct perf_map *map = perf_map_new();

	assert_int_equal(perf_map_refresh(map, fd), 0);
	assert_int_equal(ftruncate(fd, 0), 0);
	append(fd, "1000 10 c\n");
	assert_int_equal(perf_map_refresh(map, fd), 0);

	assert_name(map, 0x1000, "c");
	assert_name(map, 0x2000, NULL);
	assert_int_equal(perf_map_get_malformed_count(map), 0);
	perf_map_free(map);
}

static void a_file_of_many_pieces_is_read_whole(_unused_ void **state)
{
	_cleanup_(text_release) struct text text = {0};
	_cleanup_close_ int fd = -1;
	struct perf_map *map = perf_map_new();

	for (unsigned i = 0; i < 20000; i++)
		text_printf(&text, "%x 10 f%u\n", i * 16, i);
	fd = file_of(text.data);
	assert_int_equal(perf_map_refresh(map, fd), 0);

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
	assert_int_equal(perf_map_refresh(map, fd), 0);

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
	assert_int_equal(perf_map_refresh(map, fd), -EFBIG);
	assert_name(map, 0x1000, "a");
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
	int err = perf_map_open(proc->root, PID, &fd, error);

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

static void our_own_folder_comes_second(_unused_ void **state)
{
	struct fake_proc proc = proc_with_status(getuid(), "7");
	int fd = open("/tmp/perf-2000000001.map", O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(open_map(&proc, NULL), 0);
	assert_int_equal(unlink("/tmp/perf-2000000001.map"), 0);
	close(fd);
	fake_proc_remove(&proc);
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

static void a_fifo_is_refused_without_waiting(_unused_ void **state)
{
	struct fake_proc proc = proc_with_status(getuid(), "7");
	_cleanup_(text_release) struct text path =
		fake_proc_path(&proc, "2000000001/root/tmp/perf-7.map");

	assert_int_equal(mkfifo(path.data, 0600), 0);
	assert_int_equal(open_map(&proc, NULL), -EPERM);
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
		cmocka_unit_test(half_a_line_waits_for_its_rest),
		cmocka_unit_test(a_file_that_shrank_is_read_anew),
		cmocka_unit_test(a_file_of_many_pieces_is_read_whole),
		cmocka_unit_test(an_endless_line_is_skipped),
		cmocka_unit_test(a_file_beyond_the_limit_is_refused_at_its_end),
		cmocka_unit_test(the_pid_inside_the_container_names_the_file),
		cmocka_unit_test(without_inner_pids_the_pid_names_the_file),
		cmocka_unit_test(our_own_folder_comes_second),
		cmocka_unit_test(an_unknown_process_has_no_perf_map),
		cmocka_unit_test(links_are_refused),
		cmocka_unit_test(a_fifo_is_refused_without_waiting),
		cmocka_unit_test(the_file_of_another_user_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
