/*
 * A process that gives up its rights before it reads bytes that somebody else has written: what goes
 * wrong from then on goes wrong where no file can be opened, nothing sent, started or signalled, and
 * no new code mapped. What it may use are its memory and the descriptors that it holds.
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

/* What confines a process. Not every kernel and container has all. */
enum confinement_part {
	CONFINED_CAPABILITIES = 1, /* it has none, nor gets any by exec */
	CONFINED_USER = 2,         /* it is not root's */
	CONFINED_SYSTEM_CALLS = 4, /* seccomp refuses all but a few, with EPERM */
};

struct confinement {
	const char *name; /* of the process, as ps shows it: at most 15 bytes; NULL: as it is */
	uid_t user;       /* to become, and the group of the same number, if we are root */
	uint64_t memory_bytes; /* that it may map beyond what it has; 0: no limit */
	uint64_t cpu_s;        /* CPU time; 0: no limit */
	uint64_t file_bytes;   /* of files that it writes; 0: no limit */
};

/*
 * The user whom nothing belongs to ("nobody"), which NFS and user namespaces also show for others; daemons may run
 * as such, too, and may signal whatever does.
 */
#define CONFINEMENT_DEFAULT_USER 65534

/*
 * A user whom no process and no entry of /etc/passwd has, of the numbers that are kept for such (61184 to 65519), or
 * the user "stackwide" where there is one: nobody else may stop or end what runs as such. Where none is free, or we are not root:
 * CONFINEMENT_DEFAULT_USER.
 *
 * Source: systemd's list of users and groups (DynamicUser=).
 */
uid_t confinement_choose_user(void);

/*
 * Confine the calling process, which has one thread, until its end. It is killed when its parent's
 * thread ends.
 *
 * Returns a sum of enum confinement_part: what holds. Without CONFINED_CAPABILITIES the caller must
 * not go on.
 *
 * Source: capabilities(7), seccomp(2), prctl(2).
 */
_must_check_ unsigned int confinement_enter(const struct confinement *confinement);

/*
 * Become a user for good: no capability is left, nor comes back by exec, and the user may neither trace this process nor read its
 * memory. Returns 0 or negative errno; then the caller must not go on.
 */
_must_check_ int confinement_become(uid_t user, gid_t group, const gid_t *groups,
				    size_t num_groups);

/*
 * For the process that samples, and follows and opens what others run: keep the capabilities that
 * this needs, of those that there are, and no others.
 *
 *	CAP_BPF CAP_PERFMON                  load programs, sample
 *	CAP_SYS_PTRACE CAP_DAC_READ_SEARCH   read other users' processes and programs
 *	CAP_CHECKPOINT_RESTORE CAP_SYSLOG    programs that were deleted; the kernel's symbols
 *	CAP_DAC_OVERRIDE CAP_FOWNER          put files where the user wants them
 *	CAP_SETUID CAP_SETGID CAP_KILL       confine others, end them and a command
 *
 * Of the calling thread and of those that it starts. Returns 0 or negative errno.
 *
 * is_administrator  keep CAP_SYS_ADMIN, too: for programs that will be loaded, where libbpf looks through the types of
 *                   all modules, and for uprobes that will be opened, which the kernel lets nobody else do
 */
_must_check_ int confinement_keep_sampling_rights(bool is_administrator);

/*
 * Refuse, with EPERM, what sampling never does, to all threads: to write into other processes or
 * trace them, load modules, start programs, mount, reach the network, set clocks. Returns 0 or
 * negative errno; without seccomp in the kernel -EINVAL.
 */
_must_check_ int confinement_refuse_all_but_sampling(void);

/*
 * Run before others, as a profiler that waits its turn on a busy machine comes too late for what it is to
 * see: this thread and what it starts. Without the right to, and where the user has chosen a priority,
 * nothing changes.
 */
void confinement_raise_priority(void);

/* At most the ordinary priority: for what is in no hurry, or not trusted. */
void confinement_lower_priority(void);

/*
 * In a child: to be killed when its parent dies, perhaps before this. What it has of the parent, locks
 * and sockets, is gone then, too.
 *
 * parent   the pid of who has forked it
 */
void confinement_die_with(pid_t parent);

/* The descriptors that a process of ours needs, in any order. Starts zeroed. */
struct fd_list {
	ARRAY(int) fds;
	bool failed; /* out of memory: not all are in it */
};

/* fd  -1 is left out */
void fd_list_add(struct fd_list *list, int fd);
void fd_list_release(struct fd_list *list);

/*
 * Close all descriptors but these: every child calls it before it does anything else. Returns 0, or
 * -ENOMEM when the list failed; nothing is closed then.
 */
_must_check_ int confinement_close_others(struct fd_list *kept);

/*
 * A process that works for this one: it is sent requests, with descriptors, and answers each (worker.c).
 * Of one thread, but for the pid.
 */
struct worker {
	int fd;            /* a socket to it (SOCK_SEQPACKET); -1: it does not run */
	_Atomic pid_t pid; /* 0: likewise */
};

#define WORKER_NONE    ((struct worker){.fd = -1})
#define WORKER_MAX_FDS 2 /* that go along with a message */

/*
 * Start it, with standard error and the socket open and nothing else. It ends when run() returns; that
 * confines it, as it is to be. Messages to it carry the sender's pid (worker_receive_from()). Returns 0 or
 * negative errno.
 */
_must_check_ int worker_start(struct worker *worker, void (*run)(int socket, void *context),
			      void *context);

/*
 * End it. One that cannot be killed, because a file system hangs, is left to itself after a fifth of a
 * second. Returns whether it has ended, with what it has used.
 */
bool worker_stop(struct worker *worker, struct rusage *ret_usage);

/* Send a message; fds are borrowed. Returns 0 or negative errno. */
_must_check_ int worker_send(int socket, const struct iovec *parts, size_t num_parts,
			     const int *fds, size_t num_fds);

/*
 * Wait for a message. Returns its size, 0 at the end, or negative errno.
 *
 * size  of data; a longer message is truncated
 * fds   WORKER_MAX_FDS long: the descriptors that came along, which the caller closes, and -1; more
 *       of them are closed
 */
_must_check_ ssize_t worker_receive(int socket, void *data, size_t size, int *fds);

/* ret_sender  the pid of the process that sent it, by the kernel's word; 0: unknown */
_must_check_ ssize_t worker_receive_from(int socket, void *data, size_t size, int *fds,
					 pid_t *ret_sender);

#endif
