#include "cli/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static void run_child(int gate_fd, int error_fd, char *const *argv, const struct stopper *stopper)
{
	char go;
	int failure;

	stopper_undo_in_child(stopper);
	if (read(gate_fd, &go, 1) != 1)
		_exit(1); /* the parent gave up */
	execvp(argv[0], argv);
	failure = errno;
	(void)!write(error_fd, &failure, sizeof(failure));
	_exit(1);
}

int workload_start(struct workload *workload, char *const *argv, const struct stopper *stopper,
		   struct error *error)
{
	int gate[2];
	int failure[2];

	*workload = (struct workload){.gate_fd = -1, .error_fd = -1, .pid_fd = -1, .status = -1};
	if (pipe2(gate, O_CLOEXEC))
		return error_set(error, -errno, "cannot make a pipe: %s", strerror(errno));
	if (pipe2(failure, O_CLOEXEC)) {
		int err = -errno;

		close(gate[0]);
		close(gate[1]);
		return error_set(error, err, "cannot make a pipe: %s", strerror(-err));
	}
	workload->pid = fork();
	if (workload->pid == 0) {
		close(gate[1]);
		run_child(gate[0], failure[1], argv, stopper);
	}
	close(gate[0]);
	close(failure[1]);
	workload->gate_fd = gate[1];
	workload->error_fd = failure[0];
	if (workload->pid < 0) {
		int err = -errno;

		workload->pid = 0;
		workload_close(workload);
		return error_set(error, err, "cannot start a process: %s", strerror(-err));
	}
	workload->pid_fd = (int)syscall(SYS_pidfd_open, workload->pid, 0);
	if (workload->pid_fd < 0) {
		int err = -errno;

		workload_close(workload);
		return error_set(error, err, "cannot watch a process: %s", strerror(-err));
	}
	return 0;
}

int workload_release(struct workload *workload, char *const *argv, struct error *error)
{
	int failure;
	ssize_t got;

	if (write(workload->gate_fd, "g", 1) != 1)
		return error_set(error, -errno, "cannot run '%s': it was killed", argv[0]);
	close(workload->gate_fd);
	workload->gate_fd = -1;
	do
		got = read(workload->error_fd, &failure, sizeof(failure));
	while (got < 0 && errno == EINTR);
	if (got != sizeof(failure))
		return 0;
	return error_set(error, -failure, "cannot run '%s': %s", argv[0], strerror(failure));
}

bool workload_has_ended(struct workload *workload)
{
	if (workload->status == -1 && waitpid(workload->pid, &workload->status, WNOHANG) <= 0)
		workload->status = -1;
	return workload->status != -1;
}

void workload_signal(const struct workload *workload, int number)
{
	if (workload->status == -1)
		kill(workload->pid, number);
}

bool workload_wait(struct workload *workload, int timeout_ms)
{
	struct pollfd ended = {.fd = workload->pid_fd, .events = POLLIN};

	if (!workload_has_ended(workload))
		(void)poll(&ended, 1, timeout_ms); /* interrupted or not: the status tells */
	return workload_has_ended(workload);
}

int workload_get_exit_status(const struct workload *workload)
{
	if (WIFSIGNALED(workload->status))
		return 128 + WTERMSIG(workload->status);
	return WEXITSTATUS(workload->status);
}

void workload_close(struct workload *workload)
{
	if (workload->gate_fd >= 0)
		close(workload->gate_fd); /* not let go: its read fails, and it exits */
	if (workload->gate_fd >= 0 && workload->pid > 0)
		(void)waitpid(workload->pid, NULL, 0); /* nobody wants its status */
	if (workload->error_fd >= 0)
		close(workload->error_fd);
	if (workload->pid_fd >= 0)
		close(workload->pid_fd);
	workload->gate_fd = workload->error_fd = workload->pid_fd = -1;
}
