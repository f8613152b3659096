/*
 * What the kernel tells about processes while we sample: new mappings, names, forks, exits,
 * kernel symbols. Read from perf rings into the event queue; applied to the process table when
 * their time comes.
 *
 * A mapped file is opened as soon as its record is read, before the record's turn in the queue,
 * because its process may be gone by then.
 *
 * Source: perf_event_open(2), "PERF_RECORD_…"; Linux include/uapi/linux/perf_event.h.
 */
#ifndef COLLECT_SIDE_BAND_H
#define COLLECT_SIDE_BAND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/attributes.h"
#include "base/error.h"
#include "collect/event_queue.h"
#include "collect/recorder.h"
#include "collect/trace_log.h"
#include "process/file_table.h"
#include "process/process_table.h"

struct side_band;

/*
 * Everything is borrowed and must outlive the side band. kind is what its records are queued
 * under. Returns NULL when out of memory.
 */
struct side_band *side_band_new(struct event_queue *queue, uint32_t kind, struct file_table *files,
				struct process_table *processes);
void side_band_free(struct side_band *side_band);

/* Note in this log, too, which threads begin. Borrowed. */
void side_band_set_trace_log(struct side_band *side_band, struct trace_log *log);

/*
 * Listen to what happens on one CPU; to all threads (tid -1), or to one thread and the threads
 * and processes that it will start. Events of threads share one ring per CPU.
 *
 * Returns 0 or negative errno (-ESRCH: no such thread; -ENODEV: no such CPU).
 */
_must_check_ int side_band_open(struct side_band *side_band, pid_t tid, int cpu);

/* Say why that failed, unless the error says something already. Returns err. */
int side_band_explain(int err, struct error *error);

/* Stop listening to a CPU that went away. */
void side_band_close_cpu(struct side_band *side_band, int cpu);

/* Ring file descriptors to wait on: calls visit for each. */
void side_band_for_each_fd(struct side_band *side_band, void (*visit)(int fd, void *context),
			   void *context);

/* Read all rings into the queue. Returns 0 or -ENOMEM. */
_must_check_ int side_band_read(struct side_band *side_band);

/* Apply a queued record. Returns 0 or -ENOMEM. */
_must_check_ int side_band_apply(struct side_band *side_band, uint64_t time_ns, const void *record,
				 size_t size);

/* Records that the kernel could not deliver. After a loss all of /proc is read again. */
uint64_t side_band_get_lost_count(const struct side_band *side_band);

/* In order of arrival; borrowed until the next side_band_apply(). */
const struct kernel_code *side_band_get_kernel_code(const struct side_band *side_band,
						    size_t *ret_count);

#endif
