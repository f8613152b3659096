#include "collect/trace_log.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/hash.h"

#define PAGE_BYTES 4096u

struct trace_log {
	ARRAY(struct timed_sample) samples;
	ARRAY(struct stack_area) areas;
	struct hash_index area_index;
	bool is_out_of_order;
};

struct trace_log *trace_log_new(void)
{
	return calloc(1, sizeof(struct trace_log));
}

void trace_log_free(struct trace_log *log)
{
	if (!log)
		return;
	array_release(&log->samples);
	array_release(&log->areas);
	hash_index_release(&log->area_index);
	free(log);
}

/* ---- where stacks are --------------------------------------------------------------------- */

static bool read_area(const struct wire_stack_area *record, struct stack_area *ret)
{
	uint64_t thread_end = (record->thread_pointer | (PAGE_BYTES - 1)) + 1;

	*ret = (struct stack_area){
		.first_ns = record->time_ns, .begin = record->begin, .end = record->end};
	switch ((enum wire_stack_kind)record->kind) {
	case WIRE_STACK_NONE:
		return false;
	case WIRE_STACK_MAIN:
		ret->kind = STACK_MAIN;
		break;
	case WIRE_STACK_THREAD:
		ret->kind = STACK_THREAD;
		ret->tid = record->tid;
		/* The rest of the mapping may be the next thread's. */
		if (thread_end && thread_end < ret->end)
			ret->end = thread_end;
		break;
	case WIRE_STACK_SIGNAL:
		ret->kind = STACK_SIGNAL;
		ret->tid = record->tid;
		break;
	case WIRE_STACK_OTHER:
		ret->kind = STACK_OTHER;
		break;
	}
	return ret->begin < ret->end;
}

/* A mapping grows down, and others become part of it there: its end tells which it is. */
static bool is_area(const void *owner, uint32_t item, const void *key)
{
	const struct stack_area *area = &((const struct trace_log *)owner)->areas.items[item];
	const struct stack_area *wanted = key;

	return area->process == wanted->process && area->end == wanted->end &&
	       area->tid == wanted->tid && area->kind == wanted->kind;
}

int trace_log_add_area(struct trace_log *log, uint32_t process,
		       const struct wire_stack_area *record)
{
	struct stack_area area;
	struct stack_area *added;
	uint64_t hash;
	uint32_t item;

	if (!read_area(record, &area))
		return 0;
	area.process = process;
	hash = hash_mix(hash_mix(hash_mix(area.process, area.tid), area.end), area.kind);
	item = hash_index_find(&log->area_index, hash, is_area, log, &area);
	if (item != HASH_INDEX_NONE) {
		if (area.begin < log->areas.items[item].begin)
			log->areas.items[item].begin = area.begin;
		return 0;
	}
	added = array_add(&log->areas);
	if (!added)
		return -ENOMEM;
	*added = area;
	return hash_index_add(&log->area_index, hash, (uint32_t)(log->areas.length - 1));
}

const struct stack_area *trace_log_get_areas(const struct trace_log *log, size_t *ret_count)
{
	*ret_count = log->areas.length;
	return log->areas.items;
}

/* ---- samples ------------------------------------------------------------------------------ */

int trace_log_add_sample(struct trace_log *log, const struct timed_sample *sample)
{
	struct timed_sample *added = array_add(&log->samples);

	if (!added)
		return -ENOMEM;
	*added = *sample;
	log->is_out_of_order |= log->samples.length > 1 && added[-1].time_ns > sample->time_ns;
	return 0;
}

static int compare_samples(const void *a, const void *b)
{
	const struct timed_sample *left = a;
	const struct timed_sample *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

void trace_log_sort(struct trace_log *log)
{
	/* Samples whose stack was walked later come late. */
	if (log->is_out_of_order)
		qsort(log->samples.items, log->samples.length, sizeof(*log->samples.items),
		      compare_samples);
	log->is_out_of_order = false;
}

const struct timed_sample *trace_log_get_samples(const struct trace_log *log, size_t *ret_count)
{
	*ret_count = log->samples.length;
	return log->samples.items;
}
