#include <perfetto.pb-c.h>
#include <stdio.h>
#include <zlib.h>

#include "formats/protobuf_reader.h"
#include "profile_builder.h"
#include "timeline/timeline_builder.h"
#include "trace_checker.h"
#include "zones_builder.h"

static Perfetto__Trace *write_timeline(const struct profile *profile, struct timeline *timeline)
{
	struct format_opts opts = {.timeline = timeline};
	struct text written = {0};
	struct sink sink = {.write = builder_append, .context = &written};
	Perfetto__Trace *trace;

	text_append_string(&written, "");
	assert_int_equal(format_pftrace.write(profile, &opts, &sink), 0);
	trace = check_trace(&written);
	text_release(&written);
	return trace;
}

static Perfetto__Trace *write_zones(const char *text)
{
	struct zones_read_result result;
	Perfetto__Trace *trace;

	builder_read_zones(text, &result);
	trace = write_timeline(result.profile, result.timeline);
	builder_release(&result);
	return trace;
}

/* The packets of one kind, by its number among them; NULL when there are fewer. */
static const Perfetto__TracePacket *find_packet(const Perfetto__Trace *trace,
						Perfetto__TracePacket__DataCase kind, size_t index)
{
	for (size_t i = 0; i < trace->n_packet; i++)
		if (trace->packet[i]->data_case == kind && index-- == 0)
			return trace->packet[i];
	return NULL;
}

static size_t count_packets(const Perfetto__Trace *trace, Perfetto__TracePacket__DataCase kind)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->n_packet; i++)
		count += trace->packet[i]->data_case == kind;
	return count;
}

#define EVENTS      PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT
#define DESCRIPTORS PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR
#define SAMPLES     PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE
#define CLOCKS      PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT
#define BUNDLES     PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS

static void an_empty_timeline_is_a_good_trace(void **state _unused_)
{
	Perfetto__Trace *trace = write_zones("");

	assert_int_equal(count_packets(trace, EVENTS), 0);
	perfetto__trace__free_unpacked(trace, NULL);
}

static void random_programs_make_good_traces(void **state _unused_)
{
	struct profile *profile = profile_new();

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct tracked tracked;
		Perfetto__Trace *trace;

		tracked_init(&tracked);
		tracked_run_random_program(&tracked, seed, 1000);
		trace = write_timeline(profile, tracked.timeline);
		assert_true(count_packets(trace, EVENTS) >=
			    2 * timeline_count_zone(tracked.timeline));
		perfetto__trace__free_unpacked(trace, NULL);
		tracked_release(&tracked);
	}
	profile_free(profile);
}

static void a_track_is_described_only_when_it_is_used(void **state _unused_)
{
	Perfetto__Trace *trace = write_zones("THREAD, 1, a\nSTACK, 1, 9, s\nSTACK, 5000, 6000, t\n"
					     "COUNTER_TRACK, 1, c\n");

	/* The process and the thread. */
	assert_int_equal(count_packets(trace, DESCRIPTORS), 2);
	perfetto__trace__free_unpacked(trace, NULL);
}

static void names_are_utf8_without_nul(void **state _unused_)
{
	static const char text[] = "THREAD, 1, \xff"
				   "a\nLOCATION, 1, \xc3(, f\xf0, x\xed\xa0\x80, 1\n"
				   "ZONE_START, 8000, 1, 1, 1\nZONE_PARAM, 8000, \xfe, \x80\n"
				   "ZONE_CATEGORY, 8000, \xc0\n";
	Perfetto__Trace *trace = write_zones(text);
	const Perfetto__TracePacket *thread = find_packet(trace, DESCRIPTORS, 1);

	assert_string_equal(thread->track_descriptor->thread->thread_name, "\xef\xbf\xbd"
									   "a");
	perfetto__trace__free_unpacked(trace, NULL);
}

static void ids_of_threads_fit_and_differ(void **state _unused_)
{
	Perfetto__Trace *trace = write_zones("THREAD, 139637976727552, a\nTHREAD, -1, b\n"
					     "THREAD, 4294967295, c\nTHREAD, 2147483647, d\n");
	int64_t tids[4];

	for (size_t i = 0; i < 4; i++) {
		const Perfetto__TracePacket *packet = find_packet(trace, DESCRIPTORS, i + 1);

		tids[i] = packet->track_descriptor->thread->tid;
		assert_true(tids[i] >= 0 && tids[i] <= INT32_MAX);
		for (size_t k = 0; k < i; k++)
			assert_true(tids[i] != tids[k]);
	}
	assert_int_equal(tids[1], INT32_MAX);
	perfetto__trace__free_unpacked(trace, NULL);
}

/* Readers take it for the thread before unless the trace says that this one is gone. */
static void a_thread_with_the_tid_of_another_comes_behind_its_end(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct timeline_process process = {.pid = 5};
	struct timeline_system system = {.num_cpus = 1};
	const Perfetto__TracePacket *second;
	const Perfetto__FtraceEvent *end;
	Perfetto__Trace *trace;

	assert_int_equal(timeline_add_string(timeline, "6.1.0", &system.kernel_release), 0);
	timeline_set_system(timeline, &system);
	assert_int_equal(timeline_add_process(timeline, &process, NULL), 0);
	for (uint64_t i = 0; i < 2; i++) {
		struct timeline_thread thread = {.tid = 6, .start_ns = i * 1000};

		assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	}
	trace = write_timeline(profile, timeline);
	assert_false(find_packet(trace, DESCRIPTORS, 1)->has_timestamp);
	second = find_packet(trace, DESCRIPTORS, 2);
	assert_int_equal(second->timestamp, 1000);
	assert_int_equal(second->track_descriptor->thread->tid, 6);
	end = find_packet(trace, BUNDLES, 0)->ftrace_events->event[0];
	assert_int_equal(end->timestamp, 999);
	assert_int_equal(end->sched_process_free->pid, 6);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

/* Instants on the thread's own track, which no slice there has to end. */
static void what_becomes_of_a_thread_is_an_instant_of_its_own_track(void **state _unused_)
{
	struct zones_read_result result;
	struct task_event event = {.time_ns = 5, .kind = TASK_FORK, .child_pid = 12};
	const Perfetto__TrackEvent *instant;
	Perfetto__Trace *trace;

	builder_read_zones("THREAD, 1, a\n", &result);
	assert_int_equal(timeline_add_task_event(result.timeline, &event, NULL), 0);
	trace = write_timeline(result.profile, result.timeline);
	assert_int_equal(count_packets(trace, EVENTS), 1);
	instant = find_packet(trace, EVENTS, 0)->track_event;
	assert_int_equal(instant->type, 3);
	assert_int_equal(instant->track_uuid,
			 find_packet(trace, DESCRIPTORS, 1)->track_descriptor->uuid);
	assert_int_equal(instant->debug_annotations[0]->uint_value, 12);
	perfetto__trace__free_unpacked(trace, NULL);
	builder_release(&result);
}

static void processes_without_pid_get_different_ones(void **state _unused_)
{
	Perfetto__Trace *trace = write_zones("THREAD, 7, a\n#! process 0 x\nTHREAD, 7, b\n"
					     "#! process 0 y\n");
	int32_t pids[3];

	for (size_t i = 0; i < 3; i++)
		pids[i] = find_packet(trace, DESCRIPTORS, i)->track_descriptor->process->pid;
	assert_int_equal(pids[0], 7);
	assert_true(pids[1] != pids[0] && pids[2] != pids[0] && pids[1] != pids[2]);
	assert_true(pids[1] > 0 && pids[2] > 0);
	perfetto__trace__free_unpacked(trace, NULL);
}

/* Memory of readers is bounded: what was emitted is emitted again from time to time. */
static void a_long_sequence_starts_anew(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct tracked tracked;
	Perfetto__Trace *trace;
	size_t num_cleared = 0;

	tracked_init(&tracked);
	for (uint64_t i = 0; i < 400000; i++) {
		tracked_start(&tracked, 8000, 0, 2000000000000 + 2 * i);
		tracked_end(&tracked, 8000, 2000000000001 + 2 * i);
	}
	tracked_finish(&tracked, 0);
	tracked_add_thread(&tracked, 1);
	trace = write_timeline(profile, tracked.timeline);
	for (size_t i = 0; i < trace->n_packet; i++)
		num_cleared += trace->packet[i]->trusted_packet_sequence_id == 16 &&
			       trace->packet[i]->sequence_flags & STATE_CLEARED;
	assert_true(num_cleared >= 2);
	perfetto__trace__free_unpacked(trace, NULL);
	tracked_release(&tracked);
	profile_free(profile);
}

/* ---- samples ------------------------------------------------------------------------------ */

static void add_sample(struct timeline *timeline, uint64_t time_ns, uint32_t thread, uint32_t stack)
{
	struct timeline_sample sample = {.time_ns = time_ns,
					 .weight = 10101,
					 .thread = thread,
					 .stack = stack,
					 .cpu = 3,
					 .mode = SAMPLE_MODE_KERNEL};

	assert_int_equal(timeline_add_sample(timeline, &sample, NULL), 0);
}

/* What is emitted before the samples. */
static const Perfetto__InternedData *find_interned(const Perfetto__Trace *trace)
{
	for (size_t i = 0; i < trace->n_packet; i++)
		if (trace->packet[i]->interned_data && trace->packet[i]->interned_data->n_frames)
			return trace->packet[i]->interned_data;
	fail_msg("no frames are interned");
	return NULL;
}

static void samples_have_their_weight_and_their_stack_outermost_first(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct tracked tracked;
	const Perfetto__TracePacket *packet;
	const Perfetto__InternedData *data;
	Perfetto__Trace *trace;
	uint32_t stack;

	builder_add_sample(profile, builder_add_thread(profile, 5, 6, "t"),
			   "main;work_[py];run_[js];apply_[java];compiled_[j];sys_[k]", 1);
	stack = profile_get_sample(profile, 0)->stack;
	tracked_init(&tracked);
	add_sample(tracked.timeline, 100, tracked_add_thread(&tracked, 6), stack);
	add_sample(tracked.timeline, 200, 0, stack);
	add_sample(tracked.timeline, 300, 0, STACK_EMPTY);
	trace = write_timeline(profile, tracked.timeline);
	assert_int_equal(count_packets(trace, SAMPLES), 3);
	packet = find_packet(trace, SAMPLES, 0);
	data = find_interned(trace);
	assert_int_equal(packet->perf_sample->timebase_count, 10101);
	assert_int_equal(packet->perf_sample->cpu, 3);
	assert_int_equal(packet->perf_sample->cpu_mode, 1);
	assert_int_equal(data->n_frames, 6);
	assert_int_equal(data->callstacks[0]->n_frame_ids, 6);
	assert_int_equal(packet->perf_sample->callstack_iid, data->callstacks[0]->iid);
	/*
	 * By name: apply, compiled, main, run, sys, work. Perfetto has no kind for Java and JavaScript: it is that of
	 * generated code, and says more.
	 */
	assert_int_equal(data->callstacks[0]->frame_ids[0], data->frames[2]->iid);
	assert_memory_equal(data->function_names[2]->str.data, "main", 4);
	assert_int_equal(data->frames[0]->kind, 4);
	assert_int_equal(data->frames[0]->own_kind, FRAME_JAVA);
	assert_int_equal(data->frames[1]->kind, 4);
	assert_false(data->frames[1]->has_own_kind);
	assert_false(data->frames[2]->has_kind);
	assert_int_equal(data->frames[3]->kind, 4);
	assert_int_equal(data->frames[3]->own_kind, FRAME_JAVASCRIPT);
	assert_int_equal(data->frames[4]->kind, 2);
	assert_int_equal(data->frames[5]->kind, 3);
	assert_false(data->frames[4]->has_own_kind || data->frames[5]->has_own_kind);
	assert_false(find_packet(trace, SAMPLES, 2)->perf_sample->has_callstack_iid);
	perfetto__trace__free_unpacked(trace, NULL);
	tracked_release(&tracked);
	profile_free(profile);
}

static void times_are_steps_and_late_ones_are_reported_in_full(void **state _unused_)
{
	static const uint64_t times[] = {1000000, 1000200, 1000100, 1000300};
	struct clock_snapshot clock = {.boottime_ns = 900000, .monotonic_ns = 1, .realtime_ns = 1};
	struct profile *profile = profile_new();
	struct tracked tracked;
	Perfetto__Trace *trace;

	builder_add_sample(profile, builder_add_thread(profile, 5, 6, "t"), "main", 1);
	tracked_init(&tracked);
	assert_int_equal(timeline_add_clock(tracked.timeline, &clock, NULL), 0);
	tracked_add_thread(&tracked, 6);
	for (size_t i = 0; i < 4; i++)
		add_sample(tracked.timeline, times[i], 0, STACK_EMPTY);
	trace = write_timeline(profile, tracked.timeline);
	for (size_t i = 0; i < 4; i++) {
		assert_int_equal(find_packet(trace, SAMPLES, i)->timestamp, times[i]);
		assert_int_equal(find_packet(trace, SAMPLES, i)->has_timestamp_clock_id, i == 2);
	}
	perfetto__trace__free_unpacked(trace, NULL);
	tracked_release(&tracked);
	profile_free(profile);
}

/* A profile of so many locations, each with a frame, and samples of these stacks of two. */
static struct profile *make_pairs(uint32_t num_locations, const uint32_t (*pairs)[2], size_t count)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 5, 6, "t");
	uint32_t metric;

	for (uint32_t i = 0; i < num_locations; i++) {
		char name[] = "f";

		assert_int_equal(builder_add_location(profile, name), i);
	}
	assert_int_equal(profile_add_metric(profile, "samples", "count", &metric), 0);
	for (size_t i = 0; i < count; i++) {
		uint32_t stack;

		assert_int_equal(profile_add_stack(profile, STACK_EMPTY, pairs[i][0], &stack), 0);
		assert_int_equal(profile_add_stack(profile, stack, pairs[i][1], &stack), 0);
		assert_int_equal(profile_add_sample(profile, thread, stack, metric, 1), 0);
	}
	return profile;
}

static void the_frame_of_most_stacks_has_a_short_number(void **state _unused_)
{
	struct timeline *timeline = timeline_new();
	const Perfetto__InternedData *data;
	struct profile *profile;
	Perfetto__Trace *trace;
	uint32_t pairs[300][2];

	for (uint32_t i = 0; i < 300; i++) {
		pairs[i][0] = 300;
		pairs[i][1] = i;
	}
	profile = make_pairs(301, pairs, 300);
	trace = write_timeline(profile, timeline);
	data = find_interned(trace);
	assert_int_equal(data->n_callstacks, 300);
	assert_true(data->callstacks[0]->frame_ids[0] < 128);
	assert_int_equal(data->callstacks[299]->frame_ids[1], 301);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

static void stacks_that_start_alike_are_reported_one_after_another(void **state _unused_)
{
	static const uint32_t pairs[][2] = {{0, 1}, {2, 1}, {0, 3}};
	struct profile *profile = make_pairs(4, pairs, 3);
	struct timeline *timeline = timeline_new();
	Perfetto__Trace *trace = write_timeline(profile, timeline);
	const Perfetto__InternedData *data = find_interned(trace);

	assert_int_equal(data->n_callstacks, 3);
	assert_int_equal(data->callstacks[0]->frame_ids[0], data->callstacks[1]->frame_ids[0]);
	assert_int_equal(data->callstacks[0]->frame_ids[1], 2);
	assert_int_equal(data->callstacks[1]->frame_ids[1], 4);
	assert_int_equal(data->callstacks[2]->frame_ids[0], 3);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

static void a_profile_without_times_becomes_samples_one_after_another(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	uint32_t thread = builder_add_thread(profile, 5, 6, "t");
	Perfetto__Trace *trace;

	builder_add_sample(profile, thread, "main;a", 7);
	builder_add_sample(profile, thread, "main;b", 9);
	trace = write_timeline(profile, timeline);
	assert_int_equal(count_packets(trace, SAMPLES), 2);
	assert_int_equal(find_packet(trace, SAMPLES, 0)->perf_sample->timebase_count, 7);
	assert_int_equal(find_packet(trace, SAMPLES, 1)->perf_sample->timebase_count, 9);
	assert_int_equal(find_packet(trace, SAMPLES, 1)->perf_sample->pid, 5);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

/* Each has a sequence of its own, beside those of events. */
static void every_metric_is_written(void **state _unused_)
{
	enum { NUM_METRICS = 256 };
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	uint32_t thread = builder_add_thread(profile, 5, 6, "t");
	uint32_t location = builder_add_location(profile, (char[]){"main"});
	bool has_weight[NUM_METRICS] = {false};
	uint32_t sequences[NUM_METRICS];
	Perfetto__Trace *trace;
	uint32_t stack;

	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &stack), 0);
	for (uint32_t i = 0; i < NUM_METRICS; i++) {
		char name[32];
		uint32_t metric;

		snprintf(name, sizeof(name), "metric %u", i);
		assert_int_equal(profile_add_metric(profile, name, "count", &metric), 0);
		assert_int_equal(profile_add_sample(profile, thread, stack, metric, i), 0);
	}
	trace = write_timeline(profile, timeline);
	assert_int_equal(count_packets(trace, SAMPLES), NUM_METRICS);
	for (uint32_t i = 0; i < NUM_METRICS; i++) {
		const Perfetto__TracePacket *packet = find_packet(trace, SAMPLES, i);

		assert_in_range(packet->perf_sample->timebase_count, 0, NUM_METRICS - 1);
		has_weight[packet->perf_sample->timebase_count] = true;
		sequences[i] = packet->trusted_packet_sequence_id;
		for (uint32_t other = 0; other < i; other++)
			assert_int_not_equal(sequences[i], sequences[other]);
	}
	for (uint32_t i = 0; i < NUM_METRICS; i++)
		assert_true(has_weight[i]);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

/* ---- scheduling --------------------------------------------------------------------------- */

static void scheduling_comes_in_bundles_of_one_cpu_after_the_kernels_release(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct timeline_system system = {.num_cpus = 2};
	const Perfetto__CompactSched *sched;
	Perfetto__Trace *trace;

	assert_int_equal(timeline_add_string(timeline, "6.1.0", &system.kernel_release), 0);
	timeline_set_system(timeline, &system);
	for (uint32_t i = 0; i < 3000; i++) {
		struct sched_switch event = {.time_ns = 1000 + 10 * i,
					     .next_tid = (int32_t)i,
					     .next_priority = 120,
					     .cpu = i % 2,
					     .previous_state = TASK_STATE_PREEMPTED};
		struct sched_waking wakeup = {
			.time_ns = 1001 + 10 * i, .tid = 5, .cpu = i % 2, .is_in_interrupt = true};

		assert_int_equal(timeline_add_switch(timeline, &event, NULL), 0);
		if (i % 10 == 0)
			assert_int_equal(timeline_add_wakeup(timeline, &wakeup, NULL), 0);
	}
	trace = write_timeline(profile, timeline);
	assert_int_equal(count_packets(trace, BUNDLES), 4);
	sched = find_packet(trace, BUNDLES, 0)->ftrace_events->compact_sched;
	assert_int_equal(sched->n_switch_timestamp, 1024);
	assert_int_equal(sched->n_switch_prev_state, 1024);
	assert_int_equal(sched->switch_timestamp[0], 1000);
	assert_int_equal(sched->switch_timestamp[1], 20);
	assert_int_equal(sched->switch_next_pid[1], 2);
	assert_int_equal(sched->switch_prev_state[1], 0x100);
	assert_int_equal(sched->n_intern_table, 1);
	assert_int_equal(sched->waking_common_flags[0], 0x08);
	assert_int_equal(sched->n_waking_pid, sched->n_waking_timestamp);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

static int rewind_source(void *context)
{
	*(int *)context = 0;
	return 0;
}

/* Thread 7 runs, wakes thread 8, and is gone. */
static int next_of_source(void *context, void *ret_item)
{
	int *at = context;
	struct schedule_event *ret = ret_item;

	*ret = (struct schedule_event){.is_wakeup = *at == 1};
	if (ret->is_wakeup)
		ret->wakeup = (struct sched_waking){.time_ns = 20, .tid = 8};
	else
		ret->on_cpu = (struct sched_switch){.time_ns = 10 + 20 * (uint64_t)*at,
						    .next_tid = *at ? 0 : 7};
	return (*at)++ < 3;
}

static void scheduling_is_taken_from_its_source(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	int at = 99;
	struct timeline_source source = {
		.rewind = rewind_source, .next = next_of_source, .context = &at};
	struct timeline_system system = {.num_cpus = 1};
	const Perfetto__CompactSched *sched;
	Perfetto__Trace *trace;

	assert_int_equal(timeline_add_string(timeline, "6.1.0", &system.kernel_release), 0);
	timeline_set_system(timeline, &system);
	timeline_set_schedule(timeline, &source);
	assert_false(timeline_is_empty(timeline));
	trace = write_timeline(profile, timeline);
	sched = find_packet(trace, BUNDLES, 0)->ftrace_events->compact_sched;
	assert_int_equal(sched->n_switch_next_pid, 2);
	assert_int_equal(sched->switch_next_pid[0], 7);
	assert_int_equal(sched->n_waking_pid, 1);
	assert_int_equal(sched->waking_pid[0], 8);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

static void clocks_are_reported_first(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct timeline *timeline = timeline_new();
	struct clock_snapshot snapshot = {
		.boottime_ns = 30, .monotonic_ns = 20, .realtime_ns = 1790000000000000000};
	const Perfetto__ClockSnapshot *clocks;
	Perfetto__Trace *trace;

	assert_int_equal(timeline_add_clock(timeline, &snapshot, NULL), 0);
	trace = write_timeline(profile, timeline);
	/* Behind the packet that announces the last one. */
	clocks = trace->packet[1]->clock_snapshot;
	assert_int_equal(trace->packet[1]->data_case, PERFETTO__TRACE_PACKET__DATA_CLOCK_SNAPSHOT);
	assert_int_equal(clocks->n_clocks, 3);
	assert_int_equal(clocks->primary_trace_clock, 6);
	assert_int_equal(clocks->clocks[0]->clock_id, 6);
	assert_int_equal(clocks->clocks[0]->timestamp, 30);
	perfetto__trace__free_unpacked(trace, NULL);
	timeline_free(timeline);
	profile_free(profile);
}

/* Sequences' own clocks start with the first comparison, which later ones do not go behind. */
static void clocks_are_compared_again_after_the_machine_slept(void **state _unused_)
{
	struct clock_snapshot before = {
		.boottime_ns = 1000, .monotonic_ns = 1000, .realtime_ns = 1790000000000000000};
	struct clock_snapshot after = {
		.boottime_ns = 9000, .monotonic_ns = 2000, .realtime_ns = 1790000000000008000};
	struct profile *profile = profile_new();
	struct tracked tracked;
	Perfetto__Trace *trace;

	builder_add_sample(profile, builder_add_thread(profile, 5, 6, "t"), "main", 1);
	tracked_init(&tracked);
	assert_int_equal(timeline_add_clock(tracked.timeline, &before, NULL), 0);
	assert_int_equal(timeline_add_clock(tracked.timeline, &after, NULL), 0);
	tracked_add_thread(&tracked, 6);
	add_sample(tracked.timeline, 1500, 0, STACK_EMPTY);
	add_sample(tracked.timeline, 9500, 0, STACK_EMPTY);
	trace = write_timeline(profile, tracked.timeline);
	assert_int_equal(find_packet(trace, CLOCKS, 0)->clock_snapshot->clocks[0]->timestamp, 1000);
	assert_int_equal(find_packet(trace, CLOCKS, 1)->clock_snapshot->clocks[1]->clock_id, 64);
	assert_int_equal(find_packet(trace, CLOCKS, 2)->clock_snapshot->clocks[1]->timestamp, 2000);
	assert_int_equal(find_packet(trace, SAMPLES, 0)->timestamp, 1500);
	assert_int_equal(find_packet(trace, SAMPLES, 1)->timestamp, 9500);
	perfetto__trace__free_unpacked(trace, NULL);
	tracked_release(&tracked);
	profile_free(profile);
}

/* ---- compression -------------------------------------------------------------------------- */

static void compressed_packets_hold_the_same_trace(void **state _unused_)
{
	struct zones_read_result result;
	struct text plain;
	struct text compressed;
	struct protobuf_field packet = {0};
	struct protobuf_field zlib = {0};
	struct bytes bytes;
	uint8_t decompressed[65536];
	uLongf size = sizeof(decompressed);

	builder_read_zones("LOCATION,1,A,a,a.c,1\nZONE_START,8000,1,1,1\nZONE_END,8000,2\n",
			   &result);
	plain = builder_write(&format_pftrace, &result, (struct format_opts){0});
	compressed = builder_write(&format_pftrace, &result,
				   (struct format_opts){.is_compressed = true});
	assert_true(compressed.length < plain.length);
	bytes = bytes_of(compressed.data, compressed.length);
	assert_true(protobuf_next(&bytes, &packet) && packet.number == 1);
	assert_true(protobuf_next(&packet.body, &zlib) && zlib.number == 50);
	assert_int_equal(uncompress(decompressed, &size, zlib.body.data, zlib.body.size), Z_OK);
	assert_int_equal(size, plain.length);
	assert_memory_equal(decompressed, plain.data, size);
	text_release(&plain);
	text_release(&compressed);
	builder_release(&result);
}

static int refuse(void *context _unused_, const void *data _unused_, size_t size _unused_)
{
	return -ENOSPC;
}

static void a_full_disk_is_reported(void **state _unused_)
{
	struct zones_read_result result;
	struct format_opts opts = {0};
	struct sink sink = {.write = refuse};

	builder_read_zones("THREAD, 1, a\n", &result);
	opts.timeline = result.timeline;
	assert_int_equal(format_pftrace.write(result.profile, &opts, &sink), -ENOSPC);
	builder_release(&result);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_timeline_is_a_good_trace),
		cmocka_unit_test(random_programs_make_good_traces),
		cmocka_unit_test(a_track_is_described_only_when_it_is_used),
		cmocka_unit_test(names_are_utf8_without_nul),
		cmocka_unit_test(ids_of_threads_fit_and_differ),
		cmocka_unit_test(a_thread_with_the_tid_of_another_comes_behind_its_end),
		cmocka_unit_test(what_becomes_of_a_thread_is_an_instant_of_its_own_track),
		cmocka_unit_test(processes_without_pid_get_different_ones),
		cmocka_unit_test(a_long_sequence_starts_anew),
		cmocka_unit_test(samples_have_their_weight_and_their_stack_outermost_first),
		cmocka_unit_test(times_are_steps_and_late_ones_are_reported_in_full),
		cmocka_unit_test(the_frame_of_most_stacks_has_a_short_number),
		cmocka_unit_test(stacks_that_start_alike_are_reported_one_after_another),
		cmocka_unit_test(a_profile_without_times_becomes_samples_one_after_another),
		cmocka_unit_test(every_metric_is_written),
		cmocka_unit_test(scheduling_comes_in_bundles_of_one_cpu_after_the_kernels_release),
		cmocka_unit_test(scheduling_is_taken_from_its_source),
		cmocka_unit_test(clocks_are_reported_first),
		cmocka_unit_test(clocks_are_compared_again_after_the_machine_slept),
		cmocka_unit_test(compressed_packets_hold_the_same_trace),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
