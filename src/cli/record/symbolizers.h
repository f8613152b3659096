/*
 * The processes that symbolize a recording: confined, one after the other, each supervised. They
 * read files that any user of the machine has made. A process that crashes or takes too long on a
 * file is replaced by one that reads less of that file.
 *
 *	symbolizers_new() → symbolizers_tend() when symbolizers_get_fd() is ready and every 0.1 s
 *	→ symbolizers_free()
 */
#ifndef CLI_RECORD_SYMBOLIZERS_H
#define CLI_RECORD_SYMBOLIZERS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "collect/recorder.h"

struct symbolizers;

struct symbolizers_opts {
	bool no_inlines;
	uint64_t limit_ns;      /* for all names */
	bool has_owner_budgets; /* for files of users who are not ours: file_user_is_ours() */
	uid_t user;             /* user of the processes, if we are root */
};

/*
 * Fork the first process.
 *
 * recorder  has stopped; borrowed
 * stream    receives the names (name_stream.h); borrowed
 *
 * Returns 0, -ENOMEM or negative errno.
 */
_must_check_ int symbolizers_new(struct recorder *recorder, const struct symbolizers_opts *opts,
				 int stream, struct symbolizers **ret);

/* Readable when the current process has ended; -1: none is running, or the kernel has no pidfds. */
int symbolizers_get_fd(const struct symbolizers *symbolizers);

/* Supervise the current process, and replace it if useful. Returns whether one is still working. */
bool symbolizers_tend(struct symbolizers *symbolizers);

/* Somebody wants the result now: remaining locations stay unnamed. */
void symbolizers_stop(struct symbolizers *symbolizers);

/* Report errors, if any. */
void symbolizers_report(const struct symbolizers *symbolizers);

/* Total CPU time, and the largest memory, of all processes that have ended. */
struct symbolizers_cost {
	uint64_t cpu_ns;
	uint64_t max_rss_bytes;
};

struct symbolizers_cost symbolizers_get_cost(const struct symbolizers *symbolizers);

/* Ends running processes. NULL is fine. */
void symbolizers_free(struct symbolizers *symbolizers);

#endif
