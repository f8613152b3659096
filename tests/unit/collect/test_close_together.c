#include "collect/kernel/close_together.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/attributes.h"
#include "unit.h"

static void all_are_closed(size_t count)
{
	int fds[300];

	assert_true(count <= ARRAY_LENGTH(fds));
	for (size_t i = 0; i < count; i++) {
		fds[i] = open("/dev/null", O_RDONLY | O_CLOEXEC);
		assert_true(fds[i] >= 0);
	}
	close_together(fds, count);
	for (size_t i = 0; i < count; i++) {
		errno = 0;
		assert_int_equal(fcntl(fds[i], F_GETFD), -1);
		assert_int_equal(errno, EBADF);
	}
}

static void nothing_to_close_is_no_problem(void **state _unused_)
{
	all_are_closed(0);
}

static void one_is_closed(void **state _unused_)
{
	all_are_closed(1);
}

static void more_than_there_are_threads_are_closed(void **state _unused_)
{
	all_are_closed(2);
	all_are_closed(33);
	all_are_closed(300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_to_close_is_no_problem),
		cmocka_unit_test(one_is_closed),
		cmocka_unit_test(more_than_there_are_threads_are_closed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
