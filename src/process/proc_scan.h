/*
 * Reads the folders /proc/PID.
 *
 * A process may exit during the reading; the data read until then counts.
 */
#ifndef PROCESS_PROC_SCAN_H
#define PROCESS_PROC_SCAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"
#include "process/file_table.h"
#include "process/process_table.h"

struct slow_opener;

struct proc_entry {
	char comm[64];       /* NUL-terminated; kernel workers have more than 15 bytes */
	uint32_t parent_pid; /* 0 when unknown */
	uint64_t start_ns;   /* when the process started, rounded down to 10 ms; 0 when unknown */
	bool is_zombie;
	bool is_kernel_thread; /* it has no memory of its own */
};

/*
 * Read /proc/PID/comm and /proc/PID/stat.
 *
 * Returns 0, -ENOENT (no such process) or another negative errno.
 *
 * Source: proc(5).
 */
_must_check_ int proc_entry_read(const char *proc_root, pid_t pid, struct proc_entry *ret);

/* Longer command lines are truncated. */
#define COMMAND_LINE_MAX_BYTES 4096

/* Details for display only. */
struct proc_details {
	char comm[64]; /* NUL-terminated; shows whether the program is still the same */
	uint32_t uid;  /* the real one */
	bool has_uid;
	/* Words separated by blanks; empty: none, or not readable. */
	struct text command_line;
	struct text script; /* of an interpreter (base/script_name.h) */
};

/*
 * Read /proc/PID/status, and /proc/PID/cmdline through the opener, since that is in the process's
 * memory.
 *
 * ret   the caller releases the texts, by proc_details_release()
 *
 * Returns 0, -ENOENT (no such process) or another negative errno.
 */
_must_check_ int proc_details_read(const char *proc_root, pid_t pid, struct slow_opener *opener,
				   struct proc_details *ret);

void proc_details_release(struct proc_details *details);

/*
 * Add the executable mappings of /proc/PID/maps to list, and their files to files. They are read
 * through the opener of files.
 *
 * Returns 0, -EINVAL (a malformed line: list has the mappings before it), -ENOMEM, -ETIMEDOUT or
 * -errno of reading.
 */
_must_check_ int proc_mappings_read(const char *proc_root, pid_t pid, pid_t parent_pid,
				    struct file_table *files, struct mapping_list *list);

/*
 * Call visit() for every process. visit() returns 0 or negative errno, which stops.
 *
 * Returns 0, -errno of opening proc_root, or the error of visit().
 */
_must_check_ int proc_for_each_pid(const char *proc_root, int (*visit)(pid_t pid, void *context),
				   void *context);

#endif
