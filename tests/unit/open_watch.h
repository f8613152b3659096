/* Tells whether a file was opened, even for a moment. */
#ifndef OPEN_WATCH_H
#define OPEN_WATCH_H

#include <sys/inotify.h>
#include <unistd.h>

#include "unit.h"

/* Returns what open_watch_end() is asked. */
static inline int open_watch_start(const char *path)
{
	int fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(inotify_add_watch(fd, path, IN_OPEN) >= 0);
	return fd;
}

static inline bool open_watch_end(int fd)
{
	char events[4096];
	bool was_opened = read(fd, events, sizeof(events)) > 0;

	close(fd);
	return was_opened;
}

#endif
