/*
 * A capture is read by a process of its own: what that answers, what is kept of it, and when it does not answer. The archive and
 * the row are the test's.
 */
#include <poll.h>

static int poll_shortly(struct pollfd *fds, nfds_t count, int timeout_ms);

#define archive_file_reopen     reopen_file
#define archive_file_describe   describe_file
#define archive_file_get_name   get_file_name
#define history_row_read        read_row
#define history_row_append_text append_text
#define history_index_write     write_line
#define confinement_enter       enter_confinement
#define poll                    poll_shortly
#include "cli/report/history_reader.c"
#undef poll

#include <fcntl.h>
#include <stdio.h>

#include "unit.h"

static int limit_ms; /* in the place of a minute */

static int poll_shortly(struct pollfd *fds, nfds_t count, int timeout_ms)
{
	assert_int_equal(timeout_ms, 60000);
	return poll(fds, count, limit_ms);
}

static int reopen_error, describe_error, write_error;
static char written[ARCHIVE_INDEX_MAX_TEXT + 64];
static unsigned int num_written;

int reopen_file(const struct archive_file *file)
{
	assert_ptr_equal(file, (void *)1);
	return reopen_error ? reopen_error : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

int describe_file(const struct archive_file *file, struct archive_capture *ret)
{
	assert_ptr_equal(file, (void *)1);
	*ret = (struct archive_capture){.time_s = 77};
	return describe_error;
}

const char *get_file_name(const struct archive_file *file)
{
	assert_ptr_equal(file, (void *)1);
	return "a.pb";
}

int write_line(const struct archive *archive, const struct archive_capture *capture,
	       const char *text)
{
	assert_ptr_equal(archive, (void *)2);
	assert_int_equal(capture->time_s, 77);
	snprintf(written, sizeof(written), "%s", text);
	num_written++;
	return write_error;
}

/* ---- in the process ---- */

static int row_error;
static bool is_final, has_text, dies, hangs;
static size_t text_length;
static unsigned int confined;

int read_row(struct history_row *row, const char *path, int64_t time_s, const int *fd,
	     bool *ret_is_final)
{
	*row = (struct history_row){0};
	if (dies)
		_exit(1);
	if (hangs)
		pause();
	if (strcmp(path, "dir/a.pb") || time_s != 77 || fcntl(*fd, F_GETFD) < 0)
		return -EIO;
	*ret_is_final = is_final;
	return row_error;
}

bool append_text(const struct history_row *row _unused_, struct text *text)
{
	for (size_t i = 0; i < text_length; i++)
		text_append_char(text, 'x');
	return has_text;
}

unsigned int enter_confinement(const struct confinement *confinement)
{
	/* What a capture may take. */
	return confinement->memory_bytes == 1ull << 30 && confinement->cpu_s == 20 &&
			       confinement->user == 9
		       ? confined
		       : 0;
}

static int set_up(void **state _unused_)
{
	limit_ms = 60000;
	reopen_error = describe_error = write_error = row_error = 0;
	num_written = 0;
	is_final = has_text = true;
	dies = hangs = false;
	text_length = 4;
	confined = CONFINED_CAPABILITIES;
	return 0;
}

static size_t index_it(void)
{
	num_written = 0;
	history_reader_index((void *)2, "dir", (void *)1, 9);
	return num_written;
}

static void a_row_is_read_and_written(void **state _unused_)
{
	assert_int_equal(index_it(), 1);
	assert_string_equal(written, "xxxx");
	write_error = -EROFS;
	assert_int_equal(index_it(), 1);
}

/* What was truncated is too long for the index, which refuses it. */
static void a_long_row_is_seen_to_be_too_long(void **state _unused_)
{
	text_length = ARCHIVE_INDEX_MAX_TEXT;
	assert_int_equal(index_it(), 1);
	assert_int_equal(strlen(written), ARCHIVE_INDEX_MAX_TEXT);
	text_length = ARCHIVE_INDEX_MAX_TEXT + 1;
	assert_int_equal(index_it(), 1);
	assert_int_equal(strlen(written), ARCHIVE_INDEX_MAX_TEXT + 1);
}

static void what_may_change_is_not_written(void **state _unused_)
{
	is_final = false;
	assert_int_equal(index_it(), 0);
	is_final = true;
	has_text = false;
	assert_int_equal(index_it(), 0);
	has_text = true;
	row_error = -ENOMEM;
	assert_int_equal(index_it(), 0);
}

static void a_process_with_rights_reads_nothing(void **state _unused_)
{
	confined = 0;
	assert_int_equal(index_it(), 0);
}

static void a_process_that_ends_or_hangs_is_given_up(void **state _unused_)
{
	dies = true;
	assert_int_equal(index_it(), 0);
	dies = false;
	hangs = true;
	limit_ms = 10;
	assert_int_equal(index_it(), 0);
}

static void a_capture_that_is_gone_is_not_read(void **state _unused_)
{
	reopen_error = -ENOENT;
	assert_int_equal(index_it(), 0);
	reopen_error = 0;
	describe_error = -EIO;
	assert_int_equal(index_it(), 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_row_is_read_and_written),
		TEST(a_long_row_is_seen_to_be_too_long),
		TEST(what_may_change_is_not_written),
		TEST(a_process_with_rights_reads_nothing),
		TEST(a_process_that_ends_or_hangs_is_given_up),
		TEST(a_capture_that_is_gone_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
