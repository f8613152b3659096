#include "process/jitdump.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "code_names.h"
#include "failing_memory.h"
#include "fake_proc.h"
#include "jitdump_writer.h"
#include "unit.h"

#define PID 7

static void release(struct jitdump_writer *writer)
{
	text_release(&writer->text);
}

static void assert_name_at(const struct jitdump *dump, uint64_t time_ns, uint64_t pc,
			   const char *name)
{
	assert_code_name(jitdump_get_code(dump), time_ns, pc, name);
}

static struct jitdump *dump_of(const struct jitdump_writer *writer)
{
	struct jitdump *dump = jitdump_new(PID);
	uint64_t used;

	assert_int_equal(jitdump_add_bytes(dump, writer->text.data, writer->text.length, &used), 0);
	assert_int_equal(used, writer->text.length);
	return dump;
}

static void fill(struct jitdump_writer *writer)
{
	jitdump_put_header(writer, 0);
	jitdump_put_load(writer, 100, 0x1000, 0x20, "first");
	jitdump_put_record(writer, 2, 40, 150); /* lines */
	text_append(&writer->text, "123456789012345678901234", 24);
	jitdump_put_load(writer, 200, 0x1000, 0x10, "second");
	jitdump_put_move(writer, 300, 0x1000, 0x3000, 0x10);
	jitdump_put_record(writer, 3, 16, 400); /* closed */
}

static void assert_filled(const struct jitdump *dump)
{
	assert_name_at(dump, 99, 0x1000, NULL);
	assert_name_at(dump, 100, 0x1000, "first");
	assert_name_at(dump, 200, 0x1000, "second");
	assert_name_at(dump, 200, 0x1010, "first");
	assert_name_at(dump, 299, 0x3000, NULL);
	assert_name_at(dump, 300, 0x300f, "second");
	assert_name_at(dump, 300, 0x3010, NULL);
	assert_int_equal(jitdump_get_malformed_count(dump), 0);
	assert_false(jitdump_has_foreign_clock(dump));
}

static void code_has_the_name_of_its_time(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	struct jitdump *dump;

	fill(&writer);
	dump = dump_of(&writer);
	assert_filled(dump);
	jitdump_free(dump);
}

static void the_other_byte_order_is_read(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID, .is_swapped = true};
	struct jitdump *dump;

	fill(&writer);
	dump = dump_of(&writer);
	assert_filled(dump);
	jitdump_free(dump);
}

/* Ends at each byte: nothing false, and with the rest all is there. */
static void a_file_may_end_anywhere(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};

	fill(&writer);
	for (size_t size = 0; size < writer.text.length; size++) {
		struct jitdump *dump = jitdump_new(PID);
		uint64_t used;
		uint64_t more;

		assert_int_equal(jitdump_add_bytes(dump, writer.text.data, size, &used), 0);
		if (used < writer.text.length)
			assert_int_equal(jitdump_add_bytes(dump, writer.text.data + used,
							   writer.text.length - used, &more),
					 0);
		assert_filled(dump);
		jitdump_free(dump);
	}
}

static void what_is_no_jitdump_is_refused(_unused_ void **state)
{
	struct jitdump *dump = jitdump_new(PID);
	uint64_t used;

	assert_int_equal(
		jitdump_add_bytes(dump, "1000 10 a perf-map, not a jitdump at all", 40, &used),
		-EINVAL);
	jitdump_free(dump);
}

static void a_record_shorter_than_itself_ends_the_reading(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	struct jitdump *dump = jitdump_new(PID);
	uint64_t used;

	jitdump_put_header(&writer, 0);
	jitdump_put_load(&writer, 100, 0x1000, 0x20, "a");
	jitdump_put_record(&writer, 0, 15, 100);
	assert_int_equal(jitdump_add_bytes(dump, writer.text.data, writer.text.length, &used),
			 -EINVAL);
	assert_name_at(dump, 100, 0x1000, "a");
	jitdump_free(dump);
}

static void records_that_cannot_be_are_counted(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	_cleanup_(text_release) struct text long_name = {0};
	struct jitdump *dump;

	for (unsigned i = 0; i < 20000; i++)
		text_append_char(&long_name, 'x');
	jitdump_put_header(&writer, 0);
	jitdump_put_load(&writer, 1, 0x1000, 0, "empty");
	jitdump_put_load(&writer, 1, 0x1000, 0x10, "");
	jitdump_put_load(&writer, 1, UINT64_MAX - 4, 0x10, "beyond the end");
	jitdump_put_load(&writer, 1, 0x1000, 0x10, long_name.data);
	jitdump_put_record(&writer, 0, 16, 1);            /* no place for anything */
	jitdump_put_record(&writer, 1, 16, 1);            /* likewise */
	jitdump_put_move(&writer, 1, 0x5000, 0x1000, 16); /* of nothing */
	writer.pid = PID + 1;
	jitdump_put_load(&writer, 1, 0x1000, 0x10, "another process's");
	jitdump_put_move(&writer, 1, 0x2000, 0x1000, 16);
	writer.pid = PID;
	jitdump_put_load(&writer, 1, 0x2000, 0x10, "good");
	dump = dump_of(&writer);
	assert_int_equal(jitdump_get_malformed_count(dump), 9);
	assert_name_at(dump, UINT64_MAX, 0x1000, NULL);
	assert_name_at(dump, 1, 0x2000, "good");
	jitdump_free(dump);
}

static int file_of(const struct jitdump_writer *writer)
{
	int fd = memfd_create("jitdump", MFD_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, writer->text.data, writer->text.length), writer->text.length);
	return fd;
}

/* Its code alone is larger than what is read at a time. */
static void refreshing_reads_what_was_appended(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	_cleanup_close_ int fd = -1;
	struct jitdump *dump = jitdump_new(PID);
	uint64_t offset_ns = clock_get_offset_ns(CLOCK_MONOTONIC);
	size_t length;

	jitdump_put_header(&writer, 0);
	jitdump_put_load(&writer, 1000, 0x1000, 200000, "large");
	length = writer.text.length;
	fd = file_of(&writer);
	assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
	assert_name_at(dump, UINT64_MAX, 0x1000, "large");
	jitdump_put_load(&writer, 10 * NS_PER_SECOND, 0x1000, 0x10, "small");
	assert_int_equal(write(fd, writer.text.data + length, writer.text.length - length),
			 writer.text.length - length);
	assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
	assert_name_at(dump, offset_ns + 5 * NS_PER_SECOND, 0x1000, "large");
	assert_name_at(dump, offset_ns + 15 * NS_PER_SECOND, 0x1000, "small");
	jitdump_free(dump);
}

static void no_record_is_from_the_future(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	_cleanup_close_ int fd = -1;
	struct jitdump *dump = jitdump_new(PID);

	jitdump_put_header(&writer, 0);
	jitdump_put_load(&writer, UINT64_MAX / 2, 0x1000, 0x10, "a");
	fd = file_of(&writer);
	assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
	assert_name_at(dump, clock_now_ns(), 0x1000, "a");
	jitdump_free(dump);
}

static void times_of_another_clock_are_those_of_reading(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	_cleanup_close_ int fd = -1;
	struct jitdump *dump = jitdump_new(PID);
	uint64_t before_ns;
	size_t length;

	jitdump_put_header(&writer, 1);
	jitdump_put_load(&writer, UINT64_MAX / 2, 0x1000, 0x10, "a");
	jitdump_put_load(&writer, UINT64_MAX / 2, 0x2000, 0x10, "b");
	length = writer.text.length;
	fd = file_of(&writer);
	assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
	assert_true(jitdump_has_foreign_clock(dump));
	assert_name_at(dump, 0, 0x1000, "a");
	before_ns = clock_now_ns();
	jitdump_put_load(&writer, 5, 0x1000, 0x10, "c");
	jitdump_put_load(&writer, 6, 0x2000, 0x10, "d");
	assert_int_equal(write(fd, writer.text.data + length, writer.text.length - length),
			 writer.text.length - length);
	assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
	assert_name_at(dump, before_ns - NS_PER_SECOND, 0x1000, "a");
	assert_name_at(dump, clock_now_ns(), 0x1000, "c");
	assert_name_at(dump, clock_now_ns(), 0x2000, "d");
	jitdump_free(dump);
}

static void the_name_of_the_file_has_the_pid(_unused_ void **state)
{
	assert_int_equal(jitdump_get_pid("/tmp/jit-12.dump"), 12);
	assert_int_equal(jitdump_get_pid("jit-7.dump"), 7);
	assert_int_equal(jitdump_get_pid("/tmp/jit-.dump"), 0);
	assert_int_equal(jitdump_get_pid("/tmp/jit-12.dump2"), 0);
	assert_int_equal(jitdump_get_pid("/tmp/jit--12.dump"), 0);
	assert_int_equal(jitdump_get_pid("/tmp/jit-99999999999.dump"), 0);
	assert_int_equal(jitdump_get_pid("/tmp/jit-99999999999999999999.dump"), 0);
	assert_int_equal(jitdump_get_pid("/tmp/jit-1.dump/x"), 0);
}

/* As the owner of the process with pid 31, which sees itself as pid 7. */
static int check(unsigned uid, const char *path, int fd, struct error *error)
{
	struct fake_proc proc = fake_proc_new();
	char text[128];
	pid_t inner_pid;
	int err;

	snprintf(text, sizeof(text), "Name:\tjit\nUid:\t0\t%u\t0\t0\nNSpid:\t31\t7\n", uid);
	fake_proc_write(&proc, "31/status", text);
	err = jitdump_check(proc.root, 31, path, fd, &inner_pid, error);
	if (!err)
		assert_int_equal(inner_pid, 7);
	fake_proc_remove(&proc);
	return err;
}

static void only_the_process_itself_may_name_its_code(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	_cleanup_close_ int fd = -1;
	_cleanup_close_ int folder = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct error error;

	jitdump_put_header(&writer, 0);
	fd = file_of(&writer);
	assert_int_equal(check(getuid(), "/tmp/jit-7.dump", fd, NULL), 0);
	assert_int_equal(check(getuid(), "/tmp/jit-31.dump", fd, &error), -EPERM);
	assert_non_null(strstr(error.message, "belongs to a process other than 7"));
	assert_int_equal(check(getuid(), "/tmp/jit-7.dump", folder, &error), -EPERM);
	assert_non_null(strstr(error.message, "must be a regular file"));
	/* Root's, but not root's word. */
	if (getuid() == 0) {
		assert_int_equal(fchmod(fd, 0666), 0);
		assert_int_equal(check(4711, "/tmp/jit-7.dump", fd, &error), -EPERM);
		assert_non_null(strstr(error.message, "others can write"));
	}
	/* Only root can give a file away; root's own files are trusted. */
	if (getuid() == 0 && fchown(fd, 4712, 4712))
		skip();
	assert_int_equal(check(4711, "/tmp/jit-7.dump", fd, &error), -EPERM);
	assert_non_null(strstr(error.message, "belongs to user"));
}

static void short_memory_is_an_error_of_reading(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	_cleanup_close_ int fd = -1;
	bool has_failed = true;

	fill(&writer);
	fd = file_of(&writer);
	for (int64_t num_before = 0; has_failed; num_before++) {
		struct jitdump *dump;
		int err;

		failing_memory_start(num_before);
		dump = jitdump_new(PID);
		err = dump ? jitdump_refresh(dump, fd, UINT64_MAX) : -ENOMEM;
		has_failed = failing_memory_end_with(err);
		if (!has_failed) {
			assert_name_at(dump, UINT64_MAX, 0x1000, "second");
			assert_name_at(dump, UINT64_MAX, 0x300f, "second");
		}
		jitdump_free(dump);
	}
}

/* The longest header, the longest name, records of each kind as long as they must be, and what is longer or shorter. */
static void headers_names_and_records_have_limits(_unused_ void **state)
{
	static const uint32_t headers[][2] = {{39, 0}, {40, 1}, {4096, 1}, {4097, 0}};
	static char name[16 << 10];

	for (size_t i = 0; i < ARRAY_LENGTH(headers); i++) {
		_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
		struct jitdump *dump = jitdump_new(PID);
		uint64_t used;

		jitdump_put_header(&writer, 0);
		memcpy(writer.text.data + 8, &headers[i][0], sizeof(uint32_t));
		for (uint32_t j = 40; j < headers[i][0]; j++)
			text_append_char(&writer.text, '\0');
		jitdump_put_load(&writer, 1, 0x1000, 0x10, "a");
		assert_int_equal(
			jitdump_add_bytes(dump, writer.text.data, writer.text.length, &used),
			headers[i][1] ? 0 : -EINVAL);
		assert_name_at(dump, UINT64_MAX, 0x1000, headers[i][1] ? "a" : NULL);
		jitdump_free(dump);
	}
	memset(name, 'n', sizeof(name) - 1);
	for (int is_longer = 0; is_longer < 2; is_longer++) {
		_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
		_cleanup_(text_release) struct text wanted = {0};
		struct jitdump *dump;
		int fd;

		text_append_string(&wanted, name);
		if (is_longer)
			text_append_char(&wanted, 'n');
		jitdump_put_header(&writer, 0);
		jitdump_put_load(&writer, 1, 0x1000, 0x10, wanted.data);
		jitdump_put_load(&writer, 2, 0x2000, 0x10, "moved");
		jitdump_put_move(&writer, 3, 0x2000, 0x3000, 0x10);
		/* It lacks a byte. */
		text_truncate(&writer.text, writer.text.length - 1);
		writer.text.data[writer.text.length - 63 + 4] = 63;
		dump = dump_of(&writer);
		assert_name_at(dump, UINT64_MAX, 0x1000, is_longer ? NULL : name);
		assert_name_at(dump, UINT64_MAX, 0x3000, NULL);
		assert_int_equal(jitdump_get_malformed_count(dump), is_longer ? 2 : 1);
		jitdump_free(dump);
		/* A file is read in pieces that hold a name. */
		dump = jitdump_new(PID);
		fd = file_of(&writer);
		assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
		assert_name_at(dump, UINT64_MAX, 0x2000, "moved");
		close(fd);
		jitdump_free(dump);
	}
}

/* Less than a header, and than the start of a record, is waited for; of what is too large nothing is believed. */
static void code_has_a_largest_size(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	struct jitdump *dump;

	jitdump_put_header(&writer, 0);
	jitdump_put_load(&writer, 1, 0x1000, 0x10, "a");
	jitdump_put_move(&writer, 2, 0x1000, 0, (1ull << 62) - 1);
	jitdump_put_move(&writer, 3, 0x1000, 0, 1ull << 62);
	dump = dump_of(&writer);
	assert_name_at(dump, 2, 1ull << 61, "a");
	assert_int_equal(jitdump_get_malformed_count(dump), 1);
	jitdump_free(dump);
}

static void a_file_that_is_written_anew_is_read_anew(_unused_ void **state)
{
	_cleanup_(release) struct jitdump_writer writer = {.pid = PID};
	_cleanup_(release) struct jitdump_writer again = {.pid = PID};
	_cleanup_(release) struct jitdump_writer next = {.pid = PID};
	_cleanup_close_ int fd = -1;
	_cleanup_close_ int next_fd = -1;
	struct jitdump *dump = jitdump_new(PID);

	jitdump_put_header(&writer, 0);
	jitdump_put_load(&writer, 1, 0x1000, 0x10, "a");
	jitdump_put_header(&again, 0);
	jitdump_put_load(&again, 2, 0x2000, 0x10, "other");
	jitdump_put_load(&again, 3, 0x1000, 0x10, "b");
	jitdump_put_header(&next, 0);
	jitdump_put_load(&next, 4, 0x1000, 0x10, "c");
	fd = file_of(&writer);
	next_fd = file_of(&next);
	assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
	assert_name_at(dump, clock_now_ns(), 0x1000, "a");
	assert_int_equal(ftruncate(fd, 0), 0);
	assert_int_equal(pwrite(fd, again.text.data, again.text.length, 0), again.text.length);
	assert_int_equal(jitdump_refresh(dump, fd, UINT64_MAX), 0);
	assert_name_at(dump, clock_now_ns(), 0x1000, "b");
	assert_name_at(dump, clock_now_ns(), 0x2000, "other");
	assert_int_equal(jitdump_refresh(dump, next_fd, UINT64_MAX), 0);
	assert_name_at(dump, clock_now_ns(), 0x1000, "c");
	assert_int_equal(jitdump_get_malformed_count(dump), 0);
	jitdump_free(dump);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_has_the_name_of_its_time),
		cmocka_unit_test(the_other_byte_order_is_read),
		cmocka_unit_test(a_file_may_end_anywhere),
		cmocka_unit_test(what_is_no_jitdump_is_refused),
		cmocka_unit_test(a_record_shorter_than_itself_ends_the_reading),
		cmocka_unit_test(records_that_cannot_be_are_counted),
		cmocka_unit_test(refreshing_reads_what_was_appended),
		cmocka_unit_test(no_record_is_from_the_future),
		cmocka_unit_test(short_memory_is_an_error_of_reading),
		cmocka_unit_test(headers_names_and_records_have_limits),
		cmocka_unit_test(code_has_a_largest_size),
		cmocka_unit_test(times_of_another_clock_are_those_of_reading),
		cmocka_unit_test(the_name_of_the_file_has_the_pid),
		cmocka_unit_test(only_the_process_itself_may_name_its_code),
		cmocka_unit_test(a_file_that_is_written_anew_is_read_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
