/*
 * Finds the periods in which a thread was on a stack region. There are two sources. The stack
 * pointer of a sample is in some region. A zone that the program reported started on a thread and
 * is in a region. Both are merged in order of time, because an event of either kind ends an
 * occupancy of the other: a thread that is seen on a region has left the one before.
 */
#include "collect/trace/trace_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "collect/trace/recorded_samples.h"
#include "collect/trace/stack_regions.h"
#include "collect/trace/thread_starts.h"
#include "collect/trace/trace_processes.h"
#include "timeline/occupancy_walk.h"
#include "timeline/zone_tracker.h"

/* A fill is emitted again when it changed by an eighth: less is not visible, and costs 25 bytes. */
#define MIN_FILL_CHANGE(bytes) ((bytes) / 8)

/* The start or the end of a zone. */
struct zone_event {
	uint64_t time_ns;
	uint32_t zone;
	uint32_t order : 31;
	uint32_t is_end : 1;
};

/* The fill of a region as the trace shows it. */
struct fill_state {
	uint64_t bytes; /* as emitted last; 0: nothing has to be reset */
	uint32_t num_open_zones;
};

struct trace_builder {
	const struct trace_source *source;
	struct timeline *timeline;
	struct trace_processes *processes;
	uint32_t *threads;              /* the timeline's, by thread of the profile; likewise */
	uint32_t num_declared;          /* threads that the timeline had from the start */
	struct hash_index thread_index; /* of the timeline: the last one that had a tid */
	ARRAY(uint32_t) earlier; /* by thread of the timeline: the previous thread with its tid */
	struct thread_starts *starts;
	struct stack_regions *regions;
	struct occupancy_tracker *occupancies;
	struct recorded_samples *samples;
	uint64_t num_samples;           /* processed so far */
	ARRAY(struct fill_state) fills; /* by region */
	ARRAY(struct zone_event) zone_events;
	size_t next_zone_event;
};

static uint32_t *new_ids(uint32_t count)
{
	uint32_t *ids = malloc(((size_t)count + 1) * sizeof(*ids));

	if (ids)
		memset(ids, 0xff, ((size_t)count + 1) * sizeof(*ids));
	return ids;
}

/* ---- processes and threads ---------------------------------------------------------------- */

static uint64_t hash_thread(const struct timeline_thread *thread)
{
	return hash_mix(thread->process, thread->tid);
}

static bool is_thread(const void *owner, uint32_t item, const void *key)
{
	const struct timeline_thread *thread = timeline_get_thread(owner, item);
	const struct timeline_thread *wanted = key;

	return thread->process == wanted->process && thread->tid == wanted->tid;
}

static uint32_t find_thread(const struct trace_builder *builder,
			    const struct timeline_thread *wanted)
{
	return hash_index_find(&builder->thread_index, hash_thread(wanted), is_thread,
			       builder->timeline, wanted);
}

/*
 * Whether the thread of the timeline is still the one with this tid, and not an earlier one. Threads
 * that the program's zones declared are never split: their zones have only the tid.
 */
static bool is_still(const struct trace_builder *builder, uint32_t thread, uint64_t start_ns)
{
	return thread < builder->num_declared ||
	       timeline_get_thread(builder->timeline, thread)->start_ns == start_ns;
}

/*
 * The thread that had the tid at a time: the latest one started by then. HASH_INDEX_NONE if not
 * found.
 */
static uint32_t find_thread_at(const struct trace_builder *builder,
			       const struct timeline_thread *wanted, uint64_t time_ns)
{
	uint32_t thread = find_thread(builder, wanted);

	while (thread != HASH_INDEX_NONE &&
	       timeline_get_thread(builder->timeline, thread)->start_ns > time_ns)
		thread = thread < builder->earlier.length ? builder->earlier.items[thread]
							  : HASH_INDEX_NONE;
	return thread;
}

static int note_earlier(struct trace_builder *builder, uint32_t thread, uint32_t before)
{
	while (builder->earlier.length <= thread) {
		uint32_t *added = array_add(&builder->earlier);

		if (!added)
			return -ENOMEM;
		*added = HASH_INDEX_NONE;
	}
	builder->earlier.items[thread] = before;
	return 0;
}

/* Add a thread; lookups by its tid find it instead of the earlier one. */
static int replace_thread(struct trace_builder *builder, const struct timeline_thread *thread,
			  uint32_t *ret)
{
	uint32_t before = find_thread(builder, thread);
	int err = timeline_add_thread(builder->timeline, thread, ret);

	if (err)
		return err;
	if (before != HASH_INDEX_NONE) {
		err = note_earlier(builder, *ret, before);
		if (err)
			return err;
		hash_index_remove(&builder->thread_index, hash_thread(thread), before);
	}
	return hash_index_add(&builder->thread_index, hash_thread(thread), *ret);
}

/*
 * The timeline's thread for one of the profile at the present time. A thread that was renamed is
 * several in the profile, but one in the timeline; a tid that was reused is the reverse.
 */
static int use_thread(struct trace_builder *builder, uint32_t id, uint32_t *ret)
{
	const struct thread *thread = profile_get_thread(builder->source->profile, id);
	const struct process *process =
		process_table_get(builder->source->processes, thread->process);
	struct timeline_thread added = {
		.tid = thread->tid,
		.start_ns = thread_starts_find(builder->starts, process->pid, thread->tid),
	};
	int err;

	*ret = builder->threads[id];
	if (*ret != TIMELINE_NONE && is_still(builder, *ret, added.start_ns))
		return 0;
	err = trace_processes_use(builder->processes, thread->process, &added.process);
	if (err)
		return err;
	*ret = find_thread(builder, &added);
	if (*ret == HASH_INDEX_NONE || !is_still(builder, *ret, added.start_ns)) {
		err = replace_thread(builder, &added, ret);
		if (err)
			return err;
	}
	err = recorded_samples_set_thread(builder->samples, builder->num_samples, id, *ret);
	if (err)
		return err;
	builder->threads[id] = *ret;
	return 0;
}

/* The last name of the thread, unless the program's zones gave it one. */
static int name_thread(struct trace_builder *builder, uint32_t profile_thread, uint32_t thread,
		       uint64_t time_ns)
{
	const struct profile *profile = builder->source->profile;
	const struct thread *info = profile_get_thread(profile, profile_thread);
	const char *name = profile_get_string(profile, info->comm);
	int err = timeline_rename_thread(builder->timeline, thread, name, time_ns);

	if (err > 0)
		trace_log_count_lost_rename(builder->source->log);
	return err < 0 ? err : 0;
}

/* The start of the last zone of a process of the timeline. */
static uint64_t find_last_zone_ns(const struct timeline *timeline, uint32_t process)
{
	uint64_t last_ns = 0;

	for (uint32_t i = 0; i < timeline_count_zone(timeline); i++) {
		const struct zone *zone = timeline_get_zone(timeline, i);

		if (timeline_get_region(timeline, zone->region)->process == process &&
		    zone->start_ns > last_ns)
			last_ns = zone->start_ns;
	}
	return last_ns;
}

/* The pid of a process of the timeline; if zones lack it, from the tid of a main thread. */
static uint32_t find_pid(const struct trace_builder *builder, uint32_t process)
{
	const struct profile *profile = builder->source->profile;
	uint32_t pid = timeline_get_process(builder->timeline, process)->pid;

	for (uint32_t i = 0; !pid && i < timeline_count_thread(builder->timeline); i++) {
		const struct timeline_thread *thread = timeline_get_thread(builder->timeline, i);

		for (uint32_t t = 0;
		     thread->process == process && !pid && t < profile_count_threads(profile); t++)
			if (profile_get_thread(profile, t)->tid == thread->tid)
				pid = profile_get_process(profile,
							  profile_get_thread(profile, t)->process)
					      ->pid;
	}
	return pid;
}

/*
 * Match a process of the zones with an image of the recording that has its pid. After execs there
 * are several: take the last one that started before the last zone. (If the event of an exec was
 * lost, the image starts at its first sample.)
 */
static int match_process(struct trace_builder *builder, uint32_t id)
{
	const struct process_table *processes = builder->source->processes;
	struct timeline_process *known = timeline_get_process(builder->timeline, id);
	uint32_t count = profile_count_processes(builder->source->profile);
	uint32_t pid = find_pid(builder, id);
	uint64_t last_ns = find_last_zone_ns(builder->timeline, id);
	const struct process *best = NULL;
	int err;

	for (uint32_t i = 0; pid && i < count; i++) {
		const struct process *process = process_table_get(processes, i);

		if (process->pid == pid && !trace_processes_has(builder->processes, i) &&
		    (!best || process->start_ns <= last_ns))
			best = process;
	}
	if (!best)
		return 0;
	trace_processes_set(builder->processes, best->id, id);
	if (known->pid)
		return trace_processes_describe(builder->processes, best->id, known);
	known->pid = best->pid; /* zones that had no pid had no name */
	err = trace_processes_describe(builder->processes, best->id, known);
	if (err)
		return err;
	known = timeline_get_process(builder->timeline, id);
	return timeline_add_string(builder->timeline, best->comm, &known->name);
}

static int take_known(struct trace_builder *builder)
{
	int err;

	builder->num_declared = timeline_count_thread(builder->timeline);
	for (uint32_t i = 0; i < timeline_count_process(builder->timeline); i++) {
		err = match_process(builder, i);
		if (err)
			return err;
	}
	for (uint32_t i = 0; i < builder->num_declared; i++) {
		struct timeline_thread *thread = timeline_get_thread(builder->timeline, i);

		if (!string_equals(timeline_get_string(builder->timeline, thread->name),
				   TIMELINE_UNNAMED_THREAD))
			thread->named_ns = UINT64_MAX;
		err = hash_index_add(&builder->thread_index, hash_thread(thread), i);
		if (err)
			return err;
	}
	return 0;
}

/* ---- fill --------------------------------------------------------------------------------- */

static struct fill_state *use_fill(struct trace_builder *builder, uint32_t region)
{
	while (builder->fills.length <= region)
		if (!array_add(&builder->fills))
			return NULL;
	return &builder->fills.items[region];
}

static bool is_about(uint64_t reported, uint64_t bytes)
{
	uint64_t change = reported < bytes ? bytes - reported : reported - bytes;

	return reported && change <= MIN_FILL_CHANGE(reported);
}

static int set_fill(struct trace_builder *builder, uint32_t region, uint64_t time_ns,
		    uint64_t bytes)
{
	struct region_fill fill = {.time_ns = time_ns, .bytes = bytes, .region = region};
	struct fill_state *state = use_fill(builder, region);

	if (!state)
		return -ENOMEM;
	if (bytes ? is_about(state->bytes, bytes) : !state->bytes)
		return 0;
	state->bytes = bytes;
	spool_add(trace_log_get_fills(builder->source->log), &fill);
	return 0;
}

/* A thread leaves a region: its fill goes back to 0, unless zones are open there. */
static int leave_region(struct trace_builder *builder, uint32_t region, uint64_t time_ns)
{
	struct fill_state *state;

	if (region == TIMELINE_NONE)
		return 0;
	state = use_fill(builder, region);
	if (!state)
		return -ENOMEM;
	return state->num_open_zones ? 0 : set_fill(builder, region, time_ns, 0);
}

static int enter_region(struct trace_builder *builder, uint32_t thread, uint32_t region,
			uint64_t pointer, uint64_t time_ns)
{
	uint32_t before = occupancy_tracker_find_region(builder->occupancies, thread);
	int err = before == region ? 0 : leave_region(builder, before, time_ns);

	return err ? err
		   : occupancy_tracker_enter(builder->occupancies, thread, region, pointer,
					     time_ns);
}

/* ---- zones -------------------------------------------------------------------------------- */

static int compare_zone_events(const void *a, const void *b)
{
	const struct zone_event *left = a;
	const struct zone_event *right = b;

	if (left->time_ns != right->time_ns)
		return left->time_ns < right->time_ns ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* Occupancies by zones are dropped and made anew, from zones and samples together. */
static int collect_zone_events(struct trace_builder *builder)
{
	_cleanup_(zone_walk_release) struct zone_walk walk;
	struct zone_step step;
	int err = zone_walk_init(&walk, builder->timeline);

	if (err)
		return err;
	while (zone_walk_next(&walk, &step)) {
		struct zone_event *added = array_add(&builder->zone_events);

		if (!added)
			return -ENOMEM;
		*added = (struct zone_event){
			.time_ns = step.time_ns,
			.zone = step.zone,
			.order = (uint32_t)builder->zone_events.length & INT32_MAX,
			.is_end = step.is_end,
		};
	}
	if (builder->zone_events.length)
		qsort(builder->zone_events.items, builder->zone_events.length,
		      sizeof(*builder->zone_events.items), compare_zone_events);
	return 0;
}

static int add_zone_event(struct trace_builder *builder, const struct zone_event *event)
{
	const struct zone *zone = timeline_get_zone(builder->timeline, event->zone);
	struct fill_state *fill = use_fill(builder, zone->region);

	if (!fill)
		return -ENOMEM;
	/* Zones emit their own fill, which ends at 0 with the last one. */
	fill->bytes = 0;
	if (event->is_end) {
		fill->num_open_zones--;
		occupancy_tracker_touch(builder->occupancies, zone->region, event->time_ns);
		return 0;
	}
	fill->num_open_zones++;
	return enter_region(builder, zone->thread, zone->region, zone->pointer, event->time_ns);
}

static int add_zones_until(struct trace_builder *builder, uint64_t time_ns)
{
	int err;

	while (builder->next_zone_event < builder->zone_events.length &&
	       builder->zone_events.items[builder->next_zone_event].time_ns <= time_ns) {
		err = add_zone_event(builder,
				     &builder->zone_events.items[builder->next_zone_event++]);
		if (err)
			return err;
	}
	return 0;
}

/* ---- samples ------------------------------------------------------------------------------ */

static int resolve_sample(struct trace_builder *builder, const struct timed_sample *sample,
			  uint32_t process, uint32_t thread)
{
	struct stack_pointer pointer = {
		.time_ns = sample->time_ns,
		.address = sample->user_sp,
		.tid = profile_get_thread(builder->source->profile, sample->thread)->tid,
	};
	const struct stack_region *region;
	uint32_t id;
	int err;

	if (!sample->user_sp)
		return 0;
	err = stack_regions_find(builder->regions, process,
				 timeline_get_thread(builder->timeline, thread)->process, &pointer,
				 &id);
	if (err)
		return err;
	err = enter_region(builder, thread, id, sample->user_sp, sample->time_ns);
	if (err)
		return err;
	region = timeline_get_region(builder->timeline, id);
	return set_fill(builder, id, sample->time_ns, region->end - sample->user_sp);
}

static int walk_sample(struct trace_builder *builder, const struct timed_sample *sample)
{
	uint32_t process = profile_get_thread(builder->source->profile, sample->thread)->process;
	uint32_t thread;
	int err = thread_starts_go_to(builder->starts, sample->time_ns);

	if (err)
		return err;
	err = use_thread(builder, sample->thread, &thread);
	if (err)
		return err;
	trace_processes_note_alive(builder->processes, process, sample->time_ns);
	err = name_thread(builder, sample->thread, thread, sample->time_ns);
	if (err)
		return err;
	err = resolve_sample(builder, sample, process, thread);
	if (err)
		return err;
	builder->num_samples++;
	return 0;
}

/* At the end of its last occupancy, a region's fill goes back to 0. */
static int finish_occupancies(struct trace_builder *builder)
{
	for (uint32_t i = 0; i < timeline_count_thread(builder->timeline); i++) {
		const struct occupancy *last =
			occupancy_tracker_find_present(builder->occupancies, i);
		int err = last ? leave_region(builder, last->region, last->end_ns) : 0;

		if (err)
			return err;
	}
	return occupancy_tracker_finish(builder->occupancies);
}

/*
 * A sample in a signal handler with its own stack has two stacks: the outermost frame is on the one
 * that the signal has interrupted. The bounds of goroutines' stacks are known.
 */
static int add_known_stacks(const struct trace_log *log, struct stack_tops *tops)
{
	size_t count;
	const struct stack_area *areas = trace_log_get_areas(log, &count);

	for (size_t i = 0; i < count; i++) {
		int err = 0;

		if (areas[i].kind == STACK_SIGNAL)
			err = stack_tops_add(tops, areas[i].process, areas[i].end - 1);
		else if (areas[i].kind == STACK_GOROUTINE)
			err = stack_tops_ignore(tops, areas[i].process, areas[i].start,
						areas[i].end);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Find the start of stacks from all samples. They are read once to find the tops, and once more to
 * find the used depth of each stack.
 */
static int find_stack_tops(const struct trace_source *source, struct stack_tops *tops)
{
	struct spool *spool = trace_log_get_samples(source->log);
	int failure = add_known_stacks(source->log, tops);

	if (failure)
		return failure;
	for (int pass = 0; pass < 2; pass++) {
		struct timed_sample sample;
		int err = spool_rewind(spool);
		int got;

		if (err)
			return err;
		while ((got = spool_next(spool, &sample)) > 0) {
			uint32_t process =
				profile_get_thread(source->profile, sample.thread)->process;

			if (!sample.user_sp || sample.outermost_sp < sample.user_sp)
				continue;
			if (pass)
				stack_tops_assign(tops, process, sample.time_ns, sample.user_sp,
						  sample.outermost_sp);
			else
				err = stack_tops_add(tops, process, sample.outermost_sp);
			if (err)
				return err;
		}
		if (got < 0)
			return got;
	}
	return 0;
}

static int walk_samples(struct trace_builder *builder)
{
	struct spool *spool = trace_log_get_samples(builder->source->log);
	struct timed_sample sample;
	int err = spool_rewind(spool);
	int got;

	if (err)
		return err;
	while ((got = spool_next(spool, &sample)) > 0) {
		err = add_zones_until(builder, sample.time_ns);
		if (err)
			return err;
		err = walk_sample(builder, &sample);
		if (err)
			return err;
	}
	if (got < 0)
		return got;
	err = add_zones_until(builder, UINT64_MAX);
	if (err)
		return err;
	return finish_occupancies(builder);
}

/* ---- waits -------------------------------------------------------------------------------- */

/* The timeline's thread for one of the profile at a time. HASH_INDEX_NONE: its samples are lost. */
static uint32_t find_thread_of(const struct trace_builder *builder, uint32_t id, uint64_t time_ns)
{
	const struct thread *thread = profile_get_thread(builder->source->profile, id);
	struct timeline_thread wanted = {.tid = thread->tid};

	if (!trace_processes_has(builder->processes, thread->process))
		return HASH_INDEX_NONE;
	wanted.process = trace_processes_get(builder->processes, thread->process);
	return find_thread_at(builder, &wanted, time_ns);
}

/* The thread that woke another one; TIMELINE_NONE: no waker, or not in the timeline. */
static uint32_t find_waker(const struct trace_builder *builder, const struct timed_wait *timed,
			   uint64_t time_ns)
{
	uint32_t image = timed->waker_tid ? trace_processes_find(builder->processes,
								 timed->waker_pid, time_ns)
					  : TIMELINE_NONE;
	struct timeline_thread wanted = {.tid = timed->waker_tid};

	if (image == TIMELINE_NONE || !trace_processes_has(builder->processes, image))
		return TIMELINE_NONE;
	wanted.process = trace_processes_get(builder->processes, image);
	return find_thread_at(builder, &wanted, time_ns);
}

static int set_waker(const struct trace_builder *builder, const struct timed_wait *timed,
		     struct timeline_wait *wait)
{
	if (timed->waker_name == STRING_EMPTY)
		return 0;
	wait->waker = find_waker(builder, timed, wait->queued_ns);
	wait->waker_stack = timed->waker_stack;
	return timeline_add_string(builder->timeline,
				   profile_get_string(builder->source->profile, timed->waker_name),
				   &wait->waker_name);
}

/*
 * last_ns  end of the previous wait, which may be after this start, as CPUs' clocks differ
 */
static struct timeline_wait make_wait(const struct trace_builder *builder,
				      const struct timed_wait *timed, uint64_t last_ns)
{
	uint64_t queued_ns = timed->end_ns - timed->queue_ns;
	uint64_t start_ns = queued_ns - timed->wait_ns;

	if (start_ns < last_ns)
		start_ns = last_ns;
	if (queued_ns < start_ns)
		queued_ns = start_ns;
	return (struct timeline_wait){
		.start_ns = start_ns,
		.queued_ns = queued_ns,
		.end_ns = timed->end_ns,
		.weight = timed->num_periods * builder->source->wait_ns,
		.queue_weight = timed->num_queue_periods * builder->source->wait_ns,
		.stack = timed->stack,
		.state = timed->state,
	};
}

/* Called when all threads are known. */
static int add_waits(struct trace_builder *builder)
{
	struct spool *spool = trace_log_get_waits(builder->source->log);
	/* Ends of the last waits, by thread. */
	_cleanup_free_ uint64_t *ends =
		calloc((size_t)timeline_count_thread(builder->timeline) + 1, sizeof(*ends));
	struct timed_wait timed;
	int err = ends ? spool_rewind(spool) : -ENOMEM;
	int got;

	if (err)
		return err;
	while ((got = spool_next(spool, &timed)) > 0) {
		uint32_t thread = find_thread_of(builder, timed.thread, timed.end_ns);
		struct timeline_wait wait;

		/* Longer than the clock has run: it cannot be. */
		if (thread == HASH_INDEX_NONE || timed.end_ns < timed.queue_ns ||
		    timed.end_ns - timed.queue_ns < timed.wait_ns)
			continue;
		wait = make_wait(builder, &timed, ends[thread]);
		wait.thread = thread;
		err = set_waker(builder, &timed, &wait);
		if (err)
			return err;
		ends[thread] = timed.end_ns;
		spool_add(trace_log_get_thread_waits(builder->source->log), &wait);
	}
	return got;
}

/* ---- starts, ends and names of threads ---------------------------------------------------- */

/* A limit for changes of names; more are useless, and only counted. */
#define MAX_RENAMES 65536u

/* A thread that had its tid before all those in the timeline is not one of them, and skipped. */
static int add_task_event(struct trace_builder *builder, uint32_t process, uint32_t tid,
			  struct task_event *event)
{
	struct timeline_thread wanted = {.process = process, .tid = tid};
	int err;

	event->thread = find_thread_at(builder, &wanted, event->time_ns);
	if (event->thread == HASH_INDEX_NONE) {
		if (find_thread(builder, &wanted) != HASH_INDEX_NONE)
			return 0;
		wanted.name = timeline_get_process(builder->timeline, process)->name;
		err = replace_thread(builder, &wanted, &event->thread);
		if (err)
			return err;
	}
	spool_add(trace_log_get_task_events(builder->source->log), event);
	return 0;
}

/* Whether it happened while we recorded: /proc has the start of older processes, too. */
static bool is_recorded(const struct trace_builder *builder, uint64_t time_ns)
{
	return !timeline_count_clock(builder->timeline) ||
	       time_ns > timeline_get_clock(builder->timeline, 0)->boottime_ns;
}

/* The fork is the parent's. */
static int add_fork(struct trace_builder *builder, const struct process *child)
{
	struct task_event event = {
		.time_ns = child->start_ns, .child_pid = child->pid, .kind = TASK_FORK};
	uint32_t parent = TIMELINE_NONE;

	if (child->parent_tid)
		parent = trace_processes_find(builder->processes, child->parent_pid,
					      child->start_ns);
	if (parent == TIMELINE_NONE || !trace_processes_has(builder->processes, parent))
		return 0;
	return add_task_event(builder, trace_processes_get(builder->processes, parent),
			      child->parent_tid, &event);
}

static int add_exec(struct trace_builder *builder, const struct process *image)
{
	struct task_event event = {.time_ns = image->start_ns, .kind = TASK_EXEC};
	int err;

	if (!trace_processes_has(builder->processes, image->id))
		return 0;
	err = timeline_add_string(builder->timeline, image->comm, &event.name);
	return err ? err
		   : add_task_event(builder, trace_processes_get(builder->processes, image->id),
				    image->pid, &event);
}

static int add_exit(struct trace_builder *builder, const struct process *image)
{
	struct task_event event = {.time_ns = image->end_ns, .kind = TASK_EXIT};

	if (!trace_processes_has(builder->processes, image->id))
		return 0;
	return add_task_event(builder, trace_processes_get(builder->processes, image->id),
			      image->pid, &event);
}

/* Add renames of the threads now in the timeline. */
static int add_renames(struct trace_builder *builder)
{
	struct spool *spool = trace_log_get_renames(builder->source->log);
	struct thread_rename rename;
	uint32_t num_added = 0;
	int err = spool_rewind(spool);
	int got;

	if (err)
		return err;
	while ((got = spool_next(spool, &rename)) > 0) {
		uint32_t image =
			trace_processes_find(builder->processes, rename.pid, rename.time_ns);
		struct timeline_thread wanted = {.tid = rename.tid};
		struct task_event event = {.time_ns = rename.time_ns, .kind = TASK_RENAME};

		if (image == TIMELINE_NONE || !trace_processes_has(builder->processes, image))
			continue;
		wanted.process = trace_processes_get(builder->processes, image);
		event.thread = find_thread_at(builder, &wanted, rename.time_ns);
		if (event.thread == HASH_INDEX_NONE)
			continue;
		if (num_added++ >= MAX_RENAMES) {
			trace_log_count_lost_rename(builder->source->log);
			continue;
		}
		err = timeline_add_string(builder->timeline, rename.comm, &event.name);
		if (err)
			return err;
		spool_add(trace_log_get_task_events(builder->source->log), &event);
	}
	return got;
}

/* Add events of the processes in the timeline: for most others they would be the only data. */
static int add_task_events(struct trace_builder *builder)
{
	const struct process_table *table = builder->source->processes;
	int err;

	for (uint32_t i = 0; i < process_table_get_count(table); i++) {
		const struct process *image = process_table_get(table, i);

		if (is_recorded(builder, image->start_ns)) {
			err = image->previous ? add_exec(builder, image) : add_fork(builder, image);
			if (err)
				return err;
		}
		/* An exec ended it, or it continues. */
		if (!image->is_exited || !image->end_ns)
			continue;
		err = add_exit(builder, image);
		if (err)
			return err;
	}
	return add_renames(builder);
}

/* ---- data that the timeline reads from files ---------------------------------------------- */

static int rewind_spool(void *context)
{
	return spool_rewind(context);
}

static int next_of_spool(void *context, void *ret)
{
	return spool_next(context, ret);
}

static void give_files(struct trace_builder *builder)
{
	struct trace_log *log = builder->source->log;
	struct timeline_source source = {
		.rewind = rewind_spool,
		.next = next_of_spool,
		.context = trace_log_get_fills(log),
	};

	timeline_set_fills(builder->timeline, &source);
	source.context = trace_log_get_thread_waits(log);
	timeline_set_waits(builder->timeline, &source);
	source.context = trace_log_get_task_events(log);
	timeline_set_task_events(builder->timeline, &source);
	recorded_occupancies_give(trace_log_get_occupancies(log), builder->timeline);
	recorded_samples_give(builder->samples, builder->timeline);
	builder->samples = NULL;
}

/* ---- names -------------------------------------------------------------------------------- */

/* By now every thread has its last name. */
static int name_region(struct trace_builder *builder, const struct kernel_region *known)
{
	struct timeline_thread wanted = {.process = known->process, .tid = known->tid};
	uint32_t thread = find_thread(builder, &wanted);
	struct text name = {0};
	int err;

	if ((known->kind != STACK_THREAD && known->kind != STACK_SIGNAL) ||
	    thread == HASH_INDEX_NONE)
		return 0;
	text_printf(&name, "%s%s", known->kind == STACK_SIGNAL ? "signals of " : "",
		    timeline_get_string(builder->timeline,
					timeline_get_thread(builder->timeline, thread)->name));
	err = name.failed ? -ENOMEM
			  : timeline_add_string(
				    builder->timeline, name.data,
				    &timeline_get_region(builder->timeline, known->region)->name);
	text_release(&name);
	return err;
}

static int name_regions(struct trace_builder *builder)
{
	size_t count;
	const struct kernel_region *known = stack_regions_get_all(builder->regions, &count);
	int err;

	for (size_t i = 0; i < count; i++) {
		err = name_region(builder, &known[i]);
		if (err)
			return err;
	}
	return 0;
}

static void builder_release(struct trace_builder *builder)
{
	trace_processes_free(builder->processes);
	free(builder->threads);
	hash_index_release(&builder->thread_index);
	array_release(&builder->earlier);
	stack_regions_free(builder->regions);
	occupancy_tracker_free(builder->occupancies);
	recorded_samples_free(builder->samples);
	thread_starts_free(builder->starts);
	array_release(&builder->fills);
	array_release(&builder->zone_events);
}

int trace_builder_build(const struct trace_source *source, struct timeline *timeline)
{
	uint32_t num_threads = profile_count_threads(source->profile);
	_cleanup_(stack_tops_release) struct stack_tops tops = {0};
	_cleanup_(builder_release) struct trace_builder builder = {
		.source = source,
		.timeline = timeline,
		.processes = trace_processes_new(source->processes, timeline),
		.threads = new_ids(num_threads),
		.occupancies = occupancy_tracker_new(timeline),
		.samples = recorded_samples_new(trace_log_get_samples(source->log), num_threads,
						source->period_ns, source->wait_ns),
		.starts = thread_starts_new(trace_log_get_threads(source->log)),
	};
	int err = find_stack_tops(source, &tops);

	if (err)
		return err;
	builder.regions = stack_regions_new(source->log, &tops, timeline);
	if (!builder.processes || !builder.threads || !builder.regions || !builder.occupancies ||
	    !builder.samples || !builder.starts)
		return -ENOMEM;
	for (size_t i = 0; i < source->num_scales; i++)
		recorded_samples_add_scale(builder.samples, &source->scales[i]);
	err = take_known(&builder);
	if (err)
		return err;
	err = collect_zone_events(&builder);
	if (err)
		return err;
	timeline_set_consumer(timeline, recorded_occupancies_get_consumer(
						trace_log_get_occupancies(source->log)));
	err = walk_samples(&builder);
	timeline_set_consumer(timeline, NULL);
	if (err)
		return err;
	err = add_waits(&builder);
	if (err)
		return err;
	err = name_regions(&builder);
	if (err)
		return err;
	err = add_task_events(&builder);
	if (err)
		return err;
	give_files(&builder);
	return 0;
}
