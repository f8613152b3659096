/*
 * Sorts records by time.
 *
 * Every CPU has a ring buffer of its own, whose records are in order, and perf copies out their
 * contents CPU by CPU. After each round over all CPUs it writes PERF_FINISHED_ROUND: all later
 * records are younger than those of the round before, because those were in the buffers when this
 * round started. So a record waits for two rounds at most.
 *
 *	round 1: cpu0 {1 5} cpu1 {2 9}      finished: nothing may go yet
 *	round 2: cpu0 {6 12} cpu1 {10 11}   finished: all up to 9, the latest of round 1
 *
 * The queue is sorted when a round ends. A record from compressed data refers to its chunk, which
 * is freed with the last such record.
 */
#include <errno.h>
#include <stdlib.h>

#include "formats/perf/data.h"

void perf_chunk_free(struct perf_chunk *chunk)
{
	if (!chunk)
		return;
	free(chunk->data);
	free(chunk);
}

/* The record has left the queue; its chunk is freed if this was its last one. */
static void let_go(struct perf_queue *queue, const struct perf_queued *item)
{
	if (!item->chunk || --item->chunk->num_queued)
		return;
	queue->chunk_bytes -= item->chunk->size;
	if (!item->chunk->is_being_read)
		perf_chunk_free(item->chunk);
}

void perf_queue_release(struct perf_queue *queue)
{
	array_for_each (&queue->items, item)
		let_go(queue, item);
	array_release(&queue->items);
}

int perf_queue_add(struct perf_queue *queue, const struct perf_queued *item)
{
	struct perf_queued *added = array_add(&queue->items);

	if (!added)
		return -ENOMEM;
	*added = *item;
	if (item->time_ns > queue->latest_ns)
		queue->latest_ns = item->time_ns;
	if (item->chunk && item->chunk->num_queued++ == 0)
		queue->chunk_bytes += item->chunk->size;
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct perf_queued *a = left;
	const struct perf_queued *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->position != b->position)
		return a->position < b->position ? -1 : 1;
	return (a->record > b->record) - (a->record < b->record);
}

int perf_queue_flush(struct perf_queue *queue, uint64_t limit_ns, size_t max_items,
		     int (*deliver)(void *context, const struct perf_queued *item), void *context)
{
	struct perf_queued *items = queue->items.items;
	size_t num_due = queue->items.length < max_items ? queue->items.length : max_items;
	size_t num_done = 0;
	int err = 0;

	if (!queue->items.length)
		return 0;
	qsort(items, queue->items.length, sizeof(*items), compare);
	/* Those before an error have been delivered and leave the queue as well. */
	while (!err && num_done < num_due && items[num_done].time_ns <= limit_ns)
		err = deliver(context, &items[num_done++]);
	for (size_t i = 0; i < num_done; i++)
		let_go(queue, &items[i]);
	queue->items.length -= num_done;
	memmove(items, items + num_done, queue->items.length * sizeof(*items));
	return err;
}

uint64_t perf_queue_finish_round(struct perf_queue *queue)
{
	uint64_t limit_ns = queue->limit_ns;

	queue->limit_ns = queue->latest_ns;
	return limit_ns;
}
