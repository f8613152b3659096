/*
 * Open a folder by its path without following other users' links. If others can write to a folder
 * on the way, a link would decide where a privileged program puts its files, or which ones it
 * reads.
 */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/text.h"

/* As in the kernel (MAXSYMLINKS). */
#define MAX_LINKS 40

bool file_user_is_ours(uid_t user)
{
	const char *caller = geteuid() ? NULL : getenv("SUDO_UID");
	char *end = NULL;
	unsigned long number = caller ? strtoul(caller, &end, 10) : 0;

	return user == geteuid() || user == 0 ||
	       (caller && *caller >= '0' && *caller <= '9' && !*end && number == user);
}

/* Most paths have no links at all. */
static int open_without_links(const char *path)
{
	struct open_how how = {.flags = O_PATH | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS};
	int fd = (int)syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

/* Put the target of a link in front of the rest of the path. Returns 0 or negative errno. */
static int prepend_link(int link_fd, struct text *left)
{
	_cleanup_(text_release) struct text whole = {0};
	struct text before = *left;
	char target[PATH_MAX];
	ssize_t length = readlinkat(link_fd, "", target, sizeof(target) - 1);

	if (length < 0)
		return -errno;
	if (!length)
		return -ENOENT;
	text_append(&whole, target, (size_t)length);
	text_append_char(&whole, '/');
	text_append(&whole, left->data, left->length);
	if (whole.failed)
		return -ENOMEM;
	*left = whole;
	whole = before;
	return 0;
}

static int open_start(const char *path)
{
	int fd = open(path[0] == '/' ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

static void replace_fd(int *fd, int by)
{
	if (*fd >= 0)
		close(*fd);
	*fd = by;
}

/* Take the first component of the rest of the path. Empty: no component left. */
static void take_part(struct text *left, struct text *part)
{
	size_t start = strspn(left->data, "/");
	size_t length = strcspn(left->data + start, "/");
	size_t end = start + length;

	text_truncate(part, 0);
	text_append(part, left->data + start, length);
	memmove(left->data, left->data + end, left->length - end + 1);
	left->length -= end;
}

static int walk(struct text *left)
{
	_cleanup_(text_release) struct text part = {0};
	_cleanup_close_ int fd = open_start(left->data);
	unsigned int num_links = 0;
	int found;

	while (fd >= 0) {
		_cleanup_close_ int next = -1;
		struct stat status;
		int err;

		take_part(left, &part);
		if (part.failed)
			return -ENOMEM;
		if (!part.length)
			break;
		next = openat(fd, part.data, O_PATH | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0 || fstat(next, &status))
			return -errno;
		if (S_ISDIR(status.st_mode)) {
			replace_fd(&fd, next);
			next = -1;
			continue;
		}
		if (!S_ISLNK(status.st_mode))
			return -ENOTDIR;
		if (!file_user_is_ours(status.st_uid))
			return -EPERM;
		if (++num_links > MAX_LINKS)
			return -ELOOP;
		err = prepend_link(next, left);
		if (err)
			return err;
		if (left->data[0] == '/')
			replace_fd(&fd, open_start(left->data));
	}
	found = fd;
	fd = -1;
	return found;
}

int file_open_folder(const char *path)
{
	_cleanup_(text_release) struct text left = {0};
	int fd = open_without_links(path);

	/* There are links, or the kernel or a container does not know the call. */
	if (fd != -ELOOP && fd != -ENOSYS && fd != -EPERM)
		return fd;
	text_append_string(&left, path);
	return left.failed ? -ENOMEM : walk(&left);
}
