/*
 * The programs in the kernel that look at threads which sleep when a recording begins or ends: loading them
 * beside the off-CPU program, whose notes and counters they share, and reading what they emit.
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
	/* Of the off-CPU program: where its notes are, and its counters. */
	bool notes_in_tasks;
	int departures_fd;
	int states_fd;
};

/*
 * Load them, as this kernel lets them be: with the users' part of the stacks, or without.
 *
 * ret  NULL where the kernel has no such programs
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int sleepers_program_new(const struct sleepers_opts *opts,
				      struct sleepers_program **ret);
void sleepers_program_free(struct sleepers_program *program);

/* Note all that sleep: from begin_ns on, CLOCK_MONOTONIC. The first time only. */
void sleepers_program_note(struct sleepers_program *program, uint64_t begin_ns);

/*
 * As soon as nothing is noted any more: count what threads have lived from begin_ns (CLOCK_MONOTONIC) until end_ns
 * (CLOCK_BOOTTIME), and what of that is in no sum yet. Once. Returns 0 or negative errno.
 */
_must_check_ int sleepers_program_count(struct sleepers_program *program, uint64_t begin_ns,
					uint64_t end_ns);

/*
 * After that: what is noted and goes on, lasts until end_ns (CLOCK_BOOTTIME). Once.
 *
 * handle    is given a wire_stack, wire_sample or wire_raw_sample at a time
 * ret_num   samples among them
 *
 * Returns 0 or what handle() returned. Where memory that is copied does not come (a file system that hangs), the
 * rest is left out after a few seconds.
 */
_must_check_ int sleepers_program_read(struct sleepers_program *program, uint64_t end_ns,
				       int (*handle)(const void *record, size_t size,
						     void *context),
				       void *context, uint64_t *ret_num);

/*
 * The size of the record that the bytes begin with; 0: it is not whole yet, or none. Exposed for tests.
 */
size_t sleepers_measure_record(const void *data, size_t size);

#endif
