/*
 * The program that counts the hits of an event (bpf/counted.bpf.c): loads it, attaches it to a
 * tracepoint or a probe, starts and stops it. It sends to the rings of the sampling program, as
 * that does.
 *
 * Not thread-safe, but for counted_program_attach_sites().
 */
#ifndef COLLECT_PROGRAMS_COUNTED_PROGRAM_H
#define COLLECT_PROGRAMS_COUNTED_PROGRAM_H

#include <stdint.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/events.h"
#include "collect/programs/sampling_program.h"
#include "wire/wire.h"

struct allocator_code;
struct file_leases;
struct own_times;
struct probe_keeper;
struct probe_site;
struct counted_program;

struct counted_program_opts {
	const struct event *event; /* borrowed for the call */
	uint32_t number;           /* event number in its samples */
	uint64_t count;            /* events per sample; 0: see frequency_hz */
	uint32_t frequency_hz;     /* samples per second and CPU */
	int cgroup_fd;             /* only its threads; borrowed. -1: none */
	/* For the files with its probes; borrowed until it is freed. NULL: they are not leased */
	struct file_leases *leases;
	/* It holds probes of files; borrowed until it is freed. NULL: the event is no such probe */
	struct probe_keeper *keeper;
	/* For the probes of allocators: told which code has some. Borrowed likewise; may be NULL */
	struct allocator_code *allocator_code;
};

/*
 * Load and attach it; it takes no samples yet.
 *
 * sampling  the program whose filter, tables and rings it shares; must outlive this one
 *
 * Returns 0, -EPERM or -ENOTSUP (error has the missing feature), or -ENOMEM.
 */
_must_check_ int counted_program_new(const struct counted_program_opts *opts,
				     const struct sampling_program *sampling,
				     struct counted_program **ret, struct error *error);
void counted_program_free(struct counted_program *program);
static inline void counted_program_freep(struct counted_program **program)
{
	counted_program_free(*program);
}

/* The program for the perf events of a software event; borrowed. */
int counted_program_get_fd(const struct counted_program *program);

/*
 * For the probes of allocators: attach the program to more sites, while it records. It may be
 * called by a single other thread until the program is freed. May take some ms, and longer if a process keeps its memory
 * map locked.
 *
 * sites  of one file; borrowed for the call
 *
 * Returns 0; -ENOSPC: there is no room for so many; -ESHUTDOWN: the program was stopped; an error of
 * file_leases_begin(); or another negative errno. The program is at no such site then.
 */
_must_check_ int counted_program_attach_sites(struct counted_program *program,
					      const struct probe_site *sites, size_t count);

void counted_program_start(struct counted_program *program);

/* Nothing is counted from now on. */
void counted_program_end(struct counted_program *program);
/* After that: detach it. Probes of files are still in place, as their keeper has them. */
void counted_program_stop(struct counted_program *program);

/* When it is nowhere any more: wait for threads that are still in it, within a limit. */
void counted_program_wait(const struct counted_program *program);

/*
 * Sum of the events after the last sample of each CPU: counted, but not in a sample. Returns 0 or
 * negative errno.
 */
_must_check_ int counted_program_read_rest(const struct counted_program *program, uint64_t *ret);

/* The same, for each CPU that has some. Returns 0, negative errno or the error of handle(). */
_must_check_ int counted_program_for_each_rest(const struct counted_program *program,
					       int (*handle)(uint32_t cpu, uint64_t weight,
							     void *context),
					       void *context);

/*
 * Hits of a probe that are in no counter, of any thread: another thread of the CPU was in the
 * program. Returns 0 or negative errno.
 */
_must_check_ int counted_program_read_preempted(const struct counted_program *program,
						uint64_t *ret);

/*
 * Hits during the recording at which the kernel did not run the program, because it ran another
 * program or changed a map on that CPU. They are in no counter, whether of the target or not.
 * Kernels count them since Linux 6.7, for trace events. At uprobes kernels skip none since Linux
 * 6.0, by perf event or by link.
 */
uint64_t counted_program_get_skipped(const struct counted_program *program);

/* After the stop: blocks allocated and not freed. Returns 0 or the error of handle(). */
_must_check_ int counted_program_for_each_block(const struct counted_program *program,
						int (*handle)(const struct wire_block *block,
							      void *context),
						void *context);

/*
 * After the stop: emit the system calls that are under way, if the event is their time, up to
 * until_ns (CLOCK_BOOTTIME) at most. They count as hits from then on. Parameters and result are
 * those of sleepers_program_read().
 */
_must_check_ int counted_program_read_calls(struct counted_program *program, uint64_t until_ns,
					    int (*handle)(const void *record, size_t size,
							  void *context),
					    void *context);

/* Summed over CPUs. Returns 0 or negative errno. */
_must_check_ int counted_program_read_counters(const struct counted_program *program,
					       struct wire_counters *ret);

/* Add the CPU time of its programs. Returns 0 or -ENOMEM. */
_must_check_ int counted_program_read_time(const struct counted_program *program,
					   struct own_times *times);

#endif
