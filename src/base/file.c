#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

int file_read_fd(int fd, size_t limit_bytes, struct text *ret)
{
	char chunk[16384];
	size_t before = ret->length;
	int err = 0;

	for (;;) {
		ssize_t got = read(fd, chunk, sizeof(chunk));

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			err = -errno;
		if (got <= 0)
			break;
		/*
		 * The size of a file in /proc is 0, and any other may grow meanwhile. So check the
		 * limit against the bytes that were read.
		 */
		if (ret->length - before + (size_t)got > limit_bytes) {
			err = -EFBIG;
			break;
		}
		text_append(ret, chunk, (size_t)got);
		if (ret->failed) {
			err = -ENOMEM;
			break;
		}
	}
	if (err)
		text_truncate(ret, before);
	return err;
}

int file_read_at(int dir_fd, const char *path, size_t limit_bytes, struct text *ret)
{
	_cleanup_close_ int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	return file_read_fd(fd, limit_bytes, ret);
}

/* A handle, for fstat() only; it cannot be read. */
static int find_regular(int dir_fd, const char *path, int flags, struct stat *ret_status)
{
	_cleanup_close_ int handle = openat(dir_fd, path, O_PATH | O_CLOEXEC | flags);
	int found = handle;

	if (handle < 0 || fstat(handle, ret_status))
		return -errno;
	if (S_ISLNK(ret_status->st_mode))
		return -ELOOP;
	if (!S_ISREG(ret_status->st_mode))
		return -ENOTSUP;
	handle = -1;
	return found;
}

int file_find_in_root(int root_fd, const char *path, int flags)
{
	struct open_how how = {.flags = (uint64_t)(O_PATH | O_CLOEXEC | flags),
			       .resolve = RESOLVE_IN_ROOT};
	int fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));

	/* Old kernels, and some containers, have no openat2(2): then a link may lead to our own root. */
	if (fd < 0 && (errno == ENOSYS || errno == EPERM))
		fd = openat(root_fd, path + strspn(path, "/"), O_PATH | O_CLOEXEC | flags);
	return fd < 0 ? -errno : fd;
}

int file_open_found(int handle)
{
	char link[64];
	int fd;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	fd = open(link, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

int file_read_path(int handle, char *ret, size_t size)
{
	char link[64];
	ssize_t length;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", handle);
	length = readlink(link, ret, size);
	if (length < 0)
		return -errno;
	if ((size_t)length == size)
		return -ENAMETOOLONG;
	ret[length] = '\0';
	return 0;
}

int file_open_regular(int dir_fd, const char *path, int flags, struct stat *ret_status)
{
	struct stat status;
	_cleanup_close_ int handle = find_regular(dir_fd, path, flags, &status);

	if (handle < 0)
		return handle;
	if (ret_status)
		*ret_status = status;
	return file_open_found(handle);
}

int file_write_fd(int fd, const void *data, size_t size)
{
	const char *left = data;

	while (size) {
		ssize_t written = write(fd, left, size);

		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		left += written;
		size -= (size_t)written;
	}
	return 0;
}

int file_write_at(int fd, const void *data, size_t size, uint64_t offset)
{
	const uint8_t *next = data;

	while (size) {
		ssize_t written = pwrite(fd, next, size, (off_t)offset);

		if (written < 0 && errno == EINTR)
			continue;
		/* pwrite() returns 0 on no file system that we know; avoid an endless loop. */
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		next += written;
		offset += (uint64_t)written;
		size -= (size_t)written;
	}
	return 0;
}

int file_read_range(int fd, void *data, size_t size, uint64_t offset)
{
	uint8_t *next = data;

	while (size) {
		ssize_t got = pread(fd, next, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		/* Unexpected end of file: somebody has truncated it. */
		if (got <= 0)
			return got < 0 ? -errno : -EIO;
		next += got;
		offset += (uint64_t)got;
		size -= (size_t)got;
	}
	return 0;
}

const char *file_get_temporary_folder(void)
{
	const char *folder = getenv("TMPDIR");

	return folder && *folder ? folder : "/var/tmp";
}

int file_open_anonymous(const char *folder, struct error *error)
{
	_cleanup_free_ char *path = NULL;
	int fd = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC | O_EXCL, 0600);

	/* Some file systems do not support such files. */
	if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR)) {
		if (asprintf(&path, "%s/stackwide.XXXXXX", folder) < 0) {
			path = NULL;
			return -ENOMEM;
		}
		fd = mkostemp(path, O_CLOEXEC);
		if (fd >= 0)
			unlink(path);
	}
	if (fd >= 0)
		return fd;
	return error_set(error, -errno,
			 "cannot create a temporary file in '%s': %m; set TMPDIR to a directory "
			 "with room",
			 folder);
}
