/*
 * What is to be sampled, and the threads and CPUs that make it up.
 */
#ifndef COLLECT_TARGET_H
#define COLLECT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "process/process_table.h"

enum target_kind {
	TARGET_SYSTEM,    /* all CPUs */
	TARGET_PROCESSES, /* ids are pids: all their threads, and what these start */
	TARGET_THREADS,   /* ids are tids, and what these start */
	TARGET_CGROUP,    /* a cgroup and the groups below it */
};

struct target {
	enum target_kind kind;
	const pid_t *ids; /* borrowed */
	size_t num_ids;
	const char *cgroup_path; /* as the user gave it; borrowed */
	bool may_be_gone;        /* ids that are not there any more are left out */
	bool starts_on_exec; /* sampling begins when the (one) process has executed its program */
};

/* Whether only some threads are wanted, and what they start: those of ids. */
bool target_is_of_threads(const struct target *target);

/*
 * Call visit() for every thread of process pid that is there now. visit() returns 0 or negative
 * errno, which stops.
 *
 * Returns 0 or negative errno (-ESRCH: no such process).
 */
_must_check_ int target_for_each_thread(pid_t pid, int (*visit)(pid_t tid, void *context),
					void *context);

/*
 * Read from /proc what the target needs: its processes where it is made of processes or threads;
 * else all. Those that are gone are left out. Returns 0 or negative errno.
 */
_must_check_ int target_scan(const struct target *target, struct process_table *processes);

/* The process that a thread belongs to, or -ESRCH. */
_must_check_ pid_t target_get_pid(pid_t tid);

/* Whether a process or thread is there and not a zombie. */
bool target_is_alive(pid_t id);

/*
 * Open the folder of a cgroup: an absolute path, or one below the cgroup2 mount.
 *
 * Returns a file descriptor or negative errno with the reason in error.
 */
_must_check_ int target_open_cgroup(const char *path, struct error *error);

/*
 * The CPUs that are online, as bits: cpus[n] is set for each.
 *
 * num_cpus  length of cpus; higher CPUs are left out
 * Returns the number of CPUs online, or negative errno.
 */
_must_check_ int target_read_online_cpus(bool *cpus, size_t num_cpus);

#endif
