/*
 * Each region has a sum: the time that the threads on it were off the CPU. A zone's share is the
 * growth of the sum from its start to its end. So one number a zone is enough, however many
 * switches there are. Four streams are merged for that: the schedule, the samples, the occupancies
 * and the zones. Occupancies are the times that threads enter and leave regions. The first three
 * are each read once from where they are kept; the zones' starts and ends are a sorted array.
 *
 * Threads are known by their tids here, as the schedule knows no more. A tid that was given twice
 * is two threads of the timeline, one after the other, which does not matter.
 */
#include "timeline/zone_off_cpu.h"

#include <errno.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/intern.h"
#include "timeline/occupancy_walk.h"

struct off_cpu_zone_event {
	uint64_t time_ns;
	uint32_t zone;
	bool is_end;
};

enum cpu_state { CPU_UNKNOWN, CPU_ON, CPU_OFF };

struct tid_state {
	uint64_t tid;
	uint64_t off_since_ns; /* not CPU_ON */
	uint64_t sampled_ns;   /* first since then; 0: never */
	uint64_t entered_ns;   /* its region */
	uint32_t region;       /* TIMELINE_NONE */
	uint8_t state;         /* enum cpu_state */
};
INTERN_TABLE(tid_states, struct tid_state, tid);

struct off_cpu_region {
	uint64_t off_ns;
	uint32_t tid_state; /* of the thread on it; TIMELINE_NONE */
	bool has_zones;
};

struct zone_off_cpu {
	struct timeline *timeline;
	ARRAY(struct off_cpu_zone_event) zone_events; /* in order of time */
	size_t next_zone_event;
	struct occupancy_walk occupancies;
	struct occupancy_step step; /* the next one */
	bool has_step;
	uint64_t sample_position;
	struct timeline_sample sample; /* the next one */
	bool has_sample;
	struct off_cpu_region *regions;
	uint64_t *sums; /* by zone: of its region when it started, then its share */
	struct tid_states tids;
	uint64_t start_ns; /* of the schedule */
	uint64_t end_ns;   /* of the schedule, once it has been read */
};

/* At one moment zones start before others end. */
static int compare_events(const void *left, const void *right)
{
	const struct off_cpu_zone_event *a = left;
	const struct off_cpu_zone_event *b = right;

	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->is_end != b->is_end)
		return a->is_end - b->is_end;
	return (a->zone > b->zone) - (a->zone < b->zone);
}

static int collect_zones(struct zone_off_cpu *off)
{
	uint32_t num_zones = timeline_count_zone(off->timeline);
	int err = array_reserve(&off->zone_events, 2 * (size_t)num_zones);

	if (err)
		return err;
	for (uint32_t i = 0; i < num_zones; i++) {
		const struct zone *zone = timeline_get_zone(off->timeline, i);
		struct off_cpu_zone_event *added = array_add(&off->zone_events);

		off->regions[zone->region].has_zones = true;
		*added = (struct off_cpu_zone_event){.time_ns = zone->start_ns, .zone = i};
		added = array_add(&off->zone_events);
		*added = (struct off_cpu_zone_event){
			.time_ns = zone->end_ns, .zone = i, .is_end = true};
	}
	qsort(off->zone_events.items, off->zone_events.length, sizeof(*off->zone_events.items),
	      compare_events);
	return 0;
}

/* The next step of a region with zones. Occupancies without duration are skipped. */
static int read_step(struct zone_off_cpu *off)
{
	const struct occupancy *occupancy = &off->step.of.occupancy;
	int got;

	do
		got = occupancy_walk_next(&off->occupancies, &off->step);
	while (got > 0 && (!off->regions[occupancy->region].has_zones ||
			   occupancy->start_ns == occupancy->end_ns));
	off->has_step = got > 0;
	return got < 0 ? got : 0;
}

static int read_sample(struct zone_off_cpu *off)
{
	int got = timeline_next_sample(off->timeline, &off->sample_position, &off->sample);

	off->has_sample = got > 0;
	return got < 0 ? got : 0;
}

/* ---- threads ------------------------------------------------------------------------------ */

/*
 * The part of a present wait during which the thread was on its region. If the schedule has lost
 * the end of the wait, a sample shows that it was over by then.
 */
static uint64_t get_wait(const struct zone_off_cpu *off, const struct tid_state *thread,
			 uint64_t time_ns)
{
	uint64_t since_ns = thread->state == CPU_UNKNOWN ? off->start_ns : thread->off_since_ns;

	if (thread->entered_ns > since_ns)
		since_ns = thread->entered_ns;
	if (thread->sampled_ns && time_ns > thread->sampled_ns)
		time_ns = thread->sampled_ns;
	if (off->end_ns && time_ns > off->end_ns)
		time_ns = off->end_ns; /* later events are unknown */
	return time_ns > since_ns ? time_ns - since_ns : 0;
}

/* The wait ends, or the thread leaves its region. */
static void settle(struct zone_off_cpu *off, struct tid_state *thread, uint64_t time_ns)
{
	if (thread->region != TIMELINE_NONE)
		off->regions[thread->region].off_ns += get_wait(off, thread, time_ns);
}

/* NULL: it has been on no region with zones. */
static struct tid_state *find_thread(const struct zone_off_cpu *off, uint64_t tid)
{
	uint32_t item = tid_states_find(&off->tids, &(struct tid_state){.tid = tid});

	return item == HASH_INDEX_NONE ? NULL : &off->tids.items[item];
}

static void switch_out(struct zone_off_cpu *off, uint64_t tid, uint64_t time_ns)
{
	struct tid_state *thread = find_thread(off, tid);

	if (!thread)
		return;
	if (thread->state == CPU_OFF)
		settle(off, thread, time_ns);
	thread->state = CPU_OFF;
	thread->off_since_ns = time_ns;
	thread->sampled_ns = 0;
}

/* A thread that was not seen before was off from the start of the schedule on. */
static void switch_in(struct zone_off_cpu *off, uint64_t tid, uint64_t time_ns)
{
	struct tid_state *thread = find_thread(off, tid);

	if (!thread)
		return;
	/* It was off until now. A sample since then was taken in the kernel's code of the switch. */
	thread->sampled_ns = 0;
	if (thread->state != CPU_ON)
		settle(off, thread, time_ns);
	thread->state = CPU_ON;
}

static void note_sample(const struct zone_off_cpu *off)
{
	const struct timeline_sample *sample = &off->sample;
	struct tid_state *thread =
		find_thread(off, timeline_get_thread(off->timeline, sample->thread)->tid);

	if (!thread)
		return;
	if (thread->state == CPU_UNKNOWN)
		thread->state = CPU_ON;
	else if (thread->state == CPU_OFF && !thread->sampled_ns &&
		 sample->time_ns > thread->off_since_ns)
		thread->sampled_ns = sample->time_ns;
}

static void leave(struct zone_off_cpu *off, const struct occupancy *occupancy)
{
	struct off_cpu_region *region = &off->regions[occupancy->region];
	struct tid_state *thread;

	if (region->tid_state == TIMELINE_NONE)
		return;
	thread = &off->tids.items[region->tid_state];
	if (thread->state == CPU_OFF)
		settle(off, thread, occupancy->end_ns);
	thread->region = TIMELINE_NONE;
	region->tid_state = TIMELINE_NONE;
}

static int enter(struct zone_off_cpu *off, const struct occupancy *occupancy)
{
	struct tid_state added = {.tid = timeline_get_thread(off->timeline, occupancy->thread)->tid,
				  .region = TIMELINE_NONE};
	struct tid_state *thread;
	uint32_t item;
	int err = tid_states_intern(&off->tids, &added, &item);

	if (err)
		return err;
	thread = &off->tids.items[item];
	thread->region = occupancy->region;
	thread->entered_ns = occupancy->start_ns;
	off->regions[occupancy->region].tid_state = item;
	return 0;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static uint64_t get_sum(const struct zone_off_cpu *off, const struct off_cpu_region *region,
			uint64_t time_ns)
{
	const struct tid_state *thread;

	if (region->tid_state == TIMELINE_NONE)
		return region->off_ns;
	thread = &off->tids.items[region->tid_state];
	return region->off_ns + (thread->state == CPU_OFF ? get_wait(off, thread, time_ns) : 0);
}

/*
 * A thread that starts a zone has just read the clock, and runs. That does not hold for ends: the
 * reader makes one for a zone that was left open.
 */
static void start_zone(struct zone_off_cpu *off, uint32_t id)
{
	const struct zone *zone = timeline_get_zone(off->timeline, id);
	struct off_cpu_region *region = &off->regions[zone->region];

	if (region->tid_state != TIMELINE_NONE) {
		struct tid_state *thread = &off->tids.items[region->tid_state];

		if (thread->state == CPU_OFF)
			settle(off, thread, zone->start_ns);
		thread->state = CPU_ON;
	}
	off->sums[id] = get_sum(off, region, zone->start_ns);
}

static void end_zone(struct zone_off_cpu *off, uint32_t id)
{
	const struct zone *zone = timeline_get_zone(off->timeline, id);

	off->sums[id] = get_sum(off, &off->regions[zone->region], zone->end_ns) - off->sums[id];
}

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t get_step_ns(const struct zone_off_cpu *off)
{
	const struct occupancy *occupancy = &off->step.of.occupancy;

	return off->step.is_end ? occupancy->end_ns : occupancy->start_ns;
}

static uint64_t get_zone_event_ns(const struct zone_off_cpu *off)
{
	bool has_event = off->next_zone_event < off->zone_events.length;

	return has_event ? off->zone_events.items[off->next_zone_event].time_ns : UINT64_MAX;
}

static int apply_sample(struct zone_off_cpu *off)
{
	note_sample(off);
	return read_sample(off);
}

static int apply_step(struct zone_off_cpu *off)
{
	const struct occupancy *occupancy = &off->step.of.occupancy;
	int err = 0;

	if (off->step.is_end)
		leave(off, occupancy);
	else
		err = enter(off, occupancy);
	return err ? err : read_step(off);
}

static void apply_zone_event(struct zone_off_cpu *off)
{
	const struct off_cpu_zone_event *event = &off->zone_events.items[off->next_zone_event++];

	if (event->is_end)
		end_zone(off, event->zone);
	else
		start_zone(off, event->zone);
}

/*
 * Apply all events before a time. At one moment, samples precede the steps of threads, and these
 * precede the zones.
 */
static int apply_until(struct zone_off_cpu *off, uint64_t time_ns)
{
	for (;;) {
		uint64_t sample_ns = off->has_sample ? off->sample.time_ns : UINT64_MAX;
		uint64_t step_ns = off->has_step ? get_step_ns(off) : UINT64_MAX;
		uint64_t zone_ns = get_zone_event_ns(off);
		uint64_t next_ns = min(sample_ns, min(step_ns, zone_ns));
		int err = 0;

		if (next_ns >= time_ns)
			return 0;
		if (next_ns == sample_ns)
			err = apply_sample(off);
		else if (next_ns == step_ns)
			err = apply_step(off);
		else
			apply_zone_event(off);
		if (err)
			return err;
	}
}

static int merge(struct zone_off_cpu *off, const struct timeline_source *schedule)
{
	struct schedule_event event;
	uint64_t time_ns = 0;
	int err = schedule->rewind(schedule->context);
	int got;

	if (err)
		return err;
	while ((got = schedule->next(schedule->context, &event)) > 0) {
		time_ns = event.is_wakeup ? event.wakeup.time_ns : event.on_cpu.time_ns;
		if (!off->start_ns)
			off->start_ns = time_ns;
		err = apply_until(off, time_ns);
		if (err)
			return err;
		if (event.is_wakeup)
			continue;
		switch_out(off, (uint64_t)event.on_cpu.previous_tid, time_ns);
		switch_in(off, (uint64_t)event.on_cpu.next_tid, time_ns);
	}
	if (got < 0)
		return got;
	off->end_ns = time_ns;
	return apply_until(off, UINT64_MAX);
}

static int add_parameters(const struct zone_off_cpu *off)
{
	struct zone_attribute attribute = {.kind = ATTRIBUTE_PARAMETER, .type = VALUE_U64};
	int err = timeline_add_string(off->timeline, ZONE_OFF_CPU_NAME, &attribute.name);

	for (uint32_t i = 0; !err && i < timeline_count_zone(off->timeline); i++) {
		attribute.value.u64 = off->sums[i];
		err = off->sums[i] ? timeline_add_attribute(off->timeline, i, &attribute) : 0;
	}
	return err;
}

static void off_cpu_release(struct zone_off_cpu *off)
{
	array_release(&off->zone_events);
	occupancy_walk_release(&off->occupancies);
	free(off->regions);
	free(off->sums);
	tid_states_release(&off->tids);
}

int zone_off_cpu_add(struct timeline *timeline)
{
	_cleanup_(off_cpu_release) struct zone_off_cpu off = {.timeline = timeline};
	const struct timeline_source *schedule = timeline_get_schedule(timeline);
	uint32_t num_regions = timeline_count_region(timeline);
	uint32_t num_zones = timeline_count_zone(timeline);
	int err;

	if (!schedule || !num_zones)
		return 0;
	off.regions = calloc(num_regions, sizeof(*off.regions));
	off.sums = calloc(num_zones, sizeof(*off.sums));
	if (!off.regions || !off.sums)
		return -ENOMEM;
	for (uint32_t i = 0; i < num_regions; i++)
		off.regions[i].tid_state = TIMELINE_NONE;
	err = collect_zones(&off);
	if (err)
		return err;
	err = occupancy_walk_init(&off.occupancies, timeline);
	if (err)
		return err;
	err = read_step(&off);
	if (err)
		return err;
	err = read_sample(&off);
	if (err)
		return err;
	err = merge(&off, schedule);
	if (err)
		return err;
	return add_parameters(&off);
}
