/*
 * Rings of a program and its counters. The kernel is the test's: a ring is a file in memory with the layout of the
 * kernel's, the map that holds them a list, counters those of three CPUs.
 */
#include "collect/kernel/bpf_rings.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <sys/epoll.h>
#include <sys/mman.h>

int epoll_create_of_test(int flags);
int epoll_add_of_test(int epoll_fd, int operation, int fd, struct epoll_event *event);

#define epoll_create1 epoll_create_of_test
#define epoll_ctl     epoll_add_of_test
#include "collect/kernel/bpf_rings.c"
#undef epoll_create1
#undef epoll_ctl

#include <fcntl.h>

#include "failing_memory.h"
#include "unit.h"

#define MAP      1000 /* no descriptor of ours */
#define COUNTERS 1001
#define PROGRAM  1002
#define NUM_CPUS 3

static uint32_t ring_bytes; /* of the last one */
static uint32_t num_rings;  /* that were made */
static uint32_t num_in_map;
static uint32_t num_watched;
static int ring_fds[8]; /* as the map has them */
static int watched_fds[8];
static uint32_t ring_failing; /* number of the first ring that fails at … */
static int create_error, size_error, update_error, epoll_error;
static bool has_batch; /* Linux 5.19 */
static uint32_t num_batches;
static uint32_t num_inner; /* maps of the array */
static int lookup_error, info_error, cpus_error;

int bpf_map_create(enum bpf_map_type type, const char *name _unused_, __u32 key_size,
		   __u32 value_size, __u32 max_entries, const struct bpf_map_create_opts *opts)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	uint32_t number;
	int fd;

	if (type == BPF_MAP_TYPE_ARRAY_OF_MAPS) {
		assert_int_equal(key_size, sizeof(uint32_t));
		assert_int_equal(value_size, sizeof(uint32_t));
		assert_true(fcntl((int)opts->inner_map_fd, F_GETFD) >= 0);
		num_inner = max_entries;
		return MAP;
	}
	number = num_rings++;
	assert_int_equal(type, BPF_MAP_TYPE_RINGBUF);
	assert_int_equal(key_size + value_size, 0);
	ring_bytes = max_entries;
	if (create_error && number == ring_failing) {
		errno = -create_error;
		return create_error;
	}
	if (size_error && number == ring_failing) /* it cannot be mapped */
		return open("/dev/null", O_RDONLY | O_CLOEXEC);
	fd = memfd_create("ring", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)(2 * page + max_entries)), 0);
	return fd;
}

int bpf_map_update_elem(int fd, const void *key, const void *value, __u64 flags)
{
	uint32_t number = *(const uint32_t *)key;

	assert_int_equal(fd, MAP);
	assert_int_equal(flags, BPF_ANY);
	assert_int_equal(number, num_in_map);
	errno = E2BIG;
	if (update_error && number == ring_failing)
		return -E2BIG;
	ring_fds[num_in_map++] = *(const int *)value;
	return 0;
}

int bpf_map_update_batch(int fd, const void *keys, const void *values, __u32 *count,
			 const struct bpf_map_batch_opts *opts _unused_)
{
	const uint32_t *numbers = keys;

	errno = EOPNOTSUPP;
	if (!has_batch)
		return -EOPNOTSUPP;
	num_batches++;
	for (uint32_t i = 0; i < *count; i++)
		if (bpf_map_update_elem(fd, &numbers[i], (const int *)values + i, BPF_ANY))
			return -errno;
	return 0;
}

int epoll_create_of_test(int flags)
{
	errno = EMFILE;
	return epoll_error == -EMFILE ? -1 : epoll_create1(flags);
}

int epoll_add_of_test(int epoll_fd, int operation, int fd, struct epoll_event *event)
{
	assert_int_equal(operation, EPOLL_CTL_ADD);
	assert_int_equal(event->events, EPOLLIN);
	watched_fds[num_watched++] = fd;
	assert_true(epoll_fd >= 0);
	errno = ENOSPC;
	return epoll_error == -ENOSPC && num_watched - 1 == ring_failing ? -1 : 0;
}

int libbpf_num_possible_cpus(void)
{
	return cpus_error ? cpus_error : NUM_CPUS;
}

/* Two counters for each CPU: 1 and 10, 2 and 20, 3 and 30. */
int bpf_map_lookup_elem(int fd, const void *key, void *value)
{
	uint64_t *counters = value;

	assert_int_equal(fd, COUNTERS);
	assert_int_equal(*(const uint32_t *)key, 0);
	errno = EBADF;
	if (lookup_error)
		return lookup_error;
	for (uint64_t cpu = 0; cpu < NUM_CPUS; cpu++) {
		counters[2 * cpu] = cpu + 1;
		counters[2 * cpu + 1] = 10 * (cpu + 1);
	}
	return 0;
}

int bpf_obj_get_info_by_fd(int fd, void *info, __u32 *size)
{
	assert_int_equal(fd, PROGRAM);
	assert_int_equal(*size, sizeof(struct bpf_prog_info));
	errno = ENOENT;
	if (info_error)
		return info_error;
	((struct bpf_prog_info *)info)->recursion_misses = 7;
	((struct bpf_prog_info *)info)->run_cnt = 99;
	return 0;
}

static struct bpf_rings rings;

static int set_up(void **state _unused_)
{
	ring_bytes = num_rings = num_in_map = num_watched = ring_failing = 0;
	create_error = size_error = update_error = epoll_error = 0;
	num_batches = num_inner = 0;
	has_batch = false;
	lookup_error = info_error = cpus_error = 0;
	rings = (struct bpf_rings){.epoll_fd = -1};
	return 0;
}

static int tear_down(void **state _unused_)
{
	bpf_rings_release(&rings);
	return 0;
}

static void eight_cpus_share_a_ring(void **state _unused_)
{
	assert_int_equal(bpf_rings_get_count(1), 1);
	assert_int_equal(bpf_rings_get_count(8), 1);
	assert_int_equal(bpf_rings_get_count(9), 2);
	assert_int_equal(bpf_rings_get_count(64), 8);
	assert_int_equal(bpf_rings_init(&rings, MAP, 17, 4096), 0);
	assert_int_equal(num_rings, 3);
	assert_int_equal(num_in_map, 3);
	assert_int_equal(num_watched, 3);
	for (size_t i = 0; i < 3; i++) {
		assert_int_equal(rings.rings.items[i].fd, ring_fds[i]);
		assert_int_equal(rings.rings.items[i].fd, watched_fds[i]);
	}
	assert_true(rings.epoll_fd >= 0);
}

static void the_map_has_room_for_them(void **state _unused_)
{
	assert_int_equal(bpf_rings_create_map(17), MAP);
	assert_int_equal(num_inner, 3);
	create_error = -EPERM;
	ring_failing = num_rings;
	assert_int_equal(bpf_rings_create_map(17), -EPERM);
}

/* The kernel waits for a grace period in each call. */
static void all_are_put_at_once(void **state _unused_)
{
	has_batch = true;
	assert_int_equal(bpf_rings_init(&rings, MAP, 64, 4096), 0);
	assert_int_equal(num_batches, 1);
	assert_int_equal(num_in_map, 8);
}

static uint32_t get_size(uint32_t size_bytes)
{
	set_up(NULL);
	/* So large a ring is not mapped here. */
	create_error = -ENOMEM;
	assert_int_equal(bpf_rings_init(&rings, MAP, 1, size_bytes), -ENOMEM);
	bpf_rings_release(&rings);
	return ring_bytes;
}

static void a_ring_has_a_power_of_two_up_to_a_gibibyte(void **state _unused_)
{
	uint32_t page = (uint32_t)sysconf(_SC_PAGESIZE);

	assert_int_equal(get_size(0), page);
	assert_int_equal(get_size(1), page);
	assert_int_equal(get_size(page), page);
	assert_int_equal(get_size(page + 1), 2 * page);
	assert_int_equal(get_size(3 << 20), 4 << 20);
	assert_int_equal(get_size(1u << 30), 1u << 30);
	assert_int_equal(get_size((1u << 30) + 1), 1u << 30);
	assert_int_equal(get_size(UINT32_MAX), 1u << 30);
}

/* The second one fails, and the first one is released with all that was made. */
static void whatever_fails_is_an_error(void **state)
{
	ring_failing = 1;
	create_error = -EPERM;
	assert_int_equal(bpf_rings_init(&rings, MAP, 16, 4096), -EPERM);
	assert_int_equal(rings.rings.length, 1);
	tear_down(state);
	set_up(state);
	ring_failing = 1;
	size_error = 1;
	assert_true(bpf_rings_init(&rings, MAP, 24, 4096) < 0);
	assert_int_equal(rings.rings.length, 1);
	assert_int_equal(num_rings, 2);
	tear_down(state);
	set_up(state);
	ring_failing = 1;
	update_error = 1;
	assert_int_equal(bpf_rings_init(&rings, MAP, 24, 4096), -E2BIG);
	assert_int_equal(num_in_map, 1);
	tear_down(state);
	set_up(state);
	ring_failing = 1;
	epoll_error = -ENOSPC;
	assert_int_equal(bpf_rings_init(&rings, MAP, 24, 4096), -ENOSPC);
	assert_int_equal(num_rings, 2);
	tear_down(state);
	set_up(state);
	epoll_error = -EMFILE;
	assert_int_equal(bpf_rings_init(&rings, MAP, 24, 4096), -EMFILE);
	assert_int_equal(num_rings, 0);
}

static int init_anew(void *context _unused_)
{
	struct bpf_rings made;
	int err;

	num_in_map = num_watched = 0;
	err = bpf_rings_init(&made, MAP, 32, 4096);
	bpf_rings_release(&made);
	return err;
}

static void short_memory_is_an_error(void **state _unused_)
{
	failing_memory_try_all(init_anew, NULL);
}

/* What was released can be released again, and made again. */
static void released_twice_closes_nothing_else(void **state _unused_)
{
	int fd;

	assert_int_equal(bpf_rings_init(&rings, MAP, 8, 4096), 0);
	bpf_rings_release(&rings);
	fd = open("/dev/null", O_RDONLY | O_CLOEXEC); /* the lowest that is free */
	bpf_rings_release(&rings);
	assert_int_equal(close(fd), 0);
}

/* A record of a byte, as the kernel writes it. */
static void put(size_t ring, char byte)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, page + ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    rings.rings.items[ring].fd, (off_t)page);
	uint64_t *produced = (uint64_t *)memory;
	uint32_t length = 1;

	assert_ptr_not_equal(memory, MAP_FAILED);
	memcpy(memory + page + *produced, &length, sizeof(length));
	memory[page + *produced + BPF_RINGBUF_HDR_SZ] = byte;
	*produced += BPF_RINGBUF_HDR_SZ + 8;
	munmap(memory, page + ring_bytes);
}

static char seen[16];
static char failing_byte;

static int handle(const void *record, size_t size, void *context)
{
	size_t length = strlen(seen);

	assert_ptr_equal(context, seen);
	assert_int_equal(size, 1);
	seen[length] = *(const char *)record;
	seen[length + 1] = '\0';
	return seen[length] == failing_byte ? -ECANCELED : 0;
}

static void rings_are_read_one_after_the_other(void **state _unused_)
{
	assert_int_equal(bpf_rings_init(&rings, MAP, 24, 4096), 0);
	put(2, 'c');
	put(0, 'a');
	put(1, 'b');
	put(0, 'A');
	seen[0] = failing_byte = '\0';
	assert_int_equal(bpf_rings_read(&rings, handle, seen), 0);
	assert_string_equal(seen, "aAbc");
	put(0, 'x');
	put(1, 'y');
	seen[0] = '\0';
	failing_byte = 'x';
	assert_int_equal(bpf_rings_read(&rings, handle, seen), -ECANCELED);
	assert_string_equal(seen, "x");
	assert_int_equal(bpf_rings_read(&rings, handle, seen), 0);
	assert_string_equal(seen, "xy");
}

static void counters_are_summed_over_all_cpus(void **state _unused_)
{
	uint64_t counters[2] = {0};

	assert_int_equal(bpf_counters_read(COUNTERS, counters, sizeof(counters)), 0);
	assert_int_equal(counters[0], 1 + 2 + 3);
	assert_int_equal(counters[1], 10 + 20 + 30);
}

static void counters_of_each_cpu_can_be_read(void **state _unused_)
{
	size_t num_cpus;
	void *values;

	assert_int_equal(bpf_counters_read_each(COUNTERS, 2 * sizeof(uint64_t), &values, &num_cpus),
			 0);
	assert_int_equal(num_cpus, NUM_CPUS);
	assert_int_equal(((uint64_t *)values)[0], 1);
	assert_int_equal(((uint64_t *)values)[5], 30);
	free(values);
}

static int read_counters(void *context)
{
	return bpf_counters_read(COUNTERS, context, 2 * sizeof(uint64_t));
}

static void counters_that_cannot_be_read_are_an_error(void **state _unused_)
{
	uint64_t counters[2] = {5, 6};

	lookup_error = -EBADF;
	assert_int_equal(bpf_counters_read(COUNTERS, counters, sizeof(counters)), -EBADF);
	cpus_error = -ENOENT;
	assert_int_equal(bpf_counters_read(COUNTERS, counters, sizeof(counters)), -ENOENT);
	assert_int_equal(counters[0], 5);
	lookup_error = cpus_error = 0;
	failing_memory_try_all(read_counters, counters);
}

static void a_program_tells_what_it_missed(void **state _unused_)
{
	uint64_t misses = 0;

	assert_int_equal(bpf_program_read_misses(PROGRAM, &misses), 0);
	assert_int_equal(misses, 7);
	info_error = -ENOENT;
	misses = 3;
	assert_int_equal(bpf_program_read_misses(PROGRAM, &misses), -ENOENT);
	assert_int_equal(misses, 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(eight_cpus_share_a_ring),
		TEST(the_map_has_room_for_them),
		TEST(all_are_put_at_once),
		TEST(a_ring_has_a_power_of_two_up_to_a_gibibyte),
		TEST(whatever_fails_is_an_error),
		TEST(short_memory_is_an_error),
		TEST(released_twice_closes_nothing_else),
		TEST(rings_are_read_one_after_the_other),
		TEST(counters_are_summed_over_all_cpus),
		TEST(counters_of_each_cpu_can_be_read),
		TEST(counters_that_cannot_be_read_are_an_error),
		TEST(a_program_tells_what_it_missed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
