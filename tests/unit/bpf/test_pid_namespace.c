/* Threads of a PID namespace without type information: the kernel's helper decides. */
#include "bpf/fake_kernel.h"

#define WITHOUT_TYPES

/* clang-format off */
#define const
#include "pid_namespace.h"
#undef const
/* clang-format on */

#define FIRST_IDS (100ull << 32 | 101) /* in the first namespace */

static int set_up(void **state _unused_)
{
	fake_kernel_reset();
	fake_kernel.namespace_dev = 4;
	fake_kernel.namespace_inode = 42;
	fake_kernel.namespace_pid_tgid = 6ull << 32 | 7;
	pid_namespace_dev = 4;
	pid_namespace_inode = 42;
	return 0;
}

static void threads_have_the_numbers_of_their_namespace(void **state _unused_)
{
	assert_int_equal(get_visible_pid_tgid(FIRST_IDS), 6ull << 32 | 7);
}

static void threads_of_other_namespaces_are_outside(void **state _unused_)
{
	fake_kernel.namespace_inode = 43;
	assert_int_equal(get_visible_pid_tgid(FIRST_IDS), 0);
	fake_kernel.namespace_inode = 42;
	fake_kernel.namespace_dev = 5;
	assert_int_equal(get_visible_pid_tgid(FIRST_IDS), 0);
}

static void the_first_namespace_has_the_kernels_numbers(void **state _unused_)
{
	pid_namespace_inode = 0;
	assert_int_equal(get_visible_pid_tgid(FIRST_IDS), FIRST_IDS);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(threads_have_the_numbers_of_their_namespace),
		TEST(threads_of_other_namespaces_are_outside),
		TEST(the_first_namespace_has_the_kernels_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
