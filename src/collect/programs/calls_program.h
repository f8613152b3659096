/*
 * The programs in the kernel that examine threads in system calls when a recording starts or ends:
 * loads them beside the program of the event, whose notes they share, and reads their records.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROGRAMS_CALLS_PROGRAM_H
#define COLLECT_PROGRAMS_CALLS_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "collect/programs/sampling_program.h"

struct calls_program;

/* Everything is borrowed for the call. */
struct calls_opts {
	const struct sampling_program *sampling;
	uint32_t event; /* event number in the samples */
	int cgroup_fd;  /* only its threads; -1: none */
	int calls_fd;   /* the map of the event's program */
};

/*
 * Load them in the form that this kernel supports: with the user part of the stacks, or without.
 *
 * ret  NULL if the kernel has no such programs
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int calls_program_new(const struct calls_opts *opts, struct calls_program **ret);
void calls_program_free(struct calls_program *program);

/* After the event's program has started: note the calls that are under way. Only the first time. */
void calls_program_note(struct calls_program *program);

/*
 * After it has stopped: emit the calls that are under way, up to end_ns (CLOCK_BOOTTIME). Once.
 * Parameters and result are those of thread_iterator_read().
 */
_must_check_ int calls_program_read(struct calls_program *program, uint64_t end_ns,
				    int (*handle)(const void *record, size_t size, void *context),
				    void *context, uint64_t *ret_num);

#endif
