/*
 * The metrics of each kind of packet. A packet of the clock has ticks in one of twelve states of a
 * thread. So a thread's time is known even while it waits (Solaris; on Linux there is only CPU
 * time). Packets of calls, as malloc() or read(), count 1 and the bytes or the time that they took.
 *
 * A leak is an allocation that nothing frees. Packets are not in order of time (read_packets.h). So
 * the events of the heap are kept, sorted at the end of their file, and matched by address.
 */
#include "formats/gprofng/read_metrics.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "formats/reader.h"

#define NS_PER_US 1000u

/* Values of GPROFNG_HTYPE. */
enum { HEAP_MALLOC, HEAP_FREE, HEAP_REALLOC, HEAP_MMAP, HEAP_MUNMAP };

/* Values of GPROFNG_IOTYPE. From NUM_IO_TYPES on, the same again for calls that failed. */
enum { IO_READ, IO_WRITE, IO_OPEN, IO_CLOSE, IO_OTHER, NUM_IO_TYPES };

enum { STATE_USER, STATE_SYSTEM, STATE_TRAP, STATE_LINUX_CPU = 10, STATE_KERNEL_CPU, NUM_STATES };

static const struct {
	const char *name;
	const char *unit;
} kinds[NUM_GPROFNG_METRICS] = {
	[GPROFNG_METRIC_CPU] = {"cpu", "nanoseconds"},
	[GPROFNG_METRIC_THREAD_TIME] = {"thread_time", "nanoseconds"},
	[GPROFNG_METRIC_USER_CPU] = {"user_cpu", "nanoseconds"},
	[GPROFNG_METRIC_SYSTEM_CPU] = {"system_cpu", "nanoseconds"},
	[GPROFNG_METRIC_TRAP_CPU] = {"trap_cpu", "nanoseconds"},
	[GPROFNG_METRIC_TEXT_FAULT] = {"text_fault", "nanoseconds"},
	[GPROFNG_METRIC_DATA_FAULT] = {"data_fault", "nanoseconds"},
	[GPROFNG_METRIC_KERNEL_FAULT] = {"kernel_fault", "nanoseconds"},
	[GPROFNG_METRIC_USER_LOCK] = {"user_lock", "nanoseconds"},
	[GPROFNG_METRIC_SLEEP] = {"sleep", "nanoseconds"},
	[GPROFNG_METRIC_WAIT_CPU] = {"wait_cpu", "nanoseconds"},
	[GPROFNG_METRIC_STOPPED] = {"stopped", "nanoseconds"},
	[GPROFNG_METRIC_LINUX_CPU] = {"linux_cpu", "nanoseconds"},
	[GPROFNG_METRIC_KERNEL_CPU] = {"kernel_cpu", "nanoseconds"},
	[GPROFNG_METRIC_SYNC_WAIT] = {"sync_wait", "nanoseconds"},
	[GPROFNG_METRIC_SYNC_WAITS] = {"sync_waits", "count"},
	[GPROFNG_METRIC_ALLOC] = {"alloc", "bytes"},
	[GPROFNG_METRIC_ALLOCS] = {"allocs", "count"},
	[GPROFNG_METRIC_LEAK] = {"leak", "bytes"},
	[GPROFNG_METRIC_LEAKS] = {"leaks", "count"},
	[GPROFNG_METRIC_READ_TIME] = {"read_time", "nanoseconds"},
	[GPROFNG_METRIC_READ_BYTES] = {"read_bytes", "bytes"},
	[GPROFNG_METRIC_READS] = {"reads", "count"},
	[GPROFNG_METRIC_WRITE_TIME] = {"write_time", "nanoseconds"},
	[GPROFNG_METRIC_WRITE_BYTES] = {"write_bytes", "bytes"},
	[GPROFNG_METRIC_WRITES] = {"writes", "count"},
	[GPROFNG_METRIC_OTHER_IO_TIME] = {"other_io_time", "nanoseconds"},
	[GPROFNG_METRIC_OTHER_IO_BYTES] = {"other_io_bytes", "bytes"},
	[GPROFNG_METRIC_OTHER_IOS] = {"other_ios", "count"},
	[GPROFNG_METRIC_IO_ERROR_TIME] = {"io_error_time", "nanoseconds"},
	[GPROFNG_METRIC_IO_ERROR_BYTES] = {"io_error_bytes", "bytes"},
	[GPROFNG_METRIC_IO_ERRORS] = {"io_errors", "count"},
};

int gprofng_metrics_init(struct gprofng_metrics *metrics, struct import *import,
			 const struct gprofng_log *log)
{
	*metrics = (struct gprofng_metrics){.import = import, .log = log, .path = ""};
	for (size_t i = 0; i < NUM_GPROFNG_METRICS; i++)
		metrics->ids[i] = METRIC_NONE;
	for (size_t i = 0; i < log->counters.length; i++) {
		uint32_t *added = array_add(&metrics->counters);

		if (!added)
			return -ENOMEM;
		*added = METRIC_NONE;
	}
	return 0;
}

void gprofng_metrics_release(struct gprofng_metrics *metrics)
{
	array_release(&metrics->counters);
	array_release(&metrics->heap);
}

static int add(struct gprofng_metrics *metrics, const struct gprofng_values *values,
	       uint32_t metric, uint64_t weight)
{
	int err = profile_add_sample(metrics->import->profile, values->thread, values->stack,
				     metric, weight);

	if (err == -EOVERFLOW)
		(void)import_fail_member(metrics->import, metrics->path, values->offset,
					 "the weights of a stack exceed 64 bits");
	return err;
}

static int add_weight(struct gprofng_metrics *metrics, const struct gprofng_values *values,
		      enum gprofng_metric metric, uint64_t weight)
{
	uint32_t *id = &metrics->ids[metric];
	int err = 0;

	if (*id == METRIC_NONE)
		err = profile_add_metric(metrics->import->profile, kinds[metric].name,
					 kinds[metric].unit, id);
	if (err)
		return err;
	return add(metrics, values, *id, weight);
}

/* ---- the clock ---- */

static bool is_cpu(uint64_t state)
{
	return state <= STATE_TRAP || state == STATE_LINUX_CPU || state == STATE_KERNEL_CPU;
}

/* On Linux, collectors know one state only: there CPU time is all that can be distinguished. */
static int add_state(struct gprofng_metrics *metrics, const struct gprofng_data_file *file,
		     const struct gprofng_values *values, uint64_t state, uint64_t ticks)
{
	uint64_t time_ns;
	int err = 0;

	if (state >= NUM_STATES)
		return 0;
	if (__builtin_mul_overflow(ticks, file->ticks_us * NS_PER_US, &time_ns)) {
		(void)import_fail_member(metrics->import, metrics->path, values->offset,
					 "a time exceeds 64 bits");
		return -EOVERFLOW;
	}
	if (is_cpu(state))
		err = add_weight(metrics, values, GPROFNG_METRIC_CPU, time_ns);
	if (err || file->num_states <= 1)
		return err;
	err = add_weight(metrics, values, GPROFNG_METRIC_THREAD_TIME, time_ns);
	if (err)
		return err;
	return add_weight(metrics, values, GPROFNG_METRIC_USER_CPU + (enum gprofng_metric)state,
			  time_ns);
}

/* A packet of older collectors has the ticks of all states at once. */
static int add_old_clock(struct gprofng_metrics *metrics, const struct gprofng_data_file *file,
			 const struct gprofng_values *values)
{
	int err;

	for (uint64_t state = 0; state <= GPROFNG_TSTOP - GPROFNG_UCPU; state++) {
		if (values->numbers[GPROFNG_UCPU + state]) {
			err = add_state(metrics, file, values, state,
					values->numbers[GPROFNG_UCPU + state]);
			if (err)
				return err;
		}
	}
	return 0;
}

/* ---- counters, waiting, input and output ---- */

static int add_counter(struct gprofng_metrics *metrics, const struct gprofng_values *values)
{
	const struct gprofng_log *log = metrics->log;
	size_t index = 0;
	uint32_t *id;
	int err = 0;

	/* The collector marks a count that it could not read by the highest bit. */
	if (values->numbers[GPROFNG_HWCINT] > INT64_MAX)
		return 0;
	while (index < log->counters.length &&
	       log->counters.items[index].tag != values->numbers[GPROFNG_HWCTAG])
		index++;
	if (index == log->counters.length) {
		metrics->import->counts.unknown_events++;
		return 0;
	}
	id = &metrics->counters.items[index];
	if (*id == METRIC_NONE)
		err = profile_add_metric(metrics->import->profile,
					 log->text.data + log->counters.items[index].name, "count",
					 id);
	if (err)
		return err;
	return add(metrics, values, *id, values->numbers[GPROFNG_HWCINT]);
}

/* From the request to its end, or 0 if the clocks of two processors disagree on the order. */
static uint64_t get_duration(const struct gprofng_values *values, enum gprofng_role request)
{
	uint64_t start = values->numbers[request];
	uint64_t end = values->numbers[GPROFNG_TSTAMP];

	return start && start < end ? end - start : 0;
}

static int add_wait(struct gprofng_metrics *metrics, const struct gprofng_values *values)
{
	int err = add_weight(metrics, values, GPROFNG_METRIC_SYNC_WAIT,
			     get_duration(values, GPROFNG_SRQST));

	if (err)
		return err;
	return add_weight(metrics, values, GPROFNG_METRIC_SYNC_WAITS, 1);
}

static int add_io(struct gprofng_metrics *metrics, const struct gprofng_values *values)
{
	uint64_t type = values->numbers[GPROFNG_IOTYPE];
	uint64_t bytes = values->numbers[GPROFNG_IONBYTE];
	enum gprofng_metric first = GPROFNG_METRIC_OTHER_IO_TIME;
	int err;

	if (type >= NUM_IO_TYPES)
		first = GPROFNG_METRIC_IO_ERROR_TIME;
	else if (type == IO_READ)
		first = GPROFNG_METRIC_READ_TIME;
	else if (type == IO_WRITE)
		first = GPROFNG_METRIC_WRITE_TIME;
	err = add_weight(metrics, values, first, get_duration(values, GPROFNG_IORQST));
	if (err)
		return err;
	if (bytes && bytes <= INT64_MAX && type <= IO_WRITE)
		err = add_weight(metrics, values, first + 1, bytes);
	if (err)
		return err;
	return add_weight(metrics, values, first + 2, 1);
}

/* ---- the heap ---- */

static int add_heap(struct gprofng_metrics *metrics, const struct gprofng_values *values)
{
	uint64_t type = values->numbers[GPROFNG_HTYPE];
	uint64_t size = values->numbers[GPROFNG_HSIZE];
	struct gprofng_heap_event *event;
	int err;

	if (type > HEAP_MUNMAP)
		return 0;
	event = array_add(&metrics->heap);
	if (!event)
		return -ENOMEM;
	*event = (struct gprofng_heap_event){
		.time_ns = values->numbers[GPROFNG_TSTAMP],
		.size = size,
		.address = values->numbers[GPROFNG_HVADDR],
		.old_address = values->numbers[GPROFNG_HOVADDR],
		.number = (uint32_t)metrics->heap.length,
		.thread = values->thread,
		.stack = values->stack,
		.type = (uint8_t)type,
	};
	if (type == HEAP_FREE || type == HEAP_MUNMAP || !size)
		return 0;
	err = add_weight(metrics, values, GPROFNG_METRIC_ALLOC, size);
	if (err)
		return err;
	return add_weight(metrics, values, GPROFNG_METRIC_ALLOCS, 1);
}

static int compare_events(const void *a, const void *b)
{
	const struct gprofng_heap_event *event_a = a;
	const struct gprofng_heap_event *event_b = b;

	if (event_a->time_ns != event_b->time_ns)
		return event_a->time_ns < event_b->time_ns ? -1 : 1;
	return event_a->number < event_b->number ? -1 : 1;
}

static bool is_address(const void *owner, uint32_t item, const void *key)
{
	const struct gprofng_metrics *metrics = owner;

	return metrics->heap.items[item].address == *(const uint64_t *)key;
}

/* Take the allocation at the address, if one is live, out of the leaks. */
static void free_address(struct gprofng_metrics *metrics, struct hash_index *live, uint64_t address)
{
	uint64_t hash = hash_mix(0, address);
	uint32_t item = hash_index_find(live, hash, is_address, metrics, &address);

	if (item == HASH_INDEX_NONE)
		return;
	metrics->heap.items[item].is_freed = true;
	hash_index_remove(live, hash, item);
}

/*
 * Memory that is live at the same address already was freed by something that the collector did not
 * see; it stays a leak, as gprofng reports it.
 */
static int allocate(struct gprofng_metrics *metrics, struct hash_index *live, uint32_t item)
{
	const struct gprofng_heap_event *event = &metrics->heap.items[item];
	uint64_t hash = hash_mix(0, event->address);
	uint32_t old = hash_index_find(live, hash, is_address, metrics, &event->address);

	if (old != HASH_INDEX_NONE)
		hash_index_remove(live, hash, old);
	return hash_index_add(live, hash, item);
}

static int find_freed(struct gprofng_metrics *metrics)
{
	_cleanup_(hash_index_release) struct hash_index live = {0};
	int err;

	for (uint32_t i = 0; i < metrics->heap.length; i++) {
		const struct gprofng_heap_event *event = &metrics->heap.items[i];
		bool is_free = event->type == HEAP_FREE || event->type == HEAP_MUNMAP;

		if (is_free)
			free_address(metrics, &live, event->address);
		else if (event->old_address)
			free_address(metrics, &live, event->old_address);
		if (is_free || !event->size || !event->address) {
			metrics->heap.items[i].is_freed = true;
			continue;
		}
		err = allocate(metrics, &live, i);
		if (err)
			return err;
	}
	return 0;
}

int gprofng_metrics_add_leaks(struct gprofng_metrics *metrics)
{
	int err;

	if (!metrics->heap.length)
		return 0;
	qsort(metrics->heap.items, metrics->heap.length, sizeof(*metrics->heap.items),
	      compare_events);
	err = find_freed(metrics);
	if (err)
		return err;
	array_for_each (&metrics->heap, event) {
		struct gprofng_values values = {.thread = event->thread, .stack = event->stack};

		if (event->is_freed)
			continue;
		err = add_weight(metrics, &values, GPROFNG_METRIC_LEAK, event->size);
		if (err)
			return err;
		err = add_weight(metrics, &values, GPROFNG_METRIC_LEAKS, 1);
		if (err)
			return err;
	}
	metrics->heap.length = 0;
	return 0;
}

int gprofng_metrics_add(struct gprofng_metrics *metrics, const struct gprofng_data_file *file,
			const struct gprofng_values *values)
{
	switch (values->kind) {
	case GPROFNG_CLOCK:
		return add_state(metrics, file, values, values->numbers[GPROFNG_MSTATE],
				 values->numbers[GPROFNG_NTICK]);
	case GPROFNG_OLD_CLOCK:
		return add_old_clock(metrics, file, values);
	case GPROFNG_SYNC:
		return add_wait(metrics, values);
	case GPROFNG_COUNTER:
	case GPROFNG_OLD_COUNTER:
	case GPROFNG_MEMORY_COUNTER:
		return add_counter(metrics, values);
	case GPROFNG_HEAP:
		return add_heap(metrics, values);
	case GPROFNG_IO:
		return add_io(metrics, values);
	default:
		metrics->import->counts.unknown_events++;
		return 0;
	}
}
