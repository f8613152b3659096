/*
 * Adds records of the sampling program to the profile: every pc becomes a location in a file, the
 * kernel or a process, by the mappings at the time of the sample.
 *
 * Stacks are stored by hash as they arrive; samples must be added in order of time, with the
 * process table at the same time.
 */
#ifndef COLLECT_STACKS_SAMPLE_INGEST_H
#define COLLECT_STACKS_SAMPLE_INGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/account.h"
#include "collect/events.h"
#include "collect/programs/scheduler_code.h"
#include "collect/programs/waker_code.h"
#include "collect/runtimes/runtime_stacks.h"
#include "collect/stacks/call_check.h"
#include "collect/stacks/fp_step_check.h"
#include "collect/stacks/user_walks.h"
#include "collect/trace/trace_log.h"
#include "collect/user_stacks.h"
#include "process/file_table.h"
#include "process/process_table.h"
#include "profile/profile.h"
#include "wire/unwind.h"
#include "wire/wire.h"

struct allocator_code;
struct sample_ingest;

struct sample_ingest_counts {
	uint64_t samples;       /* in the profile: ticks, or off-CPU time */
	uint64_t unknown_stack; /* lost: the stack that they refer to never arrived */
	uint64_t recovered;     /* complete user stacks that were walked later */
	struct user_walk_counts user;
};

/*
 * Everything is borrowed. In the profile, modules and processes have the same numbers as in files
 * and processes. max_depth: maximum number of frames that the kernel follows by frame pointer.
 * Returns NULL when out of memory.
 */
struct sample_ingest *sample_ingest_new(struct profile *profile, struct file_table *files,
					struct process_table *processes, uint32_t max_depth,
					enum user_stacks user_stacks);
void sample_ingest_free(struct sample_ingest *ingest);

/*
 * Before the first sample: ticks belong to these events, each a separate metric, and samples have
 * weights. The default is one metric, "samples", in which all weigh the same.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sample_ingest_set_events(struct sample_ingest *ingest, const struct event *events,
					  size_t num_events);

/* From now on, check steps by frame pointer; before, none is proven. Borrowed. */
void sample_ingest_set_fp_step_check(struct sample_ingest *ingest, struct fp_step_check *check);

/* From now on, check that every return address follows a call. Borrowed. */
void sample_ingest_set_call_check(struct sample_ingest *ingest, struct call_check *check);

/* From now on, put frames of interpreters into stacks. Borrowed. */
void sample_ingest_set_runtimes(struct sample_ingest *ingest, struct runtime_stacks *runtimes);

/* From now on, leave out allocations within allocators (nested_calls.h). Borrowed. */
void sample_ingest_set_allocator_code(struct sample_ingest *ingest, struct allocator_code *code);

/* From now on, keep each sample with its time, too. Borrowed. */
void sample_ingest_set_trace_log(struct sample_ingest *ingest, struct trace_log *log);

/* The time that a sample represents. */
struct sample_periods {
	uint64_t tick_ns;
	uint64_t wait_ns; /* of off-CPU time */
};

/*
 * From now on, off-CPU samples are added, too: the profile gets the metrics of time, and the stacks
 * of such samples get a frame for the kind of wait on top. Frames within the scheduler are removed.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sample_ingest_add_off_cpu(struct sample_ingest *ingest,
					   const struct sample_periods *periods,
					   const struct scheduler_code *scheduler);

/*
 * After that: samples of wakers are added, too, each before that of its wait, and the profile gets
 * the metric of wakers.
 *
 * code               takes ownership, also on failure
 * has_kernel_levels  their stacks have kernel frames; else only user frames are kept
 * has_futexes        the futex of a wait is in the stacks
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sample_ingest_add_wakers(struct sample_ingest *ingest,
					  const struct waker_code *code, bool has_kernel_levels,
					  bool has_futexes);

/* Counts of waits by the fate of their wakers; see struct waker_counts. */
struct sample_ingest_wakers {
	uint64_t known;
	uint64_t open;
	uint64_t unseen;
	uint64_t lost;
	uint64_t left_out;
};
struct sample_ingest_wakers sample_ingest_get_wakers(const struct sample_ingest *ingest);
/* Counts of the wakers' user stacks; these are not samples. */
struct sample_ingest_counts sample_ingest_get_waker_counts(const struct sample_ingest *ingest);

/* Remember a stack. Records of a wrong size are ignored. Returns 0 or -ENOMEM. */
_must_check_ int sample_ingest_add_stack(struct sample_ingest *ingest,
					 const struct wire_stack *record, size_t size);

/* Returns 0, -ENOMEM or -EOVERFLOW. */
_must_check_ int sample_ingest_add_sample(struct sample_ingest *ingest,
					  const struct wire_sample *sample);

/*
 * Add a sample that has waited, mostly for its stack to be walked in user space.
 *
 * process, is_in_exec   from process_table_find() at the time of the sample
 * stack                 filled in except its hash; sample->walk_end has the result of its walk.
 *                       NULL: the sample's own stack
 */
_must_check_ int sample_ingest_add_recovered(struct sample_ingest *ingest,
					     const struct wire_sample *sample,
					     const struct process *process, bool is_in_exec,
					     struct wire_stack *stack);

/* The waker's sample with that number is added later: its stack is still to be walked. */
void sample_ingest_expect_waker(struct sample_ingest *ingest, uint64_t wakeup);
/* Whether a sample is of a wait whose waker is expected: to be added after that. */
bool sample_ingest_expects_waker(const struct sample_ingest *ingest,
				 const struct wire_sample *sample);

/*
 * After the last record: copy the present data of modules and processes (build IDs, names) from the
 * tables to the profile, and forget the stacks. Returns 0 or -ENOMEM.
 */
_must_check_ int sample_ingest_finish(struct sample_ingest *ingest);

/*
 * After the last sample of an event that counts only live memory: add a live block.
 *
 * end_ns  time for computing its age
 *
 * Returns 0, -ENOMEM or -EOVERFLOW.
 */
_must_check_ int sample_ingest_add_block(struct sample_ingest *ingest, size_t event,
					 const struct wire_block *block, uint64_t end_ns);

/*
 * After the last sample of an event whose hits a program counts: add the weight of the hits after
 * the last sample of a CPU, which belongs to that sample. Without one it is in no stack.
 *
 * Returns 0, -ENOMEM or -EOVERFLOW.
 */
_must_check_ int sample_ingest_add_rest(struct sample_ingest *ingest, size_t event, uint32_t cpu,
					uint64_t weight);

/* Counts of ticks. */
struct sample_ingest_counts sample_ingest_get_counts(const struct sample_ingest *ingest);

/* Counts of the ticks of one event. */
struct sample_ingest_event {
	uint64_t samples;
	uint64_t unknown_stack;
	uint64_t lost_weight;  /* of these; what a sample has, if it has one */
	uint64_t nested;       /* left out: calls of an allocator within another one */
	uint64_t weight;       /* of the samples; for live memory, only of blocks that are live */
	uint64_t rest;         /* of it: after the last samples of CPUs */
	double weight_squares; /* sum of the squares of the samples' weights */
	uint64_t live;         /* number of live blocks among these */
	uint64_t oldest_ns;
};
struct sample_ingest_event sample_ingest_get_event(const struct sample_ingest *ingest,
						   size_t event);
/* The metric of the profile that it has, or the only one (0). */
uint32_t sample_ingest_get_event_metric(const struct sample_ingest *ingest, size_t event);
/*
 * Counts of off-CPU samples.
 *
 * ret_weights_ns  their weights: NUM_WAIT_KINDS of them; borrowed
 */
struct sample_ingest_counts sample_ingest_get_off_cpu_counts(const struct sample_ingest *ingest,
							     const uint64_t **ret_weights_ns);
/* Borrowed until the next record. */
const struct user_stack_count *sample_ingest_get_user_stacks(const struct sample_ingest *ingest,
							     size_t *ret_count);
/* Stacks of the ticks of requested events, borrowed likewise. */
const struct stack_count *sample_ingest_get_weighed_stacks(const struct sample_ingest *ingest,
							   size_t *ret_count);

#endif
