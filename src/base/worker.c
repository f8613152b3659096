/* A process of our own that others ask, and that may hang or crash without harm to us. */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/child_messages.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/log.h"

#define REAP_MS 200

union fds_message {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(WORKER_MAX_FDS * sizeof(int)) + CMSG_SPACE(sizeof(struct ucred))];
};

int worker_start(struct worker *worker, void (*run)(int socket, void *context), void *context)
{
	int fds[2];
	pid_t parent;
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds))
		return -errno;
	(void)setsockopt(fds[1], SOL_SOCKET, SO_PASSCRED, &(int){1}, sizeof(int));
	parent = getpid();
	pid = fork();
	if (!pid) {
		struct fd_list kept = {0};

		confinement_die_with(parent);
		child_messages_redirect();
		fd_list_add(&kept, STDERR_FILENO);
		fd_list_add(&kept, fds[1]);
		if (!confinement_close_others(&kept))
			run(fds[1], context);
		_exit(0);
	}
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -EAGAIN;
	}
	worker->fd = fds[0];
	worker->pid = pid;
	return 0;
}

bool worker_stop(struct worker *worker, struct rusage *ret_usage)
{
	struct timespec pause = {.tv_nsec = NS_PER_MS};
	pid_t pid = worker->pid;
	int wait_status;

	if (!pid)
		return false;
	worker->pid = 0;
	close(worker->fd);
	worker->fd = -1;
	kill(pid, SIGKILL);
	for (int i = 0; i < REAP_MS; i++) {
		if (wait4(pid, &wait_status, WNOHANG, ret_usage) == pid) {
			child_messages_print();
			return true;
		}
		nanosleep(&pause, NULL);
	}
	log_debug("process %d does not exit", pid);
	return false;
}

int worker_send(int socket, const struct iovec *parts, size_t num_parts, const int *fds,
		size_t num_fds)
{
	union fds_message rights = {.header = {.cmsg_level = SOL_SOCKET,
					       .cmsg_type = SCM_RIGHTS,
					       .cmsg_len = CMSG_LEN(num_fds * sizeof(*fds))}};
	struct msghdr message = {.msg_iov = (struct iovec *)(uintptr_t)parts,
				 .msg_iovlen = num_parts};

	if (num_fds) {
		memcpy(CMSG_DATA(&rights.header), fds, num_fds * sizeof(*fds));
		message.msg_control = &rights;
		message.msg_controllen = CMSG_SPACE(num_fds * sizeof(*fds));
	}
	return sendmsg(socket, &message, MSG_NOSIGNAL) < 0 ? -errno : 0;
}

/* The kernel passes as many as fit into the buffer, even in place of the sender's pid. */
static void take_fds(const struct cmsghdr *header, int *ret)
{
	size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(*ret);

	for (size_t i = 0; i < count; i++) {
		int fd;

		memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
		if (i < WORKER_MAX_FDS)
			ret[i] = fd;
		else
			close(fd);
	}
}

static void take_rights(struct msghdr *message, int *fds, pid_t *ret_sender)
{
	struct cmsghdr *header = CMSG_FIRSTHDR(message);

	memset(fds, 0xff, WORKER_MAX_FDS * sizeof(*fds)); /* -1 */
	*ret_sender = 0;
	for (; header; header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET)
			continue;
		if (header->cmsg_type == SCM_RIGHTS)
			take_fds(header, fds);
		if (header->cmsg_type == SCM_CREDENTIALS)
			*ret_sender = ((const struct ucred *)(const void *)CMSG_DATA(header))->pid;
	}
}

ssize_t worker_receive_from(int socket, void *data, size_t size, int *fds, pid_t *ret_sender)
{
	struct iovec part = {data, size};
	union fds_message rights;
	struct msghdr message = {.msg_iov = &part,
				 .msg_iovlen = 1,
				 .msg_control = &rights,
				 .msg_controllen = sizeof(rights)};
	ssize_t got;

	do {
		got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
	} while (got < 0 && errno == EINTR);
	if (got < 0)
		return -errno;
	take_rights(&message, fds, ret_sender);
	return got;
}

ssize_t worker_receive(int socket, void *data, size_t size, int *fds)
{
	pid_t sender;

	return worker_receive_from(socket, data, size, fds, &sender);
}
