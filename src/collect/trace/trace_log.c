#include "collect/trace/trace_log.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/intern.h"
#include "collect/trace/thread_starts.h"
#include "timeline/timeline.h"

#define PAGE_BYTES 4096u

/*
 * Stacks grow down, and the kernel merges mappings there: only the end identifies a stack.
 * Goroutines' stacks are added whenever they have replaced others.
 */
INTERN_TABLE(area_table, struct stack_area, process, tid, end, kind);

struct trace_log {
	struct spool *samples;
	struct spool *threads;
	struct spool *fills;
	struct spool *renames;
	struct spool *waits;
	struct spool *thread_waits;
	struct spool *task_events;
	struct recorded_occupancies *occupancies;
	uint64_t num_lost_renames;
	struct area_table areas;
	ARRAY(struct stack_area) goroutine_areas; /* the present ones, by process and end */
};

static int compare_samples(const void *a, const void *b)
{
	const struct timed_sample *left = a;
	const struct timed_sample *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return (left->cpu > right->cpu) - (left->cpu < right->cpu);
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread_start *left = a;
	const struct thread_start *right = b;

	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static int compare_fills(const void *a, const void *b)
{
	const struct region_fill *left = a;
	const struct region_fill *right = b;

	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static int compare_renames(const void *a, const void *b)
{
	const struct thread_rename *left = a;
	const struct thread_rename *right = b;

	return (left->time_ns > right->time_ns) - (left->time_ns < right->time_ns);
}

static int compare_waits(const void *a, const void *b)
{
	const struct timed_wait *left = a;
	const struct timed_wait *right = b;

	return (left->end_ns > right->end_ns) - (left->end_ns < right->end_ns);
}

int trace_log_new(const char *folder, struct trace_log **ret, struct error *error)
{
	_cleanup_(trace_log_freep) struct trace_log *log = calloc(1, sizeof(*log));
	int err;

	if (!log)
		return -ENOMEM;
	/* Samples whose stacks were walked later are added late. */
	err = spool_new(folder, sizeof(struct timed_sample), compare_samples, &log->samples, error);
	if (err)
		return err;
	err = spool_new(folder, sizeof(struct thread_start), compare_threads, &log->threads, error);
	if (err)
		return err;
	err = spool_new(folder, sizeof(struct region_fill), compare_fills, &log->fills, error);
	if (err)
		return err;
	err = spool_new(folder, sizeof(struct thread_rename), compare_renames, &log->renames,
			error);
	if (err)
		return err;
	err = spool_new(folder, sizeof(struct timed_wait), compare_waits, &log->waits, error);
	if (err)
		return err;
	err = spool_new(folder, sizeof(struct timeline_wait), NULL, &log->thread_waits, error);
	if (err)
		return err;
	err = spool_new(folder, sizeof(struct task_event), NULL, &log->task_events, error);
	if (err)
		return err;
	err = recorded_occupancies_new(folder, &log->occupancies, error);
	if (err)
		return err;
	*ret = return_ptr(log);
	return 0;
}

void trace_log_free(struct trace_log *log)
{
	if (!log)
		return;
	spool_free(log->samples);
	spool_free(log->threads);
	spool_free(log->fills);
	spool_free(log->renames);
	spool_free(log->waits);
	spool_free(log->thread_waits);
	spool_free(log->task_events);
	recorded_occupancies_free(log->occupancies);
	area_table_release(&log->areas);
	array_release(&log->goroutine_areas);
	free(log);
}

void trace_log_add_fds(const struct trace_log *log, struct fd_list *fds)
{
	const struct spool *spools[] = {
		log->samples, log->threads,      log->fills,       log->renames,
		log->waits,   log->thread_waits, log->task_events,
	};

	for (size_t i = 0; i < ARRAY_LENGTH(spools); i++)
		spool_add_fds(spools[i], fds);
	recorded_occupancies_add_fds(log->occupancies, fds);
}

/* ---- where stacks are --------------------------------------------------------------------- */

static bool read_area(const struct wire_stack_area *record, struct stack_area *ret)
{
	uint64_t thread_end = (record->thread_pointer | (PAGE_BYTES - 1)) + 1;

	*ret = (struct stack_area){
		.first_ns = record->time_ns, .start = record->start, .end = record->end};
	switch ((enum wire_stack_kind)record->kind) {
	case WIRE_STACK_NONE:
		return false;
	case WIRE_STACK_MAIN:
		ret->kind = STACK_MAIN;
		break;
	case WIRE_STACK_THREAD:
		/* The kernel made the first thread's stack: its TLS only has a neighbour. */
		if (record->tid == record->pid) {
			ret->kind = STACK_OTHER;
			break;
		}
		ret->kind = STACK_THREAD;
		ret->tid = record->tid;
		/* The rest of the mapping may be the next thread's. */
		if (thread_end && thread_end < ret->end)
			ret->end = thread_end;
		break;
	case WIRE_STACK_BOUNDED_THREAD:
		ret->kind = STACK_THREAD;
		ret->tid = record->tid;
		ret->has_exact_bounds = true;
		break;
	case WIRE_STACK_SIGNAL:
		ret->kind = STACK_SIGNAL;
		ret->tid = record->tid;
		break;
	case WIRE_STACK_GOROUTINE:
		ret->kind = STACK_GOROUTINE;
		break;
	case WIRE_STACK_OTHER:
		ret->kind = STACK_OTHER;
		break;
	}
	return ret->start < ret->end;
}

/* Whether the area ends at or below an address of the same process, or is of an earlier process. */
static bool is_below(const struct stack_area *area, uint32_t process, uint64_t address)
{
	return area->process < process || (area->process == process && area->end <= address);
}

/* Add an area, which replaces the present ones that share memory with it, unless it is present. Returns 0 or -ENOMEM. */
static int add_goroutine_area(struct trace_log *log, const struct stack_area *area)
{
	size_t place = array_count_front(&log->goroutine_areas, item,
					 is_below(item, area->process, area->start));
	struct stack_area *present;
	uint32_t item;

	while (place < log->goroutine_areas.length) {
		present = &log->goroutine_areas.items[place];
		if (present->process != area->process || present->start >= area->end)
			break;
		if (present->start == area->start && present->end == area->end)
			return 0;
		array_remove(&log->goroutine_areas, place);
	}
	/* An area that lacks memory is not present: it is added when it is reported again. */
	if (array_reserve(&log->goroutine_areas, log->goroutine_areas.length + 1) ||
	    area_table_add(&log->areas, area, &item))
		return -ENOMEM;
	present = array_insert(&log->goroutine_areas, place);
	if (!present)
		return -ENOMEM;
	*present = *area;
	return 0;
}

int trace_log_add_area(struct trace_log *log, uint32_t process,
		       const struct wire_stack_area *record)
{
	struct stack_area area;
	uint32_t item;
	int err;

	if (!read_area(record, &area))
		return 0;
	area.process = process;
	if (area.kind == STACK_GOROUTINE)
		return add_goroutine_area(log, &area);
	err = area_table_intern(&log->areas, &area, &item);
	if (err)
		return err;
	if (area.start < log->areas.items[item].start)
		log->areas.items[item].start = area.start;
	return 0;
}

const struct stack_area *trace_log_get_areas(const struct trace_log *log, size_t *ret_count)
{
	*ret_count = log->areas.length;
	return log->areas.items;
}

/* ---- samples and threads ------------------------------------------------------------------ */

void trace_log_add_sample(struct trace_log *log, const struct timed_sample *sample)
{
	spool_add(log->samples, sample);
}

struct spool *trace_log_get_samples(struct trace_log *log)
{
	return log->samples;
}

void trace_log_add_wait(struct trace_log *log, const struct timed_wait *wait)
{
	spool_add(log->waits, wait);
}

struct spool *trace_log_get_waits(struct trace_log *log)
{
	return log->waits;
}

struct spool *trace_log_get_thread_waits(struct trace_log *log)
{
	return log->thread_waits;
}

struct spool *trace_log_get_task_events(struct trace_log *log)
{
	return log->task_events;
}

struct recorded_occupancies *trace_log_get_occupancies(struct trace_log *log)
{
	return log->occupancies;
}

int trace_log_complete(struct trace_log *log)
{
	struct spool *filled[] = {log->fills, log->thread_waits, log->task_events};

	for (size_t i = 0; i < ARRAY_LENGTH(filled); i++) {
		int err = spool_rewind(filled[i]);

		if (err)
			return err;
	}
	return recorded_occupancies_complete(log->occupancies);
}

struct spool_counts trace_log_get_wait_counts(const struct trace_log *log)
{
	struct spool_counts counts = spool_get_counts(log->waits);
	struct spool_counts built = spool_get_counts(log->thread_waits);

	counts.lost += built.lost;
	if (!counts.lost_errno)
		counts.lost_errno = built.lost_errno;
	return counts;
}

void trace_log_add_thread(struct trace_log *log, uint64_t time_ns, uint32_t pid, uint32_t tid)
{
	spool_add(log->threads, &(struct thread_start){.time_ns = time_ns, .pid = pid, .tid = tid});
}

struct spool *trace_log_get_threads(struct trace_log *log)
{
	return log->threads;
}

struct spool *trace_log_get_fills(struct trace_log *log)
{
	return log->fills;
}

void trace_log_add_rename(struct trace_log *log, uint64_t time_ns, uint32_t pid, uint32_t tid,
			  const char *comm)
{
	struct thread_rename rename = {.time_ns = time_ns, .pid = pid, .tid = tid};

	snprintf(rename.comm, sizeof(rename.comm), "%s", comm);
	spool_add(log->renames, &rename);
}

struct spool *trace_log_get_renames(struct trace_log *log)
{
	return log->renames;
}

void trace_log_count_lost_rename(struct trace_log *log)
{
	log->num_lost_renames++;
}

uint64_t trace_log_get_lost_renames(const struct trace_log *log)
{
	return log->num_lost_renames + spool_get_counts(log->renames).lost;
}
