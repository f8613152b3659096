/*
 * Side-band records of perf events: new mappings, names, forks, exits, kernel symbols. Read from
 * perf rings into the event queue; applied to the process table in order of time.
 *
 * A mapped file is opened as soon as its record is read, because its process may be gone at the
 * record's turn in the queue. So is the script of an interpreter, if wanted.
 *
 * Source: perf_event_open(2), "PERF_RECORD_…"; Linux include/uapi/linux/perf_event.h.
 */
#ifndef COLLECT_PROCESSES_SIDE_BAND_H
#define COLLECT_PROCESSES_SIDE_BAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/kernel/event_queue.h"
#include "collect/kernel_code.h"
#include "collect/processes/thread_times.h"
#include "process/file_table.h"
#include "process/process_table.h"

struct side_band;

/*
 * Everything is borrowed and must outlive the side band. kind is the kind of its records in the
 * queue. Returns NULL when out of memory.
 */
struct side_band *side_band_new(struct event_queue *queue, uint32_t kind, struct file_table *files,
				struct process_table *processes);
void side_band_free(struct side_band *side_band);

/* Notified of threads: called while records are applied, in their order. */
struct side_band_listener {
	/* A thread started in a process that existed. */
	void (*on_thread)(void *context, uint64_t time_ns, uint32_t pid, uint32_t tid);
	/* A thread got another name, but not by an exec. */
	void (*on_rename)(void *context, uint64_t time_ns, uint32_t pid, uint32_t tid,
			  const char *comm);
	void *context;
};

/* listener  copied */
void side_band_set_listener(struct side_band *side_band, const struct side_band_listener *listener);
/* Report starts and ends of threads, including the first thread of a process. Borrowed. */
void side_band_set_thread_times(struct side_band *side_band, struct thread_times *times);

/*
 * Keep only the records of this process and of others passed to this function, and of their
 * descendants. Without any, keep all. Called before listening, and whenever a process turns out to
 * be a target.
 *
 * Returns 0 or -ENOMEM.
 */
_must_check_ int side_band_follow(struct side_band *side_band, pid_t pid);

/* Open the events of one CPU. Returns 0 or negative errno (-ENODEV: no such CPU). */
_must_check_ int side_band_open(struct side_band *side_band, int cpu);

/* Explain that failure, unless error is filled already. Returns err. */
int side_band_explain(int err, struct error *error);

/* Stop listening to a CPU that went away. */
void side_band_close_cpu(struct side_band *side_band, int cpu);
/* Stop listening to all, and free the rings: nothing can be read any more. */
void side_band_close(struct side_band *side_band);

/* Ring file descriptors to wait on: calls visit for each. */
void side_band_for_each_fd(struct side_band *side_band, void (*visit)(int fd, void *context),
			   void *context);

/*
 * Read all rings into the queue. Returns 0, -ENOMEM, or the error of on_file().
 *
 * on_file   called after each mapped file or command line was read, as that may take long; not NULL
 */
_must_check_ int side_band_read(struct side_band *side_band, int (*on_file)(void *context),
				void *context);

/* Apply a queued record. Returns 0 or -ENOMEM. */
_must_check_ int side_band_apply(struct side_band *side_band, uint64_t time_ns, const void *record,
				 size_t size);

/*
 * If records were lost since /proc was read, read it again. Reading and applying records does that,
 * too, but not every time, so call this once more before the end. Returns 0 or -ENOMEM.
 */
_must_check_ int side_band_catch_up(struct side_band *side_band);

/* Time of the last exec or mapping of a target that was read; 0: none. */
uint64_t side_band_get_last_change_ns(const struct side_band *side_band);

/* Records that the kernel could not deliver. */
uint64_t side_band_get_lost_count(const struct side_band *side_band);

/* In order of arrival; borrowed until the next side_band_apply(). */
const struct kernel_code *side_band_get_kernel_code(const struct side_band *side_band,
						    size_t *ret_count);

#endif
