#include "collect/trace/trace_schedule.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/intern.h"
#include "collect/trace/trace_processes.h"

/* States of sched_switch at exit: dead, zombie. */
#define STATES_OF_EXIT 0x30

/* Time that an exiting thread may take to leave its CPU; after that, another thread has the tid. */
#define MAX_EXIT_NS NS_PER_SECOND

/* ---- threads that no sample has shown ----------------------------------------------------- */

/* A map from two numbers to one; a key that is added again gets the new value. */
struct id_entry {
	uint32_t first;
	uint32_t second;
	uint32_t id;
};
INTERN_TABLE(id_map, struct id_entry, first, second);

static struct id_entry *find_entry(const struct id_map *map, uint32_t first, uint32_t second)
{
	uint32_t item = id_map_find(map, &(struct id_entry){.first = first, .second = second});

	return item == HASH_INDEX_NONE ? NULL : &map->items[item];
}

/* An existing key gets the new number. */
static int set_id(struct id_map *map, uint32_t first, uint32_t second, uint32_t id)
{
	struct id_entry entry = {.first = first, .second = second, .id = id};
	uint32_t item;
	int err = id_map_intern(map, &entry, &item);

	if (err)
		return err;
	map->items[item].id = id;
	return 0;
}

struct adder {
	const struct schedule_store *store;
	const struct process_table *table;
	struct trace_processes *processes;
	struct timeline *timeline;
	struct id_map images;  /* of the table, by pid: the last one */
	struct id_map known;   /* processes of the timeline, likewise */
	struct id_map threads; /* of the timeline, by pid and tid */
};

static int index_all(struct adder *adder)
{
	struct timeline *timeline = adder->timeline;
	int err;

	trace_processes_adopt(adder->processes);
	for (uint32_t i = 0; i < process_table_get_count(adder->table); i++) {
		err = set_id(&adder->images, process_table_get(adder->table, i)->pid, 0, i);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < timeline_count_process(timeline); i++) {
		err = set_id(&adder->known, timeline_get_process(timeline, i)->pid, 0, i);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < timeline_count_thread(timeline); i++) {
		const struct timeline_thread *thread = timeline_get_thread(timeline, i);
		uint32_t pid = timeline_get_process(timeline, thread->process)->pid;

		err = set_id(&adder->threads, pid, (uint32_t)thread->tid, i);
		if (err)
			return err;
	}
	return 0;
}

/* The timeline's process with this pid; TIMELINE_NONE if it is unknown. */
static int use_process(struct adder *adder, uint32_t pid, uint32_t *ret)
{
	const struct id_entry *entry = find_entry(&adder->known, pid, 0);
	int err;

	*ret = entry ? entry->id : TIMELINE_NONE;
	if (entry)
		return 0;
	entry = find_entry(&adder->images, pid, 0);
	if (!entry)
		return 0;
	err = trace_processes_use(adder->processes, entry->id, ret);
	return err ? err : set_id(&adder->known, pid, 0, *ret);
}

static int add_thread(struct adder *adder, const struct scheduled_thread *thread)
{
	const struct id_entry *known = find_entry(&adder->threads, thread->pid, thread->tid);
	const char *name = schedule_store_get_name(adder->store, thread->name);
	struct timeline_thread added = {.tid = thread->tid};
	int err;

	if (known) {
		/* Switches may show a later name than samples. */
		err = timeline_rename_thread(adder->timeline, known->id, name, thread->named_ns);
		return err < 0 ? err : 0;
	}
	err = use_process(adder, thread->pid, &added.process);
	if (err || added.process == TIMELINE_NONE)
		return err;
	err = timeline_add_string(adder->timeline, name, &added.name);
	return err ? err : timeline_add_thread(adder->timeline, &added, NULL);
}

static void adder_release(struct adder *adder)
{
	trace_processes_free(adder->processes);
	id_map_release(&adder->images);
	id_map_release(&adder->known);
	id_map_release(&adder->threads);
}

static int add_threads(const struct schedule_store *store, const struct process_table *processes,
		       struct timeline *timeline)
{
	_cleanup_(adder_release) struct adder adder = {
		.store = store,
		.table = processes,
		.processes = trace_processes_new(processes, timeline),
		.timeline = timeline,
	};
	size_t count;
	const struct scheduled_thread *threads = schedule_store_get_threads(store, &count);
	int err = adder.processes ? index_all(&adder) : -ENOMEM;

	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		err = add_thread(&adder, &threads[i]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- occupancies -------------------------------------------------------------------------- */

/* A thread left its CPU for good: it exited, or did not run again until the recording ended. */
struct departure {
	uint64_t time_ns;
	uint32_t tid;
	bool is_exit;
};

struct departures {
	ARRAY(struct departure) list; /* in order of time, except the last one of each tid */
	struct id_map open; /* by tid: the last one, which is void if the thread runs again */
};

static int note_switch(struct departures *departures, const struct sched_switch *event)
{
	struct departure departure = {
		.time_ns = event->time_ns,
		.tid = (uint32_t)event->previous_tid,
		.is_exit = event->previous_state & STATES_OF_EXIT,
	};
	struct id_entry *open = find_entry(&departures->open, departure.tid, 0);
	struct departure *added;

	if (event->previous_tid <= 0)
		return 0;
	if (open && !departures->list.items[open->id].is_exit) {
		departures->list.items[open->id] = departure;
		return 0;
	}
	added = array_add(&departures->list);
	if (!added)
		return -ENOMEM;
	*added = departure;
	return set_id(&departures->open, departure.tid, 0, (uint32_t)(departures->list.length - 1));
}

/* The thread runs again: void its departure by a time after all others. */
static void note_return(struct departures *departures, const struct sched_switch *event)
{
	struct id_entry *open = find_entry(&departures->open, (uint32_t)event->next_tid, 0);

	if (open && !departures->list.items[open->id].is_exit)
		departures->list.items[open->id].time_ns = UINT64_MAX;
}

static int find_departures(const struct timeline *timeline, struct departures *ret)
{
	const struct timeline_source *source = timeline_get_schedule(timeline);
	struct schedule_event event;
	int err = source->rewind(source->context);
	int got;

	if (err)
		return err;
	while ((got = source->next(source->context, &event)) > 0) {
		if (event.is_wakeup)
			continue;
		err = note_switch(ret, &event.on_cpu);
		if (err)
			return err;
		if (event.on_cpu.next_tid > 0)
			note_return(ret, &event.on_cpu);
	}
	return got;
}

static int compare_departures(const void *a, const void *b)
{
	const struct departure *left = a;
	const struct departure *right = b;

	if (left->tid != right->tid)
		return left->tid < right->tid ? -1 : 1;
	return left->time_ns < right->time_ns ? -1 : left->time_ns > right->time_ns;
}

/* The first departure of the thread at or after a time; UINT64_MAX: none. */
static uint64_t find_departure(const struct departures *departures, uint64_t tid, uint64_t time_ns)
{
	size_t place = array_count_front(
		&departures->list, departure,
		departure->tid < tid || (departure->tid == tid && departure->time_ns < time_ns));

	if (place == departures->list.length || departures->list.items[place].tid != tid)
		return UINT64_MAX;
	return departures->list.items[place].time_ns;
}

/* The last occupancy of a thread. */
static void prolong(const struct timeline *timeline, struct ended_occupancy *last,
		    const struct departures *departures)
{
	struct occupancy *occupancy = &last->numbered.occupancy;
	const struct timeline_thread *thread = timeline_get_thread(timeline, occupancy->thread);
	uint64_t image_end_ns = timeline_get_process(timeline, thread->process)->end_ns;
	uint64_t end_ns = find_departure(departures, thread->tid, occupancy->end_ns);

	/* An exec replaces the memory, and keeps the tid. */
	if (image_end_ns && image_end_ns < end_ns)
		end_ns = image_end_ns;
	if (end_ns == UINT64_MAX)
		return;
	if (last->has_next && last->next_ns < end_ns)
		end_ns = last->next_ns;
	if (end_ns > occupancy->end_ns)
		occupancy->end_ns = end_ns;
}

/* An image that an exec ended passes its tids to the next one. */
static bool is_replaced(const struct timeline *timeline, const struct id_map *starts,
			const struct timeline_process *process)
{
	const struct id_entry *next =
		find_entry(starts, process->pid, (uint32_t)(process->end_ns + 1));

	return next && timeline_get_process(timeline, next->id)->start_ns == process->end_ns + 1;
}

/* A process ends when the last of its threads has left its CPU, soon after its end was reported. */
static void prolong_process(struct timeline *timeline, const struct timeline_thread *thread,
			    const struct id_map *starts, const struct departures *departures)
{
	struct timeline_process *process = timeline_get_process(timeline, thread->process);
	uint64_t left_ns;

	if (!process->end_ns || is_replaced(timeline, starts, process))
		return;
	left_ns = find_departure(departures, thread->tid, process->end_ns - 1);
	if (left_ns >= process->end_ns && left_ns - process->end_ns < MAX_EXIT_NS)
		process->end_ns = left_ns + 1;
}

static int prolong_processes(struct timeline *timeline, const struct departures *departures)
{
	_cleanup_(id_map_release) struct id_map starts = {0};

	for (uint32_t i = 0; i < timeline_count_process(timeline); i++) {
		const struct timeline_process *process = timeline_get_process(timeline, i);
		int err = set_id(&starts, process->pid, (uint32_t)process->start_ns, i);

		if (err)
			return err;
	}
	for (uint32_t i = 0; i < timeline_count_thread(timeline); i++)
		prolong_process(timeline, timeline_get_thread(timeline, i), &starts, departures);
	return 0;
}

static void departures_release(struct departures *departures)
{
	id_map_release(&departures->open);
	array_release(&departures->list);
}

int trace_schedule_prolong(struct recorded_occupancies *occupancies, struct timeline *timeline)
{
	_cleanup_(departures_release) struct departures departures = {0};
	int err = find_departures(timeline, &departures);

	if (err)
		return err;
	if (departures.list.length)
		qsort(departures.list.items, departures.list.length, sizeof(*departures.list.items),
		      compare_departures);
	for (uint32_t thread = 0; thread < timeline_count_thread(timeline); thread++) {
		struct ended_occupancy *last = recorded_occupancies_get_last(occupancies, thread);

		if (last)
			prolong(timeline, last, &departures);
	}
	return prolong_processes(timeline, &departures);
}

int trace_schedule_add(struct schedule_store *store, const struct process_table *processes,
		       struct recorded_occupancies *occupancies, struct timeline *timeline)
{
	int err = schedule_store_give(store, timeline);

	if (err)
		return err;
	err = add_threads(store, processes, timeline);
	return err ? err : trace_schedule_prolong(occupancies, timeline);
}
