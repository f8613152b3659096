/*
 * Records of many rings, sorted by time.
 *
 * Rings are filled by different CPUs and read one after the other, so records arrive out of order.
 * They are held back until no older one can arrive: before all rings were read, the clock must have
 * passed the record's time by more than a record's maximum delay. Records with equal time stay in
 * order of arrival.
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
 * Longer than a record is on its way: the kernel stamps and writes it with preemption off, within
 * some 100 us. If the hypervisor stops the CPU in between for longer, the record is late. Mappings
 * wait as long until they are published.
 */
#define EVENT_QUEUE_HOLD_BACK_NS NS_PER_MS

/* Time up to which events are handed out at now_ns. */
static inline uint64_t event_queue_get_until_ns(uint64_t now_ns)
{
	return now_ns > EVENT_QUEUE_HOLD_BACK_NS ? now_ns - EVENT_QUEUE_HOLD_BACK_NS : 0;
}

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
 * Pass every record that no other can precede any more to handle(), oldest first. If handle()
 * returns a negative errno, stop and return it; its record counts as handled. handle() may add
 * records.
 *
 * now_ns   of the clock, before the rings were read; UINT64_MAX at the end, when no more records
 *          will arrive
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
