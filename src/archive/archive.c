/*
 * An archive outlives every program that writes to it, so any step may be the last. A capture is
 * written to a file without a name; its bytes reach the disk before the name does, and the folder
 * with the name after that. So a name always means a complete capture, also after a power cut. An
 * existing name is never replaced: captures of one second get numbers.
 *
 * Everything is opened relative to descriptors, and no symbolic link is followed below the
 * archive's folder: an archive may be written with privileges.
 */
#include "archive/archive.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>

#include "archive/archive_folder.h"
#include "base/confinement.h"
#include "base/file.h"
#include "base/text.h"

#define FOLDER_MODE 0750
/* Captures of one second. */
#define MAX_COPIES 1000

struct archive_file {
	struct archive *archive;
	int64_t time_s;
	char *host;
	char *extension;
	char name[CAPTURE_NAME_BYTES]; /* below the archive */
	char temporary[64];            /* in the folder of the day; empty: without a name */
	int folder_fd;                 /* of the day */
	int fd;
	bool is_committed;
};

int archive_open(const char *path, bool is_new, struct archive **ret, struct error *error)
{
	struct archive *archive = calloc(1, sizeof(*archive));

	if (!archive)
		return error_set(error, -ENOMEM, "out of memory");
	archive->fd = archive->lock_fd = -1;
	archive->path = strdup(path);
	if (!archive->path) {
		archive_free(archive);
		return error_set(error, -ENOMEM, "out of memory");
	}
	/* If mkdir() fails, its errno is reported: archive->fd is still -1. */
	if (!is_new || !mkdir(path, FOLDER_MODE) || errno == EEXIST)
		archive->fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (archive->fd < 0) {
		int err = -errno;

		archive_free(archive);
		return error_set(error, err, "cannot open the archive '%s': %s", path,
				 strerror(-err));
	}
	*ret = archive;
	return 0;
}

void archive_free(struct archive *archive)
{
	if (!archive)
		return;
	if (archive->lock_fd >= 0)
		close(archive->lock_fd);
	if (archive->fd >= 0)
		close(archive->fd);
	free(archive->path);
	free(archive);
}

/* A capture leaves such a file only on file systems that cannot create files without a name. */
static int remove_leftover(int year _unused_, int month _unused_, int day _unused_, int fd,
			   const char *name, void *context _unused_)
{
	if (string_starts_with(name, ARCHIVE_TEMPORARY_PREFIX) &&
	    string_ends_with(name, ARCHIVE_TEMPORARY_SUFFIX))
		(void)unlinkat(fd, name, 0); /* the next run tries again */
	return 0;
}

/* Remove leftovers of rewriting an index. */
static void remove_leftovers_beside(const struct archive *archive)
{
	int fd = openat(archive->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *folder = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;

	if (!folder) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((entry = readdir(folder)))
		(void)remove_leftover(0, 0, 0, dirfd(folder), entry->d_name, NULL);
	closedir(folder);
}

/* Content of the lock file: "PID SINCE LEFT_OUT". It is for people, and its loss does no harm. */
static void write_holder(int fd, const struct archive_holder *holder)
{
	char text[64];
	int length = snprintf(text, sizeof(text), "%u %" PRId64 " %u\n", holder->pid,
			      holder->since_s, holder->num_left_out);

	if (length <= 0 || ftruncate(fd, 0) || pwrite(fd, text, (size_t)length, 0) != length)
		return;
}

static struct archive_holder read_holder(int fd)
{
	struct archive_holder holder = {0};
	char text[64] = "";

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%" SCNu32 " %" SCNd64 " %" SCNu32, &holder.pid, &holder.since_s,
		   &holder.num_left_out) != 3)
		return (struct archive_holder){0};
	return holder;
}

struct archive_holder archive_count_left_out(struct archive *archive)
{
	_cleanup_close_ int fd =
		openat(archive->fd, ARCHIVE_LOCK_NAME, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
	struct archive_holder holder = {0};

	if (fd < 0)
		return holder;
	holder = read_holder(fd);
	holder.num_left_out++;
	write_holder(fd, &holder);
	return holder;
}

/*
 * The lock is tied to this process, and released whenever it ends; forks, which share its open
 * files, do not keep it. The lock's file stays: if it were removed, one program could lock the old
 * file and another one a new file of the same name.
 *
 * Under the lock nobody else writes captures, so each temporary name is left from a killed run. Or
 * it is that of an index that is just being written, which is then written another time.
 */
int archive_lock(struct archive *archive, struct error *error)
{
	struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
	int err;

	archive->lock_fd = openat(archive->fd, ARCHIVE_LOCK_NAME,
				  O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, ARCHIVE_FILE_MODE);
	if (archive->lock_fd < 0)
		return error_set(error, -errno, "cannot lock the archive '%s': %s", archive->path,
				 strerror(errno));
	if (fcntl(archive->lock_fd, F_SETLK, &lock)) {
		err = errno == EAGAIN || errno == EACCES ? -EBUSY : -errno;
		close(archive->lock_fd);
		archive->lock_fd = -1;
		return error_set(error, err, "cannot lock the archive '%s': %s", archive->path,
				 strerror(err == -EBUSY ? EWOULDBLOCK : -err));
	}
	write_holder(archive->lock_fd,
		     &(struct archive_holder){.pid = (uint32_t)getpid(), .since_s = time(NULL)});
	remove_leftovers_beside(archive);
	err = archive_walk(archive, 0, 99991231, remove_leftover, NULL);
	return err ? error_set(error, err, "cannot read the archive '%s': %s", archive->path,
			       strerror(-err))
		   : 0;
}

/* f_bavail, not f_bfree: excludes space that is reserved for root. */
int archive_get_space(const struct archive *archive, uint64_t *ret_free_bytes,
		      uint64_t *ret_total_bytes)
{
	struct statvfs space;

	if (fstatvfs(archive->fd, &space))
		return -errno;
	*ret_free_bytes = (uint64_t)space.f_bavail * space.f_frsize;
	*ret_total_bytes = (uint64_t)space.f_blocks * space.f_frsize;
	return 0;
}

/*
 * Make a folder and open it; closes *fd, its parent. Another program may make the folder at the
 * same moment, which is fine.
 */
static int descend(int *fd, const char *name)
{
	int below = -errno;

	if (mkdirat(*fd, name, FOLDER_MODE) && errno != EEXIST)
		return -errno;
	below = openat(*fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (below < 0)
		return -errno;
	(void)fsync(*fd); /* makes the folder itself durable; the capture's own fsync decides */
	close(*fd);
	*fd = below;
	return 0;
}

/* Open the folder of the capture's day. */
static int open_day(struct archive_file *file)
{
	_cleanup_free_ char *path = strdup(file->name);
	char *rest = path;
	const char *part;

	if (!path)
		return -ENOMEM;
	file->folder_fd = fcntl(file->archive->fd, F_DUPFD_CLOEXEC, 3);
	if (file->folder_fd < 0)
		return -errno;
	/* The last part is the file. */
	while ((part = strsep(&rest, "/")) && rest) {
		int err = descend(&file->folder_fd, part);

		if (err)
			return err;
	}
	return 0;
}

static int open_temporary(struct archive_file *file)
{
	file->fd =
		openat(file->folder_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, ARCHIVE_FILE_MODE);
	if (file->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
		/* NFS and others have no anonymous files. */
		snprintf(file->temporary, sizeof(file->temporary),
			 ARCHIVE_TEMPORARY_PREFIX "%d" ARCHIVE_TEMPORARY_SUFFIX, getpid());
		file->fd = openat(file->folder_fd, file->temporary,
				  O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
				  ARCHIVE_FILE_MODE);
		if (file->fd < 0)
			file->temporary[0] = '\0';
	}
	if (file->fd < 0)
		return -errno;
	return fchmod(file->fd, ARCHIVE_FILE_MODE) ? -errno : 0; /* whatever the umask */
}

/* Choose a name in the folder of its day, and open the future file. */
static int create(struct archive_file *file)
{
	int err;

	if (!file->host || !file->extension)
		return -ENOMEM;
	err = capture_name_make(file->time_s, file->host, 0, file->extension, file->name);
	if (err)
		return err;
	err = open_day(file);
	if (err)
		return err;
	return open_temporary(file);
}

int archive_file_new(struct archive *archive, int64_t time_s, const char *host,
		     const char *extension, struct archive_file **ret, struct error *error)
{
	struct archive_file *file = calloc(1, sizeof(*file));
	int err;

	if (!file)
		return error_set(error, -ENOMEM, "out of memory");
	file->archive = archive;
	file->time_s = time_s;
	file->fd = file->folder_fd = -1;
	file->host = strdup(host);
	file->extension = strdup(extension);
	err = create(file);
	if (err) {
		archive_file_free(file);
		return error_set(error, err, "cannot write to the archive '%s': %s", archive->path,
				 strerror(-err));
	}
	*ret = file;
	return 0;
}

int archive_file_write(struct archive_file *file, const void *data, size_t size)
{
	return file_write_fd(file->fd, data, size);
}

/*
 * Give the file its name, if that is free. Returns 0 or negative errno. Neither way replaces a
 * file: linkat() never does, and renameat2() gets RENAME_NOREPLACE.
 */
static int link_file(struct archive_file *file)
{
	const char *name = path_basename(file->name);
	char descriptor[64];

	if (file->temporary[0]) {
		if (renameat2(file->folder_fd, file->temporary, file->folder_fd, name,
			      RENAME_NOREPLACE))
			return -errno;
		file->temporary[0] = '\0';
		return 0;
	}
	snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, descriptor, file->folder_fd, name, AT_SYMLINK_FOLLOW) ? -errno : 0;
}

/* The bytes first, then the name, then the folder: see above. */
int archive_file_commit(struct archive_file *file, struct error *error)
{
	int err = fsync(file->fd) ? -errno : link_file(file);

	for (uint32_t copy = 2; err == -EEXIST && copy < MAX_COPIES; copy++) {
		err = capture_name_make(file->time_s, file->host, copy, file->extension,
					file->name);
		if (!err)
			err = link_file(file);
	}
	if (!err && fsync(file->folder_fd))
		err = -errno;
	if (err)
		return error_set(error, err, "cannot write '%s/%s': %s", file->archive->path,
				 file->name, strerror(-err));
	file->is_committed = true;
	return 0;
}

void archive_file_free(struct archive_file *file)
{
	if (!file)
		return;
	if (file->temporary[0])
		(void)unlinkat(file->folder_fd, file->temporary, 0); /* if this fails, the next
									run does it */
	if (file->fd >= 0)
		close(file->fd);
	if (file->folder_fd >= 0)
		close(file->folder_fd);
	free(file->host);
	free(file->extension);
	free(file);
}

const char *archive_file_get_name(const struct archive_file *file)
{
	return file->name;
}

int archive_file_rewind(struct archive_file *file)
{
	return lseek(file->fd, 0, SEEK_SET) < 0 || ftruncate(file->fd, 0) ? -errno : 0;
}

void archive_file_add_fds(const struct archive_file *file, struct fd_list *fds)
{
	fd_list_add(fds, file->fd);
}

uint64_t archive_file_get_size(const struct archive_file *file)
{
	struct stat status;

	return fstat(file->fd, &status) ? 0 : (uint64_t)status.st_size;
}

int archive_file_describe(const struct archive_file *file, struct archive_capture *ret)
{
	struct stat status;

	if (fstat(file->fd, &status))
		return -errno;
	*ret = (struct archive_capture){.name = (char *)(uintptr_t)file->name,
					.time_s = file->time_s};
	archive_capture_measure(ret, &status);
	return 0;
}

int archive_file_reopen(const struct archive_file *file)
{
	return file_open_found(file->fd);
}
