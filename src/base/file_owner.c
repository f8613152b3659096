/* The user who answers for a file's content: see base/file.h. */
#include "base/file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/text.h"

#define MOUNTS_MAX_BYTES (16u << 20)

/*
 * Whether the file system of this device is in a list of mounts. A line has two numbers and then
 * the device: "36 35 98:0 / /mnt …".
 */
static bool is_listed(const char *path, dev_t device)
{
	_cleanup_(text_release) struct text mounts = {0};

	if (file_read_at(AT_FDCWD, path, MOUNTS_MAX_BYTES, &mounts) || !mounts.data)
		return false;
	for (const char *line = mounts.data; line; line = strchr(line, '\n')) {
		unsigned int device_major;
		unsigned int device_minor;

		line += *line == '\n';
		if (sscanf(line, "%*d %*d %u:%u ", &device_major, &device_minor) == 2 &&
		    makedev(device_major, device_minor) == device)
			return true;
	}
	return false;
}

bool file_is_mounted_here(dev_t device)
{
	return is_listed("/proc/self/mountinfo", device) || is_listed("/proc/1/mountinfo", device);
}

/*
 * A user may mount an overlay over a FUSE file system in a namespace of their own. It then shows
 * the owners that FUSE makes up.
 */
static bool may_lie_about_owners(int fd, const struct stat *status)
{
	struct statfs system;

	if (fstatfs(fd, &system))
		return true;
	switch ((unsigned long)system.f_type) {
	case TMPFS_MAGIC:
	case RAMFS_MAGIC:
		return false;
	case FUSE_SUPER_MAGIC:
		return true;
	case OVERLAYFS_SUPER_MAGIC:
		return !file_is_mounted_here(status->st_dev);
	}
	return system.f_flags & ST_NOSUID;
}

/* A group with the user's number is the user's own, as distributions create them; except root's. */
static bool may_others_write(const struct stat *status)
{
	bool is_own_group = status->st_uid != 0 && status->st_gid == status->st_uid;

	return status->st_mode & S_IWOTH || (status->st_mode & S_IWGRP && !is_own_group);
}

uid_t file_owner_get(int fd)
{
	struct stat status;

	if (fstat(fd, &status) || may_others_write(&status) || may_lie_about_owners(fd, &status))
		return FILE_OWNER_UNKNOWN;
	return status.st_uid;
}

bool file_owner_is_same(uid_t a, uid_t b)
{
	return a == b && a != FILE_OWNER_UNKNOWN;
}

bool file_owner_is_trusted(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}
