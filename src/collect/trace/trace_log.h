/*
 * Data of a trace that a profile lacks, as it has only sums: each single sample with its time, and
 * the memory areas of stacks. Kept only if a trace is requested.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_TRACE_TRACE_LOG_H
#define COLLECT_TRACE_TRACE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "base/spool.h"
#include "collect/trace/recorded_occupancies.h"
#include "wire/wire.h"

struct fd_list;
struct trace_log;

/* One sample; thread, stack and metric are ids of the recording's profile. */
struct timed_sample {
	uint64_t time_ns;
	uint64_t user_sp;      /* 0: none */
	uint64_t outermost_sp; /* of the outermost frame; 0: unknown */
	uint64_t weight;       /* for a requested event; 0: weight from its periods */
	uint32_t thread;
	uint32_t stack;
	uint32_t num_periods; /* weight, in ticks or in periods of off-CPU time */
	uint16_t cpu;
	uint8_t metric;
	bool is_in_kernel : 1;
	bool is_truncated : 1; /* the stack lacks its outer end */
	bool is_off_cpu : 1;
};
_Static_assert(sizeof(struct timed_sample) == 48, "there are many samples");

/* One sampled off-CPU interval; thread and stack as above. */
struct timed_wait {
	uint64_t end_ns; /* when the thread got a CPU, or the recording ended */
	uint64_t wait_ns;
	uint64_t queue_ns; /* at the end: it was woken by then */
	uint32_t thread;
	uint32_t stack;
	uint32_t num_periods; /* weight, in periods of off-CPU time */
	uint32_t num_queue_periods;
	uint32_t waker_name; /* string of the profile; STRING_EMPTY: unknown waker */
	uint32_t waker_stack;
	uint32_t waker_pid;
	uint32_t waker_tid; /* 0: it was no thread */
	uint8_t state;      /* enum off_cpu_state */
};

struct thread_rename {
	uint64_t time_ns;
	uint32_t pid;
	uint32_t tid;
	char comm[16]; /* NUL-terminated */
};

enum stack_kind {
	STACK_MAIN,
	STACK_THREAD,
	STACK_SIGNAL,
	STACK_GOROUTINE, /* or of Go's scheduler: its bounds are exact */
	STACK_OTHER,
};

/* Memory that a stack was seen in. */
struct stack_area {
	uint64_t
		first_ns; /* when it was first seen; a goroutine's may be there again after others */
	uint64_t start;   /* of its mapping, or of the signal stack; the lowest seen */
	uint64_t end;
	uint32_t process; /* id of the process table */
	uint32_t tid;     /* of the owner; 0: unknown */
	enum stack_kind kind;
	bool is_lower_bound;   /* the stack is larger than this known part */
	bool has_exact_bounds; /* STACK_THREAD: as the thread's library has noted them */
};

/*
 * folder  for the temporary files
 *
 * Returns 0, -ENOMEM, or negative errno with the folder and the remedy in error.
 */
_must_check_ int trace_log_new(const char *folder, struct trace_log **ret, struct error *error);
void trace_log_free(struct trace_log *log);

/* The descriptors that reading and building a trace need (base/confinement.h). */
void trace_log_add_fds(const struct trace_log *log, struct fd_list *fds);

static inline void trace_log_freep(struct trace_log **log)
{
	trace_log_free(*log);
}

/* Add a sample, in any order. The spool counts samples that it could not write. */
void trace_log_add_sample(struct trace_log *log, const struct timed_sample *sample);

/* The same for a wait, which has samples, too. */
void trace_log_add_wait(struct trace_log *log, const struct timed_wait *wait);

/*
 * Add a stack area of a process (id of the process table), if it is new. Malformed records are
 * ignored. Returns 0 or -ENOMEM.
 */
_must_check_ int trace_log_add_area(struct trace_log *log, uint32_t process,
				    const struct wire_stack_area *record);

/* Add the start of a thread in a process that existed. */
void trace_log_add_thread(struct trace_log *log, uint64_t time_ns, uint32_t pid, uint32_t tid);

/* Add a thread's change of name other than by an exec. */
void trace_log_add_rename(struct trace_log *log, uint64_t time_ns, uint32_t pid, uint32_t tid,
			  const char *comm);

/* All struct timed_sample, in order of time. Borrowed. */
struct spool *trace_log_get_samples(struct trace_log *log);
/* All struct thread_start, in order of time. Borrowed. */
struct spool *trace_log_get_threads(struct trace_log *log);
/* All struct thread_rename, in order of time. Borrowed. */
struct spool *trace_log_get_renames(struct trace_log *log);
/* Count a lost rename: it had no place in the timeline. */
void trace_log_count_lost_rename(struct trace_log *log);
uint64_t trace_log_get_lost_renames(const struct trace_log *log);
/* All struct timed_wait, in the order of their ends. Borrowed. */
struct spool *trace_log_get_waits(struct trace_log *log);
/*
 * Empty spools for struct region_fill, timeline_wait and task_event, and the store of occupancies.
 * The trace builder fills them. Borrowed.
 */
struct spool *trace_log_get_fills(struct trace_log *log);
struct spool *trace_log_get_thread_waits(struct trace_log *log);
struct spool *trace_log_get_task_events(struct trace_log *log);
struct recorded_occupancies *trace_log_get_occupancies(struct trace_log *log);
/*
 * Store the data filled in so far, so that all losses are counted. Nothing may be added afterwards.
 * Returns 0 or negative errno.
 */
_must_check_ int trace_log_complete(struct trace_log *log);
/* Counts of waits, including the losses of both spools. */
struct spool_counts trace_log_get_wait_counts(const struct trace_log *log);
/* In order of first appearance. */
const struct stack_area *trace_log_get_areas(const struct trace_log *log, size_t *ret_count);

#endif
