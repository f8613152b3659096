/*
 * An occupancy that has ended cannot go to the spool at once: the next one of its region is not
 * known yet, and the trace shows it from its start on. Also, the last one of a thread is prolonged
 * at the end (trace_schedule.c). So the last one of each thread and of each region is kept in
 * memory: at most one each.
 */
#include "collect/trace/recorded_occupancies.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "timeline/occupancy_walk.h"

struct last_of_thread {
	struct ended_occupancy ended;
	bool is_set;
};

/* Location of the region's last occupancy, while there is no next one. */
enum region_last { LAST_NONE, LAST_OF_THREAD, LAST_OF_REGION };

struct last_of_region {
	enum region_last where;
	uint32_t thread;              /* LAST_OF_THREAD: it is this one's last, too */
	struct ended_occupancy ended; /* LAST_OF_REGION */
};

struct recorded_occupancies {
	struct spool *spool;
	struct timeline_consumer consumer;
	uint32_t count;
	ARRAY(struct last_of_thread) threads;
	ARRAY(struct last_of_region) regions;
};

static int make_room(struct recorded_occupancies *occupancies, const struct occupancy *occupancy)
{
	while (occupancies->threads.length <= occupancy->thread)
		if (!array_add(&occupancies->threads))
			return -ENOMEM;
	while (occupancies->regions.length <= occupancy->region)
		if (!array_add(&occupancies->regions))
			return -ENOMEM;
	return 0;
}

static void spool_ended(struct recorded_occupancies *occupancies,
			const struct ended_occupancy *ended)
{
	spool_add(occupancies->spool, &ended->numbered);
}

/* The successor of the region's last occupancy is known now. */
static int start_occupancy(void *context, const struct occupancy *occupancy)
{
	struct recorded_occupancies *occupancies = context;
	struct last_of_region *region;
	struct ended_occupancy *before;
	int err = make_room(occupancies, occupancy);

	if (err)
		return err;
	region = &occupancies->regions.items[occupancy->region];
	if (region->where == LAST_NONE)
		return 0;
	before = region->where == LAST_OF_THREAD ? &occupancies->threads.items[region->thread].ended
						 : &region->ended;
	before->has_next = true;
	before->next_ns = occupancy->start_ns;
	before->numbered.is_handed_over = before->numbered.occupancy.thread != occupancy->thread;
	if (region->where == LAST_OF_REGION)
		spool_ended(occupancies, before);
	region->where = LAST_NONE;
	return 0;
}

/* The thread's last one before is no longer that: it is done, or left to its region. */
static int end_occupancy(void *context, const struct occupancy *occupancy)
{
	struct recorded_occupancies *occupancies = context;
	struct last_of_thread *thread;
	struct last_of_region *region;
	int err = make_room(occupancies, occupancy);

	if (err)
		return err;
	thread = &occupancies->threads.items[occupancy->thread];
	if (thread->is_set && thread->ended.has_next) {
		spool_ended(occupancies, &thread->ended);
	} else if (thread->is_set) {
		region = &occupancies->regions.items[thread->ended.numbered.occupancy.region];
		region->where = LAST_OF_REGION;
		region->ended = thread->ended;
	}
	*thread = (struct last_of_thread){.is_set = true};
	thread->ended.numbered.occupancy = *occupancy;
	thread->ended.numbered.number = occupancies->count++;
	region = &occupancies->regions.items[occupancy->region];
	region->where = LAST_OF_THREAD;
	region->thread = occupancy->thread;
	return 0;
}

int recorded_occupancies_new(const char *folder, struct recorded_occupancies **ret,
			     struct error *error)
{
	_cleanup_(recorded_occupancies_freep) struct recorded_occupancies *occupancies =
		calloc(1, sizeof(*occupancies));
	int err;

	if (!occupancies)
		return -ENOMEM;
	occupancies->consumer = (struct timeline_consumer){.start_occupancy = start_occupancy,
							   .end_occupancy = end_occupancy,
							   .context = occupancies};
	err = spool_new(folder, sizeof(struct numbered_occupancy), occupancy_compare_starts,
			&occupancies->spool, error);
	if (err)
		return err;
	*ret = return_ptr(occupancies);
	return 0;
}

void recorded_occupancies_free(struct recorded_occupancies *occupancies)
{
	if (!occupancies)
		return;
	spool_free(occupancies->spool);
	array_release(&occupancies->threads);
	array_release(&occupancies->regions);
	free(occupancies);
}

const struct timeline_consumer *recorded_occupancies_get_consumer(
	struct recorded_occupancies *occupancies)
{
	return &occupancies->consumer;
}

struct ended_occupancy *recorded_occupancies_get_last(struct recorded_occupancies *occupancies,
						      uint32_t thread)
{
	if (thread >= occupancies->threads.length || !occupancies->threads.items[thread].is_set)
		return NULL;
	return &occupancies->threads.items[thread].ended;
}

/* The last occupancies will have no successors. */
int recorded_occupancies_complete(struct recorded_occupancies *occupancies)
{
	array_for_each (&occupancies->threads, thread)
		if (thread->is_set)
			spool_ended(occupancies, &thread->ended);
	array_for_each (&occupancies->regions, region)
		if (region->where == LAST_OF_REGION)
			spool_ended(occupancies, &region->ended);
	array_release(&occupancies->threads);
	array_release(&occupancies->regions);
	return spool_rewind(occupancies->spool);
}

static int rewind_occupancies(void *context)
{
	return recorded_occupancies_complete(context);
}

static int next_occupancy(void *context, void *ret)
{
	struct recorded_occupancies *occupancies = context;

	return spool_next(occupancies->spool, ret);
}

void recorded_occupancies_give(struct recorded_occupancies *occupancies, struct timeline *timeline)
{
	struct timeline_source source = {
		.rewind = rewind_occupancies,
		.next = next_occupancy,
		.context = occupancies,
	};

	timeline_set_occupancies(timeline, &source);
}

void recorded_occupancies_add_fds(const struct recorded_occupancies *occupancies,
				  struct fd_list *fds)
{
	spool_add_fds(occupancies->spool, fds);
}

struct spool_counts recorded_occupancies_get_counts(const struct recorded_occupancies *occupancies)
{
	return spool_get_counts(occupancies->spool);
}
