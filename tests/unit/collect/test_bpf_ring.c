/*
 * Records of a ring, written by the test as the kernel writes them. The ring is a file in memory
 * with the layout of the kernel's: a page to say what is consumed, one for what is produced, data.
 */
#include "collect/kernel/bpf_ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unit.h"

#define RING_BYTES 4096

struct fixture {
	struct bpf_ring ring;
	uint64_t *produced;
	char *data;
	size_t size;
	void *pages;
	struct text seen; /* what records held */
	int answer;       /* what the handler returns */
};

static size_t page_bytes(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

static void make_large_ring(struct fixture *fixture, size_t size)
{
	int fd = memfd_create("ring", 0);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(2 * page_bytes() + size)), 0);
	fixture->pages = mmap(NULL, page_bytes() + size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			      (off_t)page_bytes());
	assert_ptr_not_equal(fixture->pages, MAP_FAILED);
	fixture->size = size;
	fixture->produced = fixture->pages;
	fixture->data = (char *)fixture->pages + page_bytes();
	assert_int_equal(bpf_ring_init(&fixture->ring, fd, size), 0);
}

static void make_ring(struct fixture *fixture)
{
	make_large_ring(fixture, RING_BYTES);
}

static void release_ring(struct fixture *fixture)
{
	munmap(fixture->pages, page_bytes() + fixture->size);
	bpf_ring_release(&fixture->ring);
	text_release(&fixture->seen);
}

static void put(struct fixture *fixture, const char *bytes, uint32_t size, uint32_t flags)
{
	uint64_t position = *fixture->produced;
	uint32_t head = size | flags;

	memcpy(fixture->data + position % fixture->size, &head, sizeof(head));
	position += BPF_RINGBUF_HDR_SZ;
	for (uint32_t i = 0; i < size; i++)
		fixture->data[(position + i) % fixture->size] = bytes[i];
	*fixture->produced = (position + size + 7) & ~7ULL;
}

static int see(const void *record, size_t size, void *context)
{
	struct fixture *fixture = context;

	assert_int_equal((uintptr_t)record % 8, 0);
	text_append(&fixture->seen, record, size);
	text_append_char(&fixture->seen, ' ');
	return fixture->answer;
}

static void assert_seen(struct fixture *fixture, const char *expected)
{
	assert_int_equal(fixture->seen.length, strlen(expected));
	assert_memory_equal(fixture->seen.data, expected, strlen(expected));
	text_truncate(&fixture->seen, 0);
}

static void records_come_in_order_and_are_consumed(void **state _unused_)
{
	struct fixture fixture = {0};

	make_ring(&fixture);
	put(&fixture, "one", 3, 0);
	put(&fixture, "twelve bytes", 12, 0);
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	assert_seen(&fixture, "one twelve bytes ");
	assert_int_equal(*fixture.ring.consumed, *fixture.produced);
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	assert_seen(&fixture, "");
	release_ring(&fixture);
}

static void a_discarded_record_is_skipped(void **state _unused_)
{
	struct fixture fixture = {0};

	make_ring(&fixture);
	put(&fixture, "no", 2, BPF_RINGBUF_DISCARD_BIT);
	put(&fixture, "yes", 3, 0);
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	assert_seen(&fixture, "yes ");
	release_ring(&fixture);
}

static void a_record_that_is_being_written_holds_up_what_follows(void **state _unused_)
{
	struct fixture fixture = {0};
	uint32_t head = 4;

	make_ring(&fixture);
	put(&fixture, "slow", 4, BPF_RINGBUF_BUSY_BIT);
	put(&fixture, "fast", 4, 0);
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	assert_seen(&fixture, "");
	memcpy(fixture.data, &head, sizeof(head));
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	assert_seen(&fixture, "slow fast ");
	release_ring(&fixture);
}

static void a_record_that_wraps_is_put_together(void **state _unused_)
{
	struct fixture fixture = {0};
	char filler[RING_BYTES - 32];

	memset(filler, 'x', sizeof(filler));
	make_ring(&fixture);
	put(&fixture, filler, sizeof(filler), 0);
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	text_truncate(&fixture.seen, 0);
	put(&fixture, "over the end of the ring and on", 31, 0);
	put(&fixture, "next", 4, 0);
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	assert_seen(&fixture, "over the end of the ring and on next ");
	release_ring(&fixture);
}

static void a_failure_stops_after_its_record(void **state _unused_)
{
	struct fixture fixture = {.answer = -EIO};

	make_ring(&fixture);
	put(&fixture, "bad", 3, 0);
	put(&fixture, "good", 4, 0);
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), -EIO);
	assert_seen(&fixture, "bad ");
	fixture.answer = 0;
	assert_int_equal(bpf_ring_read(&fixture.ring, see, &fixture), 0);
	assert_seen(&fixture, "good ");
	release_ring(&fixture);
}

static int count(const void *record, size_t size, void *context)
{
	uint32_t *next = context;
	bool is_whole = true;
	uint32_t number;

	memcpy(&number, record, sizeof(number));
	assert_int_equal(number, *next);
	for (size_t i = sizeof(number); i < size; i++)
		is_whole &= ((const char *)record)[i] == (char)(number + i);
	assert_true(is_whole);
	++*next;
	return 0;
}

/* A part of it is mapped at a time. Records are as large as those of whole stacks, and larger. */
static void a_large_ring_is_read_part_by_part(void **state _unused_)
{
	static const uint32_t sizes[] = {4, 40, 1200, 8004, 65536, 300000};
	struct fixture fixture = {0};
	uint32_t next = 0;
	char bytes[300000];

	make_large_ring(&fixture, 1 << 20);
	for (uint32_t number = 0; number < 200; number++) {
		uint32_t size = sizes[number % ARRAY_LENGTH(sizes)];

		memcpy(bytes, &number, sizeof(number));
		for (uint32_t i = sizeof(number); i < size; i++)
			bytes[i] = (char)(number + i);
		put(&fixture, bytes, size, 0);
		if (number % 3 == 0)
			assert_int_equal(bpf_ring_read(&fixture.ring, count, &next), 0);
	}
	assert_int_equal(bpf_ring_read(&fixture.ring, count, &next), 0);
	assert_int_equal(next, 200);
	release_ring(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records_come_in_order_and_are_consumed),
		cmocka_unit_test(a_discarded_record_is_skipped),
		cmocka_unit_test(a_record_that_is_being_written_holds_up_what_follows),
		cmocka_unit_test(a_record_that_wraps_is_put_together),
		cmocka_unit_test(a_failure_stops_after_its_record),
		cmocka_unit_test(a_large_ring_is_read_part_by_part),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
