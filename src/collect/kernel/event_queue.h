/*
 * Records of many rings, put into order of time.
 *
 * Rings are filled by different CPUs and read one after the other, so records come out of order.
 * They are held back until no older one can come: a record may leave when the clock had passed its
 * time, by longer than a record can be on its way, before all rings were read. Records of equal time
 * leave in the order of arrival.
 *
 * Not thread-safe.
 */
#ifndef COLLECT_KERNEL_EVENT_QUEUE_H
#define COLLECT_KERNEL_EVENT_QUEUE_H

#include <stddef.h>
#include <stdint.h>

#include "base/attributes.h"
#include "base/clock.h"

/*
 * Longer than a record is on its way: the kernel stamps and writes it with preemption off, but the
 * hypervisor may stop the CPU in between.
 */
#define EVENT_QUEUE_HOLD_BACK_NS (3 * NS_PER_MS)

struct event_queue;

struct event_queue *event_queue_new(void); /* NULL when out of memory */
void event_queue_free(struct event_queue *queue);

/*
 * Add a copy of a record.
 *
 * kind   the owner's: decides which function handles it
 * Returns 0 or -ENOMEM.
 */
_must_check_ int event_queue_add(struct event_queue *queue, uint64_t time_ns, uint32_t kind,
				 const void *record, size_t size);

/*
 * Hand every record that no other one can overtake any more to handle(), oldest first. handle()
 * returns 0 or negative errno, which stops and is returned; the record it was given counts as
 * handled. It may add records.
 *
 * now_ns   of the clock, before the rings were read; UINT64_MAX at the end, when no more will come
 */
_must_check_ int event_queue_drain(struct event_queue *queue, uint64_t now_ns,
				   int (*handle)(uint64_t time_ns, uint32_t kind,
						 const void *record, size_t size, void *context),
				   void *context);

/* Records that arrived after a younger one had left already. */
uint64_t event_queue_get_late_count(const struct event_queue *queue);
size_t event_queue_get_length(const struct event_queue *queue);
/* Bytes of all records that it holds. */
size_t event_queue_get_size(const struct event_queue *queue);

#endif
