/*
 * The index is text, so that people can read it:
 *
 *	KIND
 *	NAME SIZE CHANGED_NS CHECKSUM TEXT
 *	…
 *
 * The first three fields are the key of a text. They are never parsed: the key of a capture on the
 * disk is written the same way, and must be the same, byte for byte. So whatever an index claims,
 * it cannot refer to a capture that does not exist. The checksum detects damage by a full disk, a
 * power cut or an editor.
 *
 * Appending is one write; two programs may do it at once. A rewritten index becomes visible by a
 * rename, so that a reader sees the old index or the new one.
 */
#include "archive/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "archive/archive_folder.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/text.h"

/* A million captures: ten years of one every five minutes. */
#define MAX_BYTES (256u << 20)
/* "NAME SIZE CHANGED_NS", with the longest name and numbers. */
#define KEY_BYTES       (CAPTURE_NAME_BYTES + 48)
#define CHECKSUM_DIGITS 16
/* Staleness is checked once per this number of lines, since it needs a list of all captures. */
#define LINES_BETWEEN_LOOKS 64

struct index_line {
	const char *key;
	const char *text;
};

struct archive_index {
	uid_t owner;                    /* of the file; ours if there is no file */
	struct text bytes;              /* keys and texts in it end in NUL */
	ARRAY(struct index_line) lines; /* sorted by key; with equal keys, the later line is
					   behind */
};

static void make_key(const struct archive_capture *capture, char ret[KEY_BYTES])
{
	snprintf(ret, KEY_BYTES, "%s %" PRIu64 " %" PRId64, capture->name, capture->length_bytes,
		 capture->changed_ns);
}

static uint64_t sum_up(const char *key, const char *text)
{
	return hash_mix(hash_bytes(key, strlen(key)), hash_bytes(text, strlen(text)));
}

/* ---- reading ---- */

/*
 * Anyone else who can write to the index could make up the content of captures; the owner of the
 * folder can do that anyway. If the file has several names, others may belong to something else,
 * which must not be appended to.
 */
static bool is_trusted(const struct archive *archive, const struct stat *status)
{
	struct stat folder;

	if (status->st_nlink != 1 || status->st_mode & (S_IWGRP | S_IWOTH))
		return false;
	if (status->st_uid == 0 || status->st_uid == geteuid())
		return true;
	return !fstat(archive->fd, &folder) && status->st_uid == folder.st_uid;
}

static bool has_kind(const struct text *bytes, const char *kind)
{
	size_t length = strlen(kind);

	return bytes->length > length && !memcmp(bytes->data, kind, length) &&
	       bytes->data[length] == '\n';
}

/*
 * ret_owner  its writer, beside root
 * ret_fd     of the file, which the caller closes
 *
 * Returns 0, -ENOENT if there is no trusted index of this kind, or another negative errno.
 */
static int read_bytes(const struct archive *archive, const char *kind, struct text *ret,
		      uid_t *ret_owner, int *ret_fd)
{
	struct stat status;
	_cleanup_close_ int fd =
		file_open_regular(archive->fd, ARCHIVE_INDEX_NAME, O_NOFOLLOW, &status);
	int err;

	if (fd < 0)
		return fd;
	if (!is_trusted(archive, &status))
		return -ENOENT;
	err = file_read_fd(fd, MAX_BYTES, ret);
	if (err)
		return err;
	if (!has_kind(ret, kind))
		return -ENOENT;
	*ret_owner = status.st_uid;
	*ret_fd = fd;
	fd = -1;
	return 0;
}

/* The rest of a line behind a field and its blank; NULL without a blank. */
static char *skip_field(char *rest)
{
	char *blank = rest ? strchr(rest, ' ') : NULL;

	return blank ? blank + 1 : NULL;
}

/* Parse a line. Returns whether it is complete. */
static bool read_line(char *line, struct index_line *ret)
{
	char *checksum = skip_field(skip_field(skip_field(line)));
	uint64_t sum;

	if (!checksum || hex_read(checksum, strlen(checksum), &sum) != CHECKSUM_DIGITS ||
	    checksum[CHECKSUM_DIGITS] != ' ')
		return false;
	checksum[-1] = '\0';
	*ret = (struct index_line){line, checksum + CHECKSUM_DIGITS + 1};
	return sum_up(ret->key, ret->text) == sum;
}

static int compare_lines(const void *left, const void *right)
{
	const struct index_line *a = left;
	const struct index_line *b = right;
	int order = strcmp(a->key, b->key);

	return order ? order : (a->key > b->key) - (a->key < b->key);
}

/* A last line without newline is incomplete. Returns 0 or -ENOMEM. */
static int read_lines(struct archive_index *index)
{
	char *next = memchr(index->bytes.data, '\n', index->bytes.length);
	const char *end = index->bytes.data + index->bytes.length;
	char *newline;

	for (next = next ? next + 1 : NULL;
	     next && (newline = memchr(next, '\n', (size_t)(end - next))); next = newline + 1) {
		struct index_line line;
		struct index_line *added;

		*newline = '\0';
		if (!read_line(next, &line))
			continue;
		added = array_add(&index->lines);
		if (!added)
			return -ENOMEM;
		*added = line;
	}
	if (index->lines.length)
		qsort(index->lines.items, index->lines.length, sizeof(*index->lines.items),
		      compare_lines);
	return 0;
}

/* Takes the bytes, which may be empty. */
static int make(struct text *bytes, uid_t owner, struct archive_index **ret)
{
	struct archive_index *index = calloc(1, sizeof(*index));

	if (!index)
		return -ENOMEM;
	index->owner = owner;
	index->bytes = *bytes;
	*bytes = (struct text){0};
	if (index->bytes.data && read_lines(index)) {
		archive_index_free(index);
		return -ENOMEM;
	}
	*ret = index;
	return 0;
}

int archive_index_new(const struct archive *archive, const char *kind, struct archive_index **ret)
{
	_cleanup_(text_release) struct text bytes = {0};
	_cleanup_close_ int fd = -1;
	uid_t owner = geteuid();
	int err = read_bytes(archive, kind, &bytes, &owner, &fd);

	if (err == -ENOMEM)
		return err;
	if (err)
		text_release(&bytes);
	return make(&bytes, owner, ret);
}

void archive_index_free(struct archive_index *index)
{
	if (!index)
		return;
	array_release(&index->lines);
	text_release(&index->bytes);
	free(index);
}

/*
 * Whether the index's claims about a capture count: only if its owner could write the capture, too.
 */
static bool has_say(uid_t owner, const struct archive_capture *capture)
{
	return owner == 0 || owner == geteuid() || owner == capture->owner;
}

const char *archive_index_find(const struct archive_index *index,
			       const struct archive_capture *capture)
{
	char key[KEY_BYTES];
	const struct index_line *last;
	size_t count;

	make_key(capture, key);
	count = array_count_front(&index->lines, line, strcmp(line->key, key) <= 0);
	last = count ? &index->lines.items[count - 1] : NULL;
	return last && string_equals(last->key, key) && has_say(index->owner, capture) ? last->text
										       : NULL;
}

/* ---- writing ---- */

/* Owner of a new index. */
static uid_t choose_owner(const struct archive *archive)
{
	struct stat folder;

	return geteuid() || fstat(archive->fd, &folder) ? geteuid() : folder.st_uid;
}

/*
 * Whether root may show the owner of an index the content of a capture; other users have read it
 * themselves.
 */
static bool may_disclose(uid_t owner, const struct archive_capture *capture)
{
	return geteuid() || owner == 0 || owner == capture->owner;
}

static bool is_line_text(const char *text)
{
	size_t length = strlen(text);

	for (size_t i = 0; i < length; i++)
		if ((unsigned char)text[i] < ' ')
			return false;
	return length <= ARCHIVE_INDEX_MAX_TEXT;
}

static void append_line(struct text *bytes, const struct archive_capture *capture, const char *text)
{
	char key[KEY_BYTES];

	make_key(capture, key);
	text_printf(bytes, "%s %016" PRIx64 " ", key, sum_up(key, text));
	text_append_string(bytes, text);
	text_append_char(bytes, '\n');
}

/*
 * Replace the index. If root has made it, it goes to the owner of the folder, who also makes the
 * captures. Otherwise it could not be read there, and would be replaced in turn.
 */
static int replace(const struct archive *archive, uid_t owner, const struct text *bytes)
{
	_cleanup_close_ int fd = -1;
	char temporary[64];
	int err;

	snprintf(temporary, sizeof(temporary),
		 ARCHIVE_TEMPORARY_PREFIX "%d" ARCHIVE_TEMPORARY_SUFFIX, getpid());
	fd = openat(archive->fd, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
		    ARCHIVE_FILE_MODE);
	if (fd < 0)
		return -errno;
	if (owner != geteuid())
		(void)!fchown(fd, owner, (gid_t)-1); /* if this fails, it stays ours */
	err = fchmod(fd, ARCHIVE_FILE_MODE) ? -errno
					    : file_write_fd(fd, bytes->data, bytes->length);
	if (!err && renameat(archive->fd, temporary, archive->fd, ARCHIVE_INDEX_NAME))
		err = -errno;
	if (err)
		(void)unlinkat(archive->fd, temporary, 0); /* if this fails, the next capture
							      does it */
	return err;
}

/* Rewrite the index with useful lines only: one for each existing capture. Takes the bytes. */
static int write_anew(const struct archive *archive, const char *kind, struct text *bytes)
{
	_cleanup_(archive_index_freep) struct archive_index *index = NULL;
	_cleanup_(archive_list_release) struct archive_list list = {0};
	_cleanup_(text_release) struct text lines = {0};
	uid_t owner = choose_owner(archive);
	int err = archive_list_init(&list, archive, INT64_MIN, INT64_MAX, NULL);

	if (err)
		return err;
	err = make(bytes, geteuid(), &index);
	if (err)
		return err;
	text_printf(&lines, "%s\n", kind);
	array_for_each (&list.captures, capture) {
		const char *text = archive_index_find(index, capture);

		if (text && may_disclose(owner, capture))
			append_line(&lines, capture, text);
	}
	if (lines.failed)
		return -ENOMEM;
	return lines.length <= MAX_BYTES ? replace(archive, owner, &lines) : -EFBIG;
}

/* An incomplete line is removed again, or else recognized as damaged. */
static int append(int fd, const struct text *bytes, size_t old_length)
{
	_cleanup_close_ int end = -1;
	char descriptor[64];
	int err;

	snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", fd);
	end = open(descriptor, O_WRONLY | O_APPEND | O_CLOEXEC);
	if (end < 0)
		return -errno;
	err = file_write_fd(end, bytes->data + old_length, bytes->length - old_length);
	if (err)
		(void)!ftruncate(end, (off_t)old_length);
	return err;
}

static size_t count_lines(const struct text *bytes)
{
	size_t count = 0;

	for (size_t i = 0; i < bytes->length; i++)
		count += bytes->data[i] == '\n';
	return count;
}

/*
 * Whether most lines are of captures that are gone; checked only every LINES_BETWEEN_LOOKS lines.
 */
static bool is_mostly_stale(const struct archive *archive, size_t num_before, size_t num_lines)
{
	_cleanup_(archive_list_release) struct archive_list list = {0};

	if (num_before / LINES_BETWEEN_LOOKS == num_lines / LINES_BETWEEN_LOOKS ||
	    archive_list_init(&list, archive, INT64_MIN, INT64_MAX, NULL))
		return false;
	return num_lines / 2 > list.captures.length;
}

int archive_index_add(const struct archive *archive, const char *kind,
		      const struct archive_index_line *lines, size_t num_lines)
{
	_cleanup_(text_release) struct text bytes = {0};
	_cleanup_close_ int fd = -1;
	size_t old_length;
	size_t num_before;
	uid_t owner = choose_owner(archive);
	int err = read_bytes(archive, kind, &bytes, &owner, &fd);

	if (err == -ENOMEM)
		return err;
	if (err) {
		text_truncate(&bytes, 0);
		text_printf(&bytes, "%s\n", kind);
	}
	old_length = bytes.length;
	num_before = count_lines(&bytes);
	if (old_length && bytes.data[old_length - 1] != '\n') /* the last line is incomplete */
		text_append_char(&bytes, '\n');
	for (size_t i = 0; i < num_lines; i++)
		if (is_line_text(lines[i].text) && may_disclose(owner, lines[i].capture))
			append_line(&bytes, lines[i].capture, lines[i].text);
	if (bytes.failed)
		return -ENOMEM;
	if (bytes.length == old_length)
		return 0;
	if (err || bytes.length > MAX_BYTES ||
	    is_mostly_stale(archive, num_before, count_lines(&bytes)))
		return write_anew(archive, kind, &bytes);
	return append(fd, &bytes, old_length);
}
