/* The first signal asks to stop, the second one ends. Each test is in a process of its own, as signals are the process's. */
#include "base/clock.h"

#include <stdatomic.h>

static _Atomic uint64_t fake_now_ns = 1000 * NS_PER_SECOND;

#define outputs_abandon note_abandoned
#define clock_now_ns()  fake_now_ns
#include "cli/record/stop_request.c"
#undef outputs_abandon
#undef clock_now_ns

#include "unit.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static void require(bool condition)
{
	if (!condition)
		_exit(1);
}

/* Returns the wait status. */
static int run(void (*test)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (!child) {
		for (int number = 1; number < 32; number++)
			signal(number, SIG_DFL);
		test();
		_exit(0);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return status;
}

static bool is_readable(int fd, int timeout_ms)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	return poll(&readable, 1, timeout_ms) == 1;
}

static int count_fds(void)
{
	int count = 0;

	for (int fd = 0; fd < 64; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static int tested; /* a signal */

static void stop(void)
{
	int num_fds = count_fds();
	struct stop_request *stop_request = stop_request_new(NULL);

	require(stop_request);
	require(!stop_request_get_signal(stop_request));
	require(!is_readable(stop_request_get_fd(stop_request), 0));
	require(fcntl(stop_request_get_fd(stop_request), F_GETFD) == FD_CLOEXEC);
	kill(getpid(), tested);
	require(is_readable(stop_request_get_fd(stop_request), 60000));
	require(stop_request_get_signal(stop_request) == tested);
	stop_request_free(stop_request);
	require(count_fds() == num_fds);
	/* As before: the process ends by it. */
	raise(tested);
	_exit(2);
}

static void each_signal_requests_a_stop(void **state _unused_)
{
	static const int numbers[] = {SIGINT, SIGTERM, SIGHUP};

	for (size_t i = 0; i < ARRAY_LENGTH(numbers); i++) {
		int status;

		tested = numbers[i];
		status = run(stop);
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), tested);
	}
}

static void end(void)
{
	struct stop_request *stop_request = stop_request_new(NULL);

	require(stop_request);
	kill(getpid(), SIGINT);
	require(is_readable(stop_request_get_fd(stop_request), 60000));
	fake_now_ns += 250 * NS_PER_MS;
	kill(getpid(), SIGTERM);
	for (;;)
		pause();
}

/* As a shell would see it without us. */
static void the_second_signal_ends_the_program(void **state _unused_)
{
	int status = run(end);

	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
}

static bool is_pending(int number)
{
	sigset_t pending;

	return !sigpending(&pending) && sigismember(&pending, number);
}

static void go_on(void)
{
	struct stop_request *stop_request = stop_request_new(NULL);
	static const int more[] = {SIGTERM, SIGHUP, SIGINT};

	require(stop_request);
	kill(getpid(), SIGTERM);
	require(is_readable(stop_request_get_fd(stop_request), 60000));
	fake_now_ns += 249 * NS_PER_MS;
	for (size_t i = 0; i < ARRAY_LENGTH(more); i++) {
		kill(getpid(), more[i]);
		while (is_pending(more[i]))
			usleep(1000);
	}
	require(stop_request_get_signal(stop_request) == SIGTERM);
	stop_request_free(stop_request);
	_exit(3);
}

/* timeout(1) signals the program, and then all of its group. */
static void signals_at_one_time_are_one_request(void **state _unused_)
{
	int status = run(go_on);

	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 3);
}

static void ignore(void)
{
	struct sigaction now;
	struct stop_request *stop_request;

	signal(SIGHUP, SIG_IGN);
	stop_request = stop_request_new(NULL);
	require(stop_request);
	kill(getpid(), SIGHUP);
	kill(getpid(), SIGINT);
	require(is_readable(stop_request_get_fd(stop_request), 60000));
	require(stop_request_get_signal(stop_request) == SIGINT);
	stop_request_free(stop_request);
	require(!sigaction(SIGHUP, NULL, &now) && now.sa_handler == SIG_IGN);
}

/* nohup(1) */
static void an_ignored_signal_stays_ignored(void **state _unused_)
{
	assert_int_equal(run(ignore), 0);
}

/* A signal that is blocked reaches who waits for it, ignored or not. */
static void interrupt(void)
{
	struct stop_request *stop_request;

	signal(SIGINT, SIG_IGN);
	stop_request = stop_request_new(NULL);
	require(stop_request);
	kill(getpid(), SIGINT);
	require(is_readable(stop_request_get_fd(stop_request), 60000));
	require(stop_request_get_signal(stop_request) == SIGINT);
	stop_request_free(stop_request);
}

/* As shells start the background commands of a script. */
static void an_ignored_interrupt_is_a_request(void **state _unused_)
{
	assert_int_equal(run(interrupt), 0);
}

static bool is_ignored(int number)
{
	struct sigaction now;

	return !sigaction(number, NULL, &now) && now.sa_handler == SIG_IGN;
}

static bool is_blocked(int number)
{
	sigset_t mask;

	return !sigprocmask(SIG_SETMASK, NULL, &mask) && sigismember(&mask, number);
}

static void undo(void)
{
	struct stop_request *stop_request;

	signal(SIGXFSZ, SIG_IGN);
	stop_request = stop_request_new(NULL);
	require(stop_request);
	require(is_ignored(SIGPIPE) && is_ignored(SIGXFSZ));
	require(is_blocked(SIGINT) && is_blocked(SIGTERM) && is_blocked(SIGHUP));
	stop_request_undo_in_child(stop_request);
	require(!is_ignored(SIGPIPE) && is_ignored(SIGXFSZ));
	require(!is_blocked(SIGINT) && !is_blocked(SIGTERM) && !is_blocked(SIGHUP));
	stop_request_free(stop_request);
	signal(SIGXFSZ, SIG_DFL);
	stop_request = stop_request_new(NULL);
	stop_request_free(stop_request);
	require(!is_ignored(SIGPIPE) && !is_ignored(SIGXFSZ));
	stop_request_free(NULL);
}

static void a_command_starts_as_if_we_were_not_there(void **state _unused_)
{
	assert_int_equal(run(undo), 0);
}

static const struct outputs outputs;
static int abandoned_fd; /* a pipe */

void note_abandoned(const struct outputs *abandoned)
{
	if (abandoned_fd && abandoned == &outputs)
		(void)!write(abandoned_fd, "a", 1);
}

static void end_with_outputs(void)
{
	struct stop_request *stop_request = stop_request_new(&outputs);

	kill(getpid(), SIGINT);
	require(is_readable(stop_request_get_fd(stop_request), 60000));
	fake_now_ns += NS_PER_SECOND;
	kill(getpid(), SIGINT);
	for (;;)
		pause();
}

/* Temporary names would stay. */
static void the_outputs_are_abandoned(void **state _unused_)
{
	int ends[2];
	char byte;

	assert_int_equal(pipe(ends), 0);
	abandoned_fd = ends[1];
	assert_true(WIFSIGNALED(run(end_with_outputs)));
	abandoned_fd = 0;
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 1);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_signal_requests_a_stop),
		cmocka_unit_test(the_second_signal_ends_the_program),
		cmocka_unit_test(signals_at_one_time_are_one_request),
		cmocka_unit_test(an_ignored_signal_stays_ignored),
		cmocka_unit_test(an_ignored_interrupt_is_a_request),
		cmocka_unit_test(a_command_starts_as_if_we_were_not_there),
		cmocka_unit_test(the_outputs_are_abandoned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
