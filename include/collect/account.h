/*
 * The account of a recording, as plain values: the outcome of every tick, event, wait and wakeup; how complete the user
 * stacks are; the cost of the unwind tables.
 */
#ifndef COLLECT_ACCOUNT_H
#define COLLECT_ACCOUNT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/process_table.h"
#include "process/slow_opener.h"
#include "wire/runtime.h"
#include "wire/unwind.h"

/*
 * How long an event was counted. A CPU has only a few counters: if more events are to be counted,
 * the kernel lets them take turns, and each is counted only part of the time.
 */

/* Summed over all CPUs. All 0 if the event is not a CPU counter (a tracepoint, for example). */
struct event_times {
	uint64_t enabled_ns; /* time with counting requested */
	uint64_t running_ns; /* of it, time with a counter */
};

/*
 * Whether counts are to be scaled. A gap below a thousandth is ignored: switching the counters on
 * and off may take that long.
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
	uint64_t build_wall_ns;    /* wall time: with waiting, and the time before and after a
				      table is made */
	uint64_t worker_cpu_ns;    /* of processes that make them, read or open files, until now */
	uint64_t worker_rss_bytes; /* their largest memory, beyond ours; after recorder_stop() */
	uint64_t num_dropped; /* no room in the BPF maps, or the file was overwritten too early */
};

/* Outcomes of interrupts, softirqs and items of workqueues, if the whole machine is recorded. */
struct kwork_counts {
	uint64_t fired;
	uint64_t kept;
	uint64_t lost_ring;    /* the ring was full */
	uint64_t lost_nested;  /* another one of its kind was being recorded */
	uint64_t lost_storage; /* the temporary file could not be written */
	uint64_t unseen_begin; /* started before the recording */
};

/* Outcomes of the scheduler's events; `switches` and `wakeups` are those that were kept. */
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

/*
 * Why a tick, an event or a wait that was to be sampled is not among the samples. A new reason is a
 * row here, and an assignment where it is counted:
 *
 * 	LOSS(NAME, key in the account of a run, kinds of enum loss_kind, explanation after a number)
 */
#define LOSSES(LOSS)                                                                                  \
	LOSS(RING_SAMPLE, "ring_sample", LOSS_OF_TICKS | LOSS_OF_WAITS,                               \
	     "{sample|samples} lost: ring full")                                                      \
	LOSS(RING_STACK, "ring_stack", LOSS_OF_TICKS | LOSS_OF_WAITS,                                 \
	     "{sample|samples} lost: ring full for {its|their} stack")                                \
	LOSS(UNKNOWN_STACK, "unknown_stack", LOSS_OF_TICKS | LOSS_OF_WAITS,                           \
	     "{sample|samples} lost: stack missing")                                                  \
	LOSS(PREEMPTED, "preempted", LOSS_OF_TICKS | LOSS_BEFORE_SAMPLE,                              \
	     "{hit|hits} of a probe lost: another thread of the CPU was in it")                       \
	LOSS(SKIPPED, "skipped", LOSS_OF_TICKS | LOSS_BEFORE_SAMPLE,                                  \
	     "{hit|hits} skipped by the kernel: a BPF program was running on that CPU")               \
	LOSS(BLOCK, "block", LOSS_OF_TICKS,                                                           \
	     "{allocation|allocations} lost: too many live at a time; a larger -c loses less")        \
	LOSS(UNDELIVERED, "undelivered", LOSS_OF_TICKS | LOSS_BEFORE_SAMPLE,                          \
	     "{tick was|ticks were} not delivered: the kernel throttled {it|them}, or the CPU slept") \
	LOSS(UNREAD, "unread", LOSS_OF_WAITS,                                                         \
	     "{sample|samples} lost: memory of sleeping threads read too late")

enum loss_kind {
	LOSS_OF_TICKS = 1,      /* of ticks and events */
	LOSS_OF_WAITS = 2,      /* of intervals off the CPU */
	LOSS_BEFORE_SAMPLE = 4, /* a hit or tick, which need not have become a sample */
};

#define LOSS_NUMBER(name, key, kinds, explanation) LOSS_##name,
enum loss { LOSSES(LOSS_NUMBER) NUM_LOSSES };
#undef LOSS_NUMBER

/* "ring_sample". A literal. */
const char *loss_get_key(enum loss loss);
/* "{sample|samples} lost: ring full", for table_append_counted(). A literal. */
const char *loss_explain(enum loss loss);
/* Whether it is one of these kinds: all of them. */
bool loss_is(enum loss loss, unsigned int kinds);
uint64_t losses_sum(const uint64_t lost[static NUM_LOSSES]);
/* The samples among them that were taken: not hits or ticks before that. */
uint64_t losses_sum_samples(const uint64_t lost[static NUM_LOSSES]);

/*
 * The outcomes of a tick, an event and a wait beside the losses: each is one row here, and one assignment where it is
 * counted. The field, the key in the account of a run and the balance have its name.
 */
/* PART: a part of the outcome before it. */
#define TICK_OUTCOMES(OUTCOME, PART)                            \
	OUTCOME(idle)                                           \
	OUTCOME(filtered) /* threads that are not targets */    \
	PART(outside)     /* those outside our PID namespace */ \
	OUTCOME(samples)

/* OWN: an outcome that ticks do not have. */
#define EVENT_OUTCOMES(OUTCOME, OWN)                                                         \
	OUTCOME(idle)                                                                        \
	OUTCOME(filtered)                                                                    \
	OWN(unmatched)    /* of a tracepoint: its filter did not match; see wire_counters */ \
	OWN(weightless)   /* its field is not above 0; or a call within an allocator */      \
	OWN(unseen_begin) /* weighs its time, but its start was not seen */                  \
	OWN(unfinished)   /* likewise, but its end was not seen */                           \
	OWN(below_period) /* part of the weight of the next sample */                        \
	OUTCOME(samples)

/* TIMED: the sum of their time is known, too, in a field with _ns behind its name. */
#define WAIT_OUTCOMES(OUTCOME, TIMED)                                               \
	OUTCOME(filtered)                                                           \
	OUTCOME(unseen_begin)  /* its start was not seen */                         \
	TIMED(other_waits)     /* not for a futex, where only those are recorded */ \
	TIMED(below_min_block) /* shorter than --min-block */                       \
	OUTCOME(below_period)  /* without a point of the period in it */            \
	OUTCOME(samples)

#define OUTCOME_FIELD(name) uint64_t name;
#define OUTCOME_TIMED_FIELD(name) \
	uint64_t name;            \
	uint64_t name##_ns;
#define OUTCOME_ADD(name) sum += counts->name;
#define OUTCOME_SKIP(name)

/* Why a thread waits, or was taken off its CPU. */
enum wait_kind {
	WAIT_BLOCKED,         /* until somebody wakes it */
	WAIT_UNINTERRUPTIBLE, /* the same, and no signal can */
	WAIT_RUN_QUEUE,       /* it was woken: for a CPU */
	WAIT_PREEMPTED,       /* it was running and would have run on: for a CPU */
	NUM_WAIT_KINDS,
};
/* Its metric: "run-queue". A literal. */
const char *wait_kind_get_name(enum wait_kind kind);

/* Outcomes of the wakers of sampled waits, if wakers were asked for. */
struct waker_counts {
	bool is_recorded;
	uint64_t known;       /* waits with their wakers */
	uint64_t open;        /* waits that nobody has ended yet */
	uint64_t unseen;      /* waits without: no waker was seen, or for a reason below */
	uint64_t lost;        /* waits whose waker was sent, but it or its stack was not received */
	uint64_t lost_ring;   /* wakeups: there was no room in the ring */
	uint64_t lost_nested; /* wakeups: by an interrupt during another one */
	uint64_t hidden;      /* wakeups: by a waker outside our pid namespace */
	uint64_t walks[NUM_WALK_ENDS]; /* of the wakers' user stacks, as for ticks */
	uint64_t in_exec;
	uint64_t left_out; /* user stacks: interrupts and threads cannot be distinguished, as
			      /proc/kallsyms shows no addresses */
};

/* Outcomes of every interval that a thread was off its CPU. */
struct off_cpu_counts {
	bool is_recorded;
	uint64_t period_ns;    /* off-CPU time of a thread that one sample represents */
	uint64_t min_block_ns; /* shorter ones are left out */
	bool only_futexes;     /* others are left out before */
	uint64_t fired;
	WAIT_OUTCOMES(OUTCOME_FIELD, OUTCOME_TIMED_FIELD)
	uint64_t lost[NUM_LOSSES];
	uint64_t unfinished; /* of those that fired: they went on at the end */
	uint64_t unnoted;    /* not counted: there was no room to note them */
	uint64_t exact_ns
		[NUM_WAIT_KINDS]; /* of all that pass the filters and whose start was seen */
	uint64_t sampled_ns[NUM_WAIT_KINDS]; /* the weight of the samples */
	uint64_t cpu_ns;                     /* exact CPU time of threads */
	/* Else the next one means nothing: of a cgroup, in a pid namespace, on kernels without a
	   program that is run for all threads. */
	bool knows_lives;
	uint64_t lived_ns;             /* lifetimes of threads, by their starts and ends */
	uint64_t walks[NUM_WALK_ENDS]; /* of their user stacks, as for ticks */
	uint64_t in_exec;
	uint64_t kernel_only;
	struct waker_counts wakers;
};

/*
 * Time that threads have lived but that is in no sum: waits whose start was not seen. Below 0 if
 * the sums have too much, as when the kernel does not report a switch.
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
	uint64_t sum = losses_sum(counts->lost);

	WAIT_OUTCOMES(OUTCOME_ADD, OUTCOME_ADD)
	return counts->fired == sum;
}

/* Return addresses that were checked; see call_check.h. */
struct call_check_counts {
	uint64_t checked; /* each once per file */
	uint64_t failed;  /* of these, not after a call */
};

/*
 * Outcomes of an event's ticks, or a tracepoint's hits: fired is the sum of EVENT_OUTCOMES() and of
 * the losses.
 */
struct event_counts {
	const char *name; /* borrowed until recorder_free() */
	const char *unit; /* likewise */
	uint64_t fired;
	EVENT_OUTCOMES(OUTCOME_FIELD, OUTCOME_FIELD)
	uint64_t outside; /* of those filtered */
	uint64_t lost[NUM_LOSSES];
	/* The sum is: the samples are points of a Poisson process, or some requests of many. */
	bool is_estimated;
	bool is_of_requests;    /* to block devices, weighted by their time */
	uint64_t mean_distance; /* between points of a Poisson process, as weight; else 0 */
	/*
	 * If not every hit is a sample: number of samples of one weight that would estimate as well
	 * which part of the sum a stack has; else 0.
	 */
	double effective_samples;
	bool is_live; /* of the samples, only those are in the profile whose memory was not freed: */
	uint64_t live;
	uint64_t oldest_ns; /* of these */
	struct event_times times;
	uint64_t weight;        /* of the samples: how much of it was counted */
	uint64_t scaled_weight; /* its estimate with gaps filled; differs only if times have gaps */
	uint64_t rest;          /* of hits that a program counts: in no sample */
	uint64_t lost_weight;   /* of lost samples; for live memory, freed or not */
};

/* Outcome for the interpreter's frames in a sample of a process that runs an interpreter. */
enum runtime_fit {
	RUNTIME_NONE,       /* the process runs no known interpreter */
	RUNTIME_FITS,       /* they are in its stack */
	RUNTIME_FITS_NOT,   /* the native stack has other calls of the interpreter */
	RUNTIME_NO_THREAD,  /* the interpreter's state of the thread was not found */
	RUNTIME_UNREADABLE, /* their memory could not be read */
	RUNTIME_EARLY,      /* they were not asked for yet, or not received */
	RUNTIME_UNKNOWN,    /* unknown version or build, such as free-threaded ones */
	RUNTIME_OUTSIDE,    /* no frames: startup, exit or a native thread */
	NUM_RUNTIME_FITS,
};

/* "fits", "fits_not" and so on, in the account of a run. */
const char *runtime_fit_get_name(enum runtime_fit fit);

/* Counts of one version of an interpreter. */
struct runtime_counts {
	enum wire_runtime runtime;
	uint16_t major;     /* with minor 0: unknown, or beyond the limit of versions */
	uint16_t minor;     /* of Java 0 */
	uint64_t processes; /* processes with samples */
	uint64_t samples;
	uint64_t fits[NUM_RUNTIME_FITS]; /* of them, by outcome for their frames */
	uint64_t may_lack_inlined;       /* among those that fit: inlined functions are unknown */
};
#define RECORDER_MAX_RUNTIMES 48

/* Time of our BPF programs, taken from other threads. */
struct program_time {
	uint64_t ns;
	uint64_t num_runs;
	uint64_t sampled_ns; /* by timed runs, if the kernel's statistics report more */
	bool is_sampled;     /* ns, too, is an estimate, if only of some programs */
};

/* Files with an allocator, first mapped after the probes of `alloc` were attached. */
struct late_allocators {
	uint32_t num_followed; /* probed then; their allocations before that are missing */
	uint64_t max_delay_ns; /* longest time from the mapping of a followed one to its probes */
	uint32_t num_files;    /* not followed: all of their allocations are missing */
	uint32_t num_unread; /* files without a look into them, also those that were gone at once */
	/* Programs with an unknown allocator: in Go, or without libraries and a known one. */
	uint32_t num_unknown;
	/* NULL: no file; borrowed from the recorder. */
	const char *first_path; /* not followed */
	const char *first_followed_path;
	const char *first_unknown_path;
};

/* Overwritten files with probes: these were taken away before, and count until then. */
struct overwritten_files {
	uint32_t count;
	const char *first_path; /* NULL: none; borrowed from the recorder */
};

/* Probes of programs at the end. */
struct left_probes {
	pid_t keeper;     /* 0: all were taken away; else our process that takes them away later */
	pid_t silent;     /* the process that it waits for; 0: it is only slow */
	bool ended_early; /* our process, and all probes with it: later hits are missing */
};

/* Account of ticks: fired is the sum of TICK_OUTCOMES() and of the losses. */
struct recorder_account {
	uint64_t fired;
	TICK_OUTCOMES(OUTCOME_FIELD, OUTCOME_FIELD)
	uint64_t lost[NUM_LOSSES];
	uint64_t walks[NUM_WALK_ENDS]; /* user stacks walked by table, by how that ended */
	uint64_t recovered;            /* of the complete ones, those walked later */
	uint64_t unproven;       /* of the complete ones: no call proves a step by frame pointer */
	uint64_t in_exec;        /* samples whose user stack an exec had taken away */
	uint64_t kernel_only;    /* samples of kernel threads, or of threads that start or exit */
	uint64_t lost_side_band; /* process events: not samples */
	uint64_t late_events;    /* too late to be sorted by time */
	uint64_t unfollowed;     /* new threads that did not fit into the filter */
	uint64_t duration_ns;    /* while samples were taken, until now */
	uint64_t observed_ns;    /* of it, how long each thread with samples was there, in sum;
				    after recorder_stop() */
	uint64_t idle_ns;        /* CPUs of the machine without a thread to run, in sum; after
				    recorder_stop() */
	uint32_t num_cpus;       /* online at the start */
	struct process_table_stats processes;
	uint64_t unopened_files; /* mapped files that were not opened, as too many were open */
	struct late_allocators late_allocators; /* after recorder_stop() */
	struct overwritten_files overwritten;
	struct left_probes left_probes; /* after recorder_stop() */
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
static inline bool recorder_account_is_balanced(const struct recorder_account *counts)
{
	uint64_t sum = losses_sum(counts->lost);

	TICK_OUTCOMES(OUTCOME_ADD, OUTCOME_SKIP)
	return counts->fired == sum;
}

#endif
