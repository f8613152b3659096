/*
 * Tables built by worker threads. No test sleeps: where a worker must be held up it waits for the
 * lock of stderr, to say that a file has no table.
 */
#include "collect/tables/table_builder.h"

#include "test_folder.h"
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "base/log.h"
#include "unwind/table_fixture.h"

#define NUM_FILES 8
#define ID_SIZE   20

/* What the file table would know of an open file. */
static struct mapped_file mapped_of(int fd)
{
	static char path[] = "/test/file";

	struct mapped_file mapped = {.path = path, .fd = fd, .owner = file_owner_get(fd)};

	if (fd >= 0)
		assert_int_equal(file_version_read(fd, &mapped.version), 0);
	return mapped;
}

static struct table_builder *start(unsigned int num_threads)
{
	struct table_builder *builder;

	assert_int_equal(table_builder_new(&(struct table_builder_opts){.num_threads = num_threads},
					   &builder),
			 0);
	return builder;
}

static int added_fds[64];
static size_t num_added_fds;

/* A file stays open until all tests end, as the file table's do. */
static int keep_open(int fd)
{
	assert_true(num_added_fds < ARRAY_LENGTH(added_fds));
	added_fds[num_added_fds++] = fd;
	return fd;
}

static void add(struct table_builder *builder, uint32_t file, int fd)
{
	struct mapped_file mapped = mapped_of(keep_open(fd));

	assert_int_equal(table_builder_add(builder, file, &mapped), 0);
}

static int open_own_program(void)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	return fd;
}

static int open_no_elf(void)
{
	return open_bytes("#!/bin/sh\n", 10);
}

/* A file with one function. */
static int open_program_of(uint32_t function_bytes)
{
	struct table_file file = table_file_of_text();
	struct text bytes;
	int fd;

	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(&file.eh_frame, TEXT, function_bytes, NO_CODE);
	bytes = table_file_write(&file);
	fd = open_bytes(bytes.data, bytes.length);
	text_release(&bytes);
	table_file_release(&file);
	return fd;
}

static int open_small_program(void)
{
	return open_program_of(0x100);
}

static uint32_t take_next(struct table_builder *builder, struct unwind_table **ret)
{
	uint32_t file;

	assert_true(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	assert_true(table_builder_take(builder, &file, ret));
	return file;
}

static bool is_readable(const struct table_builder *builder)
{
	struct pollfd poll_fd = {.fd = table_builder_get_fd(builder), .events = POLLIN};

	return poll(&poll_fd, 1, 0) == 1;
}

static void every_file_that_is_asked_for_gets_its_table(_unused_ void **state)
{
	struct table_builder *builder = start(2);
	bool is_taken[NUM_FILES] = {false};

	for (uint32_t i = 0; i < NUM_FILES; i++)
		add(builder, i, i % 2 ? open_own_program() : open_small_program());
	for (uint32_t i = 0; i < NUM_FILES; i++) {
		struct unwind_table *table;
		uint32_t file = take_next(builder, &table);

		assert_in_range(file, 0, NUM_FILES - 1);
		assert_false(is_taken[file]);
		is_taken[file] = true;
		assert_non_null(table);
		assert_true(unwind_table_has_rows(table));
		if (file % 2 == 0)
			assert_int_equal(table->statistics.num_functions, 1);
		unwind_table_free(table);
	}
	assert_false(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	assert_true(table_builder_get_wall_ns(builder) > 0);
	table_builder_free(builder);
}

static void the_table_is_that_of_the_file(_unused_ void **state)
{
	struct table_builder *builder = start(1);
	struct unwind_table *table;
	struct unwind_rule rule;

	add(builder, 7, open_small_program());
	assert_int_equal(take_next(builder, &table), 7);
	assert_int_equal(unwind_table_find(table, TEXT, &rule), 0);
	assert_int_equal(rule.cfa_op, UNWIND_CFA_SP);
	assert_int_equal(rule.cfa_offset, 8);
	unwind_table_free(table);
	table_builder_free(builder);
}

static void a_file_that_is_not_elf_has_no_table(_unused_ void **state)
{
	struct table_builder *builder = start(1);
	struct unwind_table *table = (struct unwind_table *)builder;

	add(builder, 3, open_no_elf());
	assert_int_equal(take_next(builder, &table), 3);
	assert_null(table);
	table_builder_free(builder);
}

static void a_file_that_is_empty_or_truncated_has_no_table(_unused_ void **state)
{
	struct table_builder *builder = start(1);
	struct unwind_table *table;
	int truncated = open_small_program();

	assert_int_equal(ftruncate(truncated, 40), 0);
	add(builder, 1, open_bytes("", 0));
	assert_int_equal(take_next(builder, &table), 1);
	assert_null(table);
	add(builder, 2, truncated);
	assert_int_equal(take_next(builder, &table), 2);
	assert_null(table);
	table_builder_free(builder);
}

static void a_file_of_another_machine_has_no_table(_unused_ void **state)
{
	struct table_file file = {.machine = EM_AARCH64};
	struct text bytes = table_file_write(&file);
	struct table_builder *builder = start(1);
	struct unwind_table *table;

	add(builder, 1, open_bytes(bytes.data, bytes.length));
	take_next(builder, &table);
	assert_null(table);
	text_release(&bytes);
	table_builder_free(builder);
}

static void a_file_that_is_not_open_is_refused(_unused_ void **state)
{
	struct table_builder *builder = start(1);
	struct mapped_file mapped = mapped_of(-1);

	assert_int_equal(table_builder_add(builder, 1, &mapped), -EBADF);
	assert_false(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	table_builder_free(builder);
}

static void where_nothing_is_asked_for_nothing_is_waited_for(_unused_ void **state)
{
	struct table_builder *builder = start(2);
	struct unwind_table *table;
	uint32_t file;

	assert_false(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	assert_false(table_builder_take(builder, &file, &table));
	table_builder_request(builder, 1);
	assert_false(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	table_builder_free(builder);
}

static void what_is_finished_is_waited_for_until_it_is_taken(_unused_ void **state)
{
	struct table_builder *builder = start(1);
	struct unwind_table *table;

	add(builder, 1, open_no_elf());
	assert_true(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	assert_true(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	take_next(builder, &table);
	assert_false(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	table_builder_free(builder);
}

static void the_descriptor_is_readable_while_something_is_finished(_unused_ void **state)
{
	struct table_builder *builder = start(1);
	struct unwind_table *table;
	uint32_t file;

	assert_false(is_readable(builder));
	add(builder, 1, open_no_elf());
	assert_true(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	assert_true(is_readable(builder));
	take_next(builder, &table);
	assert_false(table_builder_take(builder, &file, &table));
	assert_false(is_readable(builder));
	table_builder_free(builder);
}

/* From here on a worker that builds file 0 cannot end before release_worker(). */
static struct table_builder *start_with_held_worker(void)
{
	struct table_builder *builder = start(1);

	log_set_level(LOG_LEVEL_VERBOSE);
	flockfile(stderr);
	add(builder, 0, open_no_elf());
	/* It is first, whenever the thread starts. */
	for (int i = 0; i < 3; i++)
		table_builder_request(builder, 0);
	return builder;
}

static void release_worker(void)
{
	funlockfile(stderr);
}

static void the_file_that_is_wanted_most_comes_first(_unused_ void **state)
{
	static const uint32_t expected[] = {3, 2, 4, 1};
	struct table_builder *builder = start_with_held_worker();
	struct unwind_table *table;
	size_t num_taken = 0;

	for (uint32_t i = 1; i <= 4; i++)
		add(builder, i, open_small_program());
	table_builder_request(builder, 2);
	table_builder_request(builder, 3);
	table_builder_request(builder, 3);
	release_worker();
	for (int i = 0; i < 5; i++) {
		uint32_t file = take_next(builder, &table);

		if (file)
			assert_int_equal(file, expected[num_taken++]);
		unwind_table_free(table);
	}
	assert_int_equal(num_taken, 4);
	log_set_level(LOG_LEVEL_NORMAL);
	table_builder_free(builder);
}

/* The process that was started last; 0: the kernel does not tell. */
static pid_t find_last_child(void)
{
	_cleanup_(text_release) struct text text = {0};
	char path[64];
	const char *last;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	if (file_read_at(AT_FDCWD, path, 65536, &text) || !text.length)
		return 0;
	text_truncate(&text, text.length - 1);
	last = strrchr(text.data, ' ');
	return (pid_t)strtol(last ? last + 1 : text.data, NULL, 10);
}

static void add_of(struct table_builder *builder, uint32_t file, uid_t owner)
{
	struct mapped_file mapped = mapped_of(keep_open(open_small_program()));

	mapped.owner = owner;
	assert_int_equal(table_builder_add(builder, file, &mapped), 0);
}

struct held {
	uint32_t num_shown; /* tables */
	int fds[2];         /* of a pipe: the third table waits for a byte */
};

static void hold_third(const struct unwind_table *table _unused_, void *context)
{
	struct held *held = context;
	char byte;

	if (++held->num_shown == 3)
		assert_int_equal(read(held->fds[0], &byte, 1), 1);
}

/* The process that reads files of users does not answer: as with a file that takes long. */
static void a_file_that_takes_long_waits_for_the_others(_unused_ void **state)
{
	struct held held = {0};
	struct table_builder *builder;
	struct unwind_table *table;
	struct pollfd ready = {.events = POLLIN};
	uint32_t file;
	pid_t reader;

	assert_int_equal(pipe(held.fds), 0);
	assert_int_equal(table_builder_new(&(struct table_builder_opts){.num_threads = 1,
									.on_table = hold_third,
									.context = &held},
					   &builder),
			 0);
	ready.fd = table_builder_get_fd(builder);
	reader = find_last_child();
	if (!reader) {
		table_builder_free(builder);
		print_message("skipped: this kernel does not list children\n");
		skip();
	}
	kill(reader, SIGSTOP);
	add_of(builder, 1, 20001);
	table_builder_request(builder, 1); /* it is first, whenever the thread starts */
	add_of(builder, 2, 20002);
	add_of(builder, 3, 20002);
	for (uint32_t i = 3; i >= 2; i--) {
		assert_int_equal(take_next(builder, &table), i);
		assert_non_null(table);
		unwind_table_free(table);
	}
	/* At the end of a recording nothing waits for it, nor for others of the user. */
	add_of(builder, 4, 20001);
	assert_false(table_builder_wait(builder, clock_now_ns() + 3600 * NS_PER_SECOND));
	assert_int_equal(write(held.fds[1], "", 1), 1);
	for (uint32_t i = 0; i < 2; i++) {
		while (!table_builder_take(builder, &file, &table))
			assert_int_equal(poll(&ready, 1, 60000), 1);
		assert_true(file == 1 || file == 4);
		assert_non_null(table);
		unwind_table_free(table);
	}
	table_builder_free(builder);
	close(held.fds[0]);
	close(held.fds[1]);
}

static void what_waits_when_the_builder_is_freed_is_let_go(_unused_ void **state)
{
	struct table_builder *builder = start_with_held_worker();

	for (uint32_t i = 1; i < NUM_FILES; i++)
		add(builder, i, open_own_program());
	release_worker();
	table_builder_free(builder);
	log_set_level(LOG_LEVEL_NORMAL);
}

static void tables_that_nobody_took_are_freed(_unused_ void **state)
{
	struct table_builder *builder = start(1);

	add(builder, 1, open_small_program());
	assert_true(table_builder_wait(builder, clock_now_ns() + 60 * NS_PER_SECOND));
	table_builder_free(builder);
	table_builder_free(NULL);
}

/*
 * Whether the cache has the table of a file with these permissions once it was built. A file that
 * was overwritten has none.
 */
static bool is_kept(mode_t mode, bool is_overwritten)
{
	static const uint8_t id[ID_SIZE] = {1, 2, 3};
	char folder[TEST_PATH_BYTES];
	int fd = open_small_program();
	struct mapped_file mapped;
	struct unwind_table *table = NULL;
	struct table_builder *builder;
	struct table_cache *cache;
	char command[TEST_PATH_BYTES + 16];
	bool is_there;

	test_folder_make(folder);
	assert_int_equal(table_cache_open(folder, 1 << 20, &cache, NULL), 0);
	assert_int_equal(
		table_builder_new(&(struct table_builder_opts){.num_threads = 1, .cache = cache},
				  &builder),
		0);
	assert_int_equal(fchmod(fd, mode), 0);
	mapped = mapped_of(fd);
	memcpy(mapped.build_id, id, ID_SIZE);
	mapped.build_id_size = ID_SIZE;
	mapped.version.num_bytes += is_overwritten;
	assert_int_equal(table_builder_add(builder, 1, &mapped), 0);
	take_next(builder, &table);
	assert_int_equal(table != NULL, !is_overwritten);
	unwind_table_free(table);
	is_there = !table_cache_load(cache, id, ID_SIZE, &table, NULL);
	if (is_there)
		unwind_table_free(table);
	table_builder_free(builder);
	table_cache_free(cache);
	close(fd);
	snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	assert_int_equal(system(command), 0);
	return is_there;
}

static void a_table_is_kept_only_when_no_ordinary_user_can_write_its_file(_unused_ void **state)
{
	assert_false(is_kept(0666, false));
	assert_false(is_kept(0664, false));
	/* The file is ours, and we may be anybody. */
	assert_int_equal(is_kept(0644, false), geteuid() == 0);
}

static void a_table_of_another_content_is_neither_given_nor_kept(_unused_ void **state)
{
	assert_false(is_kept(0644, true));
}

struct kept {
	char folder[TEST_PATH_BYTES];
	struct table_cache *cache;
};

static size_t count_kept(const struct kept *kept)
{
	DIR *folder = opendir(kept->folder);
	const struct dirent *entry;
	size_t count = 0;

	assert_non_null(folder);
	while ((entry = readdir(folder)))
		count += entry->d_name[0] != '.';
	closedir(folder);
	return count;
}

/* The code that the table of a program of this time covers, which was made or kept. */
static uint64_t cover(const struct kept *kept, uint32_t function_bytes, time_t seconds)
{
	const struct timespec times[] = {{.tv_sec = seconds}, {.tv_sec = seconds}};
	int fd = open_program_of(function_bytes);
	struct unwind_table *table = NULL;
	struct table_builder *builder;
	uint64_t covered_bytes;

	assert_int_equal(fchmod(fd, 0644), 0);
	assert_int_equal(futimens(fd, times), 0);
	assert_int_equal(table_builder_new(&(struct table_builder_opts){.num_threads = 1,
									.cache = kept->cache},
					   &builder),
			 0);
	add(builder, 1, fd);
	take_next(builder, &table);
	assert_non_null(table);
	covered_bytes = table->statistics.covered_bytes;
	unwind_table_free(table);
	table_builder_free(builder);
	return covered_bytes;
}

static void without_a_build_id_a_table_is_kept_for_what_it_is_made_of(_unused_ void **state)
{
	struct kept kept = {0};
	char command[TEST_PATH_BYTES + 16];
	bool is_kept = geteuid() == 0;

	test_folder_make(kept.folder);
	assert_int_equal(table_cache_open(kept.folder, 1 << 20, &kept.cache, NULL), 0);
	assert_int_equal(cover(&kept, 0x100, 1000), 0x100);
	assert_int_equal(count_kept(&kept), is_kept);
	assert_int_equal(cover(&kept, 0x100, 1000), 0x100);
	assert_int_equal(count_kept(&kept), is_kept);
	/* As large and as old, and another one. */
	assert_int_equal(cover(&kept, 0x200, 1000), 0x200);
	assert_int_equal(count_kept(&kept), 2 * is_kept);
	assert_int_equal(cover(&kept, 0x100, 1001), 0x100);
	assert_int_equal(count_kept(&kept), 3 * is_kept);
	table_cache_free(kept.cache);
	snprintf(command, sizeof(command), "rm -rf '%s'", kept.folder);
	assert_int_equal(system(command), 0);
}

static void count_rows(const struct unwind_table *table, void *context)
{
	uint32_t *num_rows = context;

	*num_rows += table->num_rows;
}

static void a_table_is_shown_before_it_is_handed_over(_unused_ void **state)
{
	uint32_t num_rows = 0;
	struct table_builder *builder;
	struct unwind_table *table;

	assert_int_equal(table_builder_new(&(struct table_builder_opts){.num_threads = 1,
									.on_table = count_rows,
									.context = &num_rows},
					   &builder),
			 0);
	add(builder, 1, open_own_program());
	take_next(builder, &table);
	assert_non_null(table);
	assert_true(table->num_rows > 0);
	assert_int_equal(num_rows, table->num_rows);
	unwind_table_free(table);
	table_builder_free(builder);
}

static int close_added(void **state _unused_)
{
	while (num_added_fds)
		close(added_fds[--num_added_fds]);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_that_is_asked_for_gets_its_table),
		cmocka_unit_test(the_table_is_that_of_the_file),
		cmocka_unit_test(a_file_that_is_not_elf_has_no_table),
		cmocka_unit_test(a_file_that_is_empty_or_truncated_has_no_table),
		cmocka_unit_test(a_file_of_another_machine_has_no_table),
		cmocka_unit_test(a_file_that_is_not_open_is_refused),
		cmocka_unit_test(where_nothing_is_asked_for_nothing_is_waited_for),
		cmocka_unit_test(what_is_finished_is_waited_for_until_it_is_taken),
		cmocka_unit_test(the_descriptor_is_readable_while_something_is_finished),
		cmocka_unit_test(the_file_that_is_wanted_most_comes_first),
		cmocka_unit_test(a_file_that_takes_long_waits_for_the_others),
		cmocka_unit_test(what_waits_when_the_builder_is_freed_is_let_go),
		cmocka_unit_test(tables_that_nobody_took_are_freed),
		cmocka_unit_test(a_table_is_kept_only_when_no_ordinary_user_can_write_its_file),
		cmocka_unit_test(a_table_of_another_content_is_neither_given_nor_kept),
		cmocka_unit_test(without_a_build_id_a_table_is_kept_for_what_it_is_made_of),
		cmocka_unit_test(a_table_is_shown_before_it_is_handed_over),
	};

	return cmocka_run_group_tests(tests, NULL, close_added);
}
