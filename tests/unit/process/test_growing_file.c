/* Whether a file still has the bytes that were read of it. The test controls the clock that limits how much is compared. */
#include "base/clock.h"

#include <stdint.h>

static uint64_t fake_now_ns;

#define clock_now_ns() fake_now_ns
#include "process/growing_file.c"
#undef clock_now_ns

#include <fcntl.h>
#include <stdlib.h>

#include "unit.h"

#define MANY_BYTES ((size_t)GROWING_FILE_COMPARED_BYTES + (1 << 20))

struct fixture {
	int fd;
	struct growing_file file;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	assert_non_null(fixture);
	fixture->fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fixture->fd >= 0);
	fake_now_ns = 1000 * NS_PER_SECOND;
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	growing_file_release(&fixture->file);
	close(fixture->fd);
	free(fixture);
	return 0;
}

static void put(struct fixture *fixture, uint64_t offset, const void *bytes, size_t size)
{
	assert_int_equal(pwrite(fixture->fd, bytes, size, (off_t)offset), size);
}

/* An early time, which is settled; each call gives another one. */
static void set_time(struct fixture *fixture)
{
	static time_t seconds = 1000000;
	struct timespec times[2] = {{.tv_sec = seconds}, {.tv_sec = seconds}};

	seconds++;
	assert_int_equal(futimens(fixture->fd, times), 0);
}

static bool is_new(struct fixture *fixture)
{
	bool is_new;
	uint64_t num_bytes;
	struct stat status;

	assert_int_equal(growing_file_check(&fixture->file, fixture->fd, &is_new, &num_bytes), 0);
	assert_int_equal(fstat(fixture->fd, &status), 0);
	assert_int_equal(num_bytes, status.st_size);
	return is_new;
}

/* Read all after the bytes that were read, in pieces of that size. */
static void read_on(struct fixture *fixture, size_t piece_bytes)
{
	char *bytes = malloc(piece_bytes);
	ssize_t size;

	assert_non_null(bytes);
	while ((size = pread(fixture->fd, bytes, piece_bytes, (off_t)fixture->file.end)) > 0)
		assert_int_equal(
			growing_file_note(&fixture->file, fixture->file.end, bytes, (size_t)size),
			0);
	assert_int_equal(size, 0);
	free(bytes);
}

static void fill(struct fixture *fixture, size_t size)
{
	char *bytes = malloc(size);

	assert_non_null(bytes);
	for (size_t i = 0; i < size; i++)
		bytes[i] = (char)(i * 7 + i / 1000);
	put(fixture, 0, bytes, size);
	free(bytes);
}

static void what_is_appended_makes_no_new_file(void **state)
{
	struct fixture *fixture = *state;
	static const size_t pieces[] = {1, 7, 4095, 4096, 100000};

	assert_false(is_new(fixture));
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		fill(fixture, 30000 * (i + 1));
		set_time(fixture);
		assert_false(is_new(fixture));
		read_on(fixture, pieces[i]);
		assert_int_equal(fixture->file.end, 30000 * (i + 1));
	}
	set_time(fixture);
	assert_false(is_new(fixture));
}

/* In the first bytes, the last ones, a whole block, and after the last whole block. */
static void each_changed_byte_makes_a_new_file(void **state)
{
	struct fixture *fixture = *state;
	static const uint64_t offsets[] = {
		0,     GROWING_FILE_MARK_BYTES - 1,  GROWING_FILE_MARK_BYTES,
		16383, GROWING_FILE_BLOCK_BYTES,     GROWING_FILE_BLOCK_BYTES * 3 - 1,
		50000, GROWING_FILE_BLOCK_BYTES * 4, 70000};

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		fill(fixture, 80001);
		set_time(fixture);
		(void)is_new(fixture);
		read_on(fixture, 1000);
		set_time(fixture);
		assert_false(is_new(fixture));
		put(fixture, offsets[i], "\x80", 1);
		set_time(fixture);
		assert_true(is_new(fixture));
		assert_int_equal(fixture->file.end, 0);
		assert_int_equal(fixture->file.blocks.length, 0);
	}
}

static void a_shorter_file_is_a_new_one(void **state)
{
	struct fixture *fixture = *state;

	fill(fixture, 50);
	assert_false(is_new(fixture));
	read_on(fixture, 50);
	assert_int_equal(ftruncate(fixture->fd, 49), 0);
	assert_true(is_new(fixture));
}

static void another_inode_is_a_new_file(void **state)
{
	struct fixture *fixture = *state;
	int first = fixture->fd;

	fill(fixture, 50);
	assert_false(is_new(fixture));
	read_on(fixture, 50);
	fixture->fd = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	assert_true(fixture->fd >= 0);
	close(first);
	fill(fixture, 50);
	assert_true(is_new(fixture));
}

/* Bytes that were written within the resolution of times, after the last check. */
static void a_file_is_compared_again_when_its_time_is_settled(void **state)
{
	struct fixture *fixture = *state;
	struct timespec times[2];
	struct stat status;

	fill(fixture, 40000);
	assert_false(is_new(fixture));
	assert_int_equal(fstat(fixture->fd, &status), 0);
	read_on(fixture, 40000);
	put(fixture, 20000, "\x80", 1);
	times[0] = times[1] = status.st_mtim;
	assert_int_equal(futimens(fixture->fd, times), 0);
	/* Its ctime is another one, which the program saw. */
	assert_int_equal(fstat(fixture->fd, &status), 0);
	fixture->file.version.changed = status.st_ctim;
	while (!is_settled(&status))
		usleep(1000);
	assert_true(is_new(fixture));
}

/* A change of the last blocks of a file that is larger than all that may be compared at once. */
static void change_the_end_of_many_bytes(struct fixture *fixture)
{
	fill(fixture, MANY_BYTES);
	set_time(fixture);
	assert_false(is_new(fixture));
	read_on(fixture, 1 << 20);
	put(fixture, MANY_BYTES - 20000, "\x80", 1);
	set_time(fixture);
	assert_false(is_new(fixture));
	assert_true(fixture->file.num_uncompared > 0);
}

static void more_is_compared_after_some_time(void **state)
{
	struct fixture *fixture = *state;

	change_the_end_of_many_bytes(fixture);
	assert_false(is_new(fixture));
	fake_now_ns += NS_PER_SECOND / 4;
	assert_true(is_new(fixture));
}

/* Time that is too short to compare a block passes, too. */
static void time_passes_in_short_steps(void **state)
{
	struct fixture *fixture = *state;
	unsigned int num_steps = 0;

	change_the_end_of_many_bytes(fixture);
	while (!is_new(fixture)) {
		fake_now_ns += 1000;
		assert_true(num_steps++ < 1000000);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_appended_makes_no_new_file),
		TEST(each_changed_byte_makes_a_new_file),
		TEST(a_shorter_file_is_a_new_one),
		TEST(another_inode_is_a_new_file),
		TEST(a_file_is_compared_again_when_its_time_is_settled),
		TEST(more_is_compared_after_some_time),
		TEST(time_passes_in_short_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
