#include "base/output_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"

/* How long a pipe may be without a reader. */
#define MAX_WAIT_NS (5 * NS_PER_SECOND)
#define PAUSE_US    10000

struct output_file {
	char *path;         /* as the caller gave it */
	int folder_fd;      /* of the file to appear; -1: written directly */
	const char *name;   /* in the folder: the end of path */
	char *temporary;    /* name in the same folder */
	bool has_temporary; /* it exists */
	int fd;
	uint64_t size_bytes;
};

/* The whole text as a decimal number up to INT_MAX, or -1. */
static int read_number(const char *text)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	return *text >= '0' && *text <= '9' && !*end && number <= INT_MAX ? (int)number : -1;
}

/* The number of an open descriptor that a path names; -1: none. */
static int get_descriptor(const char *path)
{
	if (string_equals(path, "-") || string_equals(path, "/dev/stdout"))
		return STDOUT_FILENO;
	if (string_equals(path, "/dev/stderr"))
		return STDERR_FILENO;
	if (string_starts_with(path, "/dev/fd/"))
		return read_number(path + strlen("/dev/fd/"));
	if (string_starts_with(path, "/proc/self/fd/"))
		return read_number(path + strlen("/proc/self/fd/"));
	return -1;
}

/*
 * The copy of a descriptor gets a number above 2, and is closed like any other file at the end,
 * which leaves the original open.
 */
static int copy_descriptor(struct output_file *file, int fd)
{
	int flags = fcntl(fd, F_GETFL);

	if (flags < 0)
		return -errno;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return -EBADF;
	file->fd = fcntl(fd, F_DUPFD_CLOEXEC, 3);
	return file->fd < 0 ? -errno : 0;
}

/*
 * Whether we may replace it or write to it: it belongs to us, or to the user who called us by sudo.
 */
static bool is_ours(const struct stat *status)
{
	return status->st_uid == geteuid() || (status->st_uid && file_user_is_ours(status->st_uid));
}

/* Another file may have taken its place since the check. */
static int check_same(const struct output_file *file, const struct stat *expected)
{
	struct stat status;

	if (fstat(file->fd, &status))
		return -errno;
	return status.st_dev == expected->st_dev && status.st_ino == expected->st_ino ? 0 : -EAGAIN;
}

/* Does not wait in open(2) for the reader of a pipe, which may never arrive. */
static int open_device(struct output_file *file, const struct stat *status)
{
	uint64_t deadline_ns = clock_now_ns() + MAX_WAIT_NS;
	int flags;

	for (;;) {
		file->fd = openat(file->folder_fd, file->name,
				  O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY);
		if (file->fd >= 0)
			break;
		if (errno != ENXIO || !S_ISFIFO(status->st_mode) || clock_now_ns() > deadline_ns)
			return -errno;
		usleep(PAUSE_US);
	}
	/* It is written directly. */
	cleanup_closep(&file->folder_fd);
	file->folder_fd = -1;
	flags = fcntl(file->fd, F_GETFL);
	if (flags < 0 || fcntl(file->fd, F_SETFL, flags & ~O_NONBLOCK))
		return -errno;
	return check_same(file, status);
}

/* An unpredictable name: others may have put something at any name that they can guess. */
static int choose_temporary(struct output_file *file)
{
	char *chosen;
	uint64_t number;

	if (getrandom(&number, sizeof(number), 0) != sizeof(number))
		return -EAGAIN;
	if (asprintf(&chosen, ".%s.%016" PRIx64 ".tmp", file->name, number) < 0)
		return -ENOMEM;
	free(file->temporary);
	file->temporary = chosen;
	return 0;
}

static int open_temporary(struct output_file *file, mode_t mode)
{
	file->fd = openat(file->folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, mode);
	if (file->fd >= 0)
		return 0;
	/* EISDIR: a file system without O_TMPFILE sees a folder opened for writing (open(2)). */
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	/* NFS and others have no anonymous files. */
	file->fd = openat(file->folder_fd, file->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC,
			  mode);
	file->has_temporary = file->fd >= 0;
	return file->fd < 0 ? -errno : 0;
}

static int open_replacement(struct output_file *file, mode_t mode)
{
	int err = choose_temporary(file);

	return err ? err : open_temporary(file, mode);
}

/* Sets the name in the folder, too. */
static int open_folder(struct output_file *file)
{
	_cleanup_free_ char *folder = NULL;

	file->name = path_basename(file->path);
	if (!*file->name)
		return -EISDIR;
	folder = strndup(file->path, (size_t)(file->name - file->path));
	if (!folder)
		return -ENOMEM;
	file->folder_fd = file_open_folder(*folder ? folder : ".");
	return file->folder_fd < 0 ? file->folder_fd : 0;
}

/*
 * A link is replaced, not followed: otherwise anyone who may write to the folder could choose the
 * file that we overwrite.
 */
static int open_for(struct output_file *file, mode_t mode, struct error *error)
{
	int descriptor = get_descriptor(file->path);
	struct stat status;
	int err;

	if (descriptor >= 0)
		return copy_descriptor(file, descriptor);
	err = open_folder(file);
	if (err == -EPERM)
		return error_set(error, err,
				 "cannot write '%s': a link in its path belongs to another user",
				 file->path);
	if (err)
		return err;
	if (fstatat(file->folder_fd, file->name, &status, AT_SYMLINK_NOFOLLOW) ||
	    S_ISLNK(status.st_mode))
		return open_replacement(file, mode);
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (S_ISCHR(status.st_mode))
		return open_device(file, &status);
	if (!is_ours(&status))
		return error_set(
			error, -EPERM,
			"cannot write '%s': the existing file belongs to another user (uid %u)",
			file->path, status.st_uid);
	if (S_ISFIFO(status.st_mode))
		return open_device(file, &status);
	if (!S_ISREG(status.st_mode))
		return error_set(error, -EINVAL,
				 "cannot write '%s': it exists and is not a regular file",
				 file->path);
	return open_replacement(file, mode);
}

int output_file_open(const char *path, mode_t mode, struct output_file **ret, struct error *error)
{
	struct output_file *file = calloc(1, sizeof(*file));
	struct error reason = {0};
	int err;

	if (!file)
		return -ENOMEM;
	file->fd = file->folder_fd = -1;
	file->path = strdup(path);
	err = file->path ? open_for(file, mode, &reason) : -ENOMEM;
	if (err) {
		output_file_free(file);
		if (reason.message[0])
			return error_set(error, err, "%s", reason.message);
		return error_set(error, err, "cannot write '%s': %s", path, strerror(-err));
	}
	*ret = file;
	return 0;
}

int output_file_write(struct output_file *file, const void *data, size_t size)
{
	int err = file_write_fd(file->fd, data, size);

	if (err)
		return err;
	file->size_bytes += size;
	return 0;
}

bool output_file_can_rewind(const struct output_file *file)
{
	return file->folder_fd >= 0;
}

int output_file_rewind(struct output_file *file)
{
	if (!output_file_can_rewind(file))
		return -ESPIPE;
	if (lseek(file->fd, 0, SEEK_SET) < 0 || ftruncate(file->fd, 0))
		return -errno;
	file->size_bytes = 0;
	return 0;
}

/*
 * The file has no name yet. Without a privilege, only its descriptor in /proc can be linked
 * (open(2), O_TMPFILE; AT_EMPTY_PATH needs CAP_DAC_READ_SEARCH). If the target exists, the file
 * gets the temporary name first, and renameat() replaces the target in one step.
 */
static int make_visible(struct output_file *file)
{
	char descriptor[64];

	if (!file->has_temporary) {
		snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", file->fd);
		if (!linkat(AT_FDCWD, descriptor, file->folder_fd, file->name, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -errno;
		/* linkat() replaces nothing; renameat() does. */
		if (linkat(AT_FDCWD, descriptor, file->folder_fd, file->temporary,
			   AT_SYMLINK_FOLLOW))
			return -errno;
		file->has_temporary = true;
	}
	if (renameat(file->folder_fd, file->temporary, file->folder_fd, file->name))
		return -errno;
	file->has_temporary = false;
	return 0;
}

int output_file_commit(struct output_file *file, struct error *error)
{
	int err;

	if (file->folder_fd < 0)
		return 0;
	err = make_visible(file);
	if (err)
		return error_set(error, err, "cannot write '%s': %s", file->path, strerror(-err));
	return 0;
}

void output_file_abandon(const struct output_file *file)
{
	if (file->has_temporary)
		unlinkat(file->folder_fd, file->temporary, 0);
}

void output_file_free(struct output_file *file)
{
	if (!file)
		return;
	output_file_abandon(file);
	if (file->fd >= 0)
		close(file->fd);
	if (file->folder_fd >= 0)
		close(file->folder_fd);
	free(file->path);
	free(file->temporary);
	free(file);
}

void output_file_add_fds(const struct output_file *file, struct fd_list *fds)
{
	fd_list_add(fds, file->fd);
}

uint64_t output_file_get_size(const struct output_file *file)
{
	return file->size_bytes;
}

const char *output_file_get_path(const struct output_file *file)
{
	return file->path;
}
