#include "base/file.h"

#include <errno.h>
#include <fcntl.h>

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
