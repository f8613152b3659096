/*
 * Decodes the scheduling of one CPU: batches of the BPF program into switches and wakeups.
 *
 * Batches must be complete (schedule_batch_is_valid()), with the names in their slots replaced by
 * strings (schedule_batch_intern()).
 */
#ifndef COLLECT_TRACE_SCHEDULE_DECODER_H
#define COLLECT_TRACE_SCHEDULE_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "profile/string_table.h"
#include "timeline/timeline.h"
#include "wire/schedule.h"

/*
 * A placeholder for the unknown thread of a CPU: one for each CPU, from this tid on. Above every
 * tid of Linux (PID_MAX_LIMIT).
 */
#define SCHEDULE_FIRST_UNKNOWN_TID 0x400000

/* Zero it; then set unknown_name. */
struct schedule_decoder {
	const struct wire_schedule *batch;
	uint32_t next_slot;
	uint32_t idle_name;
	uint32_t unknown_name;               /* string: name of unknown threads */
	int32_t tid;                         /* running after the events returned so far */
	uint64_t last_ns;                    /* of the last of these events */
	uint32_t names[WIRE_SCHEDULE_NAMES]; /* strings, by slot of the tid */
	struct sched_switch inserted[2];     /* a stack, returned before the next slots' events */
	uint32_t num_inserted;
};

/* Whether a record of a ring is a batch: its type, its size, every slot that is the second of two. */
bool schedule_batch_is_valid(const void *record, size_t size);

/* The name of a thread at a time. */
struct scheduled_name {
	uint64_t time_ns; /* 0: unknown */
	uint32_t pid;
	uint32_t tid;
	uint32_t name; /* string */
};

/*
 * Replace the text of every name by its id in strings.
 *
 * on_thread  called for every thread that has a name; returns 0 or negative errno
 * Returns 0, -ENOMEM or the error of on_thread().
 */
_must_check_ int schedule_batch_intern(struct wire_schedule *batch, struct string_table *strings,
				       int (*on_thread)(const struct scheduled_name *named,
							void *context),
				       void *context);

/*
 * Start the CPU's next batch, which is borrowed until the one after it.
 *
 * start_ns   start of this CPU's recording: time of the switch to the thread that ran then
 * idle_name  string: name of the CPU's idle thread
 *
 * If batches were lost, the CPU is shown as idle from the last event before the loss to the first
 * after it.
 */
void schedule_decoder_start(struct schedule_decoder *decoder, const struct wire_schedule *batch,
			    bool is_after_loss, uint64_t start_ns, uint32_t idle_name);

/* False when the batch is at its end. */
bool schedule_decoder_next(struct schedule_decoder *decoder, struct schedule_event *ret);

/*
 * The state of a thread that leaves its CPU, from the kernel's bits to those of the tracepoint
 * sched_switch.
 *
 * Source: Linux, include/trace/events/sched.h (__trace_sched_switch_state()) and
 * include/linux/sched.h (__task_state_index()).
 */
uint16_t schedule_decode_state(uint32_t state, bool is_preempted);

#endif
