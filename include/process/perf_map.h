/*
 * Perf-maps: /tmp/perf-PID.map, in which a JIT compiler names the code that it made.
 *
 * Lines are `START SIZE NAME`, numbers in hexadecimal (with or without 0x), the name up to
 * the end of the line. Where entries overlap, the later line is the newer code and wins.
 * Malformed lines are skipped and counted: those of another form, without a name, with a NUL byte,
 * of size 0, beyond the end of the address space, or longer than 64 KiB.
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
_must_check_ int perf_map_open(const char *proc_root, pid_t pid, int *ret, struct error *error);

/*
 * Add what was appended to the file since the last call for this map (a line without its
 * newline is left for the next time). A file that shrank is read anew. The file position stays.
 *
 * Returns 0, -ENOMEM, -EFBIG (the file has more than 512 MiB; its beginning was read) or -errno of
 * reading.
 */
_must_check_ int perf_map_refresh(struct perf_map *map, int fd);

/*
 * Add text that is already in memory (tests, fuzzing); its end also ends its last line.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int perf_map_add_text(struct perf_map *map, const char *text, size_t size);

/*
 * The name of the code at pc: NUL-terminated, borrowed until the next refresh; NULL when
 * nothing is there. Bytes of the name are those of the file, but for a CR at its end.
 */
const char *perf_map_find(const struct perf_map *map, uint64_t pc);

uint64_t perf_map_get_malformed_count(const struct perf_map *map);

#endif
