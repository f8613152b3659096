/*
 * Weighs samples: ticks of events, waits, their wakers, and memory live at the end. The resolver
 * turns their stacks into stacks of the profile (stack_resolver.h).
 *
 * Samples and process events come in order of time, so the process table always has the mappings of
 * the sample's time. The exception is a sample inside exec, whose memory may be the old program's
 * or the new one's. The kernel's count of execs in every sample shows that; the user stack is
 * omitted unless the walk proves that the old memory was still there.
 *
 * An off-CPU sample is taken when a thread gets a CPU again, with the stack from when it lost the
 * last one. The stack ends in a frame for the kind of wait. It represents waiting time, and maybe
 * time in a run queue after that, as a separate stack. Ticks count as samples, waits do not; both
 * add time to the metric "wall". A thread that still waits at the end is sampled then. If it has
 * not run since the start, its outermost frame shows that.
 *
 * Every sample is either in the profile or counted as lost because of its unknown stack.
 */
#include "collect/stacks/sample_ingest.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/intern.h"
#include "collect/kernel/syscall_names.h"
#include "collect/runtimes/runtime_stacks.h"
#include "collect/stacks/nested_calls.h"
#include "collect/stacks/stack_resolver.h"
#include "collect/stacks/user_walks.h"
#include "collect/stacks/wakers.h"
#include "timeline/timeline.h"
#include "wire/request.h"

/* The innermost frame but one of waits for the global interpreter lock of CPython. */
#define GIL_FRAME_NAME "[GIL]"

INTERN_TABLE(weighed_stack_table, struct stack_count, stack);

/* The metrics of time. */
struct off_cpu {
	struct sample_periods periods; /* all 0 where off-CPU time is not sampled */
	struct scheduler_code scheduler;
	uint32_t cpu;
	uint32_t waits[NUM_WAIT_KINDS];
	uint32_t wall;
	struct sample_ingest_counts counts;
	uint64_t weights_ns[NUM_WAIT_KINDS];
	/* Wakers: */
	struct wakers wakers;
	bool takes_wakers;
	bool has_kernel_levels;
	bool has_futexes;
	struct sample_ingest_counts waker_counts;
	struct sample_ingest_wakers woken;
};

/* The sample of an allocation: one of the profile if the block is live in the end. */
struct sampled_block {
	struct wire_sample sample; /* of time 0: the slot was never taken */
	uint32_t thread;
	uint32_t stack;
	bool is_truncated;
};

/* The last sample of a CPU. */
struct last_sample {
	uint64_t time_ns; /* 0: no sample */
	uint64_t start_ns;
	uint64_t weight;
	uint32_t thread;
	uint32_t stack;
	bool is_truncated;
};

/* The event of ticks. */
struct ticking_event {
	uint32_t metric;
	bool is_weighed;   /* samples have a weight; else 1 */
	bool is_clock;     /* each represents the time of a tick */
	bool has_calls;    /* they are system calls, which become frames */
	bool has_requests; /* they are of requests to block devices, whose kinds become frames */
	bool has_ends;     /* of these, and are sent at the end of each */
	bool is_live;      /* they are of memory that may be live */
	bool is_of_allocators;
	struct sample_ingest_event counts;
	ARRAY(struct sampled_block) blocks; /* by slot */
	ARRAY(struct last_sample) last;     /* by CPU; only of events with weights */
};

struct sample_ingest {
	struct profile *profile;
	struct file_table *files;
	struct process_table *processes;
	struct trace_log *trace_log;           /* NULL: no times are kept */
	struct allocator_code *allocator_code; /* NULL: no allocators are probed */
	ARRAY(struct ticking_event) events;
	struct sample_ingest_counts counts;
	struct off_cpu off_cpu;
	struct stack_resolver *resolver;
	struct user_walks *user_walks;
	struct runtime_stacks *runtimes; /* NULL: native frames alone are wanted */
	/* Stacks of ticks with weights other than 1: the profile does not have their number. */
	struct weighed_stack_table weighed_stacks;
};

struct sample_ingest *sample_ingest_new(struct profile *profile, struct file_table *files,
					struct process_table *processes, uint32_t max_depth,
					enum user_stacks user_stacks)
{
	struct sample_ingest *ingest = calloc(1, sizeof(*ingest));
	struct ticking_event *event = ingest ? array_add(&ingest->events) : NULL;

	if (event)
		ingest->resolver =
			stack_resolver_new(profile, processes, user_stacks == USER_STACKS_TABLE);
	if (event && ingest->resolver)
		ingest->user_walks = user_walks_new(profile, processes, ingest->resolver,
						    user_stacks, max_depth);
	if (!event || !ingest->user_walks ||
	    profile_add_metric(profile, "samples", "count", &event->metric)) {
		sample_ingest_free(ingest);
		return NULL;
	}
	event->is_clock = true;
	ingest->profile = profile;
	ingest->files = files;
	ingest->processes = processes;
	return ingest;
}

int sample_ingest_set_events(struct sample_ingest *ingest, const struct event *events,
			     size_t num_events)
{
	bool has_clock = false;

	for (size_t i = 0; i < num_events; i++) {
		struct ticking_event *event =
			i ? array_add(&ingest->events) : &ingest->events.items[0];
		const char *unit = event_get_unit(&events[i]);
		int err;

		if (!event)
			return -ENOMEM;
		err = i ? profile_add_metric(ingest->profile, events[i].name, unit, &event->metric)
			: profile_rename_metric(ingest->profile, event->metric, events[i].name,
						unit);
		if (err)
			return err;
		event->is_weighed = true;
		event->has_calls = events[i].kind == EVENT_SYSTEM_CALL;
		event->has_requests = events[i].requests.kinds;
		event->has_ends = events[i].requests.end;
		event->is_live = events[i].is_live;
		event->is_of_allocators = event_is_of_allocators(&events[i]);
		/* CPU time is added up once. */
		event->is_clock = !has_clock && event_shows_cpu_time(&events[i]);
		has_clock |= event->is_clock;
	}
	return 0;
}

void sample_ingest_set_fp_step_check(struct sample_ingest *ingest, struct fp_step_check *check)
{
	stack_resolver_set_fp_step_check(ingest->resolver, check);
}

void sample_ingest_set_call_check(struct sample_ingest *ingest, struct call_check *check)
{
	stack_resolver_set_call_check(ingest->resolver, check);
}

void sample_ingest_set_runtimes(struct sample_ingest *ingest, struct runtime_stacks *runtimes)
{
	ingest->runtimes = runtimes;
	stack_resolver_set_runtimes(ingest->resolver, runtimes);
	user_walks_set_runtimes(ingest->user_walks, runtimes);
}

void sample_ingest_set_allocator_code(struct sample_ingest *ingest, struct allocator_code *code)
{
	ingest->allocator_code = code;
}

void sample_ingest_set_trace_log(struct sample_ingest *ingest, struct trace_log *log)
{
	ingest->trace_log = log;
}

int sample_ingest_add_off_cpu(struct sample_ingest *ingest, const struct sample_periods *periods,
			      const struct scheduler_code *scheduler)
{
	struct off_cpu *off_cpu = &ingest->off_cpu;
	int err = profile_add_metric(ingest->profile, "cpu", "nanoseconds", &off_cpu->cpu);

	if (err)
		return err;
	for (enum wait_kind kind = 0; kind < NUM_WAIT_KINDS; kind++) {
		err = profile_add_metric(ingest->profile, wait_kind_get_name(kind), "nanoseconds",
					 &off_cpu->waits[kind]);
		if (err)
			return err;
	}
	off_cpu->periods = *periods;
	off_cpu->scheduler = *scheduler;
	return profile_add_metric(ingest->profile, METRIC_WALL, "nanoseconds", &off_cpu->wall);
}

int sample_ingest_add_wakers(struct sample_ingest *ingest, const struct waker_code *code,
			     bool has_kernel_levels, bool has_futexes)
{
	ingest->off_cpu.takes_wakers = true;
	ingest->off_cpu.has_kernel_levels = has_kernel_levels;
	ingest->off_cpu.has_futexes = has_futexes;
	return wakers_init(&ingest->off_cpu.wakers, ingest->profile, code);
}

struct sample_ingest_wakers sample_ingest_get_wakers(const struct sample_ingest *ingest)
{
	return ingest->off_cpu.woken;
}

struct sample_ingest_counts sample_ingest_get_waker_counts(const struct sample_ingest *ingest)
{
	return ingest->off_cpu.waker_counts;
}

static bool is_waker(const struct wire_sample *sample)
{
	return sample->flags & WIRE_SAMPLE_WAKER;
}

static bool is_off_cpu(const struct wire_sample *sample)
{
	return sample->flags & WIRE_SAMPLE_OFF_CPU;
}

/* The event of a tick. Records are from our own program. */
static struct ticking_event *get_event(struct sample_ingest *ingest,
				       const struct wire_sample *sample)
{
	return &ingest->events.items[sample->event < ingest->events.length ? sample->event : 0];
}

/* The counts that a sample belongs to. */
static struct sample_ingest_counts *get_counts(struct sample_ingest *ingest,
					       const struct wire_sample *sample)
{
	if (is_waker(sample))
		return &ingest->off_cpu.waker_counts;
	return is_off_cpu(sample) ? &ingest->off_cpu.counts : &ingest->counts;
}

void sample_ingest_free(struct sample_ingest *ingest)
{
	if (!ingest)
		return;
	array_for_each (&ingest->events, event) {
		array_release(&event->blocks);
		array_release(&event->last);
	}
	array_release(&ingest->events);
	user_walks_free(ingest->user_walks);
	stack_resolver_free(ingest->resolver);
	weighed_stack_table_release(&ingest->weighed_stacks);
	wakers_release(&ingest->off_cpu.wakers);
	free(ingest);
}

int sample_ingest_add_stack(struct sample_ingest *ingest, const struct wire_stack *record,
			    size_t size)
{
	return stack_resolver_add(ingest->resolver, record, size);
}

/* A module of the profile for every file of the table, with the same number. */
static int sync_modules(struct sample_ingest *ingest)
{
	while (profile_count_modules(ingest->profile) < file_table_get_count(ingest->files)) {
		const struct mapped_file *file =
			file_table_get(ingest->files, profile_count_modules(ingest->profile));
		struct module module = {.build_id_size = file->build_id_size};
		uint32_t id;
		int err = profile_add_string(ingest->profile, file->path, &module.path);

		if (err)
			return err;
		memcpy(module.build_id, file->build_id, file->build_id_size);
		err = profile_add_module(ingest->profile, &module, &id);
		if (err)
			return err;
	}
	return 0;
}

static int sync_processes(struct sample_ingest *ingest)
{
	while (profile_count_processes(ingest->profile) <
	       process_table_get_count(ingest->processes)) {
		uint32_t id = profile_count_processes(ingest->profile);
		int err = profile_add_process(ingest->profile,
					      process_table_get(ingest->processes, id)->pid,
					      STRING_EMPTY, &id);

		if (err)
			return err;
	}
	return 0;
}

int sample_ingest_finish(struct sample_ingest *ingest)
{
	int err = sync_modules(ingest);

	if (err)
		return err;
	stack_resolver_forget(ingest->resolver);
	if (ingest->runtimes)
		runtime_stacks_forget(ingest->runtimes);
	err = sync_processes(ingest);
	if (err)
		return err;
	for (uint32_t id = 0; id < profile_count_processes(ingest->profile); id++) {
		const struct process *process = process_table_get(ingest->processes, id);
		const char *script = process_get_script(process);
		uint32_t name;

		err = profile_add_string(ingest->profile, process->comm, &name);
		if (err)
			return err;
		profile_set_process_comm(ingest->profile, id, name);
		if (!script[0])
			continue;
		err = profile_add_frame_name(ingest->profile, script, strlen(script), &name);
		if (err)
			return err;
		profile_set_process_script(ingest->profile, id, name);
	}
	return 0;
}

static bool has_frame_above_user_stack(struct sample_ingest *ingest,
				       const struct wire_sample *sample)
{
	if (sample->kernel_stack || is_off_cpu(sample)) /* that of the wait */
		return true;
	if (is_waker(sample))
		return false;
	return get_event(ingest, sample)->has_requests ||
	       (get_event(ingest, sample)->has_calls && sample->call);
}

/* Add the user part of a sample's stack. sample->walk_end may be changed. */
static int add_user_stack(struct sample_ingest *ingest, struct wire_sample *sample,
			  const struct process *process, bool is_in_exec, uint32_t *stack,
			  bool *ret_is_truncated)
{
	const struct user_walk walk = {
		.sample = sample,
		.known = stack_resolver_find(ingest->resolver, sample->user_stack),
		.process = process,
		.is_in_exec = is_in_exec,
		.has_frame_above = has_frame_above_user_stack(ingest, sample),
		.is_tick = !is_off_cpu(sample) && !is_waker(sample),
		.counts_runtime = !is_waker(sample),
		.counts = &get_counts(ingest, sample)->user,
	};

	return user_walks_add(ingest->user_walks, &walk, stack, ret_is_truncated);
}

/* A sample whose thread and stack are known. */
struct resolved_sample {
	const struct wire_sample *sample;
	uint32_t thread;
	uint32_t stack;
	bool is_truncated; /* the stack lacks its outer end */
};

/*
 * For a trace: keep the time of a sample. Waits do not show where stacks are in use, and neither do
 * samples within exec: the stack pointer may be the old program's, and the memory the new one's.
 */
static void keep_time(struct sample_ingest *ingest, const struct resolved_sample *resolved,
		      uint32_t metric, uint32_t num_periods)
{
	const struct wire_sample *sample = resolved->sample;
	bool is_wait = is_off_cpu(sample);
	bool has_stack_pointer = !is_wait && !(sample->flags & WIRE_SAMPLE_IN_EXEC);
	struct timed_sample timed = {
		.time_ns = sample->time_ns,
		.user_sp = has_stack_pointer ? sample->user_sp : 0,
		.outermost_sp =
			has_stack_pointer && !resolved->is_truncated ? sample->outermost_sp : 0,
		.thread = resolved->thread,
		.stack = resolved->stack,
		.num_periods = num_periods,
		.weight = is_wait || !get_event(ingest, sample)->is_weighed ? 0 : sample->weight,
		.cpu = sample->cpu,
		.metric = (uint8_t)metric,
		.is_in_kernel = sample->flags & WIRE_SAMPLE_IN_KERNEL,
		.is_truncated = resolved->is_truncated,
		.is_off_cpu = is_wait,
	};

	if (ingest->trace_log)
		trace_log_add_sample(ingest->trace_log, &timed);
}

/* The interval that a weight is spread over; of a moment, both are the same. */
struct sample_interval {
	uint64_t start_ns;
	uint64_t end_ns;
};

static int add_weight(struct sample_ingest *ingest, uint32_t thread, uint32_t stack,
		      uint32_t metric, uint64_t weight, const struct sample_interval *interval)
{
	int err = profile_add_sample(ingest->profile, thread, stack, metric, weight);

	return err ? err
		   : profile_add_interval(ingest->profile, thread, stack, metric, weight,
					  interval->start_ns, interval->end_ns);
}

/* end_ns: CLOCK_BOOTTIME; a duration may not be longer. */
static struct sample_interval find_interval(uint64_t duration_ns, uint64_t end_ns)
{
	return (struct sample_interval){
		.start_ns = duration_ns < end_ns ? end_ns - duration_ns : 0,
		.end_ns = end_ns,
	};
}

/* When a thread waited, or was in a run queue after that. */
static struct sample_interval get_wait_interval(const struct wire_sample *sample,
						enum wait_kind kind)
{
	struct sample_interval queued = find_interval(sample->queue_ns, sample->time_ns);

	return kind == WAIT_RUN_QUEUE ? queued : find_interval(sample->wait_ns, queued.start_ns);
}

/* Put a frame of a name on a stack. */
static int add_named_frame(struct sample_ingest *ingest, const char *name, uint32_t *stack)
{
	struct frame frame = {0};
	uint32_t location;
	int err = profile_add_string(ingest->profile, name, &frame.name);

	if (err)
		return err;
	frame.full_name = frame.name;
	err = profile_add_frame_location(ingest->profile, &frame, &location);
	return err ? err : profile_add_stack(ingest->profile, *stack, location, stack);
}

static int count_weighed_stack(struct sample_ingest *ingest, uint32_t stack)
{
	uint32_t item;
	int err = weighed_stack_table_intern(&ingest->weighed_stacks,
					     &(struct stack_count){.stack = stack}, &item);

	if (err)
		return err;
	ingest->weighed_stacks.items[item].num_samples++;
	return 0;
}

/* The innermost frame of the samples of an event that is of several things: which one. */
static int add_call_frame(struct sample_ingest *ingest, uint64_t call, uint32_t *stack)
{
	char name[64];
	char frame[80];

	if (!call)
		return 0;
	syscall_get_name(call, name, sizeof(name));
	snprintf(frame, sizeof(frame), "[syscall %s]", name);
	return add_named_frame(ingest, frame, stack);
}

static int add_request_frame(struct sample_ingest *ingest, uint64_t kind, uint32_t *stack)
{
	static const char *const names[WIRE_NUM_REQUEST_KINDS] = {
		[WIRE_REQUEST_READ] = "[block read]",   [WIRE_REQUEST_WRITE] = "[block write]",
		[WIRE_REQUEST_FLUSH] = "[block flush]", [WIRE_REQUEST_DISCARD] = "[block discard]",
		[WIRE_REQUEST_ZONE] = "[block zone]",   [WIRE_REQUEST_OTHER] = "[block command]",
	};

	return kind < WIRE_NUM_REQUEST_KINDS && names[kind]
		       ? add_named_frame(ingest, names[kind], stack)
		       : 0;
}

/* Replaces an older block of its slot. Samples whose stacks were walked later are added late. */
static int keep_block(struct ticking_event *event, const struct resolved_sample *resolved)
{
	const struct wire_sample *sample = resolved->sample;
	struct sampled_block *sampled;

	if (!sample->block || sample->block > WIRE_MAX_BLOCKS)
		return 0; /* impossible */
	while (event->blocks.length < sample->block)
		if (!array_add(&event->blocks))
			return -ENOMEM;
	sampled = &event->blocks.items[sample->block - 1];
	if (sample->time_ns > sampled->sample.time_ns)
		*sampled = (struct sampled_block){.sample = *sample,
						  .thread = resolved->thread,
						  .stack = resolved->stack,
						  .is_truncated = resolved->is_truncated};
	event->counts.samples++;
	return 0;
}

/* Age of memory that is not freed: a leak is old, while other blocks have just been allocated. */
static const char *get_age_frame(uint64_t age_ns)
{
	if (age_ns < NS_PER_SECOND)
		return "[age below 1 s]";
	if (age_ns < 10 * NS_PER_SECOND)
		return "[age 1 to 10 s]";
	if (age_ns < 60 * NS_PER_SECOND)
		return "[age 10 to 60 s]";
	if (age_ns < 600 * NS_PER_SECOND)
		return "[age 1 to 10 min]";
	return age_ns < 3600 * NS_PER_SECOND ? "[age 10 to 60 min]" : "[age above 1 h]";
}

int sample_ingest_add_block(struct sample_ingest *ingest, size_t event_number,
			    const struct wire_block *block, uint64_t end_ns)
{
	struct ticking_event *event = &ingest->events.items[event_number];
	const struct sampled_block *sampled =
		block->slot < event->blocks.length ? &event->blocks.items[block->slot] : NULL;
	uint64_t age_ns = end_ns > block->time_ns ? end_ns - block->time_ns : 0;
	struct resolved_sample resolved;
	int err;

	/* Its sample was lost, which counts as that. */
	if (!sampled || sampled->sample.time_ns != block->time_ns)
		return 0;
	resolved = (struct resolved_sample){.sample = &sampled->sample,
					    .thread = sampled->thread,
					    .stack = sampled->stack,
					    .is_truncated = sampled->is_truncated};
	err = add_named_frame(ingest, get_age_frame(age_ns), &resolved.stack);
	if (err)
		return err;
	err = add_weight(
		ingest, resolved.thread, resolved.stack, event->metric, sampled->sample.weight,
		&(struct sample_interval){sampled->sample.time_ns, sampled->sample.time_ns});
	if (err)
		return err;
	err = count_weighed_stack(ingest, resolved.stack);
	if (err)
		return err;
	event->counts.live++;
	event->counts.weight += sampled->sample.weight;
	if (age_ns > event->counts.oldest_ns)
		event->counts.oldest_ns = age_ns;
	keep_time(ingest, &resolved, event->metric, 1);
	return 0;
}

/* The last sample of the CPU; its time is 0 before the first. NULL when out of memory. */
static struct last_sample *use_last(struct ticking_event *event, uint16_t cpu)
{
	while (event->last.length <= cpu)
		if (!array_add(&event->last))
			return NULL;
	return &event->last.items[cpu];
}

/*
 * Add weight to the last sample of a CPU. `sample` has the event and the CPU, and may be changed.
 */
static int add_to_last(struct sample_ingest *ingest, struct ticking_event *event,
		       const struct last_sample *last, struct wire_sample *sample, uint64_t weight)
{
	struct resolved_sample resolved = {.sample = sample,
					   .thread = last->thread,
					   .stack = last->stack,
					   .is_truncated = last->is_truncated};
	int err = add_weight(ingest, last->thread, last->stack, event->metric, weight,
			     &(struct sample_interval){last->start_ns, last->time_ns});

	if (err)
		return err;
	event->counts.weight += weight;
	/* It is part of that sample's weight. */
	event->counts.weight_squares +=
		(double)weight * ((double)weight + 2 * (double)last->weight);
	sample->time_ns = last->time_ns;
	sample->weight = weight;
	sample->user_sp = 0; /* unknown by now */
	keep_time(ingest, &resolved, event->metric, 1);
	return 0;
}

/*
 * Hits before a silence belong to the sample before it. Without one they belong to this sample.
 * Adds to *weight in that case.
 */
static int add_earlier(struct sample_ingest *ingest, struct ticking_event *event,
		       const struct resolved_sample *resolved, uint64_t *weight)
{
	struct last_sample *last = use_last(event, resolved->sample->cpu);
	struct wire_sample earlier = *resolved->sample;
	/* Samples of ended requests have times in its place, those of allocations an address. */
	uint64_t earlier_weight =
		event->has_ends || event->is_of_allocators ? 0 : earlier.earlier_weight;

	if (!last)
		return -ENOMEM;
	if (!last->time_ns || !earlier_weight) {
		*weight += earlier_weight;
		return 0;
	}
	return add_to_last(ingest, event, last, &earlier, earlier_weight);
}

int sample_ingest_add_rest(struct sample_ingest *ingest, size_t event_number, uint32_t cpu,
			   uint64_t weight)
{
	struct ticking_event *event = &ingest->events.items[event_number];
	struct wire_sample sample = {.event = (uint32_t)event_number, .cpu = (uint16_t)cpu};
	int err;

	if (cpu >= event->last.length || !event->last.items[cpu].time_ns)
		return 0;
	err = add_to_last(ingest, event, &event->last.items[cpu], &sample, weight);
	if (err)
		return err;
	event->counts.rest += weight;
	return 0;
}

static void note_last(struct ticking_event *event, const struct resolved_sample *resolved,
		      const struct sample_interval *interval, uint64_t weight)
{
	event->last.items[resolved->sample->cpu] =
		(struct last_sample){.time_ns = interval->end_ns,
				     .start_ns = interval->start_ns,
				     .weight = weight,
				     .thread = resolved->thread,
				     .stack = resolved->stack,
				     .is_truncated = resolved->is_truncated};
}

static int add_tick(struct sample_ingest *ingest, const struct resolved_sample *sampled)
{
	struct resolved_sample tick = *sampled;
	const struct resolved_sample *resolved = &tick;
	struct sample_interval interval =
		find_interval(resolved->sample->duration_ms * NS_PER_MS, resolved->sample->time_ns);
	uint64_t tick_ns = ingest->off_cpu.periods.tick_ns;
	struct ticking_event *event = get_event(ingest, resolved->sample);
	uint64_t weight = event->is_weighed ? resolved->sample->weight : 1;
	int err;

	if (event->is_live)
		return keep_block(event, resolved);
	if (event->has_calls) {
		err = add_call_frame(ingest, resolved->sample->call, &tick.stack);
		if (err)
			return err;
	}
	if (event->has_requests) {
		err = add_request_frame(ingest, resolved->sample->request, &tick.stack);
		if (err)
			return err;
	}
	if (event->is_weighed) {
		err = add_earlier(ingest, event, resolved, &weight);
		if (err)
			return err;
		/* Hits of a CPU have no part in a call that they have not ended. */
		if (!(resolved->sample->flags & WIRE_SAMPLE_UNDER_WAY))
			note_last(event, resolved, &interval, weight);
	}
	err = add_weight(ingest, resolved->thread, resolved->stack, event->metric, weight,
			 &interval);
	if (err)
		return err;
	if (event->is_weighed) {
		err = count_weighed_stack(ingest, resolved->stack);
		if (err)
			return err;
	}
	event->counts.samples++;
	event->counts.weight += weight;
	event->counts.weight_squares += (double)weight * (double)weight;
	keep_time(ingest, resolved, event->metric, 1);
	if (!tick_ns || !event->is_clock)
		return 0;
	err = add_weight(ingest, resolved->thread, resolved->stack, ingest->off_cpu.cpu, tick_ns,
			 &interval);
	if (err)
		return err;
	return add_weight(ingest, resolved->thread, resolved->stack, ingest->off_cpu.wall, tick_ns,
			  &interval);
}

/* The innermost frame of a wait. */
static int add_wait_frame(struct sample_ingest *ingest, enum wait_kind kind, uint32_t *stack)
{
	static const char *const names[NUM_WAIT_KINDS] = {
		[WAIT_BLOCKED] = BLOCKED_FRAME_NAME,
		[WAIT_UNINTERRUPTIBLE] = UNINTERRUPTIBLE_FRAME_NAME,
		[WAIT_RUN_QUEUE] = RUN_QUEUE_FRAME_NAME,
		[WAIT_PREEMPTED] = PREEMPTED_FRAME_NAME,
	};

	return add_named_frame(ingest, names[kind], stack);
}

static int add_wait(struct sample_ingest *ingest, const struct resolved_sample *resolved,
		    enum wait_kind kind, uint32_t num_periods)
{
	struct off_cpu *off_cpu = &ingest->off_cpu;
	struct sample_interval interval = get_wait_interval(resolved->sample, kind);
	struct resolved_sample wait = *resolved;
	uint64_t weight_ns;
	int err;

	if (!num_periods)
		return 0;
	if (__builtin_mul_overflow(num_periods, off_cpu->periods.wait_ns, &weight_ns))
		return -EOVERFLOW;
	err = add_wait_frame(ingest, kind, &wait.stack);
	if (err)
		return err;
	off_cpu->weights_ns[kind] += weight_ns;
	keep_time(ingest, &wait, off_cpu->waits[kind], num_periods);
	err = add_weight(ingest, wait.thread, wait.stack, off_cpu->waits[kind], weight_ns,
			 &interval);
	if (err)
		return err;
	return add_weight(ingest, wait.thread, wait.stack, off_cpu->wall, weight_ns, &interval);
}

/* Add the wait's stack again, together with its waker, which is stored in *ret if known. */
static int add_woken(struct sample_ingest *ingest, const struct resolved_sample *resolved,
		     enum wait_kind kind, struct waker *ret)
{
	struct off_cpu *off_cpu = &ingest->off_cpu;
	const struct wire_sample *sample = resolved->sample;
	struct sample_interval interval = get_wait_interval(sample, kind);
	struct resolved_sample wait = *resolved;
	int err;

	if (!off_cpu->takes_wakers || !sample->num_periods || kind == WAIT_PREEMPTED)
		return 0;
	err = add_wait_frame(ingest, kind, &wait.stack);
	if (err)
		return err;
	if (off_cpu->has_futexes && sample->futex) {
		err = wakers_add_futex(&off_cpu->wakers, sample->futex, &wait.stack);
		if (err)
			return err;
	}
	err = wakers_add_to(&off_cpu->wakers, sample->wakeup, &wait.stack, ret);
	if (err)
		return err;
	if (ret->wakeup)
		off_cpu->woken.known++;
	else if (sample->wakeup == WIRE_NOT_WOKEN)
		off_cpu->woken.open++;
	else if (sample->wakeup)
		off_cpu->woken.lost++;
	else
		off_cpu->woken.unseen++;
	keep_time(ingest, &wait, off_cpu->wakers.metric, sample->num_periods);
	return add_weight(ingest, wait.thread, wait.stack, off_cpu->wakers.metric,
			  sample->num_periods * off_cpu->periods.wait_ns, &interval);
}

static enum wait_kind get_wait_kind(const struct wire_sample *sample)
{
	if (sample->flags & WIRE_SAMPLE_PREEMPTED)
		return WAIT_PREEMPTED;
	return sample->flags & WIRE_SAMPLE_UNINTERRUPTIBLE ? WAIT_UNINTERRUPTIBLE : WAIT_BLOCKED;
}

static enum off_cpu_state get_state(enum wait_kind kind)
{
	switch (kind) {
	case WAIT_BLOCKED:
	case WAIT_RUN_QUEUE:
		break;
	case WAIT_UNINTERRUPTIBLE:
		return OFF_CPU_UNINTERRUPTIBLE;
	case WAIT_PREEMPTED:
		return OFF_CPU_PREEMPTED;
	case NUM_WAIT_KINDS:
		break;
	}
	return OFF_CPU_BLOCKED;
}

/* For a trace: keep the start, the end and the waker of a wait. */
static int keep_wait(struct sample_ingest *ingest, const struct resolved_sample *resolved,
		     enum wait_kind kind, const struct waker *waker)
{
	const struct wire_sample *sample = resolved->sample;
	struct timed_wait timed = {
		.end_ns = sample->time_ns,
		.wait_ns = sample->wait_ns,
		.queue_ns = sample->queue_ns,
		.thread = resolved->thread,
		.stack = resolved->stack,
		.num_periods = sample->num_periods,
		.num_queue_periods = sample->num_queue_periods,
		.state = (uint8_t)get_state(kind),
	};

	if (!ingest->trace_log || (!sample->wait_ns && !sample->queue_ns))
		return 0;
	if (waker->wakeup) {
		timed.waker_name = waker->comm;
		timed.waker_stack = waker->stack;
	}
	if (waker->is_interrupt) {
		int err = profile_add_string(ingest->profile, WAKER_INTERRUPT_NAME,
					     &timed.waker_name);

		if (err)
			return err;
	} else {
		timed.waker_pid = waker->pid;
		timed.waker_tid = waker->tid;
	}
	trace_log_add_wait(ingest->trace_log, &timed);
	return 0;
}

/* Add the purpose of a wait, if known and named: a frame before the one for its kind. */
static int add_purpose(struct sample_ingest *ingest, const struct process *process,
		       enum wait_kind kind, struct resolved_sample *wait)
{
	uint64_t futex = wait->sample->futex;

	/* An uninterruptible wait is for another resource of futex(2), such as memory. */
	if (kind != WAIT_BLOCKED || !futex || !ingest->runtimes ||
	    !runtime_stacks_is_gil(ingest->runtimes, process, futex))
		return 0;
	return add_named_frame(ingest, GIL_FRAME_NAME, &wait->stack);
}

static int add_waits(struct sample_ingest *ingest, const struct process *process,
		     const struct resolved_sample *resolved)
{
	const struct wire_sample *sample = resolved->sample;
	enum wait_kind kind = get_wait_kind(sample);
	struct resolved_sample wait = *resolved;
	struct waker waker = {0};
	int err = add_purpose(ingest, process, kind, &wait);

	if (err)
		return err;
	err = add_wait(ingest, &wait, kind, sample->num_periods);
	if (err)
		return err;
	err = add_woken(ingest, &wait, kind, &waker);
	if (err)
		return err;
	err = keep_wait(ingest, resolved, kind, &waker);
	return err ? err : add_wait(ingest, resolved, WAIT_RUN_QUEUE, sample->num_queue_periods);
}

/* The kernel part, on top of the user part. */
static int add_kernel_stack(struct sample_ingest *ingest, const struct wire_sample *sample,
			    const struct known_stack *known, uint32_t *stack)
{
	struct raw_stack raw = raw_stack_of(known);
	struct stack_evidence ignored;

	if (is_off_cpu(sample))
		raw.num_inner = scheduler_code_count(
			&ingest->off_cpu.scheduler,
			stack_resolver_read_pcs(ingest->resolver, known), known->num_pcs);
	return stack_resolver_resolve(ingest->resolver, &raw, NULL, sample->time_ns, stack,
				      &ignored);
}

/* Whether a sample is of an allocation that an allocator makes within another allocation. */
static bool is_nested_allocation(struct sample_ingest *ingest, const struct wire_sample *sample,
				 const struct process *process, const struct known_stack *user)
{
	struct allocator_call call = {
		.event = sample->event,
		.time_ns = sample->time_ns,
		.entered_from = sample->entered_from,
		.process = process,
		.lacks_callers = sample->walk_end == WALK_FP_CHAIN,
	};

	if (!ingest->allocator_code || !user || is_off_cpu(sample) ||
	    !get_event(ingest, sample)->is_of_allocators)
		return false;
	call.pcs = stack_resolver_read_pcs(ingest->resolver, user);
	call.num_pcs = user->num_pcs;
	return allocator_call_is_nested(&call, ingest->allocator_code, ingest->files);
}

/* A sample of a process that is known. sample->walk_end may be changed, see add_user_stack(). */
static int add_to_process(struct sample_ingest *ingest, struct wire_sample *sample,
			  const struct process *process, bool is_in_exec)
{
	const struct known_stack *user = stack_resolver_find(ingest->resolver, sample->user_stack);
	const struct known_stack *kernel =
		stack_resolver_find(ingest->resolver, sample->kernel_stack);
	struct resolved_sample resolved = {.sample = sample, .stack = STACK_EMPTY};
	bool has_user_stack = user_walks_are_taken(ingest->user_walks) &&
			      !(sample->flags & WIRE_SAMPLE_NO_USER_MEMORY);
	struct thread thread = {.process = process->id, .tid = sample->tid};
	int err;

	if ((sample->user_stack && !user) || (sample->kernel_stack && !kernel)) {
		get_counts(ingest, sample)->unknown_stack++;
		if (!is_off_cpu(sample)) {
			get_event(ingest, sample)->counts.unknown_stack++;
			get_event(ingest, sample)->counts.lost_weight += sample->weight;
		}
		return 0;
	}
	if (!is_in_exec && is_nested_allocation(ingest, sample, process, user)) {
		get_event(ingest, sample)->counts.nested++;
		return 0;
	}
	err = sync_processes(ingest);
	if (err)
		return err;
	err = profile_add_frame_name(ingest->profile, sample->comm,
				     strnlen(sample->comm, sizeof(sample->comm)), &thread.comm);
	if (err)
		return err;
	err = profile_add_thread(ingest->profile, &thread, &resolved.thread);
	if (err)
		return err;
	if (sample->flags & WIRE_SAMPLE_THROUGHOUT) {
		err = profile_add_slept_frame(ingest->profile, resolved.stack, &resolved.stack);
		if (err)
			return err;
	}
	if (has_user_stack) {
		err = add_user_stack(ingest, sample, process, is_in_exec, &resolved.stack,
				     &resolved.is_truncated);
		if (err)
			return err;
	} else if (user_walks_are_taken(ingest->user_walks)) {
		get_counts(ingest, sample)->user.kernel_only++;
	}
	if (kernel) {
		err = add_kernel_stack(ingest, sample, kernel, &resolved.stack);
		if (err)
			return err;
	}
	get_counts(ingest, sample)->samples++;
	return is_off_cpu(sample) ? add_waits(ingest, process, &resolved)
				  : add_tick(ingest, &resolved);
}

/* The waker's part of its stacks. process: NULL without a user stack. */
static int add_waker_stack(struct sample_ingest *ingest, struct wire_sample *sample,
			   const struct process *process, bool is_in_exec, struct waker *waker)
{
	const struct known_stack *kernel =
		stack_resolver_find(ingest->resolver, sample->kernel_stack);
	const struct waker_code *code = &ingest->off_cpu.wakers.code;
	struct waker_levels levels = {0};
	struct stack_evidence ignored;
	struct raw_stack raw;
	bool is_truncated;
	int err;

	if (kernel)
		levels = waker_code_find_levels(
			code, stack_resolver_read_pcs(ingest->resolver, kernel), kernel->num_pcs);
	waker->is_interrupt = levels.is_interrupt || !sample->tid;
	if (process && user_walks_are_taken(ingest->user_walks) && !waker->is_interrupt &&
	    !code->interrupts.length) {
		/* Interrupts cannot be distinguished: the running code may be unrelated. */
		ingest->off_cpu.woken.left_out++;
	} else if (process && !waker->is_interrupt) {
		err = add_user_stack(ingest, sample, process, is_in_exec, &waker->stack,
				     &is_truncated);
		if (err)
			return err;
	}
	if (!kernel || !ingest->off_cpu.has_kernel_levels)
		return 0;
	raw = raw_stack_of(kernel);
	raw.num_inner = levels.num_inner;
	raw.num_pcs = levels.num_levels;
	return stack_resolver_resolve(ingest->resolver, &raw, NULL, sample->time_ns, &waker->stack,
				      &ignored);
}

/* process: NULL without a user stack. sample->walk_end may be changed, see add_user_stack(). */
static int add_waker(struct sample_ingest *ingest, struct wire_sample *sample,
		     const struct process *process, bool is_in_exec)
{
	struct waker waker = {.wakeup = sample->wakeup,
			      .pid = sample->pid,
			      .tid = sample->tid,
			      .stack = STACK_EMPTY};
	int err;

	if (!ingest->off_cpu.takes_wakers)
		return 0;
	/* Its wait will count as one whose waker is lost. */
	if ((sample->user_stack && !stack_resolver_find(ingest->resolver, sample->user_stack)) ||
	    (sample->kernel_stack &&
	     !stack_resolver_find(ingest->resolver, sample->kernel_stack))) {
		wakers_forget(&ingest->off_cpu.wakers, sample->wakeup);
		return 0;
	}
	err = profile_add_frame_name(ingest->profile, sample->comm,
				     strnlen(sample->comm, sizeof(sample->comm)), &waker.comm);
	if (err)
		return err;
	err = add_waker_stack(ingest, sample, process, is_in_exec, &waker);
	if (err)
		return err;
	wakers_note(&ingest->off_cpu.wakers, &waker);
	return 0;
}

int sample_ingest_add_sample(struct sample_ingest *ingest, const struct wire_sample *sample)
{
	struct wire_sample counted = *sample;
	struct process *process;
	bool is_in_exec = false;
	int err;

	if (is_waker(sample) && (sample->flags & WIRE_SAMPLE_NO_USER_MEMORY))
		return add_waker(ingest, &counted, NULL, false);
	err = process_table_find(ingest->processes, sample->time_ns, (pid_t)sample->pid,
				 sample->generation, sample->flags & WIRE_SAMPLE_IN_EXEC, &process,
				 &is_in_exec);

	if (err)
		return err;
	if (is_waker(sample))
		return add_waker(ingest, &counted, process, is_in_exec);
	return add_to_process(ingest, &counted, process, is_in_exec);
}

void sample_ingest_expect_waker(struct sample_ingest *ingest, uint64_t wakeup)
{
	if (ingest->off_cpu.takes_wakers)
		wakers_note(&ingest->off_cpu.wakers,
			    &(struct waker){.wakeup = wakeup, .is_expected = true});
}

bool sample_ingest_expects_waker(const struct sample_ingest *ingest,
				 const struct wire_sample *sample)
{
	return is_off_cpu(sample) && ingest->off_cpu.takes_wakers && sample->wakeup &&
	       wakers_expect(&ingest->off_cpu.wakers, sample->wakeup);
}

int sample_ingest_add_recovered(struct sample_ingest *ingest, const struct wire_sample *sample,
				const struct process *process, bool is_in_exec,
				struct wire_stack *stack)
{
	struct wire_sample walked = *sample;
	int err;

	if (stack) {
		/* Not the BPF program's hash function: the same stack may be there twice, which is fine. */
		stack->hash = hash_bytes(stack->pcs, stack->num_frames * sizeof(stack->pcs[0])) | 1;
		walked.user_stack = stack->hash;
		err = sample_ingest_add_stack(ingest, stack, sizeof(*stack));
		if (err)
			return err;
	}
	err = is_waker(sample) ? add_waker(ingest, &walked, process, is_in_exec)
			       : add_to_process(ingest, &walked, process, is_in_exec);
	if (err)
		return err;
	if (stack && !is_in_exec && walked.walk_end == WALK_COMPLETE)
		get_counts(ingest, sample)->recovered++;
	return 0;
}

struct sample_ingest_counts sample_ingest_get_counts(const struct sample_ingest *ingest)
{
	return ingest->counts;
}

struct sample_ingest_event sample_ingest_get_event(const struct sample_ingest *ingest, size_t event)
{
	return ingest->events.items[event].counts;
}

uint32_t sample_ingest_get_event_metric(const struct sample_ingest *ingest, size_t event)
{
	return ingest->events.items[event].metric;
}

struct sample_ingest_counts sample_ingest_get_off_cpu_counts(const struct sample_ingest *ingest,
							     const uint64_t **ret_weights_ns)
{
	*ret_weights_ns = ingest->off_cpu.weights_ns;
	return ingest->off_cpu.counts;
}

const struct user_stack_count *sample_ingest_get_user_stacks(const struct sample_ingest *ingest,
							     size_t *ret_count)
{
	return user_walks_get_stacks(ingest->user_walks, ret_count);
}

const struct stack_count *sample_ingest_get_weighed_stacks(const struct sample_ingest *ingest,
							   size_t *ret_count)
{
	*ret_count = ingest->weighed_stacks.length;
	return ingest->weighed_stacks.items;
}
