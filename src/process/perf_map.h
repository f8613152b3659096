/*
 * Perf-maps: /tmp/perf-PID.map, a JIT compiler's list of names for the code that it generates.
 *
 * Lines are `START SIZE NAME`, numbers in hexadecimal (with or without 0x), the name up to the end
 * of the line. If entries overlap, the later line is the newer code. Malformed lines are skipped
 * and counted: lines of another form, without a name, with a NUL byte, or longer than 64 KiB; code
 * of size 0, of more than 2^62 bytes, or beyond the end of the address space.
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
 * itself sees it (last number of NSpid), else /tmp/perf-PID.map. Accepts only a regular file owned
 * by the process's (effective) user or by root; the last part of the path may not be a symbolic
 * link.
 *
 * ret   file descriptor; the caller closes it
 *
 * Returns 0, -ENOENT, -EPERM (wrong owner, link or no regular file; error names the file) or
 * another negative errno.
 */
_must_check_ int perf_map_open(struct slow_opener *opener, const char *proc_root, pid_t pid,
			       int *ret, struct error *error);

/*
 * Add the data appended to the file since the last call for this map (a line without its newline is
 * left for the next time). If the file was written anew, or is another one than before, all its lines
 * are new. The file position stays.
 *
 * limit_bytes   the rest is left for the next time
 *
 * Returns 0, -ENOMEM, -EFBIG (more than 128 MiB were read in all, or more code than jit_code_add()
 * keeps; the start of the file is kept) or -errno of reading.
 */
_must_check_ int perf_map_refresh(struct perf_map *map, int fd, uint64_t limit_bytes);

/*
 * Add text that is already in memory (tests, fuzzing); its end also ends its last line.
 *
 * Returns 0, -ENOMEM or -EFBIG.
 */
_must_check_ int perf_map_add_text(struct perf_map *map, const char *text, size_t size);

/* The named code, by time; borrowed. */
const struct jit_code *perf_map_get_code(const struct perf_map *map);

/* Bytes read of the file; counted again if it was written anew. */
uint64_t perf_map_get_total_bytes(const struct perf_map *map);

uint64_t perf_map_get_malformed_count(const struct perf_map *map);

#endif
