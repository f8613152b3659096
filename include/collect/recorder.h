/*
 * One recording: from the kernel's ticks to a profile whose locations have no names yet.
 *
 *	recorder_new() → recorder_start() → recorder_read() again and again → recorder_stop()
 *
 * and then what it is: its profile, its account, what it knows of the code that ran (with which
 * the profile's locations get names), and its trace.
 *
 * Needs the privileges of sampling. Not thread-safe.
 */
#ifndef COLLECT_RECORDER_H
#define COLLECT_RECORDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/account.h"
#include "collect/target.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

struct recorder;

enum user_stacks { USER_STACKS_NONE, USER_STACKS_FP, USER_STACKS_TABLE };

/* How user stacks are walked by table. */
struct unwind_table_opts {
	bool no_fp_steps; /* not even where it is known that there is no call-frame information */
	bool no_cache;    /* neither take tables from the disk nor keep them there */
	const char *cache_folder; /* NULL: /var/cache/stackwide. Copied */
};

struct recorder_opts {
	struct target target;
	uint32_t frequency_hz;
	enum user_stacks user_stacks;
	bool no_kernel_stacks;
	struct unwind_table_opts tables;
	bool keeps_moments;    /* of the samples, in the profile */
	bool makes_trace;      /* for recorder_build_trace(); else only sums are kept */
	bool records_schedule; /* switches between threads and who wakes whom, in the trace too */
	bool checks_calls;     /* that every return address follows a call; for tests */
	size_t ring_bytes;     /* of each ring between kernel and us; 0: the default */
	const char *temporary_folder; /* where what is too much for memory is kept; borrowed */
};

/*
 * Load, open, read /proc: everything but starting.
 *
 * Returns 0; -EPERM or -ENOTSUP (error names what is missing and the cure); -ESRCH (error names the
 * process that is not there); or another negative errno with error filled.
 */
_must_check_ int recorder_new(const struct recorder_opts *opts, struct recorder **ret,
			      struct error *error);
void recorder_free(struct recorder *recorder);
static inline void recorder_freep(struct recorder **recorder)
{
	recorder_free(*recorder);
}

void recorder_start(struct recorder *recorder);

/* Readable when there is something that should be read soon; read every 100 ms anyway. */
int recorder_get_fd(const struct recorder *recorder);

/* Take in what the kernel has. Returns 0 or -ENOMEM (or another errno) with error filled. */
_must_check_ int recorder_read(struct recorder *recorder, struct error *error);

/* None of the processes or threads that were asked for is left. */
bool recorder_has_ended(const struct recorder *recorder);

/* Stop ticking and take in the rest. Returns as recorder_read(). */
_must_check_ int recorder_stop(struct recorder *recorder, struct error *error);

/*
 * What the processes pids have become: those of them that still run, and all that they have
 * started since, for a recording that takes over.
 *
 * ret   pids; the caller frees
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int recorder_list_descendants(const struct recorder *recorder, const pid_t *pids,
					   size_t num_pids, pid_t **ret, size_t *ret_count);

/* What ticks: the name of the event. A literal. */
const char *recorder_get_event_name(const struct recorder *recorder);

/* Before recorder_stop() counts lag behind by what is still in the rings. */
struct recorder_account recorder_get_account(const struct recorder *recorder);
/* Of user stacks by frame pointer. Borrowed until the next recorder_read(). */
const struct user_stack_count *recorder_get_user_stacks(const struct recorder *recorder,
							size_t *ret_count);

/* Borrowed until recorder_free(). */
struct profile *recorder_get_profile(struct recorder *recorder);

/* Kernel code that appeared while recording: a BPF program, a trampoline. */
struct kernel_code {
	uint64_t start;
	uint64_t size_bytes;
	char name[128];
};

/* All borrowed until recorder_free(). In the profile, modules and processes have their numbers. */
struct recorded_code {
	const struct file_table *files;
	const struct process_table *processes;
	const struct kernel_code *kernel; /* in order of appearance; until the next read */
	size_t num_kernel;
};

struct recorded_code recorder_get_code(const struct recorder *recorder);

/*
 * Add the trace of a recording that has stopped to a timeline: threads, samples, on which stack
 * regions they were taken, and the scheduling. Processes and threads that the timeline has already,
 * by pid and tid, are the same. The timeline reads from the recorder's temporary files: free it
 * first. What these files have lost is missing.
 *
 * Only with makes_trace. Returns 0, -ENOMEM, or negative errno of reading the files.
 */
_must_check_ int recorder_build_trace(const struct recorder *recorder, struct timeline *timeline);

/* What the trace lacks, because a temporary file could not be written. */
struct trace_losses {
	uint64_t num_samples;  /* that there would be */
	uint64_t lost_samples; /* of these */
	uint64_t lost_fills;   /* values of how full stacks were */
	int error;             /* errno of the first loss; 0: nothing is lost */
};

struct trace_losses recorder_get_trace_losses(const struct recorder *recorder);

#endif
