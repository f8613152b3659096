#include "process/foreign_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/text.h"

#ifndef RESOLVE_CACHED
#define RESOLVE_CACHED 0x20
#endif

/*
 * File systems that are on no disk of this machine have a backing device (bdi) of their own: FUSE
 * and NFS have one under their device number. Memory, overlays and btrfs do not.
 */
static bool is_apart(uint32_t dev_major, uint32_t dev_minor)
{
	static const char *const suffixes[] = {"", "-fuseblk"};
	char path[64];

	for (size_t i = dev_major ? 1 : 0; i < ARRAY_LENGTH(suffixes); i++) {
		snprintf(path, sizeof(path), "/sys/class/bdi/%u:%u%s", dev_major, dev_minor,
			 suffixes[i]);
		if (faccessat(AT_FDCWD, path, F_OK, 0) == 0)
			return true;
	}
	return false;
}

static bool may_hang(struct slow_opener *opener, pid_t pid, int handle, uint32_t dev_major,
		     uint32_t dev_minor)
{
	if (is_apart(dev_major, dev_minor))
		return true;
	return !dev_major &&
	       slow_opener_may_hang(opener, pid, handle, makedev(dev_major, dev_minor));
}

/* For a file on a user's file system that root may not read. */
static int inspect_as_user(struct slow_opener *opener, pid_t pid, int handle,
			   struct foreign_file *ret)
{
	struct user_file file;
	int err = slow_opener_look_as_user(opener, pid, handle, &file);

	if (err)
		return err;
	*ret = (struct foreign_file){.handle = handle,
				     .may_hang = true,
				     .is_users = true,
				     .dev_major = major(file.device),
				     .dev_minor = minor(file.device),
				     .inode = file.inode};
	return 0;
}

static struct timespec get_time(const struct statx_timestamp *time)
{
	return (struct timespec){.tv_sec = time->tv_sec, .tv_nsec = time->tv_nsec};
}

/* Set the kernel's data about it, without asking its file system. Takes ownership of the handle. */
static int inspect(struct slow_opener *opener, pid_t pid, int handle, struct foreign_file *ret)
{
	_cleanup_close_ int owned = handle;
	struct statx status;

	int err;

	if (statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status)) {
		err = errno == EACCES ? inspect_as_user(opener, pid, handle, ret) : -errno;
		owned = err ? owned : -1;
		return err;
	}
	if (S_ISLNK(status.stx_mode))
		return -ELOOP;
	if (!S_ISREG(status.stx_mode))
		return -ENOTSUP;
	*ret = (struct foreign_file){
		.handle = handle,
		.may_hang =
			may_hang(opener, pid, handle, status.stx_dev_major, status.stx_dev_minor),
		.dev_major = status.stx_dev_major,
		.dev_minor = status.stx_dev_minor,
		.inode = status.stx_ino,
		.version = {.num_bytes = status.stx_size,
			    .modified = get_time(&status.stx_mtime),
			    .changed = get_time(&status.stx_ctime)},
	};
	owned = -1;
	return 0;
}

int foreign_file_follow(struct slow_opener *opener, pid_t pid, const char *link,
			struct foreign_file *ret)
{
	int handle = slow_opener_follow(opener, pid, link);

	return handle < 0 ? handle : inspect(opener, pid, handle, ret);
}

/* Find a path below our own root in the kernel's cache. Returns the handle or negative errno. */
static int find_cached(const char *path, int flags)
{
	_cleanup_close_ int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_IN_ROOT | RESOLVE_CACHED};
	int handle = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	return handle < 0 ? -errno : handle;
}

int foreign_file_peek(const char *path, uint32_t *ret_major, uint32_t *ret_minor,
		      uint64_t *ret_inode)
{
	_cleanup_close_ int handle = find_cached(path, O_NOFOLLOW);
	struct statx status;

	if (handle < 0)
		return handle;
	if (statx(handle, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BASIC_STATS, &status))
		return -errno;
	if (!S_ISREG(status.stx_mode))
		return -ENOTSUP;
	*ret_major = status.stx_dev_major;
	*ret_minor = status.stx_dev_minor;
	*ret_inode = status.stx_ino;
	return 0;
}

int foreign_file_find(struct slow_opener *opener, pid_t pid, const char *root, const char *path,
		      int flags, struct foreign_file *ret)
{
	int handle = string_equals(root, "/") ? find_cached(path, flags) : -EAGAIN;

	/* Not in memory, or RESOLVE_CACHED is not supported (before 5.12; in some containers). */
	if (handle == -EAGAIN || handle == -EINVAL || handle == -ENOSYS || handle == -EPERM)
		handle = slow_opener_find(opener, pid, root, path, flags);
	return handle < 0 ? handle : inspect(opener, pid, handle, ret);
}

int foreign_file_open(struct slow_opener *opener, pid_t pid, const struct foreign_file *file)
{
	return file->may_hang ? slow_opener_open(opener, pid, file->handle, file->is_users)
			      : file_open_found(file->handle);
}
