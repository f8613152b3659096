/*
 * The process has the rights of the recorder, as it opens for it, and does nothing but that. Where it
 * cannot even be killed it is left to itself, until the file system answers; after some of these nothing
 * slow is opened any more.
 */
#include "process/slow_opener.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/log.h"

#define LIMIT_MS      1000
#define COPY_LIMIT_MS 3000
#define MAX_FAILURES  5
/* Of all copies, on the disk; where no temporary file can be made, of one, in memory. */
#define MAX_COPIED_BYTES (1ull << 30)
#define MAX_MEMORY_BYTES (64ull << 20)
#define COPY_BYTES       (64u << 10) /* at once */

/* So many file systems are remembered. */
#define MAX_DEVICES 1024

enum request_kind { FIND, LOOK, OPEN, READ, READ_MEMORY };

struct opener_request {
	uint32_t kind;
	int32_t flags;
	uint64_t limit_bytes;
	uint64_t address; /* of READ_MEMORY, as pid */
	int32_t pid;
	uint32_t padding;
	char path[PATH_MAX]; /* as much of it as the message has, without NUL */
};

#define REQUEST_HEAD_BYTES offsetof(struct opener_request, path)

/* Without an error, a descriptor comes along, but when it was only to look. */
struct opener_answer {
	int32_t err;
	bool may_hang;
	uint64_t copied_bytes; /* 0: it is no copy */
};

/* A file system that was looked at. */
struct looked_at {
	dev_t device;
	bool may_hang;
};

struct slow_opener {
	struct worker worker;
	ARRAY(struct looked_at) devices;
	unsigned int num_failures;
	uint64_t copied_bytes;
};

/* ---- doing it ---- */

/* Closing a file may take for ever as well as opening it: of such file systems it is copied. */
static int inspect(int fd, bool *ret_may_hang)
{
	struct statfs system;
	struct stat status;

	if (fstatfs(fd, &system) || fstat(fd, &status))
		return -errno;
	*ret_may_hang = (unsigned long)system.f_type == FUSE_SUPER_MAGIC ||
			((unsigned long)system.f_type == OVERLAYFS_SUPER_MAGIC &&
			 !file_is_mounted_here(status.st_dev));
	return 0;
}

static int copy(int from, int to, uint64_t limit_bytes, uint64_t *ret_bytes)
{
	static char bytes[COPY_BYTES];
	uint64_t sum = 0;

	for (;;) {
		ssize_t got = pread(from, bytes, sizeof(bytes), (off_t)sum);
		int err;

		if (got < 0)
			return -errno;
		*ret_bytes = sum;
		if (!got)
			return 0;
		sum += (uint64_t)got;
		if (sum > limit_bytes)
			return -EFBIG;
		err = file_write_fd(to, bytes, (size_t)got);
		if (err)
			return err;
	}
}

/* Nobody vouches for the owner that such a file system names: anybody may write to the copy. */
static int open_copy(int fd, uint64_t limit_bytes, uint64_t *ret_bytes)
{
	_cleanup_close_ int target = file_open_anonymous(file_get_temporary_folder(), NULL);
	int copied;
	int err;

	if (target < 0) {
		target = memfd_create("copy", MFD_CLOEXEC);
		limit_bytes = limit_bytes < MAX_MEMORY_BYTES ? limit_bytes : MAX_MEMORY_BYTES;
	}
	if (target < 0 || fchmod(target, 0666))
		return -errno;
	err = copy(fd, target, limit_bytes, ret_bytes);
	if (err)
		return err;
	copied = target;
	target = -1;
	return copied;
}

static int open_content(int handle, uint64_t limit_bytes, uint64_t *ret_bytes)
{
	_cleanup_close_ int fd = file_open_found(handle);
	int opened = fd;
	bool may_hang;
	int err = fd < 0 ? fd : inspect(fd, &may_hang);

	if (err)
		return err;
	if (may_hang)
		return open_copy(fd, limit_bytes, ret_bytes);
	fd = -1;
	return opened;
}

static int read_content(const char *path, uint64_t limit_bytes)
{
	_cleanup_(text_release) struct text text = {0};
	int err = file_read_at(AT_FDCWD, path, limit_bytes, &text);
	int memory;

	if (err)
		return err;
	memory = memfd_create("content", MFD_CLOEXEC);
	if (memory < 0)
		return -errno;
	err = file_write_fd(memory, text.data, text.length);
	if (err)
		close(memory);
	return err ? err : memory;
}

static int copy_memory(pid_t pid, uint64_t address, void *ret, size_t size)
{
	struct iovec here = {ret, size};
	struct iovec there = {(void *)(uintptr_t)address, size};
	ssize_t got = process_vm_readv(pid, &here, 1, &there, 1, 0);

	if (got < 0)
		return -errno;
	return (size_t)got == size ? 0 : -EFAULT;
}

static int read_memory(pid_t pid, uint64_t address, uint64_t size)
{
	static char bytes[SLOW_OPENER_MAX_MEMORY_BYTES];
	int memory;
	int err = size <= sizeof(bytes) ? copy_memory(pid, address, bytes, size) : -EINVAL;

	if (err)
		return err;
	memory = memfd_create("memory", MFD_CLOEXEC);
	if (memory < 0)
		return -errno;
	err = file_write_fd(memory, bytes, size);
	if (err)
		close(memory);
	return err ? err : memory;
}

/* ---- in the process ---- */

/* Fills the answer. Returns the descriptor that comes along, or -1. */
static int do_request(const struct opener_request *request, int fd, struct opener_answer *answer)
{
	int found = -EINVAL;

	switch (request->kind) {
	case FIND:
		found = file_find_in_root(fd, request->path, request->flags);
		break;
	case LOOK:
		answer->err = inspect(fd, &answer->may_hang);
		return -1;
	case OPEN:
		found = open_content(fd, request->limit_bytes, &answer->copied_bytes);
		break;
	case READ:
		found = read_content(request->path, request->limit_bytes);
		break;
	case READ_MEMORY:
		found = read_memory(request->pid, request->address, request->limit_bytes);
		break;
	}
	answer->err = found < 0 ? found : 0;
	return found < 0 ? -1 : found;
}

static void serve(int socket)
{
	static struct opener_request request;
	int fds[WORKER_MAX_FDS];
	ssize_t got;

	while ((got = worker_receive(socket, &request, sizeof(request) - 1, fds)) >=
	       (ssize_t)REQUEST_HEAD_BYTES) {
		struct opener_answer answer = {0};
		const struct iovec part = {&answer, sizeof(answer)};
		int fd;
		int err;

		((char *)&request)[got] = '\0';
		fd = do_request(&request, fds[0], &answer);
		for (size_t i = 0; i < WORKER_MAX_FDS; i++)
			cleanup_closep(&fds[i]);
		err = worker_send(socket, &part, 1, &fd, fd >= 0);
		cleanup_closep(&fd);
		if (err)
			return;
	}
}

static void run(int socket, void *context _unused_)
{
	(void)prctl(PR_SET_NAME, "stackwide-open", 0, 0, 0);
	confinement_lower_priority();
	(void)!confinement_keep_sampling_rights(false);
	(void)!confinement_refuse_all_but_sampling();
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	serve(socket);
}

/* ---- asking ---- */

int slow_opener_new(struct slow_opener **ret)
{
	struct slow_opener *opener = calloc(1, sizeof(*opener));
	int err;

	if (!opener)
		return -ENOMEM;
	opener->worker = WORKER_NONE;
	err = worker_start(&opener->worker, run, NULL);
	if (err) {
		free(opener);
		return err;
	}
	*ret = opener;
	return 0;
}

void slow_opener_free(struct slow_opener *opener)
{
	struct rusage usage;

	if (!opener)
		return;
	(void)worker_stop(&opener->worker, &usage);
	array_release(&opener->devices);
	free(opener);
}

struct reply {
	struct opener_answer answer;
	int fd; /* -1: none */
};

static int receive(struct slow_opener *opener, int limit_ms, struct reply *ret)
{
	struct pollfd readable = {.fd = opener->worker.fd, .events = POLLIN};
	int fds[WORKER_MAX_FDS];

	if (poll(&readable, 1, limit_ms) <= 0)
		return -ETIMEDOUT;
	if (worker_receive(opener->worker.fd, &ret->answer, sizeof(ret->answer), fds) !=
	    sizeof(ret->answer))
		return -EPIPE;
	opener->copied_bytes += ret->answer.copied_bytes;
	ret->fd = fds[0];
	return ret->answer.err;
}

static int ask(struct slow_opener *opener, const struct opener_request *head, const char *path,
	       int fd, struct reply *ret)
{
	const struct iovec parts[] = {
		{(void *)(uintptr_t)head, REQUEST_HEAD_BYTES},
		{(void *)(uintptr_t)path, strlen(path)},
	};
	struct rusage usage;
	int err;

	if (opener->num_failures >= MAX_FAILURES)
		return -ETIMEDOUT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	err = opener->worker.fd < 0 ? worker_start(&opener->worker, run, NULL) : 0;
	if (err)
		return err;
	err = worker_send(opener->worker.fd, parts, ARRAY_LENGTH(parts), &fd, fd >= 0);
	if (!err)
		err = receive(opener, head->kind == OPEN ? COPY_LIMIT_MS : LIMIT_MS, ret);
	if (err == -ETIMEDOUT || err == -EPIPE || err == -ECONNRESET) {
		(void)worker_stop(&opener->worker, &usage);
		opener->num_failures++;
		log_debug("%s does not answer%s%s",
			  head->kind == READ_MEMORY ? "the memory of a process" : "a file system",
			  path[0] ? ": " : "", path);
		return -ETIMEDOUT;
	}
	return err;
}

int slow_opener_find(struct slow_opener *opener, int root_fd, const char *path, int flags)
{
	const struct opener_request head = {.kind = FIND, .flags = flags};
	struct reply reply;
	int err;

	if (!opener)
		return file_find_in_root(root_fd, path, flags);
	err = ask(opener, &head, path, root_fd, &reply);
	return err ? err : reply.fd;
}

/* One that does not answer now may not answer later. */
bool slow_opener_may_hang(struct slow_opener *opener, int handle, dev_t device)
{
	const struct opener_request head = {.kind = LOOK};
	struct looked_at *added;
	struct reply reply;
	bool may_hang;

	if (!opener)
		return false;
	array_for_each (&opener->devices, known)
		if (known->device == device)
			return known->may_hang;
	may_hang = ask(opener, &head, "", handle, &reply) || reply.answer.may_hang;
	added = opener->devices.length < MAX_DEVICES ? array_add(&opener->devices) : NULL;
	if (added)
		*added = (struct looked_at){device, may_hang};
	return may_hang;
}

int slow_opener_open(struct slow_opener *opener, int handle)
{
	struct opener_request head = {.kind = OPEN};
	struct reply reply;
	int err;

	if (!opener)
		return file_open_found(handle);
	if (opener->copied_bytes >= MAX_COPIED_BYTES)
		return -EFBIG;
	head.limit_bytes = MAX_COPIED_BYTES - opener->copied_bytes;
	err = ask(opener, &head, "", handle, &reply);
	return err ? err : reply.fd;
}

int slow_opener_read(struct slow_opener *opener, const char *path, size_t limit_bytes,
		     struct text *ret)
{
	const struct opener_request head = {.kind = READ, .limit_bytes = limit_bytes};
	_cleanup_close_ int fd = -1;
	struct reply reply;
	int err;

	if (!opener)
		return file_read_at(AT_FDCWD, path, limit_bytes, ret);
	err = ask(opener, &head, path, -1, &reply);
	if (err)
		return err;
	fd = reply.fd;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return file_read_fd(fd, limit_bytes, ret);
}

int slow_opener_read_memory(struct slow_opener *opener, pid_t pid, uint64_t address, void *ret,
			    size_t size)
{
	const struct opener_request head = {
		.kind = READ_MEMORY, .limit_bytes = size, .address = address, .pid = pid};
	_cleanup_close_ int fd = -1;
	struct reply reply;
	int err;

	if (size > SLOW_OPENER_MAX_MEMORY_BYTES)
		return -EINVAL;
	if (!opener)
		return copy_memory(pid, address, ret, size);
	err = ask(opener, &head, "", -1, &reply);
	if (err)
		return err;
	fd = reply.fd;
	return file_read_range(fd, ret, size, 0);
}
