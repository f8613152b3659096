/*
 * Jitdump: jit-PID.dump, in which a JIT compiler names the code that it generates, with the time
 * and with the code itself. The process maps the file executable, which is how it is found.
 *
 * Records of loaded and of moved code are read, in either byte order; the code, its lines and its
 * call-frame information are not. A record that is not whole yet is left for the next time. Records
 * of another process, without a name, with one of more than 16 KiB or of a size that cannot be are
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
 * The file's name as its last part: "jit-N.dump". Returns N, or 0 when it is another name.
 */
pid_t jitdump_get_pid(const char *path);

/*
 * Whether the file that process pid maps may name its code: a regular file named after the pid
 * that the process itself sees, owned by its (effective) user or by root.
 *
 * ret_pid   that pid
 *
 * Returns 0, -EPERM or another negative errno.
 */
_must_check_ int jitdump_check(const char *proc_root, pid_t pid, const char *path, int fd,
			       pid_t *ret_pid, struct error *error);

/*
 * Add what was appended to the file since the last call. The file position stays.
 *
 * limit_bytes   the rest is left for the next time
 *
 * Returns 0, -ENOMEM, -EINVAL (no jitdump, or broken; what came before was read), -EFBIG (more code
 * than jit_code_add() keeps) or -errno of reading.
 */
_must_check_ int jitdump_refresh(struct jitdump *dump, int fd, uint64_t limit_bytes);

/*
 * Add bytes that are in memory: the next ones of the file.
 *
 * ret_used   how many of them are done with; more than size where bytes after them are to be
 *            skipped
 *
 * Returns 0, -ENOMEM, -EINVAL or -EFBIG as above.
 */
_must_check_ int jitdump_add_bytes(struct jitdump *dump, const void *data, size_t size,
				   uint64_t *ret_used);

/* What it names, and since when; borrowed. */
const struct jit_code *jitdump_get_code(const struct jitdump *dump);

/* What was read of the file, without the code that was stepped over. */
uint64_t jitdump_get_total_bytes(const struct jitdump *dump);

/* Its times are of a clock that we do not know: those of reading are taken. Known after reading. */
bool jitdump_has_foreign_clock(const struct jitdump *dump);

uint64_t jitdump_get_malformed_count(const struct jitdump *dump);

#endif
