/*
 * The programs in the kernel that examine sleeping threads when a recording starts or ends: loads
 * them beside the off-CPU program, whose notes and counters they share, and reads their records.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROGRAMS_SLEEPERS_PROGRAM_H
#define COLLECT_PROGRAMS_SLEEPERS_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/programs/off_cpu_program.h"
#include "collect/programs/sampling_program.h"

struct sleepers_program;

/* Everything is borrowed. */
struct sleepers_opts {
	const struct off_cpu_program_opts *off_cpu;
	const struct sampling_program *sampling;
	/* The off-CPU program's maps: its notes and its counters. */
	bool notes_in_tasks;
	bool has_queue_times;
	int departures_fd;
	int states_fd;
};

/*
 * Load them in the form that this kernel supports: with the user part of the stacks, or without.
 *
 * ret  NULL if the kernel has no such programs
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sleepers_program_new(const struct sleepers_opts *opts,
				      struct sleepers_program **ret);
void sleepers_program_free(struct sleepers_program *program);

/* Note all sleeping threads, as from start_ns, CLOCK_MONOTONIC. Only the first time. */
void sleepers_program_note(struct sleepers_program *program, uint64_t start_ns);

/*
 * After noting has stopped: count the lifetime of threads from start_ns (CLOCK_MONOTONIC) until
 * end_ns (CLOCK_BOOTTIME), and the part of it that is in no sum yet. Once. Returns 0 or negative
 * errno.
 */
_must_check_ int sleepers_program_count(struct sleepers_program *program, uint64_t start_ns,
					uint64_t end_ns);

/*
 * After that: emit the noted waits that have not ended, up to end_ns (CLOCK_BOOTTIME). Once.
 * Parameters and result are those of thread_iterator_read().
 */
_must_check_ int sleepers_program_read(struct sleepers_program *program, uint64_t end_ns,
				       int (*handle)(const void *record, size_t size,
						     void *context),
				       void *context, uint64_t *ret_num);

#endif
