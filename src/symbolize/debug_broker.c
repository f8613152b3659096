/*
 * The symbolizing process may open nothing: it asks us for debug files by their path, and gets
 * descriptors of readable ones.
 */
#include "symbolize/debug_broker.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"

/*
 * Time limit for an answer: opening a file takes microseconds, unless its file system hangs or the
 * machine is busy. A late answer is asked for again, MAX_LATE times in all.
 */
#define ANSWER_MS 1000
#define MAX_LATE  3

struct broker_request {
	uint32_t number;
	char path[PATH_MAX]; /* only the used part is in the message, without NUL */
};

struct broker_answer {
	uint32_t number; /* of the request */
	int32_t err;     /* 0: with a descriptor */
};

#define REQUEST_HEAD_BYTES offsetof(struct broker_request, path)

/* ---- asking ---- */

/* If several processes ask one after the other, an earlier one may have left an answer. */
static int receive(struct debug_client *client)
{
	for (;;) {
		struct pollfd readable = {.fd = client->fd, .events = POLLIN};
		struct broker_answer answer = {0};
		int fds[WORKER_MAX_FDS];
		ssize_t got;

		if (poll(&readable, 1, ANSWER_MS) <= 0)
			return -ETIMEDOUT;
		got = worker_receive(client->fd, &answer, sizeof(answer), fds);
		if (got <= 0)
			return -EPIPE;
		cleanup_closep(&fds[1]);
		if (got == sizeof(answer) && answer.number == client->num_requests)
			return fds[0] >= 0 ? fds[0] : -ENOENT;
		cleanup_closep(&fds[0]);
	}
}

static int ask(void *context, const char *path)
{
	struct debug_client *client = context;
	size_t length = strlen(path);
	struct broker_request request;
	int fd;

	if (client->is_gone || length > sizeof(request.path))
		return -ENOENT;
	memcpy(request.path, path, length);
	do {
		request.number = ++client->num_requests;
		if (send(client->fd, &request, REQUEST_HEAD_BYTES + length, MSG_NOSIGNAL) < 0)
			fd = -EPIPE;
		else
			fd = receive(client);
	} while (fd == -ETIMEDOUT && ++client->num_late < MAX_LATE);
	client->is_gone = fd == -EPIPE || fd == -ETIMEDOUT;
	return fd;
}

/* The pid makes the numbers of different processes differ. */
void debug_client_init(struct debug_client *client, int fd)
{
	*client = (struct debug_client){
		.fd = fd,
		.num_requests = (uint32_t)getpid() << 12,
		.opener = {.open = ask, .context = client},
	};
}

/* ---- answering ---- */

/* Absolute, and without parts "", "." or "..". */
static bool is_plain_path(const char *path)
{
	if (path[0] != '/' || string_ends_with(path, "/"))
		return false;
	for (const char *part = path; part; part = strchr(part + 1, '/')) {
		size_t length = strcspn(part + 1, "/");

		if (!length || (length == 1 && part[1] == '.') ||
		    (length == 2 && part[1] == '.' && part[2] == '.'))
			return false;
	}
	return true;
}

static bool is_below(const char *path, const char *folder, size_t folder_length)
{
	return folder_length && strncmp(path, folder, folder_length) == 0 &&
	       path[folder_length] == '/';
}

static bool is_below_root(const struct debug_broker *broker, const char *path)
{
	const char *root = broker->debug_root;

	while (*root) {
		size_t length = strcspn(root, ":");

		if (is_below(path, root, length))
			return true;
		root += length;
		root += *root == ':';
	}
	return false;
}

/* In a folder, or in .debug in it. */
static bool is_beside(const char *path, const struct mapped_file *mapped)
{
	size_t length = (size_t)(path_basename(mapped->path) - mapped->path);
	const char *rest;

	if (mapped->path[0] != '/' || length < 2 || !is_below(path, mapped->path, length - 1))
		return false;
	rest = path + length;
	return !strchr(string_starts_with(rest, ".debug/") ? rest + strlen(".debug/") : rest, '/');
}

/* Whether the path of a mapped file leads to it here, too, not only in its process. */
static bool is_here(const struct mapped_file *mapped, struct stat *ret_status)
{
	struct stat here;

	return mapped->fd >= 0 && !fstat(mapped->fd, ret_status) &&
	       !fstatat(AT_FDCWD, mapped->path, &here, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT) &&
	       here.st_dev == ret_status->st_dev && here.st_ino == ret_status->st_ino;
}

/*
 * Whether an open file beside mapped ones may be passed on. It must belong to the program's owner,
 * who could have written that as well, or to root or ourselves and be readable by everybody. With
 * fd -1: whether it may be opened at all.
 */
static bool goes_with_mapped(const struct debug_broker *broker, const char *path, int fd)
{
	struct stat found = {0};
	bool is_public = fd >= 0 && !fstat(fd, &found) && (found.st_mode & S_IROTH) &&
			 file_owner_is_trusted(file_owner_get(fd));

	for (uint32_t i = 0; i < file_table_get_count(broker->files); i++) {
		const struct mapped_file *mapped = file_table_get(broker->files, i);
		struct stat program;

		if (!is_beside(path, mapped))
			continue;
		if (fd < 0)
			return true;
		if (is_here(mapped, &program) && (program.st_uid == found.st_uid || is_public))
			return true;
	}
	return false;
}

/* Checks its first bytes. */
static bool is_elf(int fd)
{
	char magic[SELFMAG];

	return !file_read_range(fd, magic, sizeof(magic), 0) && !memcmp(magic, ELFMAG, SELFMAG);
}

int debug_broker_open(const struct debug_broker *broker, const char *path, size_t length)
{
	_cleanup_free_ char *copy = strndup(path, length);
	bool is_debug_file;
	int fd;

	if (!copy)
		return -ENOMEM;
	if (strlen(copy) != length || length >= PATH_MAX || !is_plain_path(copy))
		return -EACCES;
	is_debug_file = is_below_root(broker, copy);
	if (!is_debug_file && !goes_with_mapped(broker, copy, -1))
		return -EACCES;
	fd = file_open_regular(AT_FDCWD, copy, 0, NULL);
	if (fd < 0)
		return fd;
	if (is_elf(fd) && (is_debug_file || goes_with_mapped(broker, copy, fd)))
		return fd;
	close(fd);
	return -EACCES;
}

static int send_answer(int socket, uint32_t number, int opened)
{
	struct broker_answer answer = {.number = number, .err = opened < 0 ? opened : 0};
	struct iovec part = {&answer, sizeof(answer)};

	return worker_send(socket, &part, 1, &opened, opened >= 0);
}

void debug_broker_serve(const struct debug_broker *broker, int fd)
{
	struct broker_request request;
	ssize_t got;

	for (;;) {
		int opened;
		int err;

		got = recv(fd, &request, sizeof(request), 0);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < (ssize_t)REQUEST_HEAD_BYTES)
			return;
		opened = debug_broker_open(broker, request.path, (size_t)got - REQUEST_HEAD_BYTES);
		err = send_answer(fd, request.number, opened);
		cleanup_closep(&opened);
		if (err)
			return;
	}
}
