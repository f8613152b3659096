/*
 * Jitdump: jit-PID.dump, a JIT compiler's list of the code that it generates, with names, times and
 * the code itself. The process maps the file executable, which is how it is found.
 *
 * Records of loaded and of moved code are read, in either byte order; the code, its lines and its
 * call-frame information are not. An incomplete record is left for the next time. Records of
 * another process, without a name, with a name of more than 16 KiB or with an impossible size are
 * skipped and counted.
 *
 * Source: Linux tools/perf/Documentation/jitdump-specification.txt.
 */
#ifndef PROCESS_JITDUMP_H
#define PROCESS_JITDUMP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"

struct jit_code;
struct jitdump;

/* pid  as the process itself sees it. NULL when out of memory */
struct jitdump *jitdump_new(pid_t pid);
void jitdump_free(struct jitdump *dump);

/*
 * The number in a file name "jit-N.dump", with or without a path. Returns N, or 0 for another name.
 */
pid_t jitdump_get_pid(const char *path);

/*
 * Whether a file mapped by process pid is trusted for its code's names: a regular file named after
 * the pid that the process itself sees, owned by its (effective) user or by root.
 *
 * ret_pid   that pid
 *
 * Returns 0, -EPERM or another negative errno.
 */
_must_check_ int jitdump_check(const char *proc_root, pid_t pid, const char *path, int fd,
			       pid_t *ret_pid, struct error *error);

/*
 * Add the data appended to the file since the last call. If the file was written anew, or is another
 * one than before, all its records are new. The file position stays.
 *
 * limit_bytes   the rest is left for the next time
 *
 * Returns 0, -ENOMEM, -EINVAL (no jitdump, or broken; earlier records were read), -EFBIG (more code
 * than jit_code_add() keeps) or -errno of reading.
 */
_must_check_ int jitdump_refresh(struct jitdump *dump, int fd, uint64_t limit_bytes);

/*
 * Add bytes that are in memory: the next ones of the file.
 *
 * ret_used   number of bytes consumed; more than size if bytes after them are to be skipped
 *
 * Returns 0, -ENOMEM, -EINVAL or -EFBIG as above.
 */
_must_check_ int jitdump_add_bytes(struct jitdump *dump, const void *data, size_t size,
				   uint64_t *ret_used);

/* The named code, by time; borrowed. */
const struct jit_code *jitdump_get_code(const struct jitdump *dump);

/* Bytes read of the file, without the skipped code. */
uint64_t jitdump_get_total_bytes(const struct jitdump *dump);

/* Its times are of an unknown clock, so the times of reading are used. Known after reading. */
bool jitdump_has_foreign_clock(const struct jitdump *dump);

uint64_t jitdump_get_malformed_count(const struct jitdump *dump);

#endif
