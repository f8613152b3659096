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
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
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

enum request_kind { FIND, OPEN, READ };

struct request {
	uint32_t kind;
	int32_t flags;
	uint64_t limit_bytes;
	char path[PATH_MAX]; /* as much of it as the message has, without NUL */
};

#define REQUEST_HEAD_BYTES offsetof(struct request, path)

/* Without an error, a descriptor comes along. */
struct answer {
	int32_t err;
	uint32_t padding;
	uint64_t copied_bytes; /* 0: it is no copy */
};

struct slow_opener {
	struct worker worker;
	unsigned int num_failures;
	uint64_t copied_bytes;
};

/* ---- doing it ---- */

/* Old kernels, and some containers, have no openat2(2): then a link may lead to our own root. */
static int find(int root_fd, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_IN_ROOT};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root_fd, path + strspn(path, "/"), O_PATH | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
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
	struct statfs system;

	if (fd < 0)
		return fd;
	if (fstatfs(fd, &system))
		return -errno;
	if ((unsigned long)system.f_type == FUSE_SUPER_MAGIC)
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

/* ---- in the process ---- */

static int do_request(const struct request *request, int fd, uint64_t *ret_bytes)
{
	switch (request->kind) {
	case FIND:
		return find(fd, request->path, request->flags);
	case OPEN:
		return open_content(fd, request->limit_bytes, ret_bytes);
	case READ:
		return read_content(request->path, request->limit_bytes);
	}
	return -EINVAL;
}

static void serve(int socket)
{
	static struct request request;
	int fds[WORKER_MAX_FDS];
	ssize_t got;

	while ((got = worker_receive(socket, &request, sizeof(request) - 1, fds)) >=
	       (ssize_t)REQUEST_HEAD_BYTES) {
		struct answer answer = {0};
		const struct iovec part = {&answer, sizeof(answer)};
		int fd;
		int err;

		((char *)&request)[got] = '\0';
		fd = do_request(&request, fds[0], &answer.copied_bytes);
		answer.err = fd < 0 ? fd : 0;
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
	free(opener);
}

static int receive(struct slow_opener *opener, int limit_ms)
{
	struct pollfd readable = {.fd = opener->worker.fd, .events = POLLIN};
	int fds[WORKER_MAX_FDS];
	struct answer answer = {0};

	if (poll(&readable, 1, limit_ms) <= 0)
		return -ETIMEDOUT;
	if (worker_receive(opener->worker.fd, &answer, sizeof(answer), fds) != sizeof(answer))
		return -EPIPE;
	opener->copied_bytes += answer.copied_bytes;
	return answer.err ? answer.err : fds[0];
}

static int ask(struct slow_opener *opener, const struct request *head, const char *path, int fd)
{
	const struct iovec parts[] = {
		{(void *)(uintptr_t)head, REQUEST_HEAD_BYTES},
		{(void *)(uintptr_t)path, strlen(path)},
	};
	struct rusage usage;
	int result;

	if (opener->num_failures >= MAX_FAILURES)
		return -ETIMEDOUT;
	if (strlen(path) >= PATH_MAX)
		return -ENAMETOOLONG;
	result = opener->worker.fd < 0 ? worker_start(&opener->worker, run, NULL) : 0;
	if (result)
		return result;
	result = worker_send(opener->worker.fd, parts, ARRAY_LENGTH(parts), &fd, fd >= 0);
	if (!result)
		result = receive(opener, head->kind == OPEN ? COPY_LIMIT_MS : LIMIT_MS);
	if (result == -ETIMEDOUT || result == -EPIPE || result == -ECONNRESET) {
		(void)worker_stop(&opener->worker, &usage);
		opener->num_failures++;
		log_debug("a file system does not answer%s%s", path[0] ? ": " : "", path);
		return -ETIMEDOUT;
	}
	return result;
}

int slow_opener_find(struct slow_opener *opener, int root_fd, const char *path, int flags)
{
	const struct request head = {.kind = FIND, .flags = flags};

	return opener ? ask(opener, &head, path, root_fd) : find(root_fd, path, flags);
}

int slow_opener_open(struct slow_opener *opener, int handle)
{
	struct request head = {.kind = OPEN};

	if (!opener)
		return file_open_found(handle);
	if (opener->copied_bytes >= MAX_COPIED_BYTES)
		return -EFBIG;
	head.limit_bytes = MAX_COPIED_BYTES - opener->copied_bytes;
	return ask(opener, &head, "", handle);
}

int slow_opener_read(struct slow_opener *opener, const char *path, size_t limit_bytes,
		     struct text *ret)
{
	const struct request head = {.kind = READ, .limit_bytes = limit_bytes};
	_cleanup_close_ int fd = -1;

	if (!opener)
		return file_read_at(AT_FDCWD, path, limit_bytes, ret);
	fd = ask(opener, &head, path, -1);
	if (fd < 0)
		return fd;
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return file_read_fd(fd, limit_bytes, ret);
}
