#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "process/perf_map.h"
#include "process/proc_scan.h"

#define STATUS_MAX_BYTES (64u << 10)

/* What decides which file is the process's own. */
struct perf_map_owner {
	uid_t uid;
	pid_t inner_pid; /* as the process itself sees it */
};

/* The rest of the line that begins with key, or NULL. Ends at the text's end, not the line's. */
static const char *find_line(const char *text, const char *key)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (string_starts_with(line, key))
			return line + strlen(key);
	}
	return NULL;
}

/* The index-th number of the line at `at`, or its last one when it has fewer. */
static long number_in_line(const char *at, unsigned index)
{
	long number = -1;

	for (unsigned i = 0; i <= index; i++) {
		at += strspn(at, " \t");
		if (*at < '0' || *at > '9')
			break;
		number = strtol(at, NULL, 10);
		at += strspn(at, "0123456789");
	}
	return number;
}

/*
 * Uid: real, effective, saved, file system. The owner of the folder /proc/PID will not do: it is
 * root for every process that cannot be dumped.
 */
static int read_owner(const char *proc_root, pid_t pid, struct perf_map_owner *ret)
{
	_cleanup_(text_release) struct text status = {0};
	struct perf_map_owner owner = {.uid = 0, .inner_pid = pid};
	const char *uids;
	const char *pids;
	int err = proc_file_read(proc_root, pid, "status", STATUS_MAX_BYTES, &status);

	if (err)
		return err;
	uids = status.data ? find_line(status.data, "Uid:") : NULL;
	pids = status.data ? find_line(status.data, "NSpid:") : NULL;
	/* Without a line, root alone is trusted. */
	if (uids && number_in_line(uids, 1) > 0)
		owner.uid = (uid_t)number_in_line(uids, 1);
	if (pids && number_in_line(pids, UINT32_MAX - 1) > 0)
		owner.inner_pid = (pid_t)number_in_line(pids, UINT32_MAX - 1);
	*ret = owner;
	return 0;
}

static int open_owned(const char *path, uid_t uid, int *ret, struct error *error)
{
	_cleanup_close_ int fd =
		open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
	struct stat status;

	if (fd < 0 && errno == ELOOP)
		return error_set(error, -EPERM, "%s: must not be a symbolic link", path);
	if (fd < 0 || fstat(fd, &status))
		return error_set(error, -errno, "%s: cannot be opened: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return error_set(error, -EPERM, "%s: must be a regular file", path);
	if (status.st_uid != uid && status.st_uid != 0)
		return error_set(error, -EPERM, "%s: belongs to user %u, not to user %u or root",
				 path, status.st_uid, uid);
	*ret = fd;
	fd = -1;
	return 0;
}

int perf_map_open(const char *proc_root, pid_t pid, int *ret, struct error *error)
{
	_cleanup_(text_release) struct text inner = {0};
	_cleanup_(text_release) struct text outer = {0};
	struct perf_map_owner owner;
	int err = read_owner(proc_root, pid, &owner);

	if (err)
		return error_set(error, err, "%s/%d/status: cannot be read: %s", proc_root, pid,
				 strerror(-err));
	text_printf(&inner, "%s/%d/root/tmp/perf-%d.map", proc_root, pid, owner.inner_pid);
	text_printf(&outer, "/tmp/perf-%d.map", pid);
	if (inner.failed || outer.failed)
		return error_set(error, -ENOMEM, "out of memory");
	err = open_owned(inner.data, owner.uid, ret, error);
	/* Its root may be closed to us while our own folder is not. */
	if (err == -ENOENT || err == -EACCES)
		err = open_owned(outer.data, owner.uid, ret, error);
	return err;
}
