/* What the kernel is asked for by a link to many points of a file. */
#include <errno.h>
#include <linux/bpf.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long answer_bpf(long number, int command, const void *attributes, size_t size);

#define syscall answer_bpf
#include "collect/kernel/uprobe_link.c"
#undef syscall

#include "unit.h"

static struct link_attributes asked;
static char asked_path[64];
static uint64_t asked_numbers[9];
static int error_number;

static long answer_bpf(long number, int command, const void *attributes, size_t size)
{
	const size_t bytes = sizeof(uint64_t);

	assert_int_equal(number, SYS_bpf);
	assert_int_equal(command, BPF_LINK_CREATE);
	assert_int_equal(size, sizeof(asked));
	memcpy(&asked, attributes, sizeof(asked));
	strcpy(asked_path, (const char *)(uintptr_t)asked.path);
	memset(asked_numbers, 0, sizeof(asked_numbers));
	for (uint32_t i = 0; i < asked.num_points && i < 3; i++) {
		memcpy(&asked_numbers[i], (const char *)(uintptr_t)asked.offsets + i * bytes,
		       bytes);
		memcpy(&asked_numbers[3 + i],
		       (const char *)(uintptr_t)asked.semaphore_offsets + i * bytes, bytes);
		memcpy(&asked_numbers[6 + i], (const char *)(uintptr_t)asked.cookies + i * bytes,
		       bytes);
	}
	errno = error_number;
	return error_number ? -1 : 77;
}

static const struct uprobe_link_point points[] = {{1, 10, 100}, {2, 20, 200}, {3, 30, 300}};

static void each_point_has_its_numbers(void **state)
{
	static const uint64_t expected[] = {1, 2, 3, 10, 20, 30, 100, 200, 300};
	struct uprobe_link_opts opts = {
		.program_fd = 5, .file_fd = 6, .points = points, .num_points = 3};

	(void)state;
	error_number = 0;
	assert_int_equal(uprobe_link_open(&opts), 77);
	assert_int_equal(asked.program_fd, 5);
	assert_int_equal(asked.target_fd, 0);
	assert_int_equal(asked.attach_type, UPROBE_LINK_ATTACH_TYPE);
	assert_int_equal(asked.flags, 0);
	assert_string_equal(asked_path, "/proc/self/fd/6");
	assert_int_equal(asked.num_points, 3);
	assert_int_equal(asked.multi_flags, 0);
	assert_int_equal(asked.pid, 0);
	assert_memory_equal(asked_numbers, expected, sizeof(expected));
	opts.at_returns = true;
	opts.file_fd = INT32_MAX;
	assert_int_equal(uprobe_link_open(&opts), 77);
	assert_int_equal(asked.multi_flags, 1);
	assert_string_equal(asked_path, "/proc/self/fd/2147483647");
	error_number = EINVAL;
	assert_int_equal(uprobe_link_open(&opts), -EINVAL);
}

static void points_have_the_kernels_limit(void **state)
{
	struct uprobe_link_opts opts = {.num_points = (1 << 20) + 1};

	(void)state;
	assert_int_equal(uprobe_link_open(&opts), -E2BIG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_point_has_its_numbers),
		cmocka_unit_test(points_have_the_kernels_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
