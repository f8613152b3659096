/* Processes that are asked: descriptors that they have, messages, their end. */
#include "base/confinement.h"

/* The pipe of messages. */
#define UNIT_KEPT_DESCRIPTORS 2
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child.h"
#include "base/child_messages.h"

#define MAX_FDS 100

static struct worker worker;

static int set_up(void **state _unused_)
{
	worker = WORKER_NONE;
	return 0;
}

static int tear_down(void **state _unused_)
{
	struct rusage usage;

	(void)worker_stop(&worker, &usage);
	return 0;
}

/* An answer is there, or the worker's end is closed. */
static void expect_readable(int fd)
{
	struct pollfd readable = {.fd = fd, .events = POLLIN};

	assert_int_equal(poll(&readable, 1, 60000), 1);
}

struct open_fds {
	bool are_open[MAX_FDS];
	int socket;
};

static void report_fds(int socket, void *context _unused_)
{
	struct open_fds report = {.socket = socket};
	struct iovec part = {&report, sizeof(report)};

	for (int fd = 0; fd < MAX_FDS; fd++)
		report.are_open[fd] = fcntl(fd, F_GETFD) >= 0;
	(void)!worker_send(socket, &part, 1, NULL, 0);
}

static void it_has_its_socket_and_standard_error_alone(void **state _unused_)
{
	int fds[WORKER_MAX_FDS];
	struct open_fds report;
	int other = dup(0);
	pid_t pid;

	assert_int_equal(worker_start(&worker, report_fds, NULL), 0);
	pid = worker.pid;
	expect_readable(worker.fd);
	assert_int_equal(worker_receive(worker.fd, &report, sizeof(report), fds), sizeof(report));
	assert_true(report.socket > STDERR_FILENO && report.socket < MAX_FDS);
	for (int fd = 0; fd < MAX_FDS; fd++)
		assert_int_equal(report.are_open[fd], fd == STDERR_FILENO || fd == report.socket);
	/* It has ended, and nobody else holds its end. */
	expect_readable(worker.fd);
	assert_int_equal(worker_receive(worker.fd, &report, sizeof(report), fds), 0);
	tear_down(NULL);
	assert_int_equal(kill(pid, 0), -1);
	close(other);
}

/* Sends back what comes, with the sender's pid in front. */
static void echo(int socket, void *context)
{
	char bytes[16];
	int fds[WORKER_MAX_FDS];
	pid_t sender;
	ssize_t got;

	while ((got = worker_receive_from(socket, bytes, sizeof(bytes), fds, &sender)) > 0) {
		struct iovec parts[] = {{&sender, sizeof(sender)}, {bytes, (size_t)got}};
		size_t num_fds = 0;

		while (num_fds < WORKER_MAX_FDS && fds[num_fds] >= 0)
			num_fds++;
		if (worker_send(socket, parts, ARRAY_LENGTH(parts), fds, num_fds))
			return;
		for (size_t i = 0; i < num_fds; i++)
			close(fds[i]);
	}
	(void)context;
}

struct answer {
	pid_t sender;
	char bytes[16];
};

static ssize_t ask(const char *bytes, const int *fds, size_t num_fds, struct answer *ret,
		   int *ret_fds)
{
	/* A message of two parts. */
	struct iovec parts[] = {{(void *)(uintptr_t)bytes, 1},
				{(void *)(uintptr_t)(bytes + 1), strlen(bytes + 1)}};

	assert_int_equal(worker_send(worker.fd, parts, ARRAY_LENGTH(parts), fds, num_fds), 0);
	expect_readable(worker.fd);
	return worker_receive(worker.fd, ret, sizeof(*ret), ret_fds);
}

static void messages_come_whole_with_their_descriptors_and_sender(void **state _unused_)
{
	struct answer answer;
	int fds[WORKER_MAX_FDS];
	int ends[2];
	char byte = 0;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(worker_start(&worker, echo, NULL), 0);
	for (size_t num_fds = 0; num_fds <= WORKER_MAX_FDS; num_fds++) {
		assert_int_equal(ask("hello", ends, num_fds, &answer, fds), sizeof(pid_t) + 5);
		assert_int_equal(answer.sender, getpid());
		assert_memory_equal(answer.bytes, "hello", 5);
		for (size_t i = 0; i < WORKER_MAX_FDS; i++) {
			assert_int_equal(fds[i] >= 0, i < num_fds);
			if (i < num_fds)
				assert_int_equal(fcntl(fds[i], F_GETFD), FD_CLOEXEC);
		}
		if (num_fds == 2) {
			/* The other end of the pipe. */
			assert_int_equal(write(fds[1], "x", 1), 1);
			assert_int_equal(read(ends[0], &byte, 1), 1);
			assert_int_equal(byte, 'x');
		}
		for (size_t i = 0; i < num_fds; i++)
			close(fds[i]);
	}
	/* It keeps none of them. */
	close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	close(ends[0]);
}

static void a_message_that_is_too_long_is_cut(void **state _unused_)
{
	struct answer answer;
	int fds[WORKER_MAX_FDS];

	assert_int_equal(worker_start(&worker, echo, NULL), 0);
	assert_int_equal(ask("0123456789abcdefXYZ", NULL, 0, &answer, fds), sizeof(answer));
	assert_memory_equal(answer.bytes, "0123456789abcdef", sizeof(answer.bytes));
	assert_int_equal(ask("next", NULL, 0, &answer, fds), sizeof(pid_t) + 4);
}

/* As many as there is room for in the control data of who receives, and more. */
#define MANY_FDS 20

static void send_many_fds(int socket, void *context)
{
	union {
		struct cmsghdr header;
		char bytes[CMSG_SPACE(MANY_FDS * sizeof(int))];
	} rights = {.header = {.cmsg_level = SOL_SOCKET,
			       .cmsg_type = SCM_RIGHTS,
			       .cmsg_len = CMSG_LEN(MANY_FDS * sizeof(int))}};
	struct iovec part = {(char[]){'x'}, 1};
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &rights,
				 .msg_controllen = sizeof(rights)};

	for (size_t i = 0; i < MANY_FDS; i++)
		memcpy(CMSG_DATA(&rights.header) + i * sizeof(int), &socket, sizeof(socket));
	(void)!sendmsg(socket, &message, 0);
	(void)context;
}

static size_t count_open_fds(void)
{
	size_t count = 0;

	for (int fd = 0; fd < MAX_FDS; fd++)
		count += fcntl(fd, F_GETFD) >= 0;
	return count;
}

static void of_more_descriptors_than_are_wanted_the_rest_is_closed(void **state _unused_)
{
	struct {
		int fds[WORKER_MAX_FDS];
		int beyond[MANY_FDS];
	} got;
	size_t num_open;
	char byte;

	memset(&got, 0x55, sizeof(got));
	assert_int_equal(worker_start(&worker, send_many_fds, NULL), 0);
	num_open = count_open_fds();
	expect_readable(worker.fd);
	assert_int_equal(worker_receive(worker.fd, &byte, 1, got.fds), 1);
	for (size_t i = 0; i < MANY_FDS; i++)
		assert_int_equal(got.beyond[i], 0x55555555);
	assert_int_equal(count_open_fds(), num_open + WORKER_MAX_FDS);
	for (size_t i = 0; i < WORKER_MAX_FDS; i++)
		close(got.fds[i]);
}

static void wait_for_ever(int socket, void *context)
{
	(void)socket;
	(void)context;
	for (;;)
		pause();
}

static void one_that_does_not_end_is_killed(void **state _unused_)
{
	struct rusage usage = {.ru_maxrss = -1};
	pid_t pid;
	int fd;

	assert_int_equal(worker_start(&worker, wait_for_ever, NULL), 0);
	pid = worker.pid;
	fd = worker.fd;
	assert_true(worker_stop(&worker, &usage));
	assert_true(usage.ru_maxrss > 0);
	assert_int_equal(worker.pid, 0);
	assert_int_equal(worker.fd, -1);
	assert_int_equal(kill(pid, 0), -1);
	assert_int_equal(fcntl(fd, F_GETFD), -1);
	assert_false(worker_stop(&worker, &usage));
}

/* Of whoever started it. */
static void it_ends_with_its_parent(void **state _unused_)
{
	int ends[2];
	pid_t parent;
	pid_t started;
	bool has_ended;
	int status;

	assert_int_equal(pipe(ends), 0);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0);
	parent = fork();
	assert_true(parent >= 0);
	if (!parent) {
		if (worker_start(&worker, wait_for_ever, NULL))
			_exit(1);
		started = worker.pid;
		_exit(write(ends[1], &started, sizeof(started)) != sizeof(started));
	}
	assert_int_equal(waitpid(parent, &status, 0), parent);
	assert_int_equal(status, 0);
	assert_int_equal(read(ends[0], &started, sizeof(started)), sizeof(started));
	/* Killed, or ended by itself where its parent was gone before it could ask for that. */
	has_ended = child_reap(started, 20000, &status);
	if (!has_ended)
		kill(started, SIGKILL);
	assert_true(has_ended);
	assert_int_equal(prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0), 0);
	close(ends[0]);
	close(ends[1]);
}

static void complain(int socket, void *context)
{
	struct iovec part = {(void *)(uintptr_t) "x", 1};

	(void)!write(STDERR_FILENO, "a\033b", 3);
	(void)!worker_send(socket, &part, 1, NULL, 0);
	(void)context;
	for (;;)
		pause();
}

/* By the time that it has ended. */
static void its_messages_are_printed(void **state _unused_)
{
	FILE *file = tmpfile();
	int fds[WORKER_MAX_FDS];
	char printed[16] = "";
	int before = dup(STDERR_FILENO);
	struct rusage usage;
	char answer;

	assert_non_null(file);
	assert_int_equal(child_messages_start(), 0);
	assert_true(dup2(fileno(file), STDERR_FILENO) >= 0);
	assert_int_equal(worker_start(&worker, complain, NULL), 0);
	expect_readable(worker.fd);
	assert_int_equal(worker_receive(worker.fd, &answer, 1, fds), 1);
	assert_true(worker_stop(&worker, &usage));
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	rewind(file);
	assert_int_equal(fread(printed, 1, sizeof(printed) - 1, file), 4);
	assert_string_equal(printed, "a b\n");
	fclose(file);
}

static void none_is_started_without_descriptors(void **state _unused_)
{
	int first_free = dup(0);
	struct rlimit limit;
	struct rlimit few;

	close(first_free);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	few = (struct rlimit){.rlim_cur = (rlim_t)first_free + 1, .rlim_max = limit.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(worker_start(&worker, echo, NULL), -EMFILE);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
	assert_int_equal(worker.fd, -1);
	assert_int_equal(worker.pid, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(it_has_its_socket_and_standard_error_alone),
		TEST(messages_come_whole_with_their_descriptors_and_sender),
		TEST(a_message_that_is_too_long_is_cut),
		TEST(of_more_descriptors_than_are_wanted_the_rest_is_closed),
		TEST(one_that_does_not_end_is_killed),
		TEST(it_ends_with_its_parent),
		TEST(its_messages_are_printed),
		TEST(none_is_started_without_descriptors),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
