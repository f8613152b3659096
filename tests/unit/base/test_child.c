/* Children that are stopped, end, or do not. */
#include "base/child.h"

#include "unit.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

static pid_t start(void (*run)(void))
{
	pid_t child = fork();

	assert_true(child >= 0);
	if (!child) {
		run();
		_exit(3);
	}
	return child;
}

static void wait_for_ever(void)
{
	for (;;)
		pause();
}

static void spin(void)
{
	for (volatile unsigned long i = 0;; i++)
		;
}

static void end_at_once(void)
{
}

static void one_that_ends_is_reaped(void **state _unused_)
{
	pid_t child = start(end_at_once);
	int wait_status = 0;

	assert_true(child_reap(child, 60000, &wait_status));
	assert_true(WIFEXITED(wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 3);
	/* Nothing is left of it. */
	assert_true(child_reap(child, 60000, &wait_status));
	assert_int_equal(child_read_cpu_ns(child), 0);
}

static void one_that_does_not_end_is_not_waited_for(void **state _unused_)
{
	pid_t child = start(wait_for_ever);
	int wait_status = 0;

	assert_false(child_reap(child, 0, &wait_status));
	assert_false(child_reap(child, 20, &wait_status));
	kill(child, SIGKILL);
	assert_true(child_reap(child, 60000, &wait_status));
	assert_true(WIFSIGNALED(wait_status));
}

static void one_that_was_stopped_goes_on(void **state _unused_)
{
	pid_t child = start(spin);
	uint64_t cpu_ns;
	int wait_status;
	siginfo_t info;

	/* It runs: nothing is done. */
	child_continue(child);
	kill(child, SIGSTOP);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WSTOPPED | WNOWAIT), 0);
	cpu_ns = child_read_cpu_ns(child);
	child_continue(child);
	while (child_read_cpu_ns(child) == cpu_ns)
		usleep(1000);
	/* Its end was not taken. */
	kill(child, SIGKILL);
	assert_true(child_reap(child, 60000, &wait_status));
	assert_true(WIFSIGNALED(wait_status));
}

static void the_end_of_a_child_is_left(void **state _unused_)
{
	pid_t child = start(end_at_once);
	int wait_status;
	siginfo_t info;

	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	child_continue(child);
	assert_true(child_reap(child, 0, &wait_status));
	assert_int_equal(WEXITSTATUS(wait_status), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_ends_is_reaped),
		cmocka_unit_test(one_that_does_not_end_is_not_waited_for),
		cmocka_unit_test(one_that_was_stopped_goes_on),
		cmocka_unit_test(the_end_of_a_child_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
