#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "archive/archive_folder.h"
#include "base/text.h"

#define MAX_TOO_OLD 50

struct expiry {
	struct archive *archive;
	const struct archive_limits *limits;
	const char *protected_name;
	struct archive_list list;
	struct archive_expiry result;
	uint32_t num_too_old; /* that were removed */
};

/* The folders of day, month and year, as far as nothing is left in them. */
static void remove_folders(struct archive *archive, const char *name)
{
	_cleanup_free_ char *path = strdup(name);
	char *slash;

	while (path && (slash = strrchr(path, '/'))) {
		*slash = '\0';
		if (unlinkat(archive->fd, path, AT_REMOVEDIR))
			return;
	}
}

static bool is_too_old(const struct expiry *expiry, const struct archive_capture *capture)
{
	int64_t age_s;

	if (!expiry->limits->keep_s || expiry->num_too_old == MAX_TOO_OLD)
		return false;
	return !__builtin_sub_overflow(expiry->limits->now_s, capture->time_s, &age_s) &&
	       age_s > 0 && (uint64_t)age_s > expiry->limits->keep_s;
}

static bool is_space_short(const struct expiry *expiry)
{
	uint64_t free_bytes;
	uint64_t total_bytes;

	return expiry->limits->min_free_bytes &&
	       !archive_get_space(expiry->archive, &free_bytes, &total_bytes) &&
	       free_bytes < expiry->limits->min_free_bytes;
}

static bool is_protected(const struct expiry *expiry, size_t index)
{
	const struct archive_capture *capture = &expiry->list.captures.items[index];

	return index + 1 == expiry->list.captures.length ||
	       (expiry->protected_name && string_equals(capture->name, expiry->protected_name));
}

/* Whether a capture has to go, the older ones being gone. */
static bool must_go(struct expiry *expiry, const struct archive_capture *capture)
{
	if (is_too_old(expiry, capture)) {
		expiry->num_too_old++;
		return true;
	}
	return (expiry->limits->max_size_bytes &&
		expiry->result.kept_bytes > expiry->limits->max_size_bytes) ||
	       is_space_short(expiry);
}

/* Not through a symbolic link, which somebody may have put in a folder's place just now. */
static int remove_file(const struct archive *archive, const char *name)
{
	struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
			       .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_BENEATH};
	_cleanup_free_ char *path = strdup(name);
	_cleanup_close_ int folder_fd = -1;
	char *slash = path ? strrchr(path, '/') : NULL;

	if (!slash)
		return -ENOMEM;
	*slash = '\0';
	folder_fd = (int)syscall(SYS_openat2, archive->fd, path, &how, sizeof(how));
	if (folder_fd < 0)
		return -errno;
	return unlinkat(folder_fd, slash + 1, 0) && errno != ENOENT ? -errno : 0;
}

static int remove_capture(struct expiry *expiry, const struct archive_capture *capture)
{
	int err = remove_file(expiry->archive, capture->name);

	if (err)
		return err;
	remove_folders(expiry->archive, capture->name);
	expiry->result.num_removed++;
	expiry->result.removed_bytes += capture->size_bytes;
	expiry->result.num_kept--;
	expiry->result.kept_bytes -= capture->size_bytes;
	return 0;
}

int archive_expire(struct archive *archive, const struct archive_limits *limits,
		   const char *protected_name, struct archive_expiry *ret, struct error *error)
{
	struct expiry expiry = {
		.archive = archive, .limits = limits, .protected_name = protected_name};
	int err = archive_list_init(&expiry.list, archive, INT64_MIN, INT64_MAX, error);

	if (err)
		return err;
	expiry.result.num_kept = (uint32_t)expiry.list.captures.length;
	array_for_each (&expiry.list.captures, capture)
		expiry.result.kept_bytes += capture->size_bytes;
	for (size_t i = 0; i < expiry.list.captures.length; i++) {
		const struct archive_capture *capture = &expiry.list.captures.items[i];

		if (is_protected(&expiry, i) || !must_go(&expiry, capture))
			continue;
		err = remove_capture(&expiry, capture);
		if (err)
			break;
	}
	archive_list_release(&expiry.list);
	*ret = expiry.result;
	return err ? error_set(error, err, "cannot remove old captures of '%s': %s", archive->path,
			       strerror(-err))
		   : 0;
}
