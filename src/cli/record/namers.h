/*
 * The processes that symbolize a recording: confined, one after the other, each supervised. They
 * read files that any user of the machine has made. A process that crashes or takes too long on a
 * file is replaced by one that reads less of that file.
 *
 *	namers_new() → namers_tend() when namers_get_fd() is ready and every 0.1 s → namers_end()
 */
#ifndef CLI_RECORD_NAMERS_H
#define CLI_RECORD_NAMERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "collect/recorder.h"

struct namers;

struct namers_opts {
	bool no_inlines;
	uint64_t limit_ns;      /* for all names */
	bool has_owner_budgets; /* for files of users who are not ours: file_user_is_ours() */
	uid_t user;             /* user of the processes, if we are root */
};

/*
 * Fork the first process.
 *
 * recorder  has stopped; borrowed
 * stream    receives the names (naming.h); borrowed
 *
 * Returns 0, -ENOMEM or negative errno.
 */
_must_check_ int namers_new(struct recorder *recorder, const struct namers_opts *opts, int stream,
			    struct namers **ret);

/* Readable when the current process has ended; -1: none is running, or the kernel has no pidfds. */
int namers_get_fd(const struct namers *namers);

/* Supervise the current process, and replace it if useful. Returns whether one is still working. */
bool namers_tend(struct namers *namers);

/* Somebody wants the result now: remaining locations stay unnamed. */
void namers_stop(struct namers *namers);

/* Report errors, if any. */
void namers_report(const struct namers *namers);

/* Total CPU time, and the largest memory, of all processes that have ended. */
struct namers_cost {
	uint64_t cpu_ns;
	uint64_t max_rss_bytes;
};

struct namers_cost namers_get_cost(const struct namers *namers);

/* Ends running processes. NULL is fine. */
void namers_free(struct namers *namers);

#endif
