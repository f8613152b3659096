#include "base/output_file.h"
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"

struct output_file {
	char *path;      /* as the caller gave it */
	char *target;    /* where it is to appear; NULL: written directly */
	char *temporary; /* name beside the target */
	bool is_named;   /* the temporary name exists */
	int fd;
	uint64_t size_bytes;
};

static int open_direct(struct output_file *file)
{
	if (string_equals(file->path, "-"))
		file->fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	else
		file->fd = open(file->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return file->fd < 0 ? -errno : 0;
}

/* Fill target and temporary; a symbolic link is followed, so that it stays a link. */
static int choose_names(struct output_file *file)
{
	const char *base;

	file->target = realpath(file->path, NULL);
	if (!file->target)
		file->target = strdup(file->path);
	if (!file->target)
		return -ENOMEM;
	base = path_basename(file->target);
	if (asprintf(&file->temporary, "%.*s.%s.%d.tmp", (int)(base - file->target), file->target,
		     base, getpid()) < 0) {
		file->temporary = NULL;
		return -ENOMEM;
	}
	return 0;
}

static int open_temporary(struct output_file *file)
{
	_cleanup_free_ char *folder = strdup(file->target);
	char *slash;

	if (!folder)
		return -ENOMEM;
	slash = strrchr(folder, '/');
	if (slash)
		slash[slash == folder] = '\0';
	file->fd = open(slash ? folder : ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	if (file->fd >= 0)
		return 0;
	if (errno != EOPNOTSUPP && errno != EISDIR && errno != EINVAL)
		return -errno;
	/* NFS and others have no nameless files. */
	file->fd = open(file->temporary, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	file->is_named = file->fd >= 0;
	return file->fd < 0 ? -errno : 0;
}

static int open_for(struct output_file *file)
{
	struct stat status;
	bool exists = !string_equals(file->path, "-") && stat(file->path, &status) == 0;
	int err;

	if (string_equals(file->path, "-") || (exists && !S_ISREG(status.st_mode))) {
		if (exists && S_ISDIR(status.st_mode))
			return -EISDIR;
		return open_direct(file);
	}
	err = choose_names(file);
	if (!err)
		err = open_temporary(file);
	if (!err && exists)
		(void)!fchmod(file->fd, status.st_mode & 07777); /* else it has our umask's mode */
	return err;
}

int output_file_open(const char *path, struct output_file **ret, struct error *error)
{
	struct output_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return -ENOMEM;
	file->fd = -1;
	file->path = strdup(path);
	err = file->path ? open_for(file) : -ENOMEM;
	if (err) {
		output_file_free(file);
		return error_set(error, err, "cannot write '%s': %s", path, strerror(-err));
	}
	*ret = file;
	return 0;
}

int output_file_write(struct output_file *file, const void *data, size_t size)
{
	int err = file_write_fd(file->fd, data, size);

	if (!err)
		file->size_bytes += size;
	return err;
}

static int make_visible(struct output_file *file)
{
	char descriptor[64];

	if (!file->is_named) {
		snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", file->fd);
		if (!linkat(AT_FDCWD, descriptor, AT_FDCWD, file->target, AT_SYMLINK_FOLLOW))
			return 0;
		if (errno != EEXIST)
			return -errno;
		/* linkat() replaces nothing; rename() does. */
		unlink(file->temporary);
		if (linkat(AT_FDCWD, descriptor, AT_FDCWD, file->temporary, AT_SYMLINK_FOLLOW))
			return -errno;
		file->is_named = true;
	}
	if (rename(file->temporary, file->target))
		return -errno;
	file->is_named = false;
	return 0;
}

int output_file_commit(struct output_file *file, struct error *error)
{
	int err = file->target ? make_visible(file) : 0;

	if (err)
		return error_set(error, err, "cannot write '%s': %s", file->path, strerror(-err));
	return 0;
}

void output_file_abandon(const struct output_file *file)
{
	if (file->is_named)
		unlink(file->temporary);
}

void output_file_free(struct output_file *file)
{
	if (!file)
		return;
	output_file_abandon(file);
	if (file->fd >= 0)
		close(file->fd);
	free(file->path);
	free(file->target);
	free(file->temporary);
	free(file);
}

uint64_t output_file_get_size(const struct output_file *file)
{
	return file->size_bytes;
}

const char *output_file_get_path(const struct output_file *file)
{
	return file->path;
}
