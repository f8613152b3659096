/*
 * What the packets of an experiment weigh: from a packet's fields to samples of metrics.
 */
#ifndef FORMATS_GPROFNG_READ_METRICS_H
#define FORMATS_GPROFNG_READ_METRICS_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/gprofng/read_log.h"
#include "formats/gprofng/read_packets.h"

enum er_metric {
	ER_METRIC_CPU,
	ER_METRIC_THREAD_TIME,
	ER_METRIC_USER_CPU, /* the states of a thread, in the order of ER_MSTATE */
	ER_METRIC_SYSTEM_CPU,
	ER_METRIC_TRAP_CPU,
	ER_METRIC_TEXT_FAULT,
	ER_METRIC_DATA_FAULT,
	ER_METRIC_KERNEL_FAULT,
	ER_METRIC_USER_LOCK,
	ER_METRIC_SLEEP,
	ER_METRIC_WAIT_CPU,
	ER_METRIC_STOPPED,
	ER_METRIC_LINUX_CPU,
	ER_METRIC_KERNEL_CPU,
	ER_METRIC_SYNC_WAIT,
	ER_METRIC_SYNC_WAITS,
	ER_METRIC_ALLOC,
	ER_METRIC_ALLOCS,
	ER_METRIC_LEAK,
	ER_METRIC_LEAKS,
	ER_METRIC_READ_TIME, /* three for each kind of input and output */
	ER_METRIC_READ_BYTES,
	ER_METRIC_READS,
	ER_METRIC_WRITE_TIME,
	ER_METRIC_WRITE_BYTES,
	ER_METRIC_WRITES,
	ER_METRIC_OTHER_IO_TIME,
	ER_METRIC_OTHER_IO_BYTES,
	ER_METRIC_OTHER_IOS,
	ER_METRIC_IO_ERROR_TIME,
	ER_METRIC_IO_ERROR_BYTES,
	ER_METRIC_IO_ERRORS,
	NUM_ER_METRICS,
};

/* A packet taken apart. */
struct er_values {
	size_t offset; /* in its file */
	uint32_t kind; /* enum er_kind */
	uint32_t thread;
	uint32_t stack;
	uint64_t numbers[NUM_ER_ROLES]; /* 0 where the packet has no such field */
};

/* An event of the heap, kept until all are known. */
struct er_heap_event {
	uint64_t time_ns;
	uint64_t size;
	uint64_t address;
	uint64_t old_address;
	uint32_t number; /* order in the file */
	uint32_t thread;
	uint32_t stack;
	uint8_t type;
	bool is_freed;
};

/* Of one experiment. Ids of metrics begin as METRIC_NONE; see er_metrics_init(). */
struct er_metrics {
	struct import *import;
	const struct er_log *log;
	const char *path; /* of the file that is read, for messages */
	uint32_t ids[NUM_ER_METRICS];
	ARRAY(uint32_t) counters; /* by index in log->counters */
	ARRAY(struct er_heap_event) heap;
};

/* import and log are borrowed. Returns 0 or -ENOMEM; release in any case. */
_must_check_ int er_metrics_init(struct er_metrics *metrics, struct import *import,
				 const struct er_log *log);
void er_metrics_release(struct er_metrics *metrics);

/*
 * Add what a packet weighs; of those that leave out what they weigh, nothing.
 *
 * file  that it comes from
 *
 * Returns 0, -ENOMEM, or -EBADMSG or -EOVERFLOW with the reason in the import.
 */
_must_check_ int er_metrics_add(struct er_metrics *metrics, const struct er_data_file *file,
				const struct er_values *values);

/* At the end of a file: what was allocated and never freed. Returns as er_metrics_add(). */
_must_check_ int er_metrics_add_leaks(struct er_metrics *metrics);

#endif
