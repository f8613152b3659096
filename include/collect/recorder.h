/*
 * One recording: from the kernel's ticks to a profile whose locations have no names yet.
 *
 *	recorder_new() → recorder_start() → recorder_read() again and again → recorder_stop()
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
#include "collect/events.h"
#include "collect/target.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "process/slow_opener.h"
#include "profile/profile.h"
#include "runtime/named.h"
#include "timeline/timeline.h"
#include "wire/unwind.h"

/*
 * How long an event was counted. A CPU has a few counters: where more is to be counted, the kernel lets the events take
 * turns, and each has counted a part of the time only.
 */

/* Of all CPUs in sum. All 0 where the event is none of a CPU's counters, as a tracepoint. */
struct event_times {
	uint64_t enabled_ns; /* that it was to be counted */
	uint64_t running_ns; /* of that, that it had a counter */
};

/*
 * Whether what was counted is to be scaled. Below a thousandth nothing is: that is what switching the counters on and off
 * may take.
 */
static inline bool event_times_have_gaps(const struct event_times *times)
{
	return times->running_ns && times->running_ns < times->enabled_ns &&
	       times->enabled_ns - times->running_ns > times->enabled_ns / 1000;
}

/* Whether it was to be counted and never was: there is nothing to scale. */
static inline bool event_times_are_empty(const struct event_times *times)
{
	return times->enabled_ns && !times->running_ns;
}

/*
 * What a recording counts: what became of every tick, how complete the user stacks are, and the
 * cost of the unwind tables. Plain values.
 */

/*
 * A user stack that the kernel walked by frame pointers, and its samples. Whether it is complete is
 * known only after symbolizing: by the name of its outermost frame.
 */
struct user_stack_count {
	uint32_t stack; /* in the profile, without kernel levels; STACK_EMPTY: the walk failed */
	uint64_t num_samples;
	uint64_t num_at_limit; /* of these, walks that the kernel's depth limit ended */
};

/* A stack of the profile, and the samples of all events that have it. */
struct stack_count {
	uint32_t stack;
	uint64_t num_samples;
};

/* Unwind tables that were made, or taken from the cache. */
struct unwind_table_counts {
	uint64_t num_objfiles; /* with a table */
	uint64_t num_rows;
	uint64_t size_bytes;       /* of kernel memory for rows and rules */
	uint64_t frame_info_bytes; /* of .eh_frame and .debug_frame that tables were made from */
	uint64_t build_ns;         /* CPU time, summed over the worker threads */
	uint64_t build_wall_ns;    /* the same by the clock: with waiting, and what comes before and
				      after a table is made */
	uint64_t worker_cpu_ns;    /* of processes that make them, read or open files, until now */
	uint64_t worker_rss_bytes; /* their largest memory, beyond ours; after recorder_stop() */
	uint64_t num_dropped;      /* tables and processes that did not fit into the BPF maps */
};

/* What became of interrupts, softirqs and items of workqueues, where the whole machine is recorded. */
struct kwork_counts {
	uint64_t fired;
	uint64_t kept;
	uint64_t lost_ring;    /* the ring was full */
	uint64_t lost_nested;  /* it came while another one of its kind was being recorded */
	uint64_t lost_storage; /* the temporary file could not be written */
	uint64_t unseen_begin; /* it had begun before the recording */
};

/* What became of every event of the scheduler; `switches` and `wakeups` are those that were kept. */
struct scheduling_counts {
	bool is_recorded;
	uint64_t fired;
	uint64_t switches;
	uint64_t wakeups;
	uint64_t lost_ring; /* the ring was full */
	uint64_t
		lost_nested; /* an interrupt woke a thread while another event was being recorded */
	uint64_t lost_storage;      /* the temporary file could not be written */
	uint64_t lost_unseen;       /* not reported by the kernel: another thread was seen to run */
	struct kwork_counts kworks; /* not among the events of the scheduler */
};

/* They add up. Meaningful after recorder_stop(). */
bool scheduling_counts_are_balanced(const struct scheduling_counts *counts);

/* What a thread waits for, or has the CPU taken from it by. */
enum wait_kind {
	WAIT_BLOCKED,         /* until somebody wakes it */
	WAIT_UNINTERRUPTIBLE, /* the same, and no signal can */
	WAIT_RUN_QUEUE,       /* it was woken: for a CPU */
	WAIT_PREEMPTED,       /* it was running and would have run on: for a CPU */
	NUM_WAIT_KINDS,
};
/* Its metric: "run-queue". A literal. */
const char *wait_kind_get_name(enum wait_kind kind);

/* What became of who ended the waits that were sampled, where that was asked for. */
struct waker_counts {
	bool is_recorded;
	uint64_t known;     /* waits with their wakers */
	uint64_t open;      /* waits that nobody has ended yet */
	uint64_t unseen;    /* waits without: nobody was seen to end them, or for a reason below */
	uint64_t lost;      /* waits whose waker was sent, but has not come, or without its stack */
	uint64_t lost_ring; /* wakeups: there was no room in the ring */
	uint64_t lost_nested;          /* wakeups: by an interrupt that came during another one */
	uint64_t hidden;               /* wakeups: by who is not in our pid namespace */
	uint64_t walks[NUM_WALK_ENDS]; /* of the wakers' user stacks, as of those of ticks */
	uint64_t in_exec;
	uint64_t left_out; /* user stacks: interrupts and threads cannot be distinguished, as
			      /proc/kallsyms shows no addresses */
};

/* What became of every interval that a thread was off its CPU. */
struct off_cpu_counts {
	bool is_recorded;
	uint64_t period_ns;    /* of a thread's off-CPU time, that a sample stands for */
	uint64_t min_block_ns; /* shorter ones are left out */
	bool only_futexes;     /* those that were for anything else are left out before */
	uint64_t fired;
	uint64_t filtered;       /* of threads that are no targets */
	uint64_t unseen_begin;   /* of which the begin was not seen */
	uint64_t other_waits;    /* for anything but a futex, where only those are recorded */
	uint64_t other_waits_ns; /* their time */
	uint64_t below_min_block;
	uint64_t below_min_block_ns; /* their time */
	uint64_t below_period;       /* that crossed no period */
	uint64_t samples;
	uint64_t lost_ring_sample;
	uint64_t lost_ring_stack;
	uint64_t lost_unknown_stack;
	uint64_t
		lost_unread; /* of threads that waited at the end, and there was no time to hear of */
	uint64_t unfinished; /* of those that fired: they went on at the end */
	uint64_t unnoted;    /* not counted at all: there was no room to note them */
	uint64_t exact_ns
		[NUM_WAIT_KINDS]; /* of all whose begin was seen, and that pass the filters */
	uint64_t sampled_ns[NUM_WAIT_KINDS]; /* the weight of the samples */
	uint64_t cpu_ns;                     /* that threads had a CPU, exactly */
	/* Else the next one means nothing: of a cgroup, in a pid namespace, on kernels without a
	   program that is run for all threads. */
	bool knows_lives;
	uint64_t lived_ns;             /* that threads were there, by their starts and ends */
	uint64_t walks[NUM_WALK_ENDS]; /* of their user stacks, as of those of ticks */
	uint64_t in_exec;
	struct waker_counts wakers;
};

/*
 * What of the time that threads have lived is in no sum: waits whose begin was not seen. Below 0 where the sums
 * have too much, as they do if the kernel does not report a switch.
 */
static inline int64_t off_cpu_counts_get_unaccounted_ns(const struct off_cpu_counts *counts)
{
	uint64_t sum_ns = counts->cpu_ns + counts->other_waits_ns + counts->below_min_block_ns;

	for (enum wait_kind kind = 0; kind < NUM_WAIT_KINDS; kind++)
		sum_ns += counts->exact_ns[kind];
	return (int64_t)(counts->lived_ns - sum_ns);
}

/* They add up. Meaningful after recorder_stop(). */
static inline bool off_cpu_counts_are_balanced(const struct off_cpu_counts *counts)
{
	return counts->fired == counts->filtered + counts->unseen_begin + counts->other_waits +
					counts->below_min_block + counts->below_period +
					counts->samples + counts->lost_ring_sample +
					counts->lost_ring_stack + counts->lost_unknown_stack +
					counts->lost_unread;
}

/* Return addresses that were checked; see call_check.h. */
struct call_check_counts {
	uint64_t checked; /* each once per file */
	uint64_t failed;  /* of these, not after a call */
};

/*
 * What became of every tick of an event that was asked for, or every hit of a tracepoint:
 * fired = idle + filtered + unmatched + weightless + unseen_begin + unfinished + below_period + samples + what was
 * lost.
 */
struct event_counts {
	const char *name; /* borrowed until recorder_free() */
	const char *unit; /* likewise */
	uint64_t fired;
	uint64_t idle;
	uint64_t filtered;
	uint64_t outside;   /* of those filtered */
	uint64_t unmatched; /* of a tracepoint: hits of the target that its filter did not match */
	/* Of a tracepoint: its field said nothing above 0, or no amount. Of an allocator also: a call from within it. */
	uint64_t weightless;
	uint64_t unseen_begin; /* of what weighs its time: it is not known when it had begun */
	uint64_t unfinished;   /* likewise: its end was not seen */
	uint64_t below_period; /* of a tracepoint: what is sampled next stands for this, too */
	uint64_t samples;
	uint64_t lost_ring_sample;
	uint64_t lost_ring_stack;
	uint64_t lost_unknown_stack;
	uint64_t lost_preempted; /* of a probe: see bpf/counted.bpf.c */
	uint64_t lost_skipped;   /* the kernel did not run the program, as one ran on the CPU */
	uint64_t lost_block;     /* of what may be live: so much was at a time */
	bool is_estimated;       /* the samples are points of a Poisson process over the weight */
	bool is_live; /* of the samples, only those are in the profile whose memory was not freed: */
	uint64_t live;
	uint64_t oldest_ns; /* of these */
	struct event_times times;
	uint64_t weight;        /* of the samples: how much of it was counted */
	uint64_t scaled_weight; /* what that stands for; another only where the times have gaps */
	uint64_t rest; /* of hits that a program counts: came after the last sample of each CPU */
};

/* Interpreters whose frames are put into stacks, and runtimes that are known by name alone. */
enum runtime_kind {
	RUNTIME_PYTHON,  /* CPython */
	RUNTIME_V8,      /* that of Node.js, for one */
	RUNTIME_HOTSPOT, /* the virtual machine of Java */
	RUNTIME_PHP,
	RUNTIME_RUBY,
	RUNTIME_PERL,
	RUNTIME_NAMED, /* and following ones: those of runtime/named.h, by their numbers */
	NUM_RUNTIME_KINDS = RUNTIME_NAMED + NUM_NAMED_RUNTIMES,
};

/* NULL: its frames are put into stacks. Borrowed, valid always. */
const struct named_runtime *runtime_kind_get_named(enum runtime_kind kind);

/* "Python", "V8", "Java", "PHP", "Ruby", "Perl", ".NET". A literal. */
const char *runtime_kind_get_name(enum runtime_kind kind);

/* "3.11"; of Java, whose versions are one number, "17". */
#define RUNTIME_VERSION_BYTES 12
void runtime_format_version(enum runtime_kind kind, uint16_t major, uint16_t minor,
			    char ret[static RUNTIME_VERSION_BYTES]);

/* What became of the interpreter's frames of a sample of a process that runs one. */
enum runtime_fit {
	RUNTIME_NONE,       /* it runs none that is known */
	RUNTIME_FITS,       /* they are in its stack */
	RUNTIME_FITS_NOT,   /* the native stack has other calls of the interpreter */
	RUNTIME_NO_THREAD,  /* the interpreter's state of the thread was not found */
	RUNTIME_UNREADABLE, /* their memory could not be read */
	RUNTIME_EARLY,      /* they were not asked for yet, or did not come */
	RUNTIME_UNKNOWN, /* of a version or a build that is not known, as free-threaded ones are */
	RUNTIME_OUTSIDE, /* there are none: the interpreter begins or ends, or the thread is not of it */
	NUM_RUNTIME_FITS,
};

/* "fits", "fits_not" and so on, in the account of a run. */
const char *runtime_fit_get_name(enum runtime_fit fit);

/* Of one version of an interpreter. */
struct runtime_counts {
	enum runtime_kind kind;
	uint16_t major; /* with minor 0, both: not known, or one of those that were one too many */
	uint16_t minor; /* of Java 0 */
	uint64_t processes; /* that have samples */
	uint64_t samples;
	uint64_t fits[NUM_RUNTIME_FITS]; /* of them, by what became of their frames */
	uint64_t may_lack_inlined;       /* among those that fit: inlined functions are unknown */
};
#define RECORDER_MAX_RUNTIMES 48

/* What our BPF programs took, in the time of others. */
struct program_time {
	uint64_t ns;
	uint64_t num_runs;
	uint64_t
		sampled_ns; /* the same by runs that were timed, if the kernel's statistics say more */
	bool is_sampled;    /* ns, too, is an estimate, if only of some programs */
};

/* Of every tick: fired = idle + filtered + samples + what was lost. */
struct recorder_account {
	uint64_t fired;
	uint64_t idle;
	uint64_t filtered;
	uint64_t outside; /* filtered ticks of threads outside our PID namespace */
	uint64_t samples;
	uint64_t lost_ring_sample;
	uint64_t lost_ring_stack;
	uint64_t lost_unknown_stack;
	uint64_t lost_preempted;
	uint64_t lost_skipped;
	uint64_t lost_block;
	uint64_t walks[NUM_WALK_ENDS]; /* user stacks walked by table, by how that ended */
	uint64_t recovered;            /* of the complete ones, those walked later */
	uint64_t unproven;       /* of the complete ones: no call proves a step by frame pointer */
	uint64_t in_exec;        /* samples whose user stack an exec had taken away */
	uint64_t lost_side_band; /* process events: not samples */
	uint64_t late_events;    /* that came too late to be sorted by time */
	uint64_t unfollowed;     /* new threads that did not fit into the filter */
	uint64_t duration_ns;    /* from start to stop, or to now */
	uint64_t observed_ns;    /* of it, how long each thread with samples was there, in sum;
				    after recorder_stop() */
	uint32_t num_cpus;       /* online at the start */
	struct process_table_stats processes;
	uint64_t unopened_files; /* mapped files that were not opened, as too many were open */
	struct slow_opener_counts
		opener; /* reads of processes and their files that were given up */
	struct unwind_table_counts tables;   /* all 0 without tables */
	struct scheduling_counts scheduling; /* all 0 unless it is recorded */
	struct off_cpu_counts off_cpu;       /* likewise */
	struct call_check_counts calls;      /* all 0 unless calls are checked */
	struct program_time program_time;    /* after recorder_stop() */
	struct runtime_counts runtimes[RECORDER_MAX_RUNTIMES];
	size_t num_runtimes;
	uint64_t lost_runtime_codes; /* functions that were not kept: their frames have no name */
};

/* The account adds up. Meaningful after recorder_stop(). */
static inline bool recorder_account_is_balanced(const struct recorder_account *account)
{
	return account->fired == account->idle + account->filtered + account->samples +
					 account->lost_ring_sample + account->lost_ring_stack +
					 account->lost_unknown_stack + account->lost_preempted +
					 account->lost_skipped + account->lost_block;
}

struct fd_list;
struct recorder;

enum user_stacks { USER_STACKS_NONE, USER_STACKS_FP, USER_STACKS_TABLE };

/* What is shown of the stacks of interpreters. */
enum runtime_frames {
	RUNTIME_FRAMES_MANAGED, /* the frames of their programs, and what these have called */
	RUNTIME_FRAMES_ALL,     /* the interpreter's own functions between them, too */
	RUNTIME_FRAMES_NATIVE,  /* these alone */
};

/* How user stacks are walked by table. */
struct unwind_table_opts {
	bool no_fp_steps; /* no frame pointers even in code that has no call-frame information */
	bool no_cache;    /* do not use the cache of tables on disk */
	enum runtime_frames runtime_frames;
	const char *cache_folder; /* NULL: /var/cache/stackwide. Copied */
	uid_t worker_user; /* whom processes become that read foreign files, if we are root */
};

struct recorder_opts {
	struct target target;
	uint32_t frequency_hz;
	/* To be sampled, each as a metric; borrowed until recorder_free(). None: the CPU's cycles or clock */
	const struct event *events;
	size_t num_events;    /* at most MAX_EVENTS */
	uint64_t event_count; /* a sample for so many of an event; 0: by the frequency */
	enum user_stacks user_stacks;
	bool no_kernel_stacks;
	struct unwind_table_opts tables;
	bool keeps_timestamps; /* of the samples, in the profile */
	bool keeps_scripts;    /* what interpreters run, in the profile */
	bool makes_trace;      /* for recorder_build_trace(); else only sums are kept */
	bool records_schedule; /* switches between threads and who wakes whom, in the trace too */
	/* Of off-CPU time: metrics "cpu" to "wall" are in the profile, too. 0: it is not sampled */
	uint64_t off_cpu_period_ns;
	uint64_t off_cpu_min_block_ns; /* shorter times off the CPU are left out */
	bool takes_wakers;             /* who ends the waits, as another metric */
	bool takes_futexes;            /* and what they waited for, where it was a futex */
	bool only_futexes;             /* other waits are left out */
	bool checks_calls;             /* that every return address follows a call; for tests */
	size_t ring_bytes;             /* of each ring between kernel and us; 0: the default */
	const char *temporary_folder;  /* for data that does not fit into memory; borrowed */
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

/*
 * The descriptors that another process needs to read what was recorded, after recorder_stop(): those of
 * temporary files, and no others.
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

/* Read all rings and process them. Returns 0 or -ENOMEM (or another errno) with error filled. */
_must_check_ int recorder_read(struct recorder *recorder, struct error *error);

/* Whether none of the target's processes or threads is left. */
bool recorder_has_ended(const struct recorder *recorder);

/* Stop sampling and process the rest. Returns as recorder_read(). */
_must_check_ int recorder_stop(struct recorder *recorder, struct error *error);

/*
 * The live descendants of these processes, and those of them that still run, as the target of a
 * recording that takes over.
 *
 * ret   pids; the caller frees
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int recorder_list_descendants(const struct recorder *recorder, const pid_t *pids,
					   size_t num_pids, pid_t **ret, size_t *ret_count);

/* The sampling event where none was asked for, "cycles" or "cpu-clock". A literal. */
const char *recorder_get_event_name(const struct recorder *recorder);

/* A process that has an interpreter mapped. */
struct runtime_process {
	uint32_t pid;
	enum runtime_kind kind;
	uint16_t major; /* with minor 0, both: not known */
	uint16_t minor; /* of Java 0 */
	bool is_known;  /* else its frames are shown as native code */
	char comm[16];  /* NUL-terminated */
};

/* Those that live. ret: the caller frees. Returns 0 or -ENOMEM. */
_must_check_ int recorder_list_runtimes(const struct recorder *recorder,
					struct runtime_process **ret, size_t *ret_count);

/* Before recorder_stop(), events that are still in the rings are not counted. */
struct recorder_account recorder_get_account(const struct recorder *recorder);
/* Of the events that were asked for, num_events of them, after recorder_stop(). The caller frees. NULL: out of memory. */
struct event_counts *recorder_get_event_counts(const struct recorder *recorder);
/* Of user stacks by frame pointer. Borrowed until the next recorder_read(). */
const struct user_stack_count *recorder_get_user_stacks(const struct recorder *recorder,
							size_t *ret_count);
/* Of the events that were asked for: their weights do not say how many samples there are. Borrowed likewise. */
const struct stack_count *recorder_get_event_stacks(const struct recorder *recorder,
						    size_t *ret_count);

/* Borrowed until recorder_free(). */
struct profile *recorder_get_profile(struct recorder *recorder);

/* Kernel code that appeared while recording: a BPF program, a trampoline. */
struct kernel_code {
	uint64_t start;
	uint64_t size_bytes;
	char name[128];
};

/* All borrowed until recorder_free(). Modules and processes have the same ids in the profile. */
struct recorded_code {
	const struct file_table *files;
	const struct process_table *processes;
	const struct kernel_code *kernel; /* in order of appearance; until the next read */
	size_t num_kernel;
};

struct recorded_code recorder_get_code(const struct recorder *recorder);

/*
 * Add the trace of a recording that has stopped to a timeline: threads, samples, the stack regions
 * that they were taken on, and the scheduling. Processes and threads that the timeline has already
 * are identified by pid and tid. The timeline reads from the recorder's temporary files: free it
 * first. Events that these files have lost are missing.
 *
 * Only with makes_trace. Returns 0, -ENOMEM, or negative errno of reading the files.
 */
_must_check_ int recorder_build_trace(const struct recorder *recorder, struct timeline *timeline);

/* What the trace lacks because a temporary file could not be written. */
struct trace_losses {
	uint64_t num_samples;      /* of the recording */
	uint64_t lost_samples;     /* of these, missing */
	uint64_t lost_fills;       /* fills of stack regions that are missing */
	uint64_t lost_waits;       /* slices of waits; their samples are counted above */
	uint64_t lost_occupancies; /* stays of threads on stack regions */
	uint64_t lost_task_events; /* forks, execs, exits and renames */
	uint64_t lost_renames;     /* changes of threads' names, of which only so many are kept */
	int error;                 /* errno of the first loss; 0: nothing is lost */
};

struct trace_losses recorder_get_trace_losses(const struct recorder *recorder);

#endif
