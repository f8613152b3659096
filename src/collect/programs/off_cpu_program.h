/*
 * The off-CPU program in the kernel: loads it beside the sampling program, whose tables, filter and
 * rings it shares. Its samples arrive in these rings.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROGRAMS_OFF_CPU_PROGRAM_H
#define COLLECT_PROGRAMS_OFF_CPU_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/programs/sampling_program.h"
#include "wire/off_cpu.h"

struct off_cpu_program;
struct own_times;

struct off_cpu_program_opts {
	uint64_t period_ns;    /* of off-CPU time of a thread; above 0 */
	uint64_t min_block_ns; /* shorter intervals are ignored */
	bool no_kernel_stacks;
	bool no_user_stacks;
	bool walks_by_table; /* as in struct sampling_program_opts, like the next two */
	bool takes_runtime_frames;
	bool is_filtered;
	bool starts_on_exec;           /* of the only process of the filter */
	int cgroup_fd;                 /* only its threads; borrowed. -1: none */
	uint64_t scheduler_pc;         /* second byte of __schedule(); 0: unknown */
	uint64_t scheduler_text_start; /* all code of the scheduler; likewise */
	uint64_t scheduler_text_end;
	bool takes_wakers; /* samples of the wakers of sampled waits */
	bool only_futexes; /* other waits are ignored */
};

/*
 * Load and attach; recording starts with off_cpu_program_start().
 *
 * sampling  borrowed until off_cpu_program_free()
 *
 * Returns 0, -EPERM or -ENOTSUP (error has the missing feature and the remedy), or -ENOMEM.
 */
_must_check_ int off_cpu_program_new(const struct off_cpu_program_opts *opts,
				     const struct sampling_program *sampling,
				     struct off_cpu_program **ret, struct error *error);
void off_cpu_program_free(struct off_cpu_program *program);

void off_cpu_program_start(struct off_cpu_program *program);
/* No wait is counted from now on. */
void off_cpu_program_end(struct off_cpu_program *program);
/*
 * Stop after off_cpu_program_end(): then no CPU runs the program, and the rings hold all its records.
 *
 * ring_fd  the first of the rings
 *
 * Returns 0 or negative errno.
 */
_must_check_ int off_cpu_program_stop(struct off_cpu_program *program, int ring_fd);

/*
 * After the stop: emit the waits that have not ended, until the stop or until_ns (CLOCK_BOOTTIME),
 * whichever is first. As sleepers_program_read().
 */
_must_check_ int off_cpu_program_read_sleepers(struct off_cpu_program *program, uint64_t until_ns,
					       int (*handle)(const void *record, size_t size,
							     void *context),
					       void *context, uint64_t *ret_num);

/* The counters, summed over CPUs. Returns 0 or negative errno. */
_must_check_ int off_cpu_program_read_counters(const struct off_cpu_program *program,
					       struct wire_off_cpu_counters *ret);
/*
 * After the stop: whether the counters cover the whole lifetime of threads. False for a cgroup,
 * which threads may enter and leave at any time. False in our own pid namespace, where exiting
 * threads are no longer seen.
 */
bool off_cpu_program_knows_lives(const struct off_cpu_program *program);
/* Counters of wakers; all 0 if they are not recorded. Returns 0 or negative errno. */
_must_check_ int off_cpu_program_read_waker_counters(const struct off_cpu_program *program,
						     struct wire_waker_counters *ret);

/* Add the CPU time of its programs, including the wakers'. Returns 0 or -ENOMEM. */
_must_check_ int off_cpu_program_read_time(const struct off_cpu_program *program,
					   struct own_times *times);

#endif
