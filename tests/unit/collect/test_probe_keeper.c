/* The process is a real one; a probe is an end of a pipe. The test says when processes answer. */
#include "collect/events/probe_keeper.c"

#include <fcntl.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/wait.h>

#include "unit.h"

static const struct leased_file first_file = {1, 2};
static const struct leased_file second_file = {2, 2};

/* Shared with the process. */
static atomic_bool *is_silent;

void process_answers_wait(_Atomic pid_t *asked)
{
	while (atomic_load(is_silent)) {
		*asked = 77;
		usleep(1000);
	}
	*asked = 0;
}

static int set_up(void **state)
{
	struct probe_keeper *keeper;

	is_silent = mmap(NULL, sizeof(*is_silent), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(is_silent, MAP_FAILED);
	assert_int_equal(probe_keeper_new(&keeper), 0);
	*state = keeper;
	return 0;
}

static int tear_down(void **state)
{
	probe_keeper_free(*state);
	munmap(is_silent, sizeof(*is_silent));
	return 0;
}

/* Returns the end of the pipe that shows whether the other is open. */
static int add(struct probe_keeper *keeper, const struct leased_file *file)
{
	int fds[2];

	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	assert_int_equal(probe_keeper_add(keeper, fds[1], file), 0);
	close(fds[1]);
	return fds[0];
}

static bool is_held(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	assert_true(poll(&polled, 1, 0) >= 0);
	return !(polled.revents & POLLHUP);
}

static void wait_for_end(int fd)
{
	struct pollfd polled = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&polled, 1, 20000), 1);
	assert_false(is_held(fd));
}

static void a_file_is_let_go_of(void **state)
{
	int first = add(*state, &first_file);
	int second = add(*state, &second_file);
	int of_none = add(*state, &(struct leased_file){0});
	int again = add(*state, &first_file);

	assert_true(is_held(first) && is_held(second) && is_held(of_none) && is_held(again));
	assert_int_equal(probe_keeper_let_go(*state, &first_file, 20000), 0);
	assert_false(is_held(first) || is_held(again));
	assert_true(is_held(second) && is_held(of_none));
	assert_int_equal(probe_keeper_let_go(*state, NULL, 20000), 0);
	assert_false(is_held(second) || is_held(of_none));
	assert_int_equal(probe_keeper_get_state(*state).silent, 0);
	close(first);
	close(second);
	close(of_none);
	close(again);
}

static void a_silent_process_keeps_only_the_keeper_waiting(void **state)
{
	int first = add(*state, &first_file);
	struct probe_keeper_state now;

	atomic_store(is_silent, true);
	assert_int_equal(probe_keeper_let_go(*state, &first_file, 50), -ETIMEDOUT);
	now = probe_keeper_get_state(*state);
	assert_int_equal(now.silent, 77);
	assert_int_equal(kill(now.pid, 0), 0);
	assert_true(is_held(first));
	atomic_store(is_silent, false);
	/* The answer to the first request is not taken for that of this one. */
	assert_int_equal(probe_keeper_let_go(*state, NULL, 20000), 0);
	assert_false(is_held(first));
	close(first);
}

static void the_keeper_outlives_who_started_it(void **state)
{
	int first = add(*state, &first_file);
	pid_t pid = probe_keeper_get_state(*state).pid;

	atomic_store(is_silent, true);
	probe_keeper_free(*state);
	assert_int_equal(kill(pid, SIGTERM), 0);
	assert_true(is_held(first));
	atomic_store(is_silent, false);
	wait_for_end(first);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(first);
	assert_int_equal(probe_keeper_new((struct probe_keeper **)state), 0);
}

static void an_ended_keeper_is_told(void **state)
{
	int first = add(*state, &first_file);

	assert_int_equal(kill(probe_keeper_get_state(*state).pid, SIGKILL), 0);
	wait_for_end(first);
	assert_int_equal(probe_keeper_let_go(*state, NULL, 20000), -EPIPE);
	assert_int_equal(probe_keeper_add(*state, first, &first_file), -EPIPE);
	close(first);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_let_go_of),
		TEST(a_silent_process_keeps_only_the_keeper_waiting),
		TEST(the_keeper_outlives_who_started_it),
		TEST(an_ended_keeper_is_told),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
