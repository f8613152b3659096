/*
 * One recording: from the kernel's ticks to a profile whose locations have no names yet.
 *
 * Needs the privileges of sampling. Not thread-safe.
 *
 *	recorder_new() → recorder_start() → recorder_read() again and again → recorder_stop()
 */
#ifndef COLLECT_RECORDER_H
#define COLLECT_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/intake.h"
#include "collect/publisher.h"
#include "collect/scheduling.h"
#include "collect/side_band.h"
#include "collect/target.h"
#include "collect/trace_log.h"

struct recorder;

struct recorder_opts {
	struct target target;
	uint32_t frequency_hz;
	bool no_kernel_stacks;
	enum user_stacks user_stacks;
	bool no_fp_steps; /* by table only: not by frame pointer where there can be no table */
	bool no_table_cache;
	const char *table_cache_folder; /* NULL: the usual one. Only used by recorder_new() */
	bool checks_calls;              /* that every return address follows a call; for tests */
	bool keeps_times;               /* of each sample, for a trace; else only sums */
	bool keeps_moments;             /* of the samples, in the profile */
	size_t ring_bytes;              /* of each ring between kernel and us; 0: the default */
	bool records_schedule;          /* switches between threads and who wakes whom, too */
	const char *temporary_folder;   /* where what is too much for memory is kept; borrowed */
};

/* What became of every tick: fired = idle + filtered + samples + what was lost. */
struct recorder_account {
	uint64_t fired;
	uint64_t idle;
	uint64_t filtered;
	uint64_t samples;
	uint64_t lost_ring_sample;
	uint64_t lost_ring_stack;
	uint64_t lost_unknown_stack;
	uint64_t walks[NUM_WALK_ENDS];       /* user stacks walked by table, by how that ended */
	uint64_t recovered;                  /* of the complete ones, those walked later */
	uint64_t in_exec;                    /* samples whose user stack was being replaced */
	uint64_t lost_side_band;             /* process events: not samples */
	uint64_t late_events;                /* that came too late to be put into order */
	uint64_t unfollowed;                 /* new threads that there was no room to follow */
	uint64_t duration_ns;                /* from start to stop, or to now */
	uint32_t num_cpus;                   /* online at the start */
	struct scheduling_counts scheduling; /* all 0 unless it is recorded */
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

/* Before recorder_stop() counts lag behind by what is still in the rings. */
struct recorder_account recorder_get_account(const struct recorder *recorder);
/* The account adds up. Meaningful after recorder_stop(). */
static inline bool recorder_account_is_balanced(const struct recorder_account *account)
{
	return account->fired == account->idle + account->filtered + account->samples +
					 account->lost_ring_sample + account->lost_ring_stack +
					 account->lost_unknown_stack;
}

/* All borrowed until recorder_free(). */
struct profile *recorder_get_profile(struct recorder *recorder);
const struct file_table *recorder_get_files(const struct recorder *recorder);
const struct process_table *recorder_get_processes(const struct recorder *recorder);
const struct kernel_code *recorder_get_kernel_code(const struct recorder *recorder,
						   size_t *ret_count);
const struct user_stack_count *recorder_get_user_stacks(const struct recorder *recorder,
							size_t *ret_count);
/* All zero unless calls are checked. */
struct call_check_counts recorder_get_call_check(const struct recorder *recorder);
/* All zero without tables. */
struct publisher_statistics recorder_get_table_statistics(const struct recorder *recorder);
/* NULL unless times are kept. */
struct trace_log *recorder_get_trace_log(const struct recorder *recorder);
/* NULL unless scheduling is recorded. */
struct schedule_store *recorder_get_schedule(const struct recorder *recorder);
const char *recorder_get_event_name(const struct recorder *recorder);

#endif
