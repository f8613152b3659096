/*
 * Files that are mapped executable by any process. Each is opened when it is first seen, through
 * the view of the process that maps it. So even after the process is gone, the table has the bytes
 * of a file that is deleted, replaced, or visible only in a container.
 *
 * Not thread-safe.
 */
#ifndef PROCESS_FILE_TABLE_H
#define PROCESS_FILE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/clock.h"
#include "process/file_version.h"

#define FILE_BUILD_ID_MAX_BYTES 20
#define FILE_NONE               UINT32_MAX /* memory without a file */

struct file_table;
struct slow_opener;

/* The identity of a file by one of its mappings. Zero fields are unknown. */
struct file_identity {
	const char *path; /* as the process sees it; "[vdso]" for the vdso. Borrowed for the call */
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* in bytes; an ID of zero bytes only counts as unknown */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
};

/* Address range of a mapping of a file. */
struct mapped_range {
	pid_t pid;
	pid_t parent_pid; /* 0 when unknown */
	uint64_t start;
	uint64_t end;     /* first byte after it */
	uint64_t time_ns; /* when it was mapped; 0 when unknown */
};

struct mapped_file {
	char *path; /* without the kernel's " (deleted)" */
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t build_id_size;
	/* From fstat() if the file is open, else from the mapping. */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	int fd; /* open for reading, owned by the table; -1 when it could not be opened (yet) */
	uid_t owner;           /* file_owner_get(); FILE_OWNER_UNKNOWN if not open */
	bool build_id_differs; /* a file was found at the path, but not the mapped one */
	bool is_copy;          /* fd is a copy of ours, which nobody changes */
	bool is_elf;
	bool is_watched;      /* file_table_watch() sees when it is written */
	bool was_overwritten; /* by the watch: fd has another content */
	/* The content that is mapped, if the file is open: fd may have another one by now. */
	struct file_version version;
	uint64_t first_ns;     /* if not open: time of its first mapping */
	uint64_t num_lost;     /* as the listener counts, when it was reported */
	bool was_opened_later; /* if not open: as another entry, since its owner is not trusted */
};

/*
 * Whether an open file still has the content that is mapped, by the watch, its size and
 * modification time. Readers ask this after reading, and drop the data if the content is another one.
 */
bool mapped_file_is_unchanged(const struct mapped_file *file);

/*
 * Whether that is certain (also if nobody watched it): after file_table_settle(), by the time of its
 * last change, too. For files without a build ID.
 *
 * version   the present one
 */
bool mapped_file_has_version(const struct mapped_file *file, const struct file_version *version);

/*
 * Reads the build ID of an open ELF file: returns 0 or negative errno, and sets the id (at most
 * FILE_BUILD_ID_MAX_BYTES) and its size. Called for each file that the table may keep, once it is open.
 */
struct file_build_id_reader {
	int (*read)(void *context, int fd, uint8_t *build_id, uint8_t *size);
	void *context;
};

/*
 * proc_root  folder that contains PID/…: "/proc", or a test's copy of one. Copied.
 * reader      given by the owner because reading ELF is the room objfile's job. Copied. May be
 *             NULL:
 *             then files at a path are distinguished by inode only.
 *
 * At most the soft limit of open files minus 256 are kept open (64 at least); the limit is read
 * here. The processes of a user other than root get at most as many as they leave to others. NULL
 * when out of memory.
 */
struct file_table *file_table_new(const char *proc_root, const struct file_build_id_reader *reader);
void file_table_free(struct file_table *table);

/*
 * From now on another process opens files that may hang, with a deadline of a second
 * (slow_opener.h). Returns 0 or negative errno.
 */
_must_check_ int file_table_start_opener(struct file_table *table);

/* A mapped file that was opened, and was not known with this content. Borrowed for the call. */
struct opened_mapping {
	const char *path; /* without the kernel's " (deleted)" */
	int fd;           /* open for reading; the table may close it after the call */
	/* As in struct mapped_file. */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	uid_t owner;
	bool is_copy;
	bool is_elf;
	bool is_again; /* it was known, and the listener has lost it */
	struct file_version version;
	const struct mapped_range *range;
};

/*
 * Called for each file that is opened, also if it turns out to be the same as another one, such as
 * the copy of a file in another container. It may be called again for the same one.
 */
struct opened_listener {
	void (*on_opened)(const struct opened_mapping *mapping, void *context);
	/*
	 * How often the listener has lost a file since. If that has grown since a content was reported,
	 * its next mapping is reported, too. NULL: never.
	 */
	uint64_t (*count_lost)(dev_t device, ino_t inode, void *context);
	void *context;
};

/* The listener is copied. */
void file_table_set_listener(struct file_table *table, const struct opened_listener *listener);

/* The opener, for other slow files. Borrowed; NULL: not started. */
struct slow_opener *file_table_get_opener(const struct file_table *table);

/*
 * The number of the file that a process maps. Opens it when it is first seen. Tries
 * /proc/PID/map_files/START-END, /proc/PID/root/PATH, then the same through the parent's root and
 * our own; a path is taken only when its identity agrees. A file that could not be opened is tried
 * again when it is seen again.
 *
 * Files are the same if path, device and inode are equal (from fstat() if they are open). They also
 * are if path, build ID and owner are equal, as in containers of one image. Two contents of one inode
 * are two files: build IDs tell them apart, or else, if they are ELF, size and modification time.
 * Path and build ID alone prove nothing: anybody can make a file with both. So each mapping's file is
 * examined, unless the kernel reports the device and inode of an open file with that content. Without
 * a build ID, a content that was written after the mapping is refused. If the file cannot be examined
 * (for example, the process is gone), a known file with the same path and build ID is used, if root
 * or we own it.
 *
 * ret   FILE_NONE when the path is one of the kernel's names for memory: "", "//anon", "[heap]",
 *       "/SYSV00000000", "anon_inode:…", …; also for a "/memfd:…" that cannot be opened
 *
 * Returns 0 or -ENOMEM. A file that cannot be opened is no failure: its fd is -1.
 */
_must_check_ int file_table_add(struct file_table *table, const struct mapped_range *range,
				const struct file_identity *identity, uint32_t *ret);

/*
 * Add a file of a recording that is read, under the next number. The caller searches for it and
 * calls file_table_set_found(). Not to be mixed with file_table_add() in one table.
 *
 * identity  path and build ID, as they were recorded
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int file_table_add_sought(struct file_table *table,
				       const struct file_identity *identity);

/*
 * The result of the search.
 *
 * fd                 open for reading, or -1: not found. The table takes ownership, and closes
 *                    it when too many are open
 * build_id_differs   another file was found in its place
 */
void file_table_set_found(struct file_table *table, uint32_t file, int fd, bool build_id_differs);

/*
 * A file that is overwritten in place is so in the processes that have mapped it, too, without an
 * event of the kernel. file_table_watch() watches all open ELF files from now on. Returns a descriptor
 * that is readable when one was written, borrowed; or negative errno.
 *
 * Limit: files that are written through a shared mapping are not noticed.
 */
int file_table_watch(struct file_table *table);

/* Pause after which a file that was written counts as complete. */
#define FILE_WRITE_PAUSE_NS (50 * NS_PER_MS)

/* A change of a watched file, to be applied to its mappings. */
struct written_file {
	uint64_t time_ns; /* from then on, the file had no or other content */
	uint32_t file;    /* one with the device and inode */
	bool is_complete; /* it has not been written for a moment */
};

/*
 * Take the next change. Returns false if there was no change. To be called when the descriptor is
 * readable, and now and then.
 */
bool file_table_take_written(struct file_table *table, uint64_t now_ns, struct written_file *ret);

/*
 * The number of the content that a mapping has after the change: the present one, or, if it is not
 * complete, that of a file with build_id_differs. Returns 0 or -ENOMEM.
 */
_must_check_ int file_table_find_written(struct file_table *table,
					 const struct written_file *written,
					 const struct mapped_range *range, uint32_t *ret);

/*
 * Links, renames and permissions change the time of a file's last change: take the present one for
 * files that were watched, and not written. To be called before mapped_file_has_version().
 */
void file_table_settle(struct file_table *table);

/* Borrowed until the next file_table_add(). */
const struct mapped_file *file_table_get(const struct file_table *table, uint32_t file);
uint32_t file_table_get_count(const struct file_table *table);

/*
 * Number of files that no mapping of them could be opened by, as they were gone, for example.
 * Includes those of file_table_get_unopened_count().
 */
uint64_t file_table_count_unseen(const struct file_table *table);

/* Number of files that were not opened because of the limit of open files. */
uint64_t file_table_get_unopened_count(const struct file_table *table);

#endif
