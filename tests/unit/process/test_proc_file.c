/* A file of a process, read here or by way of the opener: which one, how much of it, and what its end is. */
#include <errno.h>

#include "base/file.h"
#include "process/slow_opener.h"

int read_of_test(int folder, const char *path, size_t limit_bytes, struct text *ret);
int ask_of_test(struct slow_opener *opener, pid_t pid, const char *path, size_t limit_bytes,
		struct text *ret);

#define file_read_at     read_of_test
#define slow_opener_read ask_of_test
#include "process/proc_file.c"
#include "process/slow_proc_file.c"

#include "failing_memory.h"
#include "unit.h"

#define PID   8
#define LIMIT 1000

static int read_error;
static struct slow_opener *const helper = (struct slow_opener *)&read_error; /* only handed on */
static struct slow_opener *opener;

static int give(const char *path, size_t limit_bytes, struct text *ret)
{
	assert_string_equal(path, "/proc/8/status");
	assert_int_equal(limit_bytes, LIMIT);
	if (read_error)
		return read_error;
	text_append_string(ret, "content");
	return ret->failed ? -ENOMEM : 0;
}

int read_of_test(int folder, const char *path, size_t limit_bytes, struct text *ret)
{
	assert_int_equal(folder, AT_FDCWD);
	return give(path, limit_bytes, ret);
}

int ask_of_test(struct slow_opener *asked, pid_t pid, const char *path, size_t limit_bytes,
		struct text *ret)
{
	assert_ptr_equal(asked, opener);
	assert_int_equal(pid, PID);
	return give(path, limit_bytes, ret);
}

static int read_file(bool is_slow, struct text *ret)
{
	return is_slow ? proc_file_read_slow(opener, "/proc", PID, "status", LIMIT, ret)
		       : proc_file_read("/proc", PID, "status", LIMIT, ret);
}

static void expect(bool is_slow, int given, int expected)
{
	_cleanup_(text_release) struct text text = {0};

	read_error = given;
	assert_int_equal(read_file(is_slow, &text), expected);
	if (!expected)
		assert_string_equal(text.data, "content");
	read_error = 0;
}

static void assert_reads(bool is_slow)
{
	expect(is_slow, 0, 0);
	expect(is_slow, -EACCES, -EACCES);
	expect(is_slow, -ENOENT, -ENOENT);
	/* It has ended since the file was opened. */
	expect(is_slow, -ESRCH, -ENOENT);
}

static void a_process_that_ended_has_no_file(void **state _unused_)
{
	assert_reads(false);
}

static void the_opener_is_asked_on_behalf_of_the_process(void **state _unused_)
{
	opener = helper;
	assert_reads(true);
	expect(true, -ETIMEDOUT, -ETIMEDOUT);
	opener = NULL;
	assert_reads(true);
}

static int read_anew(void *is_slow)
{
	_cleanup_(text_release) struct text text = {0};

	return read_file(*(const bool *)is_slow, &text);
}

static void short_memory_is_an_error(void **state _unused_)
{
	bool is_slow = false;

	failing_memory_try_all(read_anew, &is_slow);
	is_slow = true;
	failing_memory_try_all(read_anew, &is_slow);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_process_that_ended_has_no_file),
		cmocka_unit_test(the_opener_is_asked_on_behalf_of_the_process),
		cmocka_unit_test(short_memory_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
