/*
 * The sampling program in the kernel: loading it, giving it perf events, reading its rings.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_PROGRAMS_SAMPLER_H
#define COLLECT_PROGRAMS_SAMPLER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/account.h"
#include "collect/events.h"
#include "collect/kernel/file_leases.h"
#include "collect/kernel/unwind_maps.h"
#include "wire/off_cpu.h"
#include "wire/wire.h"

struct own_times;
struct probe_site;
struct allocator_code;
struct sampler;

/* Options for a recording that samples off-CPU time, too. */
struct sampler_off_cpu {
	uint64_t period_ns;            /* 0: off-CPU time is not sampled */
	uint64_t min_block_ns;         /* shorter intervals are ignored */
	uint64_t scheduler_pc;         /* second byte of __schedule(); 0: unknown */
	uint64_t scheduler_text_start; /* all code of the scheduler; likewise */
	uint64_t scheduler_text_end;
	bool takes_wakers; /* samples of the wakers of waits */
	bool only_futexes; /* of waits for futexes alone */
};

struct sampler_opts {
	uint32_t frequency_hz; /* ticks per second, on each CPU */
	/*
	 * The sampled events, borrowed; each sample has the number and the weight of its own. None:
	 * CPU cycles, or the CPU clock if unavailable, and every tick has the same weight.
	 */
	const struct event *events;
	size_t num_events;
	struct allocator_code *allocator_code; /* told which code has probes; borrowed, or NULL */
	uint64_t count; /* events per tick; 0: a variable number, by the frequency. Not for time */
	bool no_kernel_stacks;
	bool no_user_stacks;
	bool walks_by_table;       /* user stacks; else the kernel follows frame pointers */
	bool takes_runtime_frames; /* with it, those of interpreters, too */
	int cgroup_fd;             /* only its threads; borrowed. -1: none */
	bool is_filtered;          /* only threads of sampler_add_target() and their descendants */
	bool leaves_children_out;  /* of the descendants, only threads */
	bool starts_on_exec;       /* these threads only from their next exec on */
	bool takes_areas;          /* also report the memory areas (VMAs) of user stacks */
	/* Ticks record the running thread of each CPU, for the scheduling program. */
	bool tracks_running;
	struct sampler_off_cpu off_cpu;
	/* Size of each ring; 0: 8 MiB. Rounded up to a size that the kernel accepts. */
	size_t ring_bytes;
	/* Given every record of the rings, in ring order; returns 0 or negative errno. */
	int (*on_record)(const void *record, size_t size, void *context);
	void *context;
};

/*
 * Load the program.
 *
 * Returns 0, -EPERM or -ENOTSUP (error has the missing capability or kernel feature, and the
 * remedy), or -ENOMEM.
 */
_must_check_ int sampler_new(const struct sampler_opts *opts, struct sampler **ret,
			     struct error *error);
void sampler_free(struct sampler *sampler);

/*
 * Open a tick that starts disabled: of one CPU, or of one CPU while it runs a cgroup's threads.
 *
 * Returns 0 or negative errno with the reason and the remedy in error. -ENODEV (CPU is gone) leaves
 * error alone.
 */
_must_check_ int sampler_add_cpu(struct sampler *sampler, int cpu, struct error *error);
_must_check_ int sampler_add_cgroup(struct sampler *sampler, int cgroup_fd, int cpu,
				    struct error *error);
/*
 * After all CPUs have been added: whether each event is counted on some. Not all CPUs need to count
 * an event of a CPU's manual or a device. Returns 0, or -ENOTSUP with error filled.
 */
_must_check_ int sampler_check_events(const struct sampler *sampler, struct error *error);
void sampler_remove_cpu(struct sampler *sampler, int cpu);

/*
 * With a filter: sample this thread and all its descendants from now on. Returns 0 or negative
 * errno with error filled.
 */
_must_check_ int sampler_add_target(struct sampler *sampler, pid_t tid, struct error *error);
/* The filter's map, borrowed, for other programs. Key: tid; value: enum wire_target. */
int sampler_get_targets_fd(const struct sampler *sampler);
/* The map that the scheduling program shares; -1 without type information (BTF). */
int sampler_get_running_fd(const struct sampler *sampler);

/* Start all ticks opened so far, and the sampling of off-CPU time. */
void sampler_enable(struct sampler *sampler);
/* Nothing is counted from now on. This takes a moment. */
void sampler_end(struct sampler *sampler);
/* After that: take all programs and probes away, which may take seconds. */
void sampler_disable(struct sampler *sampler);

/*
 * Attach an event's program to more sites of its probe, as counted_program_attach_sites() does: by a
 * single other thread, until the sampler is freed.
 */
_must_check_ int sampler_attach_sites(struct sampler *sampler, size_t event,
				      const struct probe_site *sites, size_t count);

/* How often all probes of a file were taken away, as it was about to be overwritten. */
uint64_t sampler_count_let_go(const struct sampler *sampler, const struct leased_file *file);
/* Overwritten files with probes: these were taken away before. */
struct broken_leases sampler_get_broken_leases(const struct sampler *sampler);

/* After sampler_disable(): probes of programs that could not be taken away in time. */
struct left_probes sampler_get_left_probes(const struct sampler *sampler);

/* CPU time so far of the process that holds probes. */
uint64_t sampler_read_helper_cpu_ns(const struct sampler *sampler);

/* A descriptor that is readable when a ring should be read. */
int sampler_get_fd(const struct sampler *sampler);
/* Pass on all records of the rings. Returns 0 or the error of on_record(). */
_must_check_ int sampler_read(struct sampler *sampler);
/* After the last reading: unmap the rings, which are megabytes. */
void sampler_close_rings(struct sampler *sampler);

/*
 * After sampler_disable(): pass on threads that wait, or are in a system call whose time is
 * recorded, until then or until_ns (CLOCK_BOOTTIME), whichever is first.
 *
 * handle   called with one wire_stack, wire_sample or wire_raw_sample at a time
 * ret_num  number of samples of waits among them
 *
 * Returns 0 or the error of handle().
 */
_must_check_ int sampler_read_sleepers(struct sampler *sampler, uint64_t until_ns,
				       int (*handle)(const void *record, size_t size,
						     void *context),
				       void *context, uint64_t *ret_num);

/*
 * The counters of an event by its number, or of the only one (0), summed over CPUs. Returns 0 or negative
 * errno.
 */
_must_check_ int sampler_read_counters(const struct sampler *sampler, size_t event,
				       struct wire_counters *ret);

/* Events after the last sample of each CPU, for one event. Returns 0 or negative errno. */
_must_check_ int sampler_read_rest(const struct sampler *sampler, size_t event, uint64_t *ret);

/* The same, for each CPU that has some. Returns 0, negative errno or the error of handle(). */
_must_check_ int sampler_for_each_rest(const struct sampler *sampler, size_t event,
				       int (*handle)(uint32_t cpu, uint64_t weight, void *context),
				       void *context);

/*
 * After sampler_disable(), for one event: blocks allocated and not freed. Returns 0 or the error of
 * handle().
 */
_must_check_ int sampler_for_each_block(const struct sampler *sampler, size_t event,
					int (*handle)(const struct wire_block *block,
						      void *context),
					void *context);

/* Hits of an event that interrupted a program which had not ended. Returns 0 or negative errno. */
_must_check_ int sampler_read_preempted(const struct sampler *sampler, size_t event, uint64_t *ret);

/*
 * Hits of an event at which the kernel did not run its program; see counted_program_get_skipped().
 */
uint64_t sampler_get_skipped(const struct sampler *sampler, size_t event);

/* Time for which the CPUs have counted a requested event until now, or until sampler_disable(). */
struct event_times sampler_get_event_times(const struct sampler *sampler, size_t event);

/*
 * Ticks of a timer that were due on all CPUs while it ran, one at the end of each period; of a
 * requested event, or of the default event (0). 0: not a timer, so the number is unknown.
 */
uint64_t sampler_count_due_ticks(const struct sampler *sampler, size_t event);

/* New threads that did not fit into the filter. Returns 0 or negative errno. */
_must_check_ int sampler_read_unfollowed(const struct sampler *sampler, uint64_t *ret);

/* Counters of off-CPU time; all 0 if it is not sampled. Returns 0 or negative errno. */
_must_check_ int sampler_read_off_cpu_counters(const struct sampler *sampler,
					       struct wire_off_cpu_counters *ret);

/*
 * After sampler_disable(): whether these cover the whole lifetime of threads; see
 * off_cpu_program.h.
 */
bool sampler_knows_lives(const struct sampler *sampler);

/* Counters of wakers; all 0 if they are not requested. Returns 0 or negative errno. */
_must_check_ int sampler_read_waker_counters(const struct sampler *sampler,
					     struct wire_waker_counters *ret);

/* Maximum number of frames that the kernel follows by frame pointer. */
uint32_t sampler_read_max_depth(void);

/* Borrowed, for the unwind store. */
struct unwind_maps sampler_get_unwind_maps(const struct sampler *sampler);

/* The default event: "cycles" or "cpu-clock". */
const char *sampler_get_event_name(const struct sampler *sampler);

/* Add the CPU time of all its programs. Returns 0 or -ENOMEM. */
_must_check_ int sampler_read_time(const struct sampler *sampler, struct own_times *times);

#endif
