#include "process/file_version.h"

#include <errno.h>
#include <sys/stat.h>

#include "base/clock.h"

int file_version_read(int fd, struct file_version *ret)
{
	struct stat status;

	if (fstat(fd, &status))
		return -errno;
	*ret = (struct file_version){
		.num_bytes = (uint64_t)status.st_size,
		.modified = status.st_mtim,
		.changed = status.st_ctim,
	};
	return 0;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

bool file_version_looks_same(const struct file_version *a, const struct file_version *b)
{
	return a->num_bytes == b->num_bytes && is_same_time(&a->modified, &b->modified);
}

bool file_version_is_same(const struct file_version *a, const struct file_version *b)
{
	return file_version_looks_same(a, b) && is_same_time(&a->changed, &b->changed);
}

/* 0: before the epoch */
static uint64_t get_ns(const struct timespec *time)
{
	return time->tv_sec < 0 ? 0
				: (uint64_t)time->tv_sec * NS_PER_SECOND + (uint64_t)time->tv_nsec;
}

/* Times of the calendar are compared: those of a file may be from before the machine's start. */
bool file_version_is_newer(const struct file_version *version, uint64_t time_ns)
{
	uint64_t modified_ns = get_ns(&version->modified);
	uint64_t changed_ns = get_ns(&version->changed);
	uint64_t written_ns = modified_ns < changed_ns ? modified_ns : changed_ns;
	uint64_t now_ns = clock_now_ns();
	uint64_t calendar_ns = clock_read_ns(CLOCK_REALTIME);

	return time_ns < now_ns && written_ns <= calendar_ns &&
	       calendar_ns - written_ns < now_ns - time_ns;
}
