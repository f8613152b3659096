/* A file of the folder /proc/PID, or of a similar folder. */
#ifndef PROCESS_PROC_FILE_H
#define PROCESS_PROC_FILE_H

#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/text.h"

struct slow_opener;

/*
 * Read the file /proc/PID/NAME, at most limit_bytes. Only for files that take no lock of the
 * process's memory.
 *
 * ret   appended to; the caller releases it
 *
 * Returns 0, -ENOENT (also when the process is gone) or another negative errno.
 */
_must_check_ int proc_file_read(const char *proc_root, pid_t pid, const char *name,
				size_t limit_bytes, struct text *ret);

/*
 * The same through the opener, for files whose reading may block (slow_opener.h); in
 * slow_proc_file.c.
 */
_must_check_ int proc_file_read_slow(struct slow_opener *opener, const char *proc_root, pid_t pid,
				     const char *name, size_t limit_bytes, struct text *ret);

#endif
