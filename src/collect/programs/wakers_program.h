/*
 * The wakers' program in the kernel: loads it beside the off-CPU program, whose notes it reads, and
 * the sampling program, whose tables, filter and rings it shares. Its samples arrive in these
 * rings.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROGRAMS_WAKERS_PROGRAM_H
#define COLLECT_PROGRAMS_WAKERS_PROGRAM_H

#include <bpf/libbpf.h>
#include <stdbool.h>

#include "base/attributes.h"
#include "collect/programs/off_cpu_program.h"
#include "collect/programs/sampling_program.h"
#include "wire/off_cpu.h"

struct own_times;
struct wakers_program;

struct wakers_program_opts {
	struct off_cpu_program_opts waits;
	bool notes_in_tasks;
	const struct bpf_object *off_cpu; /* loaded; its maps are shared */
};

/*
 * Load and attach; nothing is taken before wakers_program_start().
 *
 * Returns 0 or negative errno.
 */
_must_check_ int wakers_program_new(const struct wakers_program_opts *opts,
				    const struct sampling_program *sampling,
				    struct wakers_program **ret);
void wakers_program_free(struct wakers_program *program);

void wakers_program_start(struct wakers_program *program);
/* A CPU may still be inside it: off_cpu_program_stop() waits for both. */
void wakers_program_stop(struct wakers_program *program);

/* The counters, summed over CPUs. Returns 0 or negative errno. */
_must_check_ int wakers_program_read_counters(const struct wakers_program *program,
					      struct wire_waker_counters *ret);

/* Add the CPU time of its programs. Returns 0 or -ENOMEM. */
_must_check_ int wakers_program_read_time(const struct wakers_program *program,
					  struct own_times *times);

#endif
