/*
 * Tables on disk: what is stored comes back, and nothing that somebody else could have made does.
 */
#include "test_folder.h"
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "base/file.h"
#include "table_fixture.h"
#include "unwind/table_cache.h"

#define LIMIT_BYTES (1u << 20)
#define ID_SIZE     20

/* Of a file in the cache. */
#define PATH_BYTES (TEST_PATH_BYTES + 160)

struct fixture {
	char parent[TEST_PATH_BYTES];
	char folder[TEST_PATH_BYTES + 16];
	struct table_cache *cache;
	struct unwind_table *table;
};

static const uint8_t id[ID_SIZE] = {0xab, 0xcd, 1, 2, 3};

static struct table_cache *open_cache(const char *folder, uint64_t limit_bytes)
{
	struct table_cache *cache;

	assert_int_equal(table_cache_open(folder, limit_bytes, &cache, NULL), 0);
	return cache;
}

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct table_file file = table_file_of_text();

	assert_non_null(fixture);
	test_folder_make(fixture->parent);
	snprintf(fixture->folder, sizeof(fixture->folder), "%s/cache", fixture->parent);
	fixture->cache = open_cache(fixture->folder, LIMIT_BYTES);
	frame_writer_add_cie(&file.eh_frame, &usual_cie);
	frame_writer_add_function(
		&file.eh_frame, TEXT + 0x100, 0x100,
		CODE(DW_CFA_advance_loc | 4, ROW(1), DW_CFA_advance_loc | 4, ROW(2)));
	frame_writer_add_function(&file.eh_frame, TEXT + 0xff00, 0x200, CODE(ROW(3)));
	fixture->table = table_file_build(&file);
	table_file_release(&file);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;
	char command[TEST_PATH_BYTES + 16];

	table_cache_free(fixture->cache);
	unwind_table_free(fixture->table);
	snprintf(command, sizeof(command), "rm -rf '%s'", fixture->parent);
	assert_int_equal(system(command), 0);
	free(fixture);
	return 0;
}

static int load(const struct fixture *fixture, const uint8_t *build_id, struct unwind_table **ret)
{
	struct error error = {{0}};
	int err = table_cache_load(fixture->cache, build_id, ID_SIZE, ret, &error);

	assert_true(!err == !error.message[0]);
	return err;
}

/* Loads, and whatever comes is freed. */
static int try_load(const struct fixture *fixture)
{
	struct unwind_table *table = NULL;
	int err = load(fixture, id, &table);

	unwind_table_free(table);
	return err;
}

static void store(struct fixture *fixture, const uint8_t *build_id)
{
	assert_int_equal(table_cache_store(fixture->cache, build_id, ID_SIZE, fixture->table, NULL),
			 0);
}

static void get_path(const struct fixture *fixture, const uint8_t *build_id, char ret[PATH_BYTES])
{
	int length = snprintf(ret, PATH_BYTES, "%s/", fixture->folder);

	for (int i = 0; i < ID_SIZE; i++)
		length +=
			snprintf(ret + length, (size_t)(PATH_BYTES - length), "%02x", build_id[i]);
	snprintf(ret + length, (size_t)(PATH_BYTES - length), ".%d.unwind", TABLE_CACHE_VERSION);
}

static void assert_same_table(const struct unwind_table *a, const struct unwind_table *b)
{
	assert_int_equal(a->first_page, b->first_page);
	assert_int_equal(a->num_pages, b->num_pages);
	assert_int_equal(a->num_rows, b->num_rows);
	assert_int_equal(a->num_rules, b->num_rules);
	assert_memory_equal(a->pages, b->pages, a->num_pages * sizeof(*a->pages));
	assert_memory_equal(a->rows, b->rows, a->num_rows * sizeof(*a->rows));
	assert_memory_equal(a->rules, b->rules, a->num_rules * sizeof(*a->rules));
	assert_memory_equal(&a->statistics, &b->statistics, sizeof(a->statistics));
}

static void a_stored_table_comes_back_in_the_next_run(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_table *table;

	store(fixture, id);
	table_cache_free(fixture->cache);
	fixture->cache = open_cache(fixture->folder, LIMIT_BYTES);
	assert_int_equal(load(fixture, id, &table), 0);
	assert_same_table(table, fixture->table);
	unwind_table_free(table);
}

static void an_empty_table_comes_back_too(void **state)
{
	struct fixture *fixture = *state;
	struct table_file file = table_file_of_text();
	struct unwind_table *table;

	unwind_table_free(fixture->table);
	fixture->table = table_file_build(&file);
	store(fixture, id);
	assert_int_equal(load(fixture, id, &table), 0);
	assert_same_table(table, fixture->table);
	unwind_table_free(table);
}

static void a_table_that_was_not_stored_is_not_there(void **state)
{
	static const uint8_t other[ID_SIZE] = {0xab, 0xcd, 1, 2, 4};
	struct fixture *fixture = *state;
	struct unwind_table *table;

	store(fixture, id);
	assert_int_equal(load(fixture, other, &table), -ENOENT);
	assert_int_equal(table_cache_load(fixture->cache, id, 0, &table, NULL), -ENOENT);
	assert_int_equal(table_cache_store(fixture->cache, id, 0, fixture->table, NULL), -EINVAL);
}

static void a_later_table_replaces_the_earlier(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_table *table;

	store(fixture, id);
	fixture->table->statistics.build_ns++;
	store(fixture, id);
	assert_int_equal(load(fixture, id, &table), 0);
	assert_same_table(table, fixture->table);
	unwind_table_free(table);
}

static void a_file_under_another_name_is_refused(void **state)
{
	static const uint8_t other[ID_SIZE] = {7};
	struct fixture *fixture = *state;
	struct unwind_table *table;
	char from[PATH_BYTES];
	char to[PATH_BYTES];

	store(fixture, id);
	get_path(fixture, id, from);
	get_path(fixture, other, to);
	assert_int_equal(rename(from, to), 0);
	assert_int_equal(load(fixture, other, &table), -EINVAL);
}

static void write_file(const char *path, const void *data, size_t size)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, data, size), (ssize_t)size);
	close(fd);
}

static void any_changed_byte_is_noticed(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text file = {0};
	char path[PATH_BYTES];

	store(fixture, id);
	get_path(fixture, id, path);
	assert_int_equal(file_read_at(AT_FDCWD, path, LIMIT_BYTES, &file), 0);
	for (size_t i = 0; i < file.length; i++) {
		file.data[i] ^= 1 << (i % 8);
		write_file(path, file.data, file.length);
		assert_int_equal(try_load(fixture), -EINVAL);
		file.data[i] ^= 1 << (i % 8);
	}
	write_file(path, file.data, file.length);
	assert_int_equal(try_load(fixture), 0);
}

static void a_file_of_another_length_is_refused(void **state)
{
	struct fixture *fixture = *state;
	_cleanup_(text_release) struct text file = {0};
	char path[PATH_BYTES];

	store(fixture, id);
	get_path(fixture, id, path);
	assert_int_equal(file_read_at(AT_FDCWD, path, LIMIT_BYTES, &file), 0);
	for (size_t size = 0; size < file.length; size++) {
		write_file(path, file.data, size);
		assert_int_equal(try_load(fixture), -EINVAL);
	}
	text_append_char(&file, '\0');
	write_file(path, file.data, file.length);
	assert_int_equal(try_load(fixture), -EINVAL);
}

static void a_table_that_breaks_its_rules_is_refused(void **state)
{
	struct fixture *fixture = *state;
	struct unwind_table *table = fixture->table;
	struct unwind_row row = table->rows[1];
	uint32_t last = table->num_rules - 1;

	table->rows[1].rule = (wire_u16)table->num_rules;
	store(fixture, id);
	assert_int_equal(try_load(fixture), -EINVAL);
	table->rows[1] = row;
	table->rows[1].pc_low = table->rows[2].pc_low;
	store(fixture, id);
	assert_int_equal(try_load(fixture), -EINVAL);
	table->rows[1] = row;
	table->rules[last].cfa_op = UNWIND_CFA_UNSUPPORTED + 1;
	store(fixture, id);
	assert_int_equal(try_load(fixture), -EINVAL);
	table->rules[last].cfa_op = UNWIND_CFA_SP;
	table->pages[1].num_rows++;
	store(fixture, id);
	assert_int_equal(try_load(fixture), -EINVAL);
	table->pages[1].num_rows--;
	store(fixture, id);
	assert_int_equal(try_load(fixture), 0);
}

static void a_file_that_others_may_write_to_is_refused(void **state)
{
	static const mode_t modes[] = {0620, 0602};
	struct fixture *fixture = *state;
	char path[PATH_BYTES];

	store(fixture, id);
	get_path(fixture, id, path);
	for (size_t i = 0; i < ARRAY_LENGTH(modes); i++) {
		assert_int_equal(chmod(path, modes[i]), 0);
		assert_int_equal(try_load(fixture), -EPERM);
		assert_int_equal(
			table_cache_store(fixture->cache, id, ID_SIZE, fixture->table, NULL),
			-EPERM);
	}
}

static void the_umask_does_not_open_a_file_to_others(void **state)
{
	struct fixture *fixture = *state;
	struct stat status;
	char path[PATH_BYTES];
	mode_t before = umask(0);

	store(fixture, id);
	umask(before);
	get_path(fixture, id, path);
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0600);
	assert_int_equal(try_load(fixture), 0);
}

static void what_is_no_regular_file_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_BYTES];
	char target[PATH_BYTES + 8];

	store(fixture, id);
	get_path(fixture, id, path);
	snprintf(target, sizeof(target), "%s.moved", path);
	assert_int_equal(rename(path, target), 0);
	assert_int_equal(symlink(target, path), 0);
	assert_int_equal(try_load(fixture), -EPERM);
	assert_int_equal(table_cache_store(fixture->cache, id, ID_SIZE, fixture->table, NULL),
			 -EPERM);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(try_load(fixture), -EPERM);
}

static void assert_folder_refused(const char *folder, int expected)
{
	struct table_cache *cache;
	struct error error = {{0}};

	assert_int_equal(table_cache_open(folder, LIMIT_BYTES, &cache, &error), expected);
	assert_true(error.message[0]);
}

static void a_folder_that_others_may_change_is_refused(void **state)
{
	struct fixture *fixture = *state;
	char path[PATH_BYTES];

	assert_int_equal(chmod(fixture->folder, 0770), 0);
	assert_folder_refused(fixture->folder, -EPERM);
	assert_int_equal(chmod(fixture->folder, 0707), 0);
	assert_folder_refused(fixture->folder, -EPERM);
	assert_int_equal(chmod(fixture->folder, 0700), 0);
	snprintf(path, sizeof(path), "%s/link", fixture->parent);
	assert_int_equal(symlink(fixture->folder, path), 0);
	assert_folder_refused(path, -EPERM);
	snprintf(path, sizeof(path), "%s/file", fixture->parent);
	write_file(path, "x", 1);
	assert_folder_refused(path, -EPERM);
	snprintf(path, sizeof(path), "%s/missing/folder", fixture->parent);
	assert_folder_refused(path, -ENOENT);
}

static void a_folder_of_somebody_else_is_refused(void **state)
{
	struct fixture *fixture = *state;

	if (geteuid() == 0) {
		assert_int_equal(chown(fixture->folder, 12345, (gid_t)-1), 0);
		assert_folder_refused(fixture->folder, -EPERM);
	} else {
		assert_folder_refused("/usr", -EPERM);
	}
}

static void set_use(const char *path, time_t seconds)
{
	struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

	assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static void what_was_not_used_for_longest_goes_first(void **state)
{
	struct fixture *fixture = *state;
	uint8_t ids[4][ID_SIZE] = {{1}, {2}, {3}, {4}};
	char path[PATH_BYTES];
	char foreign[PATH_BYTES];
	struct unwind_table *table;
	struct stat status;

	for (int i = 0; i < 3; i++) {
		store(fixture, ids[i]);
		get_path(fixture, ids[i], path);
		set_use(path, 1000 + i);
	}
	snprintf(foreign, sizeof(foreign), "%s/README", fixture->folder);
	write_file(foreign, "not ours", 8);
	set_use(foreign, 1);
	assert_int_equal(stat(path, &status), 0);
	table_cache_free(fixture->cache);
	fixture->cache = open_cache(fixture->folder, (uint64_t)status.st_size * 3);
	/* Used again, so that the second one is the oldest. */
	assert_int_equal(load(fixture, ids[0], &table), 0);
	unwind_table_free(table);
	store(fixture, ids[3]);
	for (int i = 0; i < 4; i++) {
		get_path(fixture, ids[i], path);
		assert_int_equal(access(path, F_OK), i == 1 ? -1 : 0);
	}
	assert_int_equal(access(foreign, F_OK), 0);
}

static void a_table_larger_than_the_cache_is_not_stored(void **state)
{
	struct fixture *fixture = *state;

	table_cache_free(fixture->cache);
	fixture->cache = open_cache(fixture->folder, 100);
	assert_int_equal(table_cache_store(fixture->cache, id, ID_SIZE, fixture->table, NULL),
			 -EFBIG);
	assert_int_equal(try_load(fixture), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stored_table_comes_back_in_the_next_run),
		TEST(an_empty_table_comes_back_too),
		TEST(a_table_that_was_not_stored_is_not_there),
		TEST(a_later_table_replaces_the_earlier),
		TEST(a_file_under_another_name_is_refused),
		TEST(any_changed_byte_is_noticed),
		TEST(a_file_of_another_length_is_refused),
		TEST(a_table_that_breaks_its_rules_is_refused),
		TEST(a_file_that_others_may_write_to_is_refused),
		TEST(the_umask_does_not_open_a_file_to_others),
		TEST(what_is_no_regular_file_is_refused),
		TEST(a_folder_that_others_may_change_is_refused),
		TEST(a_folder_of_somebody_else_is_refused),
		TEST(what_was_not_used_for_longest_goes_first),
		TEST(a_table_larger_than_the_cache_is_not_stored),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
