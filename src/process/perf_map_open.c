/*
 * Opening /tmp/perf-PID.map as the process sees it, if its owner or root owns it: foreign text that
 * we are going to trust.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/text.h"
#include "process/code_owner.h"
#include "process/foreign_file.h"
#include "process/perf_map.h"

/* A growing file cannot be copied: it is not read if its file system may hang. */
static int open_local(struct slow_opener *opener, pid_t pid, const char *root, const char *path)
{
	struct foreign_file file;
	int err = foreign_file_find(opener, pid, root, path, O_NOFOLLOW, &file);
	int fd;

	if (err)
		return err;
	fd = opener && file.may_hang ? -EREMOTE : file_open_found(file.handle);
	close(file.handle);
	return fd;
}

/* root   folder that the path starts in; "": our own root */
static int open_owned(struct slow_opener *opener, pid_t pid, const char *root, const char *path,
		      const struct code_owner *owner, int *ret, struct error *error)
{
	_cleanup_(text_release) struct text whole = {0};
	_cleanup_close_ int fd = open_local(opener, pid, *root ? root : "/", path);
	int err;

	text_printf(&whole, "%s%s", root, path);
	if (whole.failed)
		return error_set(error, -ENOMEM, "out of memory");
	if (fd == -ELOOP)
		return error_set(error, -EPERM, "%s: must not be a symbolic link", whole.data);
	if (fd == -ENOTSUP)
		return error_set(error, -EPERM, "%s: must be a regular file", whole.data);
	if (fd < 0)
		return error_set(error, fd, "%s: cannot open it: %s", whole.data, strerror(-fd));
	err = code_owner_check(owner, whole.data, fd, error);
	if (err)
		return err;
	*ret = fd;
	fd = -1;
	return 0;
}

int perf_map_open(struct slow_opener *opener, const char *proc_root, pid_t pid, int *ret,
		  struct error *error)
{
	_cleanup_(text_release) struct text root = {0};
	_cleanup_(text_release) struct text inner = {0};
	_cleanup_(text_release) struct text outer = {0};
	struct code_owner owner;
	int err = code_owner_read(proc_root, pid, &owner);

	if (err)
		return error_set(error, err, "%s/%d/status: cannot read it: %s", proc_root, pid,
				 strerror(-err));
	text_printf(&root, "%s/%d/root", proc_root, pid);
	text_printf(&inner, "/tmp/perf-%d.map", owner.inner_pid);
	text_printf(&outer, "/tmp/perf-%d.map", pid);
	if (root.failed || inner.failed || outer.failed)
		return error_set(error, -ENOMEM, "out of memory");
	err = open_owned(opener, pid, root.data, inner.data, &owner, ret, error);
	/* We may lack the right to access its root, but /tmp may be the same folder. */
	if (err == -ENOENT || err == -EACCES)
		err = open_owned(opener, pid, "", outer.data, &owner, ret, error);
	return err;
}
