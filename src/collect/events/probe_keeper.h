/*
 * A process of ours that holds the probes of programs, and takes them away.
 *
 * To take a probe away waits as long as to attach one (process_answers.h), and blocks all forks
 * meanwhile. The end of a process does the same with all probes that it holds, however it ends. So
 * only this process holds them. Before it takes probes away it waits until every process answers.
 * If one keeps its memory map locked, nobody else waits. Then this process outlives the recorder.
 *
 * Thread-safe.
 */
#ifndef COLLECT_EVENTS_PROBE_KEEPER_H
#define COLLECT_EVENTS_PROBE_KEEPER_H

#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "collect/kernel/file_leases.h"

struct probe_keeper;

/* Starts the process. Returns 0 or negative errno. */
_must_check_ int probe_keeper_new(struct probe_keeper **ret);

/* The process ends when it has taken its probes away. NULL is fine. */
void probe_keeper_free(struct probe_keeper *keeper);

/*
 * Hold a probe as well.
 *
 * fd    a perf event or a link; borrowed: the probe is attached until the caller closes it, too
 * file  with the probe
 *
 * Returns 0; -ETIMEDOUT, as the process still waits; -EPIPE: the process has ended; or another negative errno.
 */
_must_check_ int probe_keeper_add(struct probe_keeper *keeper, int fd,
				  const struct leased_file *file);

/*
 * Take the probes of a file away, or all of them (NULL). After a time-out they are taken away later.
 * Returns 0, -ETIMEDOUT, -EPIPE or another negative errno.
 */
_must_check_ int probe_keeper_let_go(struct probe_keeper *keeper, const struct leased_file *file,
				     unsigned int limit_ms);

/* The process of ours, and the one whose answer it waits for (0: none). */
struct probe_keeper_state {
	pid_t pid;
	pid_t silent;
};

struct probe_keeper_state probe_keeper_get_state(const struct probe_keeper *keeper);

/* CPU time so far. NULL is fine. */
uint64_t probe_keeper_read_cpu_ns(const struct probe_keeper *keeper);

#endif
