/*
 * To record a command from its first instruction on, it must exist before it runs: the recorder
 * needs its pid. So we fork a child that waits at a gate, a pipe, and executes the command when a
 * byte opens the gate. If we die before, the gate closes and the child exits. A second pipe reports
 * whether execvp() worked: a successful exec closes it (O_CLOEXEC), otherwise it carries an errno.
 * A pidfd reports the command's end, so that poll() can watch it beside the recorder's own
 * descriptor.
 */
#include "cli/record/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/stack_limit.h"
#include "base/text.h"

/*
 * Drop capabilities that only stackwide was given, by its service or by setpriv: the command could
 * otherwise open files that only we may read. Those of root stay.
 */
static void drop_given_capabilities(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3];

	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (syscall(SYS_capget, &header, sets))
		return;
	for (size_t i = 0; i < ARRAY_LENGTH(sets); i++)
		sets[i].inheritable = 0;
	(void)syscall(SYS_capset, &header, sets);
}

/* The groups were looked up before the fork. Returns 0 or errno. */
static int become(const struct workload_user *user)
{
	if (setgroups(user->num_groups, user->groups) ||
	    setresgid(user->gid, user->gid, user->gid) ||
	    setresuid(user->uid, user->uid, user->uid))
		return errno;
	return 0;
}

/* Calls only functions that are safe after fork(): the parent has threads. */
static void run_child(int gate_fd, int error_fd, char *const *argv,
		      const struct workload_user *user, const struct stop_request *stop_request)
{
	char go;
	int failure;

	stop_request_undo_in_child(stop_request);
	stack_limit_restore();
	drop_given_capabilities();
	if (read(gate_fd, &go, 1) != 1)
		_exit(1); /* the parent gave up */
	failure = user ? become(user) : 0;
	if (!failure) {
		execvpe(argv[0], argv, user ? user->environment : environ);
		failure = errno;
	}
	(void)!write(error_fd, &failure, sizeof(failure));
	_exit(1);
}

int workload_start(struct workload *workload, char *const *argv, const struct workload_user *user,
		   const struct stop_request *stop_request, struct error *error)
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
		run_child(gate[0], failure[1], argv, user, stop_request);
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
		(void)poll(&ended, 1, timeout_ms); /* interrupted or not: waitpid() tells */
	return workload_has_ended(workload);
}

/* As shells count: 128 and the signal. */
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
		(void)waitpid(workload->pid, NULL, 0); /* its status is ignored */
	if (workload->error_fd >= 0)
		close(workload->error_fd);
	if (workload->pid_fd >= 0)
		close(workload->pid_fd);
	workload->gate_fd = workload->error_fd = workload->pid_fd = -1;
}

/* ---- another user ---- */

static int look_up_groups(const struct passwd *entry, struct workload_user *user)
{
	int count = 0;

	(void)getgrouplist(entry->pw_name, entry->pw_gid, NULL, &count);
	user->groups = calloc(count > 0 ? (size_t)count : 1, sizeof(*user->groups));
	if (!user->groups)
		return -ENOMEM;
	if (count > 0 && getgrouplist(entry->pw_name, entry->pw_gid, user->groups, &count) < 0)
		return -EAGAIN; /* the groups have just changed */
	user->num_groups = (size_t)count;
	return 0;
}

/* Our environment, with changed variables that name the user. */
static int make_environment(const struct passwd *entry, struct workload_user *user)
{
	static const char *const replaced[] = {"HOME=", "USER=", "LOGNAME=", "SHELL="};
	const char *const values[] = {entry->pw_dir, entry->pw_name, entry->pw_name,
				      entry->pw_shell};
	size_t count = 0;

	while (environ[count])
		count++;
	user->environment = calloc(count + ARRAY_LENGTH(replaced) + 1, sizeof(char *));
	if (!user->environment)
		return -ENOMEM;
	count = 0;
	for (size_t i = 0; environ[i]; i++) {
		bool is_replaced = false;

		for (size_t k = 0; k < ARRAY_LENGTH(replaced); k++)
			is_replaced |= string_starts_with(environ[i], replaced[k]);
		if (!is_replaced)
			user->environment[count++] = environ[i];
	}
	for (size_t k = 0; k < ARRAY_LENGTH(replaced); k++)
		if (asprintf(&user->own[k], "%s%s", replaced[k], values[k]) < 0) {
			user->own[k] = NULL;
			return -ENOMEM;
		}
	for (size_t k = 0; k < ARRAY_LENGTH(replaced); k++)
		user->environment[count++] = user->own[k];
	return 0;
}

int workload_user_init(struct workload_user *user, const char *name, struct error *error)
{
	const struct passwd *entry = getpwnam(name);
	int err;

	*user = (struct workload_user){0};
	if (!entry)
		return error_set(error, -ENOENT, "no such user: '%s' (SUDO_USER)", name);
	user->uid = entry->pw_uid;
	user->gid = entry->pw_gid;
	err = look_up_groups(entry, user);
	if (!err)
		err = make_environment(entry, user);
	if (!err)
		return 0;
	workload_user_release(user);
	return error_set(error, err, "cannot look up the user '%s': %s", name, strerror(-err));
}

void workload_user_release(struct workload_user *user)
{
	for (size_t i = 0; i < ARRAY_LENGTH(user->own); i++)
		free(user->own[i]);
	free(user->environment);
	free(user->groups);
	*user = (struct workload_user){0};
}
