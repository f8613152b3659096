/* Rows in an archive's index: when they are written, and what a row is made of. The archive is the test's. */
#define archive_index_new       new_index
#define archive_index_free      free_index
#define archive_index_find      find_text
#define archive_index_add       add_lines
#define history_row_append_text append_text
#define history_row_init_text   init_text
#include "cli/report/history_index.c"

#include <errno.h>
#include <stdio.h>

#include "failing_memory.h"
#include "unit.h"

static unsigned int num_freed;
static int new_error, add_error, init_error;
static const char *known_text;
static bool is_unwritable; /* the row, as text */
static size_t num_written;
static unsigned int num_writes;
static char last_text[64];

int new_index(const struct archive *archive, const char *kind, struct archive_index **ret)
{
	assert_ptr_equal(archive, (void *)1);
	assert_non_null(strstr(kind, "stackwide history"));
	*ret = (void *)2;
	return new_error;
}

void free_index(struct archive_index *index)
{
	num_freed += index != NULL;
}

const char *find_text(const struct archive_index *index, const struct archive_capture *capture)
{
	assert_ptr_equal(index, (void *)2);
	assert_int_equal(capture->time_s, 77);
	return known_text;
}

int add_lines(const struct archive *archive, const char *kind _unused_,
	      const struct archive_index_line *lines, size_t num_lines)
{
	assert_ptr_equal(archive, (void *)1);
	num_writes++;
	num_written += num_lines;
	snprintf(last_text, sizeof(last_text), "%s", lines[num_lines - 1].text);
	return add_error;
}

bool append_text(const struct history_row *row, struct text *text)
{
	if (is_unwritable)
		return false;
	text_printf(text, "row %llu", (unsigned long long)row->samples);
	return !text->failed;
}

int init_text(struct history_row *row, const char *file, int64_t time_s, const char *text)
{
	assert_string_equal(text, known_text);
	*row = (struct history_row){.file = strdup(file), .time_s = time_s};
	return init_error;
}

static struct history_index history;
static struct archive_capture capture = {.time_s = 77};

static int set_up(void **state _unused_)
{
	num_freed = num_writes = 0;
	num_written = 0;
	new_error = add_error = init_error = 0;
	known_text = NULL;
	is_unwritable = false;
	assert_int_equal(history_index_init(&history, (void *)1), 0);
	return 0;
}

static int tear_down(void **state _unused_)
{
	history_index_release(&history);
	assert_int_equal(num_freed, 1);
	return 0;
}

static void add_rows(size_t count)
{
	for (size_t i = 0; i < count; i++)
		history_index_add(&history, &capture, &(struct history_row){.samples = i});
}

static void rows_are_written_in_batches(void **state _unused_)
{
	add_rows(MAX_ADDED - 1);
	assert_int_equal(num_writes, 0);
	add_rows(1);
	assert_int_equal(num_writes, 1);
	assert_int_equal(num_written, MAX_ADDED);
	add_rows(3);
	assert_int_equal(num_writes, 1);
	history_index_release(&history);
	assert_int_equal(num_writes, 2);
	assert_int_equal(num_written, MAX_ADDED + 3);
	assert_string_equal(last_text, "row 2");
	assert_int_equal(history_index_init(&history, (void *)1), 0);
	num_freed = 0;
}

static void nothing_new_is_not_written(void **state _unused_)
{
	history_index_release(&history);
	assert_int_equal(num_writes, 0);
	assert_int_equal(history_index_init(&history, (void *)1), 0);
	num_freed = 0;
}

/* A folder of another user. */
static void what_cannot_be_written_is_not_tried_again(void **state _unused_)
{
	add_error = -EACCES;
	add_rows(MAX_ADDED);
	assert_int_equal(num_writes, 1);
	assert_true(history.is_read_only);
	add_rows(MAX_ADDED);
	assert_int_equal(num_writes, 1);
	assert_int_equal(history.added.length, 0);
}

static void a_row_without_a_text_is_read_each_time(void **state _unused_)
{
	is_unwritable = true;
	add_rows(2);
	assert_int_equal(history.added.length, 0);
}

static void a_row_is_made_of_its_text(void **state _unused_)
{
	struct history_row row = {0};

	assert_false(history_index_find(&history, &capture, "a.pb", &row));
	known_text = "text";
	assert_true(history_index_find(&history, &capture, "a.pb", &row));
	assert_string_equal(row.file, "a.pb");
	assert_int_equal(row.time_s, 77);
	history_row_release(&row);
	/* It was released here. */
	init_error = -EINVAL;
	assert_false(history_index_find(&history, &capture, "a.pb", &row));
}

static void one_line_is_written_at_once(void **state _unused_)
{
	assert_int_equal(history_index_write((void *)1, &capture, "line"), 0);
	assert_int_equal(num_written, 1);
	assert_string_equal(last_text, "line");
	add_error = -EROFS;
	assert_int_equal(history_index_write((void *)1, &capture, "line"), -EROFS);
}

/* A row that finds no memory is read the next time; the others are written. */
static void short_memory_leaves_rows_out(void **state _unused_)
{
	bool has_failed = true;

	for (int64_t num_before = 0; has_failed; num_before++) {
		unsigned int num_kept;

		num_written = 0;
		failing_memory_start(num_before);
		add_rows(3);
		has_failed = failing_memory_end();
		num_kept = (unsigned int)history.added.length;
		assert_int_equal(num_kept, has_failed ? 2 : 3);
		add_rows(1);
		history_index_release(&history);
		assert_int_equal(num_written, num_kept + 1);
		assert_string_equal(last_text, "row 0");
		assert_int_equal(history_index_init(&history, (void *)1), 0);
	}
	num_freed = 0;
	new_error = -ENOMEM;
	assert_int_equal(history_index_init(&(struct history_index){0}, (void *)1), -ENOMEM);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(rows_are_written_in_batches),
		TEST(nothing_new_is_not_written),
		TEST(what_cannot_be_written_is_not_tried_again),
		TEST(a_row_without_a_text_is_read_each_time),
		TEST(a_row_is_made_of_its_text),
		TEST(one_line_is_written_at_once),
		TEST(short_memory_leaves_rows_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
