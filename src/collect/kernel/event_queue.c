#include "collect/kernel/event_queue.h"

#include <errno.h>
#include <stdbool.h>

#include "base/array.h"

struct queued_event {
	uint64_t time_ns;
	uint64_t number; /* order of arrival: decides between equal times */
	void *record;
	size_t size;
	uint32_t kind;
};

/* A binary heap: the oldest event is the first item. */
struct event_queue {
	ARRAY(struct queued_event) heap;
	uint64_t num_added;
	uint64_t num_late;
	uint64_t last_time_ns; /* of the last event handed out */
	size_t size;           /* of all records */
};

struct event_queue *event_queue_new(void)
{
	return calloc(1, sizeof(struct event_queue));
}

void event_queue_free(struct event_queue *queue)
{
	if (!queue)
		return;
	array_for_each (&queue->heap, event)
		free(event->record);
	array_release(&queue->heap);
	free(queue);
}

static bool is_before(const struct queued_event *a, const struct queued_event *b)
{
	return a->time_ns < b->time_ns || (a->time_ns == b->time_ns && a->number < b->number);
}

static void swap(struct queued_event *a, struct queued_event *b)
{
	struct queued_event held = *a;

	*a = *b;
	*b = held;
}

int event_queue_add(struct event_queue *queue, uint64_t time_ns, uint32_t kind, const void *record,
		    size_t size)
{
	void *copy = malloc(size ? size : 1);
	struct queued_event *event = copy ? array_add(&queue->heap) : NULL;
	size_t i = queue->heap.length - 1;

	if (!event) {
		free(copy);
		return -ENOMEM;
	}
	memcpy(copy, record, size);
	queue->size += size;
	*event = (struct queued_event){
		.time_ns = time_ns,
		.number = queue->num_added++,
		.record = copy,
		.size = size,
		.kind = kind,
	};
	if (time_ns < queue->last_time_ns)
		queue->num_late++;
	for (struct queued_event *heap = queue->heap.items; i > 0; i = (i - 1) / 2) {
		if (!is_before(&heap[i], &heap[(i - 1) / 2]))
			break;
		swap(&heap[i], &heap[(i - 1) / 2]);
	}
	return 0;
}

/* Take the oldest event out of the heap; its record is the caller's. */
static struct queued_event take_oldest(struct event_queue *queue)
{
	struct queued_event *heap = queue->heap.items;
	struct queued_event oldest = heap[0];
	size_t length = --queue->heap.length;
	size_t i = 0;

	heap[0] = heap[length];
	for (;;) {
		size_t least = i;

		for (size_t child = 2 * i + 1; child <= 2 * i + 2 && child < length; child++)
			if (is_before(&heap[child], &heap[least]))
				least = child;
		if (least == i)
			return oldest;
		swap(&heap[i], &heap[least]);
		i = least;
	}
}

int event_queue_drain(struct event_queue *queue, uint64_t now_ns,
		      int (*handle)(uint64_t time_ns, uint32_t kind, const void *record,
				    size_t size, void *context),
		      void *context)
{
	uint64_t until_ns = event_queue_get_until_ns(now_ns);
	int err;

	while (queue->heap.length && queue->heap.items[0].time_ns <= until_ns) {
		struct queued_event event = take_oldest(queue);

		/* A late event gets the time of the last one: time must not go back for handlers. */
		if (event.time_ns > queue->last_time_ns)
			queue->last_time_ns = event.time_ns;
		queue->size -= event.size;
		err = handle(queue->last_time_ns, event.kind, event.record, event.size, context);
		free(event.record);
		if (err)
			return err;
	}
	return 0;
}

uint64_t event_queue_get_late_count(const struct event_queue *queue)
{
	return queue->num_late;
}

size_t event_queue_get_length(const struct event_queue *queue)
{
	return queue->heap.length;
}

size_t event_queue_get_size(const struct event_queue *queue)
{
	return queue->size;
}
