#include "cli/record/zones_inputs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/confinement.h"
#include "base/file.h"
#include "base/log.h"
#include "base/text.h"
#include "cli/record/zones_collector.h"

/* Limit for a file that another user may make as large as they like. */
#define MAX_FOREIGN_BYTES (4ull << 30)

/* ---- files beside the user's -------------------------------------------------------------- */

/* The paths of the files FILE.PID, sorted, as a folder has no order. */
struct zones_paths {
	ARRAY(char *) items; /* owned */
	bool is_truncated;
};

static void paths_release(struct zones_paths *paths)
{
	array_for_each (&paths->items, path)
		free(*path);
	array_release(&paths->items);
}

/* A child's child may have both pids: "12", "12.34". */
static bool is_pid(const char *text)
{
	for (;;) {
		size_t num_digits = strspn(text, "0123456789");

		if (!num_digits)
			return false;
		text += num_digits;
		if (!*text)
			return true;
		if (*text++ != '.')
			return false;
	}
}

static int compare_paths(const void *left, const void *right)
{
	char *const *a = left;
	char *const *b = right;
	size_t a_length = strlen(*a);
	size_t b_length = strlen(*b);

	/* 99 before 100. */
	if (a_length != b_length)
		return a_length < b_length ? -1 : 1;
	return strcmp(*a, *b);
}

static int add_path(struct zones_paths *paths, const char *path, const char *pid)
{
	char **added = array_add(&paths->items);

	if (!added)
		return -ENOMEM;
	if (asprintf(added, "%s.%s", path, pid) < 0) {
		paths->items.length--;
		return -ENOMEM;
	}
	return 0;
}

/* An unreadable folder is treated as empty: the user has not asked for these files. */
static int list_beside(struct zones_paths *paths, const char *path)
{
	const char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	size_t name_length = strlen(name);
	_cleanup_free_ char *folder =
		slash ? strndup(path, (size_t)(slash + 1 - path)) : strdup(".");
	DIR *stream = folder ? opendir(folder) : NULL;
	struct dirent *entry;
	int err = 0;

	if (!folder)
		return -ENOMEM;
	while (stream && !err && (entry = readdir(stream))) {
		if (strncmp(entry->d_name, name, name_length) != 0 ||
		    entry->d_name[name_length] != '.' || !is_pid(entry->d_name + name_length + 1))
			continue;
		paths->is_truncated = paths->items.length >= ZONES_INPUTS_MAX_BESIDE;
		if (paths->is_truncated)
			break;
		err = add_path(paths, path, entry->d_name + name_length + 1);
	}
	if (stream)
		closedir(stream);
	if (paths->items.length)
		qsort(paths->items.items, paths->items.length, sizeof(*paths->items.items),
		      compare_paths);
	return err;
}

/* ---- before ------------------------------------------------------------------------------- */

static void note(struct zones_inputs *inputs, const char *path)
{
	struct zones_input *added;
	struct stat status;

	if (stat(path, &status) || !S_ISREG(status.st_mode))
		return;
	added = array_add(&inputs->before);
	if (added)
		*added = (struct zones_input){.fd = -1,
					      .device = status.st_dev,
					      .inode = status.st_ino,
					      .bytes_before = (uint64_t)status.st_size};
}

void zones_inputs_note(struct zones_inputs *inputs, char *const *paths, size_t num_paths)
{
	for (size_t i = 0; i < num_paths; i++) {
		_cleanup_(paths_release) struct zones_paths beside = {0};

		note(inputs, paths[i]);
		if (list_beside(&beside, paths[i]))
			return;
		array_for_each (&beside.items, path)
			note(inputs, *path);
	}
}

/* Size of the file before; 0 also if it was another file or has shrunk. */
static uint64_t find_bytes_before(const struct zones_inputs *inputs, const struct stat *status)
{
	array_for_each (&inputs->before, file)
		if (file->device == status->st_dev && file->inode == status->st_ino &&
		    file->bytes_before <= (uint64_t)status->st_size)
			return file->bytes_before;
	return 0;
}

/*
 * Shared memory does not grow while it is written: its writer's lock shows whether it is. The check
 * takes the lock for a moment, if nobody has it.
 */
static bool is_locked(int fd)
{
	if (flock(fd, LOCK_SH | LOCK_NB))
		return errno == EWOULDBLOCK;
	(void)flock(fd, LOCK_UN); /* closing it would do the same */
	return false;
}

/* ---- while it is written ------------------------------------------------------------------ */

#define COLLECT_NS     100000000ull
#define LOOK_NS        1000000000ull /* a folder may be large */
#define MAX_COLLECTORS 256
#define SHARED_SUFFIX  ".ring" /* of the names of shared memory */

static struct zones_collector *find_collector(const struct zones_inputs *inputs,
					      const struct stat *status)
{
	array_for_each (&inputs->collectors, collector)
		if (zones_collector_is_of(*collector, status))
			return *collector;
	return NULL;
}

/* Files of earlier runs that nobody writes are not collected. */
static void start_collecting(struct zones_inputs *inputs, const char *path, int flags)
{
	struct zones_collector **added;
	struct stat status;
	int fd;

	if (stat(path, &status) || find_collector(inputs, &status) ||
	    inputs->collectors.length == MAX_COLLECTORS)
		return;
	fd = file_open_regular(AT_FDCWD, path, flags, &status);
	if (fd < 0)
		return;
	added = find_bytes_before(inputs, &status) == (uint64_t)status.st_size && !is_locked(fd)
			? NULL
			: array_add(&inputs->collectors);
	if (added && zones_collector_new(fd, &status, added) == 0)
		return;
	if (added)
		inputs->collectors.length--;
	close(fd);
}

void zones_inputs_collect(struct zones_inputs *inputs, char *const *paths, size_t num_paths,
			  uint64_t now_ns)
{
	bool looks = now_ns - inputs->looked_ns >= LOOK_NS;

	if (now_ns - inputs->collected_ns < COLLECT_NS)
		return;
	inputs->collected_ns = now_ns;
	if (looks)
		inputs->looked_ns = now_ns;
	for (size_t i = 0; i < num_paths; i++) {
		_cleanup_(paths_release) struct zones_paths beside = {0};

		if (!string_ends_with(paths[i], SHARED_SUFFIX))
			continue;
		start_collecting(inputs, paths[i], 0);
		if (!looks || list_beside(&beside, paths[i]))
			continue;
		array_for_each (&beside.items, path)
			start_collecting(inputs, *path, O_NOFOLLOW);
	}
	array_for_each (&inputs->collectors, collector)
		zones_collector_collect(*collector);
}

/* ---- after -------------------------------------------------------------------------------- */

/* Takes the descriptor. If a collected copy contains more, it replaces the file. */
static int add_opened(struct zones_inputs *inputs, const char *path, int fd,
		      const struct stat *status)
{
	struct zones_collector *collector = find_collector(inputs, status);
	int copy_fd = collector ? zones_collector_finish(collector) : -1;
	struct zones_input added = {
		.fd = fd,
		.path = strdup(path),
		.bytes_before = S_ISREG(status->st_mode) ? find_bytes_before(inputs, status) : 0};
	struct zones_input *place = added.path ? array_add(&inputs->opened) : NULL;

	if (copy_fd >= 0 && dup3(copy_fd, fd, O_CLOEXEC) < 0)
		log_debug("'%s' is read without its copy", path);
	if (place) {
		*place = added;
		return 0;
	}
	log_error("out of memory");
	free(added.path);
	close(fd);
	return -ENOMEM;
}

/*
 * Open without following another user's link, which would choose the file that we read with our
 * rights. Another user's file must be a regular one, as a pipe or a device may have no end. Returns
 * a descriptor or negative errno.
 */
static int open_path_safely(const char *path)
{
	_cleanup_free_ char *folder = strndup(path, (size_t)(path_basename(path) - path));
	_cleanup_close_ int folder_fd = folder ? file_open_folder(*folder ? folder : ".") : -ENOMEM;
	_cleanup_close_ int handle = -1;
	struct stat status;

	if (folder_fd < 0)
		return folder_fd;
	handle = openat(folder_fd, path_basename(path), O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (handle < 0 || fstat(handle, &status))
		return -errno;
	if (S_ISLNK(status.st_mode)) {
		int fd;

		if (!file_user_is_ours(status.st_uid))
			return -EPERM;
		/* Check its target again, since that may be another user's. */
		fd = openat(folder_fd, path_basename(path), O_PATH | O_CLOEXEC);
		if (fd < 0)
			return -errno;
		close(handle);
		handle = fd;
		if (fstat(handle, &status))
			return -errno;
	}
	if (!file_user_is_ours(status.st_uid)) {
		if (!S_ISREG(status.st_mode))
			return -EPERM;
		if ((uint64_t)status.st_size > MAX_FOREIGN_BYTES)
			return -EFBIG;
	}
	return file_open_found(handle);
}

static int open_input(const char *path)
{
	int fd;

	if (!string_equals(path, "-"))
		return open_path_safely(path);
	fd = fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

/* The caller reports a missing file: there may be files beside it. */
static int open_named(struct zones_inputs *inputs, const char *path)
{
	struct stat status = {0};
	int fd = open_input(path);
	int err = fd < 0 ? fd : fstat(fd, &status) ? -errno : 0;

	if (!err)
		return add_opened(inputs, path, fd, &status);
	if (err == -EPERM)
		log_error("cannot open '%s': not a regular file, or a link of another user", path);
	else if (err != -ENOENT)
		log_error("cannot open '%s': %s", path, strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

/*
 * The user has not named these files: those that are not regular, not readable for us, or have not
 * grown are skipped.
 */
static int open_beside(struct zones_inputs *inputs, const struct zones_paths *beside)
{
	array_for_each (&beside->items, path) {
		struct stat status;
		int fd = file_open_regular(AT_FDCWD, *path, O_NOFOLLOW, &status);
		int err;

		if (fd < 0)
			continue;
		if ((uint64_t)status.st_size <= find_bytes_before(inputs, &status) &&
		    !find_collector(inputs, &status) &&
		    !(strstr(*path, SHARED_SUFFIX ".") && is_locked(fd))) {
			close(fd);
			continue;
		}
		err = add_opened(inputs, *path, fd, &status);
		if (err)
			return err;
		log_debug("'%s' is also an input of --zones", *path);
	}
	return 0;
}

static int open_path(struct zones_inputs *inputs, const char *path)
{
	_cleanup_(paths_release) struct zones_paths beside = {0};
	size_t count = inputs->opened.length;
	int missing = open_named(inputs, path);
	int err;

	if (missing && missing != -ENOENT)
		return missing;
	err = list_beside(&beside, path);
	if (err) {
		log_error("out of memory");
		return err;
	}
	if (beside.is_truncated)
		log_warning("more than %d files '%s.PID': the others are skipped",
			    ZONES_INPUTS_MAX_BESIDE, path);
	err = open_beside(inputs, &beside);
	if (err)
		return err;
	if (inputs->opened.length > count)
		return 0;
	log_error("cannot open '%s': %s", path, strerror(-missing));
	return missing;
}

void zones_inputs_open(struct zones_inputs *inputs, char *const *paths, size_t num_paths)
{
	for (size_t i = 0; i < num_paths && !inputs->is_incomplete; i++)
		inputs->is_incomplete = open_path(inputs, paths[i]) != 0;
}

void zones_inputs_add_fds(const struct zones_inputs *inputs, struct fd_list *fds)
{
	array_for_each (&inputs->opened, input)
		fd_list_add(fds, input->fd);
}

static void release(struct zones_input *input)
{
	free(input->path);
	if (input->fd >= 0)
		close(input->fd);
}

void zones_inputs_release(struct zones_inputs *inputs)
{
	array_for_each (&inputs->before, input)
		release(input);
	array_for_each (&inputs->opened, input)
		release(input);
	array_for_each (&inputs->collectors, collector)
		zones_collector_free(*collector);
	array_release(&inputs->before);
	array_release(&inputs->opened);
	array_release(&inputs->collectors);
	*inputs = (struct zones_inputs){0};
}
