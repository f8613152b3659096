/*
 * The files with names of one process's generated code: its perf-map and its jitdump. Read while
 * they grow, since the name of an address changes with time.
 */
#ifndef PROCESS_JIT_FILES_H
#define PROCESS_JIT_FILES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "process/file_table.h"
#include "process/process_table.h"

struct jitdump;
struct perf_map;

struct jit_files {
	struct perf_map *perf_map; /* NULL: not found yet */
	struct jitdump *jitdump;   /* likewise */
	int perf_map_fd;           /* -1: not open, or finished */
	int jitdump_fd;
	int next_perf_map_fd; /* another file in its place, read after its rest; -1: none */
	int next_jitdump_fd;
	uint32_t jitdump_file;    /* its number in the file table, with jitdump */
	uint64_t looked_ns;       /* last look at the path of the perf-map */
	uint64_t next_search_ns;  /* next search for missing files */
	uint64_t size_bytes;      /* memory of their names */
	uid_t owner;              /* of the files; of the one found first */
	bool is_followed;         /* the process has run code in memory without a file */
	bool are_names_truncated; /* not all names are kept */
	bool was_emptied;         /* by jit_files_empty() */
};

void jit_files_init(struct jit_files *jit);
void jit_files_release(struct jit_files *jit);

/*
 * Search for missing files.
 *
 * watch_fd   an inotify instance that is to report changes, or -1
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int jit_files_search(struct jit_files *jit, const char *proc_root, pid_t pid,
				  const struct file_table *files,
				  const struct mapping_list *mappings, int watch_fd);

/*
 * Search for files that have taken the place of those that are known: a perf-map at its path, a
 * jitdump that was mapped later. Arguments and result as above.
 */
_must_check_ int jit_files_search_next(struct jit_files *jit, const char *proc_root, pid_t pid,
				       const struct file_table *files,
				       const struct mapping_list *mappings, int watch_fd);

/*
 * Read the data appended since the last time.
 *
 * left_bytes   limit of bytes to read, reduced by those read; the rest is left for the next time
 *
 * Returns 0 or -ENOMEM. Exceeding a limit is no failure: are_names_truncated is set, and the file
 * is closed.
 */
_must_check_ int jit_files_read(struct jit_files *jit, uint64_t *left_bytes);

/* Forget all names, for good. */
void jit_files_empty(struct jit_files *jit);

/* See process_get_code_version() and process_find_code(). */
uint64_t jit_files_get_version(const struct jit_files *jit, uint64_t time_ns);
const char *jit_files_find(const struct jit_files *jit, uint64_t pc, uint64_t time_ns);
const char *jit_files_find_first(const struct jit_files *jit, uint64_t pc);

#endif
