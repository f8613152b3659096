/*
 * A process that gives up its rights before it reads bytes that somebody else has written. From
 * then on, an exploited bug can open no file, send nothing, start or signal no process, and map no
 * new code. The process has only its memory and the descriptors that it holds.
 */
#ifndef BASE_CONFINEMENT_H
#define BASE_CONFINEMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/array.h"
#include "base/attributes.h"

/* The layers that confine a process. Not every kernel and container supports all of them. */
enum confinement_part {
	CONFINED_CAPABILITIES = 1, /* no capabilities, not even after exec */
	CONFINED_USER = 2,         /* not root's user */
	CONFINED_SYSTEM_CALLS = 4, /* seccomp refuses all but a few, with EPERM */
};

struct confinement {
	const char *name; /* of the process, as ps shows it: at most 15 bytes; NULL: unchanged */
	uid_t user;       /* to become, and the group of the same number, if we are root */
	uint64_t memory_bytes; /* limit of further mappings; 0: no limit */
	uint64_t cpu_s;        /* CPU time; 0: no limit */
	uint64_t file_bytes;   /* limit of files that it writes; 0: no limit */
};

/*
 * The user "nobody", who owns nothing. NFS and user namespaces also show other users as this one.
 * Daemons may run as this user, too, and may signal all of its processes.
 */
#define CONFINEMENT_DEFAULT_USER 65534

/*
 * The user "stackwide" if it exists; else a user without a process and without an entry in
 * /etc/passwd, from the range for dynamic users (61184 to 65519). Nobody else may stop or end
 * processes of this user. If no user is free, or we are not root: CONFINEMENT_DEFAULT_USER.
 *
 * Source: systemd's list of users and groups (DynamicUser=).
 */
uid_t confinement_choose_user(void);

/*
 * Confine the calling process, which has one thread, until its end. It is killed when its parent's
 * thread ends.
 *
 * Returns a sum of enum confinement_part: the layers that took effect. Without
 * CONFINED_CAPABILITIES the caller must not go on.
 *
 * Source: capabilities(7), seccomp(2), prctl(2).
 */
_must_check_ unsigned int confinement_enter(const struct confinement *confinement);

/*
 * Become a user for good, with no capabilities, not even after exec. The user may neither trace
 * this process nor read its memory. Returns 0 or negative errno; then the caller must not go on.
 */
_must_check_ int confinement_become(uid_t user, gid_t group, const gid_t *groups,
				    size_t num_groups);

/*
 * For the process that samples, follows other processes and opens their programs. Keep the
 * capabilities that this needs, as far as it has them, and no others.
 *
 *	CAP_BPF CAP_PERFMON                  load programs, sample
 *	CAP_SYS_PTRACE CAP_DAC_READ_SEARCH   read other users' processes and programs
 *	CAP_CHECKPOINT_RESTORE CAP_SYSLOG    programs that were deleted; the kernel's symbols
 *	CAP_DAC_OVERRIDE CAP_FOWNER          put files where the user wants them
 *	CAP_SETUID CAP_SETGID CAP_KILL       confine others, end them and a command
 *
 * Applies to the calling thread and threads that it starts. Returns 0 or negative errno.
 *
 * is_administrator  keep CAP_SYS_ADMIN, too. Loading BPF programs needs it, since libbpf searches
 *                   the types of all modules, and so does opening uprobes, which the kernel allows
 *                   nobody else
 */
_must_check_ int confinement_keep_sampling_rights(bool is_administrator);

/*
 * Refuse, with EPERM and for all threads, anything that sampling never does: write into other
 * processes or trace them, load modules, start programs, mount, reach the network, set clocks.
 * Returns 0 or negative errno; -EINVAL if the kernel has no seccomp.
 */
_must_check_ int confinement_refuse_all_but_sampling(void);

/*
 * Raise the priority of this thread and of anything it starts: a profiler that waits its turn on a
 * busy machine is too late to see things. Without the right to, or if the user has chosen a
 * priority, nothing changes.
 */
void confinement_raise_priority(void);

/* At most the ordinary priority: for work that is not urgent, or not trusted. */
void confinement_lower_priority(void);

/*
 * In a child: ask to be killed when the parent dies, even if it died before this call. Locks and
 * sockets inherited from the parent are released then, too.
 *
 * parent   the pid of the process that forked it
 */
void confinement_die_with(pid_t parent);

/* The descriptors that a process of ours needs, in any order. Starts zeroed. */
struct fd_list {
	ARRAY(int) fds;
	bool failed; /* out of memory: not all are in it */
};

/* fd  -1 is ignored */
void fd_list_add(struct fd_list *list, int fd);
void fd_list_release(struct fd_list *list);

/*
 * Close all descriptors but these: every child calls it first. Returns 0, or -ENOMEM if the list
 * has failed; nothing is closed then.
 */
_must_check_ int confinement_close_others(struct fd_list *kept);

/*
 * A process that works for this one: it receives requests, with descriptors, and answers each
 * (worker.c). Used by one thread only, except the pid.
 */
struct worker {
	int fd;            /* a socket to it (SOCK_SEQPACKET); -1: not running */
	_Atomic pid_t pid; /* 0: not running */
};

#define WORKER_NONE    ((struct worker){.fd = -1})
#define WORKER_MAX_FDS 2 /* per message */

/*
 * Start it, with standard error and the socket open and nothing else. It ends when run() returns;
 * run() confines the process as needed. Messages to it carry the sender's pid
 * (worker_receive_from()). Returns 0 or negative errno.
 */
_must_check_ int worker_start(struct worker *worker, void (*run)(int socket, void *context),
			      void *context);

/*
 * End it. If it cannot be killed, because a file system hangs, it is abandoned after a fifth of a
 * second. Returns whether it has ended, and its resource usage.
 */
bool worker_stop(struct worker *worker, struct rusage *ret_usage);

/* Send a message; fds are borrowed. Returns 0 or negative errno. */
_must_check_ int worker_send(int socket, const struct iovec *parts, size_t num_parts,
			     const int *fds, size_t num_fds);

/*
 * Wait for a message. Returns its size, 0 at the end, or negative errno.
 *
 * size  of data; a longer message is truncated
 * fds   WORKER_MAX_FDS long: descriptors of the message, which the caller closes, and -1; any more
 *       are closed
 */
_must_check_ ssize_t worker_receive(int socket, void *data, size_t size, int *fds);

/* ret_sender  the pid of the sending process, as the kernel reports it; 0: unknown */
_must_check_ ssize_t worker_receive_from(int socket, void *data, size_t size, int *fds,
					 pid_t *ret_sender);

#endif
