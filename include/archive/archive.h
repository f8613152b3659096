/*
 * A folder of captures, made one at a time over years: written, listed by time, expired.
 *
 * A capture appears whole or not at all. If a run is interrupted, the archive stays as it was, and
 * the next run removes leftovers. Times are UTC, so that neither daylight saving nor a wrong time
 * zone causes confusion. Only files with a capture's name (capture_name_read()) are ever read or
 * removed; symbolic links are not followed below the folder.
 *
 * Not thread-safe. Only one program at a time may write, which the lock ensures.
 */
#ifndef ARCHIVE_ARCHIVE_H
#define ARCHIVE_ARCHIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/array.h"
#include "base/attributes.h"
#include "base/error.h"

struct archive;
struct fd_list;
struct archive_file;

struct archive_capture {
	char *name; /* below the archive's folder */
	int64_t time_s;
	uint64_t size_bytes;   /* on the disk */
	uint64_t length_bytes; /* of the file */
	int64_t changed_ns;    /* when it was last written to, since 1970 */
	uid_t owner;
};

/* The lock's file, in the archive's folder. */
#define ARCHIVE_LOCK_NAME ".stackwide.lock"

/*
 * is_new  create the folder if needed (its parent must exist)
 *
 * Returns 0 or negative errno with the reason in error.
 */
_must_check_ int archive_open(const char *path, bool is_new, struct archive **ret,
			      struct error *error);
void archive_free(struct archive *archive);
static inline void archive_freep(struct archive **archive)
{
	archive_free(*archive);
}

/*
 * Become the only writer, until archive_free() or any end of the program. Removes leftovers of a
 * killed run.
 *
 * Returns 0, -EBUSY if there is another writer, or another negative errno; with the reason in
 * error.
 */
_must_check_ int archive_lock(struct archive *archive, struct error *error);

/* The holder of the lock, as far as it is known: zero is unknown. */
struct archive_holder {
	uint32_t pid;
	int64_t since_s;       /* since 1970, UTC */
	uint32_t num_left_out; /* consecutive runs that have found it locked */
};

/* After -EBUSY: count this run among those left out. */
struct archive_holder archive_count_left_out(struct archive *archive);

/*
 * Space on the archive's file system in bytes, as far as we may use it. Returns 0 or negative
 * errno.
 */
_must_check_ int archive_get_space(const struct archive *archive, uint64_t *ret_free_bytes,
				   uint64_t *ret_total_bytes);

/*
 * Start a capture. Nothing is visible yet. Needs the lock.
 *
 * time_s     start time, since 1970, UTC
 * host       name of the machine
 * extension  of the format, with its dot
 *
 * Returns 0 or negative errno with the reason in error.
 */
_must_check_ int archive_file_new(struct archive *archive, int64_t time_s, const char *host,
				  const char *extension, struct archive_file **ret,
				  struct error *error);
/* Returns 0 or negative errno. */
_must_check_ int archive_file_write(struct archive_file *file, const void *data, size_t size);
/* Put it on the disk, and make it visible. Returns 0 or negative errno with the reason in error. */
_must_check_ int archive_file_commit(struct archive_file *file, struct error *error);
/* Without a commit before, the file is gone. NULL is fine. */
void archive_file_free(struct archive_file *file);
/* Below the archive's folder; after the commit, the capture's final name. */
const char *archive_file_get_name(const struct archive_file *file);
/* Discard everything written so far. Returns 0 or negative errno. */
_must_check_ int archive_file_rewind(struct archive_file *file);
/* The descriptor that writing needs (base/confinement.h). */
void archive_file_add_fds(const struct archive_file *file, struct fd_list *fds);
uint64_t archive_file_get_size(const struct archive_file *file);
/*
 * Describe the committed capture, as a list does; the name is borrowed. Returns 0 or negative
 * errno.
 */
_must_check_ int archive_file_describe(const struct archive_file *file,
				       struct archive_capture *ret);
/* Open it for reading. Returns the descriptor, which the caller closes, or negative errno. */
_must_check_ int archive_file_reopen(const struct archive_file *file);

/* Sorted by time, then by name. */
struct archive_list {
	ARRAY(struct archive_capture) captures;
};

/*
 * The captures that started at or after since_s and before until_s.
 *
 * Returns 0 or negative errno with the reason in error.
 */
_must_check_ int archive_list_init(struct archive_list *list, const struct archive *archive,
				   int64_t since_s, int64_t until_s, struct error *error);
void archive_list_release(struct archive_list *list);

struct archive_limits {
	int64_t now_s;
	uint64_t keep_s;         /* 0: captures never get too old */
	uint64_t max_size_bytes; /* of all captures; 0: no limit */
	uint64_t min_free_bytes; /* on the file system; 0: no limit */
};

struct archive_expiry {
	uint32_t num_removed;
	uint64_t removed_bytes;
	uint32_t num_kept;
	uint64_t kept_bytes;
	/* Captures that are too old only by the clock, and an unusual pause until now; 0: none. */
	uint32_t num_spared;
	uint64_t gap_s;
};

/*
 * Remove captures, the oldest first, that are too old, or that exceed the limits; never the newest,
 * nor the one called protected_name (which may be NULL). Needs the lock.
 *
 * The clock may be wrong by years. So a capture's age is the sum of the pauses between captures
 * since it, and until now. Each pause counts as at most a day, or four times the usual pause if
 * that is longer.
 *
 * Returns 0 or negative errno with the reason in error.
 */
_must_check_ int archive_expire(struct archive *archive, const struct archive_limits *limits,
				const char *protected_name, struct archive_expiry *ret,
				struct error *error);

/*
 * The names of captures in an archive, YYYY/MM/DD/HHMMSSZ-HOST.EXTENSION: start time of the
 * capture, in UTC, and host. Files with other names are not ours.
 */

#define CAPTURE_NAME_BYTES 320

/*
 * Write "2026/11/21/030512Z-web1.pb.gz".
 *
 * time_s     since 1970, UTC
 * host       characters other than letters, digits, dot, dash and underscore become dashes;
 *            truncated to 200 bytes
 * copy       from 2 on, for further captures of one second: "030512Z-web1.2.pb.gz"; else 0
 * extension  with its dot
 *
 * Returns 0 or -ERANGE (a year without exactly four digits).
 */
_must_check_ int capture_name_make(int64_t time_s, const char *host, uint32_t copy,
				   const char *extension, char ret[CAPTURE_NAME_BYTES]);

/* Whether it is the name of a folder for years, months or days: all digits, in range. */
bool capture_name_is_year(const char *name, int *ret);
bool capture_name_is_month(const char *name, int *ret);
bool capture_name_is_day(const char *name, int *ret);

/*
 * Whether a name in the folder of a day is that of a capture; in any format that can be written.
 *
 * ret_time_s  its start
 */
bool capture_name_read(int year, int month, int day, const char *name, int64_t *ret_time_s);

/*
 * Texts that a program has derived from the captures of an archive, one line each, in a file beside
 * them: so the captures need not be read again for it.
 *
 * The captures are authoritative, also about their existence. A text counts only for a capture with
 * the same name, size and time of change as the one it was made from. An index that is
 * missing, damaged, of other users or of another kind counts as empty. So no lock is needed: two
 * programs that write at once may lose lines, but lines are made again.
 *
 * Not thread-safe, except for reading.
 */

/* The index's file, in the archive's folder. */
#define ARCHIVE_INDEX_NAME ".stackwide.index"

/* Limit of a text, in bytes. */
#define ARCHIVE_INDEX_MAX_TEXT (32u << 10)

struct archive_index;

/*
 * Read it.
 *
 * kind  describes the texts, in a line: an index of another kind is empty
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int archive_index_new(const struct archive *archive, const char *kind,
				   struct archive_index **ret);
void archive_index_free(struct archive_index *index);
static inline void archive_index_freep(struct archive_index **index)
{
	archive_index_free(*index);
}

/* The text of a capture as it is now, or NULL; borrowed from the index. */
const char *archive_index_find(const struct archive_index *index,
			       const struct archive_capture *capture);

struct archive_index_line {
	const struct archive_capture *capture;
	const char *text;
};

/*
 * Add lines. They are appended. If there is no index of this kind, or most of its lines are of
 * removed captures, it is rewritten with the lines of present ones.
 *
 * A text with control characters or of excessive length is skipped. When root adds lines, so is a
 * text of a capture that the index's owner may not read.
 *
 * Returns 0 or negative errno: -EACCES and -EROFS are usual for users who may only read.
 */
_must_check_ int archive_index_add(const struct archive *archive, const char *kind,
				   const struct archive_index_line *lines, size_t num_lines);

#endif
