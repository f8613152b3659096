/*
 * Reads ELF files in processes without rights. A process gets an open file and identifies it,
 * proves a call in it, or builds its unwind table into memory that is passed along. A process that
 * dies, or takes too long with a file, is replaced.
 *
 * Files that only root or we can have written have a process of their own. If a user's file takes
 * over its reader, the damage ends there.
 *
 * Each worker is used by one thread.
 */
#ifndef COLLECT_ELF_ELF_WORKER_H
#define COLLECT_ELF_ELF_WORKER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/elf/elf_message.h"
#include "unwind/unwind_table.h"

struct elf_worker;

/* The file of a request. Borrowed for the call. */
struct elf_source_file {
	int fd;
	uid_t owner;
	uint32_t number; /* in the file table; not needed by elf_worker_identify() */
	const char *path;
};

/*
 * Starts both processes: best before there are threads (a fork keeps the locks of other threads)
 * and while we are small (it shares our memory).
 *
 * user          the processes' user, if we are root
 * is_awaited    the recorder can do nothing else until an answer: the process for files of others
 *               has its priority, too
 *
 * Returns 0 or negative errno.
 */
_must_check_ int elf_worker_new(uid_t user, bool is_awaited, struct elf_worker **ret);
void elf_worker_free(struct elf_worker *worker);
/* End its processes. */
void elf_worker_stop(struct elf_worker *worker);

/*
 * All of these return 0; the request's own negative errno; -ETIMEDOUT, -ECHILD (the process died)
 * or -EBADMSG (invalid answer).
 */

/* Returns -ENOEXEC when it is not ELF, -EINVAL and others when it is broken, too. */
_must_check_ int elf_worker_identify(struct elf_worker *worker, const struct elf_source_file *file,
				     struct elf_identity *ret);

/* As objfile_prove_call(). */
_must_check_ int elf_worker_prove_call(struct elf_worker *worker,
				       const struct elf_source_file *file, uint64_t return_address,
				       uint64_t callee, enum call_proof *ret);

/* As table_key_hash(). */
_must_check_ int elf_worker_hash_table(struct elf_worker *worker,
				       const struct elf_source_file *file, uint64_t *ret);

/*
 * As unwind_table_new(), with the reason in error; the caller frees the table.
 *
 * limit_ns  for a first try: -ETIMEDOUT then does not count against the file's owner. 0: the usual limit
 */
_must_check_ int elf_worker_build_table(struct elf_worker *worker,
					const struct elf_source_file *file, uint64_t limit_ns,
					struct unwind_table **ret, struct error *error);

/*
 * Find the points in a file that a query names, as function_search() and usdt_find() do. On
 * failure, error has the reason: -ENOEXEC (not an ELF file of this machine), -ENOENT and others.
 *
 * debug_fd  its separate debug file, or -1
 * ret       points are added
 */
_must_check_ int elf_worker_find_probe(struct elf_worker *worker,
				       const struct elf_source_file *file, int debug_fd,
				       const struct elf_probe_query *query,
				       struct probe_point_list *ret, struct error *error);

/*
 * As allocator_find(); -ENOENT also if it is not an ELF file of this machine. The caller releases
 * ret.
 */
_must_check_ int elf_worker_find_allocator(struct elf_worker *worker,
					   const struct elf_source_file *file,
					   struct allocator *ret);

/* As ld_cache_find() in an open cache. */
_must_check_ int elf_worker_find_library(struct elf_worker *worker,
					 const struct elf_source_file *cache, const char *name,
					 char ret[PATH_MAX]);

/* From any thread: abort the current request and refuse later ones (-ECANCELED). */
void elf_worker_cancel(struct elf_worker *worker);

/*
 * CPU time of the processes so far, and the largest memory of those that have ended, beyond our own
 * when they were forked; from any thread.
 */
struct elf_worker_cost {
	uint64_t cpu_ns;
	uint64_t max_rss_bytes;
};

struct elf_worker_cost elf_worker_get_cost(const struct elf_worker *worker);

#endif
