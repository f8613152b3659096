/*
 * Perf-maps: /tmp/perf-PID.map, in which a JIT compiler names the code that it generates.
 *
 * Lines are `START SIZE NAME`, numbers in hexadecimal (with or without 0x), the name up to
 * the end of the line. Where entries overlap, the later line is the newer code.
 * Malformed lines are skipped and counted: those of another form, without a name, with a NUL byte,
 * of size 0 or of more than 2^62 bytes, beyond the end of the address space, or longer than 64 KiB.
 *
 * Source: Linux tools/perf/Documentation/jit-interface.txt.
 */
#ifndef PROCESS_PERF_MAP_H
#define PROCESS_PERF_MAP_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "process/slow_opener.h"

struct jit_code;
struct perf_map;

struct perf_map *perf_map_new(void); /* NULL when out of memory */
void perf_map_free(struct perf_map *map);

/*
 * Open the perf-map of process pid: /proc/PID/root/tmp/perf-N.map, N being the pid as the process
 * itself sees it (last number of NSpid), else /tmp/perf-PID.map. Only a regular file owned by the
 * process's (effective) user or by root is taken, and no symbolic link is followed at its last
 * step.
 *
 * ret   file descriptor; the caller closes it
 *
 * Returns 0, -ENOENT, -EPERM (wrong owner, link or no regular file; error names the file) or
 * another negative errno.
 */
_must_check_ int perf_map_open(struct slow_opener *opener, const char *proc_root, pid_t pid,
			       int *ret, struct error *error);

/*
 * Add what was appended to the file since the last call for this map (a line without its
 * newline is left for the next time). Lines of a file that shrank are all new ones. The file
 * position stays.
 *
 * limit_bytes   the rest is left for the next time
 *
 * Returns 0, -ENOMEM, -EFBIG (more than 128 MiB were read in all, or more code than
 * jit_code_add() keeps; the file's beginning counts) or -errno of reading.
 */
_must_check_ int perf_map_refresh(struct perf_map *map, int fd, uint64_t limit_bytes);

/*
 * Add text that is already in memory (tests, fuzzing); its end also ends its last line.
 *
 * Returns 0, -ENOMEM or -EFBIG.
 */
_must_check_ int perf_map_add_text(struct perf_map *map, const char *text, size_t size);

/* What it names, and since when; borrowed. */
const struct jit_code *perf_map_get_code(const struct perf_map *map);

/* What was read of the file, more than once where it shrank. */
uint64_t perf_map_get_total_bytes(const struct perf_map *map);

uint64_t perf_map_get_malformed_count(const struct perf_map *map);

#endif
