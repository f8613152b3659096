/*
 * Why the kernel does not permit what recording needs, although it could, and the cure.
 *
 * Thread-safe.
 */
#ifndef COLLECT_REFUSAL_H
#define COLLECT_REFUSAL_H

#include <stdbool.h>
#include <stdint.h>

struct refusal {
	uint64_t capabilities;     /* effective; by bit, as in linux/capability.h */
	bool has_seccomp_filter;   /* calls can be forbidden to us */
	bool is_call_refused;      /* even where it would do nothing */
	bool is_in_user_namespace; /* not the first one: capabilities hold in there only */
	bool is_locked_down;       /* in mode "confidentiality" */
};

/*
 * Find out about this process, after a call was not permitted.
 *
 * root_fd  of "/", or of a folder that stands for it; borrowed
 * number   of the system call: SYS_bpf or SYS_perf_event_open
 */
struct refusal refusal_probe(int root_fd, long number);

/* The most likely reason, and what to do: the end of a sentence. */
const char *refusal_explain(const struct refusal *refusal);

/* Both, on this machine. */
const char *refusal_explain_call(long number);

#endif
