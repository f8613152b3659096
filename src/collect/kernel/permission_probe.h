/*
 * Why bpf() or perf_event_open() failed with EPERM, and what to do about it: capabilities, seccomp
 * (containers), sysctls, user namespaces and kernel lockdown all give the same error.
 *
 * Thread-safe.
 */
#ifndef COLLECT_KERNEL_PERMISSION_PROBE_H
#define COLLECT_KERNEL_PERMISSION_PROBE_H

#include <stdbool.h>
#include <stdint.h>

struct permission_probe {
	uint64_t capabilities;     /* effective; by bit, as in linux/capability.h */
	bool has_seccomp_filter;   /* which may refuse calls, as those of containers do */
	bool is_call_refused;      /* even with arguments for which it would do nothing */
	bool is_in_user_namespace; /* not the initial one: capabilities only count inside of it */
	bool is_locked_down;       /* in mode "confidentiality" */
};

/*
 * Examine this process after a call was not permitted.
 *
 * root_fd  descriptor of "/", or of a folder in its place; borrowed
 * number   of the system call: SYS_bpf or SYS_perf_event_open
 */
struct permission_probe permission_probe_run(int root_fd, long number);

/* The most likely reason, and the remedy, as the end of a sentence. */
const char *permission_probe_explain(const struct permission_probe *permission_probe);

/* Both, on this machine. */
const char *permission_probe_explain_call(long number);

#endif
