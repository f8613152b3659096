/* The weights of an experiment's packets: from a packet's fields to samples of metrics. */
#ifndef FORMATS_GPROFNG_READ_METRICS_H
#define FORMATS_GPROFNG_READ_METRICS_H

#include <stdint.h>

#include "base/array.h"
#include "base/attributes.h"
#include "formats/gprofng/read_log.h"
#include "formats/gprofng/read_packets.h"

enum gprofng_metric {
	GPROFNG_METRIC_CPU,
	GPROFNG_METRIC_THREAD_TIME,
	GPROFNG_METRIC_USER_CPU, /* the states of a thread, in the order of GPROFNG_MSTATE */
	GPROFNG_METRIC_SYSTEM_CPU,
	GPROFNG_METRIC_TRAP_CPU,
	GPROFNG_METRIC_TEXT_FAULT,
	GPROFNG_METRIC_DATA_FAULT,
	GPROFNG_METRIC_KERNEL_FAULT,
	GPROFNG_METRIC_USER_LOCK,
	GPROFNG_METRIC_SLEEP,
	GPROFNG_METRIC_WAIT_CPU,
	GPROFNG_METRIC_STOPPED,
	GPROFNG_METRIC_LINUX_CPU,
	GPROFNG_METRIC_KERNEL_CPU,
	GPROFNG_METRIC_SYNC_WAIT,
	GPROFNG_METRIC_SYNC_WAITS,
	GPROFNG_METRIC_ALLOC,
	GPROFNG_METRIC_ALLOCS,
	GPROFNG_METRIC_LEAK,
	GPROFNG_METRIC_LEAKS,
	GPROFNG_METRIC_READ_TIME, /* three for each kind of input and output */
	GPROFNG_METRIC_READ_BYTES,
	GPROFNG_METRIC_READS,
	GPROFNG_METRIC_WRITE_TIME,
	GPROFNG_METRIC_WRITE_BYTES,
	GPROFNG_METRIC_WRITES,
	GPROFNG_METRIC_OTHER_IO_TIME,
	GPROFNG_METRIC_OTHER_IO_BYTES,
	GPROFNG_METRIC_OTHER_IOS,
	GPROFNG_METRIC_IO_ERROR_TIME,
	GPROFNG_METRIC_IO_ERROR_BYTES,
	GPROFNG_METRIC_IO_ERRORS,
	NUM_GPROFNG_METRICS,
};

/* A parsed packet. */
struct gprofng_values {
	size_t offset; /* in its file */
	uint32_t kind; /* enum gprofng_kind */
	uint32_t thread;
	uint32_t stack;
	uint64_t numbers[NUM_GPROFNG_ROLES]; /* 0 if the packet has no such field */
};

/* An event of the heap, kept until all are known. */
struct gprofng_heap_event {
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

/* State of one experiment. Ids of metrics are METRIC_NONE at first; see gprofng_metrics_init(). */
struct gprofng_metrics {
	struct import *import;
	const struct gprofng_log *log;
	const char *path; /* of the file that is read, for messages */
	uint32_t ids[NUM_GPROFNG_METRICS];
	ARRAY(uint32_t) counters; /* by index in log->counters */
	ARRAY(struct gprofng_heap_event) heap;
};

/* import and log are borrowed. Returns 0 or -ENOMEM; release in any case. */
_must_check_ int gprofng_metrics_init(struct gprofng_metrics *metrics, struct import *import,
				      const struct gprofng_log *log);
void gprofng_metrics_release(struct gprofng_metrics *metrics);

/*
 * Add a packet's weights to its thread and stack; a field that it lacks weighs nothing.
 *
 * file  of the packet
 *
 * Returns 0, -ENOMEM, or -EBADMSG or -EOVERFLOW with the reason in the import.
 */
_must_check_ int gprofng_metrics_add(struct gprofng_metrics *metrics,
				     const struct gprofng_data_file *file,
				     const struct gprofng_values *values);

/* At the end of a file: add the memory that was never freed. Returns as gprofng_metrics_add(). */
_must_check_ int gprofng_metrics_add_leaks(struct gprofng_metrics *metrics);

#endif
