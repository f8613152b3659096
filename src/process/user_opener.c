#include "process/user_opener.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"
#include "process/proc_file.h"

#define STATUS_MAX_BYTES (64u << 10)
#define MAX_GROUPS       1024

struct user_rights {
	uid_t user;
	gid_t group;
	gid_t groups[MAX_GROUPS];
	size_t num_groups;
};

struct user_answer {
	int32_t err;
	struct user_file file;
};

/* Numbers in a line of /proc/PID/status, at most as many as fit. */
static size_t read_numbers(const char *status, const char *key, gid_t *ret, size_t max)
{
	const char *line = strstr(status, key);
	size_t num = 0;

	line = line ? line + strlen(key) : "";
	while (num < max) {
		char *end;

		line += strspn(line, " \t");
		if (*line < '0' || *line > '9')
			break;
		ret[num++] = (gid_t)strtoul(line, &end, 10);
		line = end;
	}
	return num;
}

static bool are_equal(const gid_t *ids)
{
	return ids[0] == ids[1] && ids[0] == ids[2] && ids[0] == ids[3];
}

/*
 * Real, effective, saved, of files: FUSE requires all of them to be those of the user who mounted
 * it.
 */
static int read_rights(pid_t pid, struct user_rights *ret)
{
	_cleanup_(text_release) struct text status = {0};
	gid_t users[4];
	gid_t groups[4];
	int err = proc_file_read("/proc", pid, "status", STATUS_MAX_BYTES, &status);

	if (err)
		return err;
	if (!status.data || read_numbers(status.data, "\nUid:", users, 4) != 4 ||
	    read_numbers(status.data, "\nGid:", groups, 4) != 4 || !are_equal(users) ||
	    !are_equal(groups) || !users[0])
		return -EACCES;
	ret->user = users[0];
	ret->group = groups[0];
	ret->num_groups = read_numbers(status.data, "\nGroups:", ret->groups, MAX_GROUPS);
	return 0;
}

static int find_and_open(int handle, bool is_opened, struct user_file *ret_file, int *ret_fd)
{
	struct stat status;
	int fd;

	if (fstat(handle, &status))
		return -errno;
	if (!S_ISREG(status.st_mode))
		return -ENOTSUP;
	*ret_file = (struct user_file){.device = status.st_dev, .inode = status.st_ino};
	if (!is_opened)
		return 0;
	fd = file_open_found(handle);
	if (fd < 0)
		return fd;
	*ret_fd = fd;
	return 0;
}

/* In the process. */
static void answer(const struct user_rights *rights, pid_t parent, int handle, bool is_opened,
		   int socket)
{
	struct user_answer answer = {0};
	struct iovec part = {&answer, sizeof(answer)};
	int fd = -1;

	answer.err =
		confinement_become(rights->user, rights->group, rights->groups, rights->num_groups);
	confinement_die_with(parent);
	if (!answer.err)
		answer.err = find_and_open(handle, is_opened, &answer.file, &fd);
	(void)!worker_send(socket, &part, 1, &fd, fd >= 0); /* the other end has a deadline */
}

static int receive(int socket, struct user_file *ret_file, int *ret_fd)
{
	struct user_answer answer;
	int fds[WORKER_MAX_FDS];
	ssize_t got = worker_receive(socket, &answer, sizeof(answer), fds);

	if (got != sizeof(answer) || answer.err || (ret_fd && fds[0] < 0)) {
		for (size_t i = 0; got > 0 && i < WORKER_MAX_FDS; i++)
			cleanup_closep(&fds[i]);
		return got != sizeof(answer) || !answer.err ? -EACCES : answer.err;
	}
	for (size_t i = ret_fd ? 1 : 0; i < WORKER_MAX_FDS; i++)
		cleanup_closep(&fds[i]);
	*ret_file = answer.file;
	if (ret_fd)
		*ret_fd = fds[0];
	return 0;
}

int user_opener_open(pid_t pid, int handle, struct user_file *ret_file, int *ret_fd)
{
	_cleanup_free_ struct user_rights *rights = malloc(sizeof(*rights));
	pid_t parent = getpid();
	int ends[2];
	pid_t child;
	int err = rights ? read_rights(pid, rights) : -ENOMEM;

	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	child = fork();
	if (!child) {
		struct fd_list kept = {0};

		fd_list_add(&kept, STDERR_FILENO);
		fd_list_add(&kept, handle);
		fd_list_add(&kept, ends[1]);
		if (!confinement_close_others(&kept))
			answer(rights, parent, handle, ret_fd != NULL, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	err = child < 0 ? -EAGAIN : receive(ends[0], ret_file, ret_fd);
	close(ends[0]);
	if (child > 0) {
		kill(child, SIGKILL);
		(void)waitpid(child, NULL, 0);
	}
	return err;
}
