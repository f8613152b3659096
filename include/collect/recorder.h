/*
 * One recording: from the kernel's ticks to a profile with locations that are not symbolized yet.
 *
 *	recorder_new() → recorder_start() → recorder_read() repeatedly → recorder_stop()
 *
 * and then the results: the profile, the account, the code that ran (which the symbolizer needs),
 * and the trace.
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
#include "collect/events.h"
#include "collect/kernel_code.h"
#include "collect/target.h"
#include "collect/user_stacks.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "timeline/timeline.h"

struct fd_list;
struct recorder;

struct recorder_opts {
	struct target target;
	uint32_t frequency_hz;
	/*
	 * Sampled events, each a metric; borrowed until recorder_free(). None: CPU cycles or clock.
	 */
	const struct event *events;
	size_t num_events;    /* at most MAX_EVENTS */
	uint64_t event_count; /* events per sample; 0: sample by frequency */
	enum user_stacks user_stacks;
	bool no_kernel_stacks;
	struct unwind_table_opts tables;
	bool keeps_timestamps; /* keep the samples' timestamps in the profile */
	bool keeps_scripts;    /* keep the scripts that interpreters run in the profile */
	bool makes_trace;      /* for recorder_build_trace(); else only sums are kept */
	bool records_schedule; /* switches between threads and wakeups, in the trace too */
	/* Period of off-CPU samples, for metrics "cpu" to "wall" in the profile. 0: not sampled. */
	uint64_t off_cpu_period_ns;
	uint64_t off_cpu_min_block_ns; /* shorter times off-CPU are ignored */
	bool takes_wakers;             /* record the wakers of waits, as another metric */
	bool takes_futexes;            /* record the futex of waits, too */
	bool only_futexes;             /* ignore other waits */
	bool checks_calls; /* check that every return address follows a call; for tests */
	size_t ring_bytes; /* of each ring between kernel and us; 0: the default */
	const char *temporary_folder; /* for data that does not fit into memory; borrowed */
};

/*
 * Load, open and read /proc: everything except starting.
 *
 * Returns 0 or negative errno with error filled: -EPERM, -ENOTSUP (it has the missing feature and
 * the remedy), -ESRCH (it has the missing process) or others.
 */
_must_check_ int recorder_new(const struct recorder_opts *opts, struct recorder **ret,
			      struct error *error);
void recorder_free(struct recorder *recorder);
static inline void recorder_freep(struct recorder **recorder)
{
	recorder_free(*recorder);
}

/*
 * The descriptors that another process needs to read the recording after recorder_stop(): only
 * those of temporary files.
 */
void recorder_add_fds(const struct recorder *recorder, struct fd_list *fds);

void recorder_start(struct recorder *recorder);

/*
 * `next` has started and `last` is about to be stopped: both sample for a moment. From now on each
 * tick belongs to one of them, and counts as filtered in the other.
 */
void recorder_hand_over(struct recorder *last, struct recorder *next);

/* Readable when a ring should be read soon; call recorder_read() every 100 ms anyway. */
int recorder_get_fd(const struct recorder *recorder);

/*
 * Time (clock_now_ns()) from which recorder_read() can publish mappings that it has read already, or
 * shall look at a HotSpot that starts; UINT64_MAX: there is nothing to do.
 */
uint64_t recorder_get_due_ns(const struct recorder *recorder);

/* Read all rings and process them. Returns 0 or -ENOMEM (or another errno) with error filled. */
_must_check_ int recorder_read(struct recorder *recorder, struct error *error);

/* Whether all processes or threads of the target have ended. */
bool recorder_has_ended(const struct recorder *recorder);

/* Stop sampling and process the rest. Returns as recorder_read(). */
_must_check_ int recorder_stop(struct recorder *recorder, struct error *error);

/*
 * The live descendants of these processes, and those of them that are still running, as the target
 * of a recording that takes over.
 *
 * ret   pids; the caller frees
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int recorder_list_descendants(const struct recorder *recorder, const pid_t *pids,
					   size_t num_pids, pid_t **ret, size_t *ret_count);

/* The default sampling event, "cycles" or "cpu-clock". A literal. */
const char *recorder_get_event_name(const struct recorder *recorder);

/* A process that has an interpreter mapped. */
struct runtime_process {
	uint32_t pid;
	enum wire_runtime runtime;
	uint16_t major; /* 0 with minor 0: unknown */
	uint16_t minor; /* 0 for Java */
	bool is_known;  /* else its frames are shown as native code */
	char comm[16];  /* NUL-terminated */
};

/* Live processes only. ret: the caller frees. Returns 0 or -ENOMEM. */
_must_check_ int recorder_list_runtimes(const struct recorder *recorder,
					struct runtime_process **ret, size_t *ret_count);

/* Before recorder_stop(), events still in the rings are not counted. */
struct recorder_account recorder_get_account(const struct recorder *recorder);
/*
 * Counts of the requested events, num_events long, after recorder_stop(). The caller frees. NULL:
 * out of memory.
 */
struct event_counts *recorder_get_event_counts(const struct recorder *recorder);
/* Counts of user stacks walked by frame pointer. Borrowed until the next recorder_read(). */
const struct user_stack_count *recorder_get_user_stacks(const struct recorder *recorder,
							size_t *ret_count);
/* Stacks of the requested events, whose weights are not sample counts. Borrowed likewise. */
const struct stack_count *recorder_get_event_stacks(const struct recorder *recorder,
						    size_t *ret_count);

/* Borrowed until recorder_free(). */
struct profile *recorder_get_profile(struct recorder *recorder);

/* All borrowed until recorder_free(). Modules and processes have the same ids in the profile. */
struct recorded_code {
	const struct file_table *files;
	const struct process_table *processes;
	const struct kernel_code *kernel; /* in order of appearance; borrowed until the next read */
	size_t num_kernel;
};

struct recorded_code recorder_get_code(const struct recorder *recorder);

/*
 * Add the trace of a recording that has stopped to a timeline: threads, samples, the stack regions
 * that they were taken on, and the scheduling. Processes and threads already in the timeline are
 * matched by pid and tid. The timeline reads the recorder's temporary files, so free it before the
 * recorder. Events lost from these files are missing.
 *
 * Only with makes_trace. Returns 0, -ENOMEM, or negative errno of reading the files.
 */
_must_check_ int recorder_build_trace(const struct recorder *recorder, struct timeline *timeline);

/* Data missing from the trace because a temporary file could not be written. */
struct trace_losses {
	uint64_t num_samples;      /* in the recording */
	uint64_t lost_samples;     /* of these, missing from the trace */
	uint64_t lost_fills;       /* missing fills of stack regions */
	uint64_t lost_waits;       /* slices of waits; their samples are counted above */
	uint64_t lost_occupancies; /* stays of threads on stack regions */
	uint64_t lost_task_events; /* forks, execs, exits and renames */
	uint64_t lost_renames;     /* renames of threads beyond the limit */
	int error;                 /* errno of the first loss; 0: nothing is lost */
};

struct trace_losses recorder_get_trace_losses(const struct recorder *recorder);

#endif
