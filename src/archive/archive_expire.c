/*
 * The captures to remove are chosen from a list that is made once, the oldest first, by counting
 * down from the totals. Free space is asked for again before each removal, since others write to
 * the file system, too, and a removed file may still be held open.
 *
 * Two things guard against a wrong clock. The newest capture is always kept, and the age is
 * computed from the captures, too: a clock in the year 2038 makes a pause of years, during which
 * nothing aged.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <string.h>
#include <sys/syscall.h>

#include "archive/archive_folder.h"
#include "base/text.h"

struct expiry {
	struct archive *archive;
	const struct archive_limits *limits;
	const char *protected_name;
	struct archive_list list;
	struct archive_expiry result;
	ARRAY(uint64_t) ages_s; /* of each capture */
};

#define DAY_S       86400
#define LONG_PAUSES 4 /* a pause this many times the usual one does not count as age */

static int compare_pauses(const void *left, const void *right)
{
	uint64_t a = *(const uint64_t *)left;
	uint64_t b = *(const uint64_t *)right;

	return (a > b) - (a < b);
}

/* Number of captures that are not from the future; those are last. */
static size_t count_past(const struct expiry *expiry)
{
	size_t count = expiry->list.captures.length;

	while (count && expiry->list.captures.items[count - 1].time_s > expiry->limits->now_s)
		count--;
	return count;
}

/* The limit of a pause. ages_s is used for the pauses, before it gets the ages. */
static uint64_t get_longest_pause(struct expiry *expiry, size_t count)
{
	const struct archive_capture *captures = expiry->list.captures.items;
	uint64_t *pauses = expiry->ages_s.items;
	uint64_t longest = 0;

	for (size_t i = 0; i + 1 < count; i++)
		pauses[i] = (uint64_t)(captures[i + 1].time_s - captures[i].time_s);
	if (count > 2) {
		qsort(pauses, count - 1, sizeof(*pauses), compare_pauses);
		longest = LONG_PAUSES * pauses[(count - 1) / 2];
	}
	return longest > DAY_S ? longest : DAY_S;
}

/* Captures from the future have no age: their clock or ours is wrong. Times are read from names. */
static int measure_ages(struct expiry *expiry)
{
	const struct archive_capture *captures = expiry->list.captures.items;
	size_t count = count_past(expiry);
	uint64_t longest;
	uint64_t age_s = 0;

	for (size_t i = 0; i < expiry->list.captures.length; i++) {
		uint64_t *added = array_add(&expiry->ages_s);

		if (!added)
			return -ENOMEM;
		*added = 0;
	}
	if (!count)
		return 0;
	longest = get_longest_pause(expiry, count);
	for (size_t i = count; i-- > 0;) {
		int64_t next_s = i + 1 < count ? captures[i + 1].time_s : expiry->limits->now_s;
		uint64_t pause_s = (uint64_t)next_s - (uint64_t)captures[i].time_s;

		if (i + 1 == count && pause_s > longest)
			expiry->result.gap_s = pause_s;
		age_s += pause_s < longest ? pause_s : longest;
		expiry->ages_s.items[i] = age_s;
	}
	return 0;
}

/* Remove the folders of day, month and year if they are empty. */
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

static bool is_too_old(struct expiry *expiry, size_t index)
{
	const struct archive_capture *capture = &expiry->list.captures.items[index];
	uint64_t keep_s = expiry->limits->keep_s;

	if (!keep_s || capture->time_s > expiry->limits->now_s)
		return false;
	if (expiry->ages_s.items[index] <= keep_s) {
		expiry->result.num_spared +=
			(uint64_t)expiry->limits->now_s - (uint64_t)capture->time_s > keep_s;
		return false;
	}
	return true;
}

/* If the free space cannot be read, nothing is removed for lack of it. */
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

/* Whether a capture must be removed, the older ones being gone. */
static bool must_go(struct expiry *expiry, size_t index)
{
	return is_too_old(expiry, index) ||
	       (expiry->limits->max_size_bytes &&
		expiry->result.kept_bytes > expiry->limits->max_size_bytes) ||
	       is_space_short(expiry);
}

/*
 * Does not follow a symbolic link, which somebody may have put in a folder's place just now. A
 * missing file is fine.
 */
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
	err = measure_ages(&expiry);
	expiry.result.num_kept = (uint32_t)expiry.list.captures.length;
	array_for_each (&expiry.list.captures, capture)
		expiry.result.kept_bytes += capture->size_bytes;
	for (size_t i = 0; !err && i < expiry.list.captures.length; i++) {
		const struct archive_capture *capture = &expiry.list.captures.items[i];

		if (is_protected(&expiry, i) || !must_go(&expiry, i))
			continue;
		err = remove_capture(&expiry, capture);
	}
	if (!expiry.result.num_spared)
		expiry.result.gap_s = 0;
	array_release(&expiry.ages_s);
	archive_list_release(&expiry.list);
	*ret = expiry.result;
	return err ? error_set(error, err, "cannot remove old captures of '%s': %s", archive->path,
			       strerror(-err))
		   : 0;
}
