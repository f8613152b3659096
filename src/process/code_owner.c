#include "process/code_owner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "process/proc_file.h"

#define STATUS_MAX_BYTES (64u << 10)

/* The rest of the line that starts with key, or NULL. Ends at the text's end, not the line's. */
static const char *find_line(const char *text, const char *key)
{
	for (const char *line = text; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (string_starts_with(line, key))
			return line + strlen(key);
	}
	return NULL;
}

/* The index-th number of the line at `at`, or its last one if it has fewer. */
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
 * Uid: real, effective, saved, file system. The owner of the folder /proc/PID is not usable: it is
 * root for every process that cannot be dumped.
 */
int code_owner_read(const char *proc_root, pid_t pid, struct code_owner *ret)
{
	_cleanup_(text_release) struct text status = {0};
	struct code_owner owner = {.uid = 0, .inner_pid = pid};
	const char *uids;
	const char *pids;
	int err = proc_file_read(proc_root, pid, "status", STATUS_MAX_BYTES, &status);

	if (err)
		return err;
	uids = status.data ? find_line(status.data, "Uid:") : NULL;
	pids = status.data ? find_line(status.data, "NSpid:") : NULL;
	/* Without a line "Uid:", only root's file is trusted. */
	if (uids && number_in_line(uids, 1) > 0)
		owner.uid = (uid_t)number_in_line(uids, 1);
	if (uids && number_in_line(uids, 0) > 0)
		owner.real_uid = (uid_t)number_in_line(uids, 0);
	if (pids && number_in_line(pids, UINT32_MAX - 1) > 0)
		owner.inner_pid = (pid_t)number_in_line(pids, UINT32_MAX - 1);
	*ret = owner;
	return 0;
}

int code_owner_check(const struct code_owner *owner, const char *path, int fd, struct error *error)
{
	struct stat status;

	if (fstat(fd, &status))
		return error_set(error, -errno, "%s: cannot read it: %s", path, strerror(errno));
	if (!S_ISREG(status.st_mode))
		return error_set(error, -EPERM, "%s: must be a regular file", path);
	if (status.st_uid != owner->uid && status.st_uid != 0)
		return error_set(error, -EPERM, "%s: belongs to user %u, not to user %u or root",
				 path, status.st_uid, owner->uid);
	/* Copies of files from file systems in user space are root's and world-writable. */
	if (status.st_uid == 0 && owner->uid != 0 && status.st_mode & S_IWOTH)
		return error_set(error, -EPERM, "%s: belongs to root, but others can write it",
				 path);
	return 0;
}
