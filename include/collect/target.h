/* The target of a recording: which threads and CPUs are sampled. */
#ifndef COLLECT_TARGET_H
#define COLLECT_TARGET_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"

enum target_kind {
	TARGET_SYSTEM,    /* all CPUs */
	TARGET_PROCESSES, /* ids are pids: all their threads, and descendants */
	TARGET_THREADS,   /* ids are tids: these threads, and descendants */
	TARGET_CGROUP,    /* a cgroup and the groups below it */
};

struct target {
	enum target_kind kind;
	const pid_t *ids; /* borrowed */
	size_t num_ids;
	const char *cgroup_path;  /* as given by the user; borrowed */
	bool may_be_gone;         /* ids that do not exist (any more) are skipped */
	bool starts_on_exec;      /* sampling starts with the exec of the (only) process */
	bool leaves_children_out; /* for processes: only their threads */
};

/* State of a process or thread in /proc now. */
struct target_state {
	char comm[64];
	char letter; /* R S D Z T …, see proc(5) */
	pid_t parent_pid;
	bool is_kernel_thread;
	bool has_ended; /* a zombie without live threads */
};

/* Returns 0, -ESRCH (not found) or -ENOMEM. */
_must_check_ int target_read_state(pid_t id, struct target_state *ret);

/* Whether the target is made of threads and descendants, and needs the BPF program's filter. */
bool target_is_of_threads(const struct target *target);

/*
 * Call visit() for every current thread of process pid. visit() returns 0 or negative errno, which
 * stops the loop.
 *
 * Returns 0 or negative errno (-ESRCH: no such process).
 */
_must_check_ int target_for_each_thread(pid_t pid, int (*visit)(pid_t tid, void *context),
					void *context);

/* Returns the process of a thread, -ESRCH or -ENOMEM. */
_must_check_ pid_t target_get_pid(pid_t tid);

/*
 * Whether a process or thread exists and has not ended. When in doubt (out of memory) it counts as
 * alive. If only a process's first thread has ended, the process shows as a zombie, but is still
 * alive.
 */
bool target_is_alive(pid_t id);

/*
 * Open the folder of a cgroup: an absolute path, or one below the cgroup2 mount.
 *
 * Returns a file descriptor or negative errno with the reason in error.
 */
_must_check_ int target_open_cgroup(const char *path, struct error *error);

/*
 * The online CPUs: cpus[n] is set for each.
 *
 * num_cpus  length of cpus; higher CPUs are ignored
 * Returns the number of CPUs online, or negative errno.
 */
_must_check_ int target_read_online_cpus(bool *cpus, size_t num_cpus);

#endif
