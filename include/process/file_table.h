/*
 * The files that are mapped executable somewhere, each opened when it is first seen, through
 * the view of the process that maps it. So a file that is deleted, replaced, or visible only in a
 * container still has its bytes when they are wanted, even after the process is gone.
 *
 * Not thread-safe.
 */
#ifndef PROCESS_FILE_TABLE_H
#define PROCESS_FILE_TABLE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"

#define FILE_BUILD_ID_MAX_BYTES 20
#define FILE_NONE               UINT32_MAX /* memory that no file backs */

struct file_table;

/* What a mapping says of its file. Zero fields are unknown. */
struct file_identity {
	const char *path; /* as the process sees it; "[vdso]" for the vdso. Borrowed for the call */
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t build_id_size; /* in bytes; an ID of zero bytes only counts as unknown */
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
};

struct mapped_file {
	char *path; /* without the kernel's " (deleted)" */
	uint8_t build_id[FILE_BUILD_ID_MAX_BYTES];
	uint8_t build_id_size;
	uint32_t dev_major;
	uint32_t dev_minor;
	uint64_t inode;
	int fd; /* open for reading, owned by the table; -1 when it could not be opened (yet) */
	bool build_id_differs; /* a file was found at the path, but not the one that was mapped */
};

/*
 * Reads the build ID of an open ELF file: returns 0 or negative errno, and sets the id (at most
 * FILE_BUILD_ID_MAX_BYTES) and its size.
 */
typedef int (*file_build_id_reader)(int fd, uint8_t *build_id, uint8_t *size);

/*
 * proc_root   folder that holds PID/…: "/proc", or a test's copy of one. Copied.
 * read_build_id   given by the owner because reading ELF is the room objfile's job. May be NULL:
 *                 then files at a path are told apart by inode only.
 *
 * At most the soft limit of open files minus 256 are kept open (64 at least); the limit is read
 * here. NULL when out of memory.
 */
struct file_table *file_table_new(const char *proc_root, file_build_id_reader read_build_id);
void file_table_free(struct file_table *table);

/*
 * The number of the file that process pid maps at [start, end); opened at first sight.
 * Tries /proc/PID/map_files/START-END, /proc/PID/root/PATH, then the same through the parent's
 * root (parent_pid, 0 when unknown) and our own; a path is taken only when its identity agrees.
 * A file that could not be opened is tried again when it is seen again.
 *
 * A file is known again by its build ID and path when the identity has a build ID, else by
 * device, inode and path.
 *
 * ret   FILE_NONE when the path is one of the kernel's names for memory: "", "//anon", "[heap]",
 *       "/SYSV00000000", "anon_inode:…", …; also for a "/memfd:…" that cannot be opened
 *
 * Returns 0 or -ENOMEM. A file that cannot be opened is no failure: its fd is -1.
 */
_must_check_ int file_table_add(struct file_table *table, pid_t pid, pid_t parent_pid,
				uint64_t start, uint64_t end, const struct file_identity *identity,
				uint32_t *ret);

/*
 * A file that somebody looks for elsewhere, under the next number: nothing is opened until
 * file_table_set_found(). A table of such files is none of mapped files: do not mix the two.
 *
 * identity  path and build ID, as they were recorded
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int file_table_add_sought(struct file_table *table,
				       const struct file_identity *identity);

/*
 * What came of looking for it.
 *
 * fd                 open for reading, or -1: none was found. The table takes ownership, and closes
 *                    it when too many are open
 * build_id_differs   another file was found in its place
 */
void file_table_set_found(struct file_table *table, uint32_t file, int fd, bool build_id_differs);

/* Borrowed until the next file_table_add(). */
const struct mapped_file *file_table_get(const struct file_table *table, uint32_t file);
uint32_t file_table_get_count(const struct file_table *table);

/* How many files were not opened because the limit of open files was reached. */
uint64_t file_table_get_unopened_count(const struct file_table *table);

#endif
