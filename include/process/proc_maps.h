/*
 * Reader of /proc/PID/maps text.
 *
 * Source: proc(5), "/proc/pid/maps"; a newline in a path is written \012, nothing else is escaped
 * (fs/proc/task_mmu.c, show_map_vma()).
 */
#ifndef PROCESS_PROC_MAPS_H
#define PROCESS_PROC_MAPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"

struct slow_opener;

struct proc_mapping {
	uint64_t start;
	uint64_t end; /* first byte after it */
	uint64_t file_offset;
	uint64_t inode; /* 0 without a file */
	uint32_t dev_major;
	uint32_t dev_minor;
	bool is_executable;
	bool is_deleted;     /* the line ended in " (deleted)", which is not part of path */
	char path[4096 + 1]; /* unescaped; "" for anonymous memory, "[vdso]" and the like;
				"//toolong" for an overlong path */
};

/*
 * Read one line (without its newline).
 *
 * Returns 0 or -EINVAL (error tells the expected input).
 */
_must_check_ int proc_mapping_read(const char *line, size_t length, struct proc_mapping *ret,
				   struct error *error);

/*
 * Read a whole text of `size` bytes and call visit() for every mapping, in order; a malformed
 * line stops with -EINVAL and its number. visit() returns 0 or negative errno, which stops.
 */
_must_check_ int proc_maps_for_each(const char *text, size_t size,
				    int (*visit)(const struct proc_mapping *mapping, void *context),
				    void *context, struct error *error);

/* Enough for some million mappings. */
#define PROC_MAPS_MAX_BYTES (256u << 20)

/*
 * The same for a process below proc_root ("/proc"), through the opener: a process that holds its
 * memory map locked makes readers wait.
 *
 * Returns 0, the error of visit(), -ENOENT (the process is gone), -ETIMEDOUT or another negative
 * errno.
 */
_must_check_ int proc_maps_read(struct slow_opener *opener, const char *proc_root, pid_t pid,
				int (*visit)(const struct proc_mapping *mapping, void *context),
				void *context);

#endif
