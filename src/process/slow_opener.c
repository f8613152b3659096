/*
 * The process has the rights of the recorder, since it opens files for it, and does nothing else.
 * It serves the recorder alone: nobody else has the socket, and the kernel reports the sender of
 * each request.
 *
 * A process that does not answer in time is killed and replaced. If it cannot even be killed, it is
 * abandoned, until the file system answers. Time-outs are counted by the user of the process that
 * the request is for, since hanging requests are made on purpose: after some, that user's processes
 * get no more requests. Many user ids may belong to one user (subuid(5)): the more time-outs in
 * all, the shorter is the next one.
 *
 * A late answer proves nothing, as the machine may be busy. So the first request for a process that
 * times out is made again at once, and requests after that are made after growing pauses. A user
 * who gets no more requests gets another one after a minute without time-outs of anybody.
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
#include "base/child.h"
#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/log.h"
#include "process/code_owner.h"
#include "process/user_opener.h"

#define LIMIT_MS      1000
#define COPY_LIMIT_MS 3000
/* Allowed time-outs of a user, and of root, who has no reason to cause any. */
#define MAX_FAILURES      5
#define MAX_ROOT_FAILURES 20
/* Time without time-outs of anybody, after which a user without requests gets one more. */
#define FORGIVING_NS (60 * NS_PER_SECOND)
/* The time limit is halved after this many time-outs of all users, until it is MIN_LIMIT_MS. */
#define FAILURES_TO_HALVE 10
#define MIN_LIMIT_MS      60
/* Processes of ours that cannot be killed and stay. */
#define MAX_LEFT_BEHIND 64
/* MAX_SILENT processes are remembered, for REMEMBERED_NS after their last time-out. */
#define REMEMBERED_NS (120 * NS_PER_SECOND)
#define MAX_SILENT    256
#define MAX_USERS     4096
/* For all copies, on the disk; for one copy, in memory, if no temporary file can be made. */
#define MAX_COPIED_BYTES (1ull << 30)
#define MAX_MEMORY_BYTES (64ull << 20)
#define COPY_BYTES       (64u << 10) /* chunk size */
/* Longer content is passed as a file in memory. */
#define MAX_INLINE_BYTES SLOW_OPENER_MAX_MEMORY_BYTES

/* Number of file systems that are remembered. */
#define MAX_DEVICES 1024

/* How long a process is skipped after its first, second … time-out, and after each later one. */
static const uint64_t pauses_ns[] = {
	0,
	NS_PER_SECOND,
	4 * NS_PER_SECOND,
	60 * NS_PER_SECOND,
};

enum request_kind { FOLLOW, FIND, LOOK, OPEN, LOOK_AS_USER, OPEN_AS_USER, READ, READ_MEMORY };

struct opener_head {
	uint32_t kind;
	int32_t flags;
	uint64_t limit_bytes;
	uint64_t address; /* of READ_MEMORY */
	int32_t pid;
	uint32_t root_bytes; /* the root in front of the path, with its NUL */
};

struct opener_request {
	struct opener_head head;
	char path[2 * PATH_MAX]; /* only the used part, without the last NUL, is in the message */
};

/*
 * Without an error, a descriptor accompanies the answer, unless only a flag or inline bytes are
 * asked for.
 */
struct opener_answer {
	int32_t err;
	bool may_hang;
	uint64_t copied_bytes;        /* 0: not a copy */
	char bytes[MAX_INLINE_BYTES]; /* only the used part is in the message */
};

#define ANSWER_HEAD_BYTES offsetof(struct opener_answer, bytes)

/* A file system that was examined. */
struct looked_at {
	dev_t device;
	bool may_hang;
};

struct opener_user {
	uid_t uid;
	unsigned int num_failures;
};

/* A user whose processes have copied files. */
struct copying_user {
	uid_t uid;
	uint64_t copied_bytes;
};

/* A process that timed out. */
struct silent_process {
	pid_t pid;
	unsigned int num_failures;
	uint64_t failed_ns; /* last time-out */
};

struct slow_opener {
	struct worker worker;
	uint64_t ended_cpu_ns; /* of processes that have ended */
	ARRAY(struct looked_at) devices;
	ARRAY(struct opener_user) users; /* users with time-outs */
	ARRAY(struct copying_user) copying;
	ARRAY(struct silent_process) silent;
	unsigned int num_failures; /* of all users */
	uint64_t forgiving_ns;     /* time of the next request for a user who gets no more */
	unsigned int num_left_behind;
	bool has_ended;
	uint64_t copied_bytes;
	struct slow_opener_counts counts;
	struct opener_answer answer; /* the last one */
};

/* ---- doing it ---- */

/* Closing a file may block for ever, as may opening it: files of such file systems are copied. */
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

/*
 * Such a file system may report any owner, so the copy is writable for anybody: it is not trusted.
 */
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

/*
 * Such a file is on a file system of the user's, so it is copied. It is read through the
 * descriptor, which has no owner.
 */
static int open_content_as_user(pid_t pid, int handle, uint64_t limit_bytes, uint64_t *ret_bytes)
{
	_cleanup_close_ int fd = -1;
	struct user_file file;
	int err = user_opener_open(pid, handle, &file, &fd);

	return err ? err : open_copy(fd, limit_bytes, ret_bytes);
}

static int find(const char *root, const char *path, int flags)
{
	_cleanup_close_ int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return root_fd < 0 ? -errno : file_find_in_root(root_fd, path, flags);
}

static int follow(const char *link)
{
	int fd = open(link, O_PATH | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
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

/* ---- in the process ---- */

/* An answer, and its attachments. */
struct reply {
	struct opener_answer *answer;
	size_t num_bytes; /* inline */
	int fd;           /* -1: none */
};

/* The text is sent inline, or in a file in memory. Returns 0, its descriptor or negative errno. */
static int read_content(const char *path, uint64_t limit_bytes, struct reply *reply)
{
	_cleanup_(text_release) struct text text = {0};
	int err = file_read_at(AT_FDCWD, path, limit_bytes, &text);

	if (err)
		return err;
	if (text.length <= sizeof(reply->answer->bytes)) {
		if (text.length)
			memcpy(reply->answer->bytes, text.data, text.length);
		reply->num_bytes = text.length;
		return 0;
	}
	reply->fd = memfd_create("content", MFD_CLOEXEC);
	return reply->fd < 0 ? -errno : file_write_fd(reply->fd, text.data, text.length);
}

static int read_memory(const struct opener_head *request, struct reply *reply)
{
	int err = request->limit_bytes <= sizeof(reply->answer->bytes)
			  ? copy_memory(request->pid, request->address, reply->answer->bytes,
					request->limit_bytes)
			  : -EINVAL;

	if (err)
		return err;
	reply->num_bytes = request->limit_bytes;
	return 0;
}

static int look_as_user(pid_t pid, int handle, struct reply *reply)
{
	struct user_file file;
	int err = user_opener_open(pid, handle, &file, NULL);

	if (err)
		return err;
	memcpy(reply->answer->bytes, &file, sizeof(file));
	reply->num_bytes = sizeof(file);
	return 0;
}

static int take_fd(struct reply *reply, int found)
{
	if (found < 0)
		return found;
	reply->fd = found;
	return 0;
}

/* Fills the reply. */
static void do_request(const struct opener_request *request, int fd, struct reply *reply)
{
	const struct opener_head *head = &request->head;
	struct opener_answer *answer = reply->answer;
	const char *path = request->path + head->root_bytes;

	answer->err = -EINVAL;
	if (head->root_bytes >= sizeof(request->path) ||
	    (head->root_bytes && request->path[head->root_bytes - 1]))
		return;
	switch ((enum request_kind)head->kind) {
	case FOLLOW:
		answer->err = take_fd(reply, follow(path));
		break;
	case FIND:
		answer->err = take_fd(reply, find(request->path, path, head->flags));
		break;
	case LOOK:
		answer->err = inspect(fd, &answer->may_hang);
		break;
	case OPEN:
		answer->err =
			take_fd(reply, open_content(fd, head->limit_bytes, &answer->copied_bytes));
		break;
	case LOOK_AS_USER:
		answer->err = look_as_user(head->pid, fd, reply);
		break;
	case OPEN_AS_USER:
		answer->err = take_fd(reply, open_content_as_user(head->pid, fd, head->limit_bytes,
								  &answer->copied_bytes));
		break;
	case READ:
		answer->err = read_content(path, head->limit_bytes, reply);
		break;
	case READ_MEMORY:
		answer->err = read_memory(head, reply);
		break;
	}
	if (answer->err)
		reply->num_bytes = 0;
	if (answer->err)
		cleanup_closep(&reply->fd);
}

/* client  the only process that is served */
static void serve(int socket, pid_t client)
{
	static struct opener_request request;
	static struct opener_answer answer;
	int fds[WORKER_MAX_FDS];
	pid_t sender;
	ssize_t got;

	while ((got = worker_receive_from(socket, &request, sizeof(request) - 1, fds, &sender)) >=
	       (ssize_t)sizeof(struct opener_head)) {
		struct reply reply = {.answer = &answer, .fd = -1};
		struct iovec part = {&answer, ANSWER_HEAD_BYTES};
		int err;

		((char *)&request)[got] = '\0';
		memset(&answer, 0, ANSWER_HEAD_BYTES);
		if (sender == client)
			do_request(&request, fds[0], &reply);
		else
			answer.err = -EPERM;
		for (size_t i = 0; i < WORKER_MAX_FDS; i++)
			cleanup_closep(&fds[i]);
		part.iov_len += reply.num_bytes;
		err = worker_send(socket, &part, 1, &reply.fd, reply.fd >= 0);
		/* A process of a user's must not start with others' memory in it. */
		explicit_bzero(answer.bytes, reply.num_bytes);
		cleanup_closep(&reply.fd);
		if (err)
			return;
	}
}

/* Same priority as the recorder, which waits for it. */
static void run(int socket, void *context _unused_)
{
	pid_t client = getppid();

	(void)prctl(PR_SET_NAME, "stackwide-open", 0, 0, 0);
	(void)!confinement_keep_sampling_rights(false);
	(void)!confinement_refuse_all_but_sampling();
	confinement_die_with(client);
	serve(socket, client);
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

/* Whether it has ended. */
static bool stop(struct slow_opener *opener)
{
	struct rusage usage;

	if (!worker_stop(&opener->worker, &usage))
		return false;
	opener->ended_cpu_ns += child_get_cpu_ns(&usage);
	return true;
}

void slow_opener_free(struct slow_opener *opener)
{
	if (!opener)
		return;
	(void)stop(opener);
	array_release(&opener->devices);
	array_release(&opener->users);
	array_release(&opener->copying);
	array_release(&opener->silent);
	free(opener);
}

void slow_opener_end(struct slow_opener *opener)
{
	if (!opener)
		return;
	opener->has_ended = true;
	(void)stop(opener);
}

uint64_t slow_opener_read_cpu_ns(const struct slow_opener *opener)
{
	if (!opener)
		return 0;
	return opener->ended_cpu_ns +
	       (opener->worker.pid ? child_read_cpu_ns(opener->worker.pid) : 0);
}

struct slow_opener_counts slow_opener_get_counts(const struct slow_opener *opener)
{
	return opener ? opener->counts : (struct slow_opener_counts){0};
}

/* ---- whom it is for ---- */

/* The real user decides: a program with another's rights obeys its caller. */
static uid_t get_user(pid_t pid)
{
	struct code_owner owner;

	return !pid                                    ? 0
	       : code_owner_read("/proc", pid, &owner) ? FILE_OWNER_UNKNOWN
						       : owner.real_uid;
}

static struct opener_user *find_user(struct slow_opener *opener, uid_t uid)
{
	array_for_each (&opener->users, user)
		if (user->uid == uid)
			return user;
	return NULL;
}

/* Users beyond the limit, and users without memory for a record, are counted together. */
static struct copying_user *find_copying_user(struct slow_opener *opener, uid_t uid)
{
	struct copying_user *added;

	array_for_each (&opener->copying, user)
		if (user->uid == uid)
			return user;
	added = opener->copying.length < MAX_USERS ? array_add(&opener->copying) : NULL;
	if (added)
		*added = (struct copying_user){.uid = uid};
	else if (opener->copying.length)
		added = &opener->copying.items[opener->copying.length - 1];
	return added;
}

/* Bytes that a user may still copy: at most as much as is left to others, except for root. */
static uint64_t get_copy_limit(const struct slow_opener *opener, uid_t uid,
			       const struct copying_user *user)
{
	uint64_t left = MAX_COPIED_BYTES - opener->copied_bytes;
	uint64_t own = user ? user->copied_bytes : 0;
	uint64_t share = (left + own) / 2;

	if (opener->copied_bytes >= MAX_COPIED_BYTES)
		return 0;
	if (!uid)
		return left;
	return share > own ? share - own : 0;
}

/* NULL: no time-outs lately. */
static struct silent_process *find_silent(struct slow_opener *opener, pid_t pid)
{
	uint64_t now_ns;
	size_t num_left = 0;

	if (!opener->silent.length)
		return NULL;
	now_ns = clock_now_ns();
	array_for_each (&opener->silent, process)
		if (process->failed_ns + REMEMBERED_NS > now_ns)
			opener->silent.items[num_left++] = *process;
	opener->silent.length = num_left;
	array_for_each (&opener->silent, process)
		if (process->pid == pid)
			return process;
	return NULL;
}

static bool is_silent(struct slow_opener *opener, pid_t pid)
{
	const struct silent_process *process = find_silent(opener, pid);
	size_t last = ARRAY_LENGTH(pauses_ns) - 1;
	size_t number;

	if (!process)
		return false;
	number = process->num_failures - 1;
	return clock_now_ns() < process->failed_ns + pauses_ns[number < last ? number : last];
}

static void note_silence(struct slow_opener *opener, pid_t pid)
{
	struct silent_process *process = find_silent(opener, pid);

	if (!process && opener->silent.length == MAX_SILENT)
		array_remove(&opener->silent, 0);
	if (!process)
		process = array_add(&opener->silent);
	if (!process)
		return;
	process->pid = pid;
	process->num_failures++;
	process->failed_ns = clock_now_ns();
}

/* All such users share one request: time-outs of many users do not add up. */
static bool is_forgiven(struct slow_opener *opener)
{
	uint64_t now_ns = clock_now_ns();

	if (now_ns < opener->forgiving_ns)
		return false;
	opener->forgiving_ns = now_ns + FORGIVING_NS;
	return true;
}

/* Users beyond the limit count as having no time-outs left. */
static bool is_allowed(struct slow_opener *opener, pid_t pid)
{
	const struct opener_user *user;
	uid_t uid;

	if (!opener->num_failures)
		return true;
	if (opener->num_left_behind >= MAX_LEFT_BEHIND || (pid && is_silent(opener, pid)))
		return false;
	uid = get_user(pid);
	user = find_user(opener, uid);
	if (!user)
		return opener->users.length < MAX_USERS || !uid;
	return user->num_failures < (uid ? MAX_FAILURES : MAX_ROOT_FAILURES) || is_forgiven(opener);
}

static void note_failure(struct slow_opener *opener, pid_t pid)
{
	uid_t uid = get_user(pid);
	struct opener_user *user = find_user(opener, uid);

	opener->counts.num_late++;
	opener->num_failures++;
	opener->forgiving_ns = clock_now_ns() + FORGIVING_NS;
	if (!user && opener->users.length < MAX_USERS)
		user = array_add(&opener->users);
	if (user) {
		user->uid = uid;
		user->num_failures++;
	}
	if (pid)
		note_silence(opener, pid);
}

static bool is_of_copy(uint32_t kind)
{
	return kind == OPEN || kind == OPEN_AS_USER;
}

/* A copy takes long, and some memory never answers while the rest of the process does. */
static bool is_made_again(uint32_t kind)
{
	return !is_of_copy(kind) && kind != READ_MEMORY;
}

static int get_limit_ms(const struct slow_opener *opener, uint32_t kind)
{
	unsigned int num_halvings = opener->num_failures / FAILURES_TO_HALVE;
	int limit_ms = (is_of_copy(kind) ? COPY_LIMIT_MS : LIMIT_MS) >>
		       (num_halvings < 16 ? num_halvings : 16);

	return limit_ms < MIN_LIMIT_MS ? MIN_LIMIT_MS : limit_ms;
}

/* ---- asking ---- */

/* Fills opener->answer. ret_fd is -1 without a descriptor. */
static int receive(struct slow_opener *opener, int limit_ms, size_t *ret_bytes, int *ret_fd)
{
	struct pollfd readable = {.fd = opener->worker.fd, .events = POLLIN};
	uint64_t end_ns = clock_now_ns() + (uint64_t)limit_ms * NS_PER_MS;
	int fds[WORKER_MAX_FDS];
	ssize_t got;
	int ready;

	/* A signal is no answer, and must not end the wait. */
	while ((ready = poll(&readable, 1, limit_ms)) < 0 && errno == EINTR) {
		uint64_t now_ns = clock_now_ns();

		limit_ms = now_ns < end_ns ? (int)((end_ns - now_ns) / NS_PER_MS) + 1 : 0;
	}
	if (ready <= 0)
		return -ETIMEDOUT;
	got = worker_receive(opener->worker.fd, &opener->answer, sizeof(opener->answer), fds);
	if (got < (ssize_t)ANSWER_HEAD_BYTES)
		return -EPIPE;
	opener->copied_bytes += opener->answer.copied_bytes;
	*ret_bytes = (size_t)got - ANSWER_HEAD_BYTES;
	*ret_fd = fds[0];
	return 0;
}

static void replace(struct slow_opener *opener, const struct opener_head *head, const char *path)
{
	if (!stop(opener))
		opener->num_left_behind++;
	note_failure(opener, head->pid);
	log_debug("%s of process %d did not answer in time%s%s",
		  head->kind == READ_MEMORY ? "the memory" : "a file", head->pid,
		  path[0] ? ": " : "", path);
}

/* A request and its parts: head, root, path. */
struct opener_message {
	const struct opener_head *head;
	const struct iovec *parts;
	const char *path;
	int fd; /* sent with the request; -1: no descriptor */
};

static int exchange(struct slow_opener *opener, const struct opener_message *message,
		    size_t *ret_bytes, int *ret_fd)
{
	int err = opener->worker.fd < 0 ? worker_start(&opener->worker, run, NULL) : 0;

	if (err)
		return err;
	err = worker_send(opener->worker.fd, message->parts, 3, &message->fd, message->fd >= 0);
	if (!err)
		err = receive(opener, get_limit_ms(opener, message->head->kind), ret_bytes, ret_fd);
	if (err == -ETIMEDOUT || err == -EPIPE || err == -ECONNRESET) {
		replace(opener, message->head, message->path);
		return -ETIMEDOUT;
	}
	return err;
}

/*
 * root  or NULL
 * fd    sent with the request; -1: no descriptor
 *
 * Returns 0 with the answer in opener->answer, or negative errno.
 */
static int ask(struct slow_opener *opener, const struct opener_head *wanted, const char *root,
	       const char *path, int fd, size_t *ret_bytes, int *ret_fd)
{
	struct opener_head head = *wanted;
	const struct iovec parts[] = {
		{&head, sizeof(head)},
		{(void *)(uintptr_t)root, root ? strlen(root) + 1 : 0},
		{(void *)(uintptr_t)path, strlen(path)},
	};
	const struct opener_message message = {&head, parts, path, fd};
	bool was_silent;
	int err;

	head.root_bytes = (uint32_t)parts[1].iov_len;
	*ret_bytes = 0;
	*ret_fd = -1;
	if (opener->has_ended)
		return -ESHUTDOWN;
	if (parts[1].iov_len >= PATH_MAX || parts[2].iov_len >= PATH_MAX)
		return -ENAMETOOLONG;
	if (!is_allowed(opener, head.pid)) {
		opener->counts.num_refused++;
		return -ETIMEDOUT;
	}
	was_silent = find_silent(opener, head.pid) != NULL;
	err = exchange(opener, &message, ret_bytes, ret_fd);
	if (err == -ETIMEDOUT && !was_silent && is_made_again(head.kind) &&
	    is_allowed(opener, head.pid))
		err = exchange(opener, &message, ret_bytes, ret_fd);
	return err ? err : opener->answer.err;
}

/* Returns the received descriptor, or negative errno. */
static int ask_for_fd(struct slow_opener *opener, const struct opener_head *head, const char *root,
		      const char *path, int fd)
{
	size_t num_bytes;
	int got;
	int err = ask(opener, head, root, path, fd, &num_bytes, &got);

	if (err)
		return err;
	return got < 0 ? -EPROTO : got;
}

int slow_opener_follow(struct slow_opener *opener, pid_t pid, const char *link)
{
	const struct opener_head head = {.kind = FOLLOW, .pid = pid};

	return opener ? ask_for_fd(opener, &head, NULL, link, -1) : follow(link);
}

int slow_opener_find(struct slow_opener *opener, pid_t pid, const char *root, const char *path,
		     int flags)
{
	const struct opener_head head = {.kind = FIND, .flags = flags, .pid = pid};

	return opener ? ask_for_fd(opener, &head, root, path, -1) : find(root, path, flags);
}

/* No answer counts as "may hang", and is remembered; a request that was not made is not. */
bool slow_opener_may_hang(struct slow_opener *opener, pid_t pid, int handle, dev_t device)
{
	const struct opener_head head = {.kind = LOOK, .pid = pid};
	struct looked_at *added;
	uint64_t num_refused;
	size_t num_bytes;
	bool was_asked;
	bool may_hang;
	int fd;
	int err;

	if (!opener)
		return false;
	array_for_each (&opener->devices, known)
		if (known->device == device)
			return known->may_hang;
	num_refused = opener->counts.num_refused;
	err = ask(opener, &head, NULL, "", handle, &num_bytes, &fd);
	may_hang = err || opener->answer.may_hang;
	/* Otherwise no process could be started. */
	was_asked = err == -ETIMEDOUT || opener->worker.fd >= 0;
	if (!was_asked || opener->counts.num_refused > num_refused || opener->has_ended)
		return true;
	added = opener->devices.length < MAX_DEVICES ? array_add(&opener->devices) : NULL;
	if (added)
		*added = (struct looked_at){device, may_hang};
	return may_hang;
}

int slow_opener_look_as_user(struct slow_opener *opener, pid_t pid, int handle,
			     struct user_file *ret)
{
	const struct opener_head head = {.kind = LOOK_AS_USER, .pid = pid};
	size_t num_bytes;
	int fd;
	int err = opener && pid ? ask(opener, &head, NULL, "", handle, &num_bytes, &fd) : -EACCES;

	if (err)
		return err;
	if (num_bytes != sizeof(*ret))
		return -EPROTO;
	memcpy(ret, opener->answer.bytes, sizeof(*ret));
	return 0;
}

int slow_opener_open(struct slow_opener *opener, pid_t pid, int handle, bool as_user)
{
	struct opener_head head = {.kind = as_user ? OPEN_AS_USER : OPEN, .pid = pid};
	struct copying_user *user;
	uint64_t copied_bytes;
	uid_t uid;
	int fd;

	if (!opener)
		return file_open_found(handle);
	uid = get_user(pid);
	user = find_copying_user(opener, uid);
	head.limit_bytes = get_copy_limit(opener, uid, user);
	if (!head.limit_bytes)
		return -EFBIG;
	copied_bytes = opener->copied_bytes;
	fd = ask_for_fd(opener, &head, NULL, "", handle);
	if (user)
		user->copied_bytes += opener->copied_bytes - copied_bytes;
	return fd;
}

int slow_opener_read(struct slow_opener *opener, pid_t pid, const char *path, size_t limit_bytes,
		     struct text *ret)
{
	const struct opener_head head = {.kind = READ, .limit_bytes = limit_bytes, .pid = pid};
	_cleanup_close_ int fd = -1;
	size_t num_bytes;
	int err;

	if (!opener)
		return file_read_at(AT_FDCWD, path, limit_bytes, ret);
	err = ask(opener, &head, NULL, path, -1, &num_bytes, &fd);
	if (err)
		return err;
	if (fd < 0) {
		text_append(ret, opener->answer.bytes, num_bytes);
		return ret->failed ? -ENOMEM : 0;
	}
	if (lseek(fd, 0, SEEK_SET) < 0)
		return -errno;
	return file_read_fd(fd, limit_bytes, ret);
}

int slow_opener_read_memory(struct slow_opener *opener, pid_t pid, uint64_t address, void *ret,
			    size_t size)
{
	const struct opener_head head = {
		.kind = READ_MEMORY, .limit_bytes = size, .address = address, .pid = pid};
	_cleanup_close_ int fd = -1;
	size_t num_bytes;
	int err;

	if (size > SLOW_OPENER_MAX_MEMORY_BYTES)
		return -EINVAL;
	if (!opener)
		return copy_memory(pid, address, ret, size);
	err = ask(opener, &head, NULL, "", -1, &num_bytes, &fd);
	if (err)
		return err;
	if (num_bytes != size)
		return -EPROTO;
	memcpy(ret, opener->answer.bytes, size);
	return 0;
}
