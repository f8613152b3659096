/* Reading a perf ring; the test is the kernel's side. */
#include "collect/kernel/perf_ring.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/attributes.h"
#include "unit.h"

struct numbered {
	struct perf_event_header header;
	uint64_t number;
};

static size_t page_bytes;
static struct perf_ring ring;
static uint64_t numbers[64];
static size_t num_read;
static int stop_at; /* number of the record at which the handler fails; 0: none */

/* pages  number of data pages */
static void make_ring(size_t pages)
{
	int fd = memfd_create("ring", MFD_CLOEXEC);

	page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)((1 + pages) * page_bytes)), 0);
	assert_int_equal(perf_ring_init(&ring, fd, pages * page_bytes), 0);
	assert_int_equal(ring.size_bytes, pages * page_bytes);
	ring.pages->data_offset = page_bytes;
	num_read = 0;
	stop_at = 0;
}

static int tear_down(void **state _unused_)
{
	perf_ring_release(&ring);
	return 0;
}

/* Wraps at the end. */
static void write_bytes(const void *bytes, size_t size)
{
	char *data = (char *)ring.pages + page_bytes;

	for (size_t i = 0; i < size; i++)
		data[(ring.pages->data_head + i) % ring.size_bytes] = ((const char *)bytes)[i];
	ring.pages->data_head += size;
}

static void write_record(uint64_t number)
{
	struct numbered record = {.header = {.type = 1, .size = sizeof(record)}, .number = number};

	write_bytes(&record, sizeof(record));
}

static int take(const struct perf_event_header *header, void *context _unused_)
{
	const struct numbered *record = (const void *)header;

	assert_true(num_read < ARRAY_LENGTH(numbers));
	numbers[num_read++] = record->number;
	return stop_at && record->number == (uint64_t)stop_at ? -EIO : 0;
}

static void records_are_read_once(void **state _unused_)
{
	make_ring(1);
	assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
	assert_int_equal(num_read, 0);
	write_record(1);
	write_record(2);
	assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
	assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
	assert_int_equal(num_read, 2);
	assert_int_equal(numbers[1], 2);
	assert_int_equal(ring.pages->data_tail, ring.pages->data_head);
}

static void a_record_may_wrap_around_the_end(void **state _unused_)
{
	uint64_t number = 0;

	make_ring(1);
	/* The end of the ring is in each part of a record in turn. */
	ring.pages->data_head = ring.pages->data_tail = page_bytes - sizeof(struct numbered) - 8;
	for (int i = 0; i < 8; i++) {
		ring.pages->data_head = ring.pages->data_tail =
			page_bytes - sizeof(struct numbered) + 4 * (uint64_t)i;
		write_record(++number);
		assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
		assert_int_equal(num_read, number);
		assert_int_equal(numbers[number - 1], number);
	}
}

static void a_full_ring_is_read_whole(void **state _unused_)
{
	size_t count;

	make_ring(1);
	count = page_bytes / sizeof(struct numbered);
	ring.pages->data_head = ring.pages->data_tail = 3 * page_bytes + 64;
	for (size_t i = 0; i < count; i++) {
		write_record(i);
		if (i % ARRAY_LENGTH(numbers) == ARRAY_LENGTH(numbers) - 1) {
			assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
			num_read = 0;
		}
	}
	assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
	assert_int_equal(ring.pages->data_tail, ring.pages->data_head);
}

/* The failed record is consumed. */
static void an_error_ends_the_reading(void **state _unused_)
{
	make_ring(1);
	for (uint64_t number = 1; number <= 3; number++)
		write_record(number);
	stop_at = 2;
	assert_int_equal(perf_ring_read(&ring, take, NULL), -EIO);
	assert_int_equal(num_read, 2);
	assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
	assert_int_equal(num_read, 3);
	assert_int_equal(numbers[2], 3);
}

static void invalid_sizes_are_skipped(void **state _unused_)
{
	static const uint16_t sizes[] = {0, sizeof(struct perf_event_header) - 1, 17};

	make_ring(1);
	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct perf_event_header header = {.type = 1, .size = sizes[i]};

		write_record(1);
		write_bytes(&header, sizeof(header)); /* 17: longer than the rest of the ring */
		assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
		assert_int_equal(num_read, i + 1);
		assert_int_equal(ring.pages->data_tail, ring.pages->data_head);
	}
	/* An incomplete header waits. */
	ring.pages->data_head += sizeof(struct perf_event_header) - 1;
	assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
	assert_int_equal(ring.pages->data_tail + sizeof(struct perf_event_header) - 1,
			 ring.pages->data_head);
}

static void release_unmaps_and_closes_the_ring(void **state _unused_)
{
	int fd;

	make_ring(2);
	write_record(1);
	assert_int_equal(perf_ring_read(&ring, take, NULL), 0);
	fd = ring.fd;
	perf_ring_release(&ring);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_int_equal(ring.fd, -1);
	assert_null(ring.pages);
	perf_ring_release(&ring);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(records_are_read_once),     TEST(a_record_may_wrap_around_the_end),
		TEST(a_full_ring_is_read_whole), TEST(an_error_ends_the_reading),
		TEST(invalid_sizes_are_skipped), TEST(release_unmaps_and_closes_the_ring),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
