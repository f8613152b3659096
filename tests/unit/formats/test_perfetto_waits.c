/*
 * Waits in Perfetto traces: slices that show the stack where a thread waited, and that are the same when the
 * trace is read again.
 */
#include <perfetto.pb-c.h>

#include "formats/format.h"
#include "trace_checker.h"
#include "zones_builder.h"

#define EVENTS PERFETTO__TRACE_PACKET__DATA_TRACK_EVENT

enum { PERIOD_NS = 100 };

struct fixture {
	struct zones_read_result result;
	uint32_t metric;
};

static uint32_t add_string(struct timeline *timeline, const char *string)
{
	uint32_t id;

	assert_int_equal(timeline_add_string(timeline, string, &id), 0);
	return id;
}

/* Two threads of one process. */
static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct timeline_process process = {.pid = 7};
	struct timeline_thread thread = {.tid = 7};
	struct timeline *timeline = timeline_new();

	assert_true(fixture && timeline);
	fixture->result =
		(struct zones_read_result){.profile = profile_new(), .timeline = timeline};
	assert_int_equal(profile_add_metric(fixture->result.profile, "blocked", "nanoseconds",
					    &fixture->metric),
			 0);
	process.name = thread.name = add_string(timeline, "server");
	assert_int_equal(timeline_add_process(timeline, &process, NULL), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	thread.tid = 8;
	thread.name = add_string(timeline, "worker");
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	builder_release(&fixture->result);
	free(fixture);
	return 0;
}

static uint32_t add_wait(struct fixture *fixture, const char *folded, struct timeline_wait wait)
{
	uint32_t id;

	wait.stack = builder_add_stack(fixture->result.profile, folded);
	assert_int_equal(timeline_add_wait(fixture->result.timeline, &wait, &id), 0);
	return id;
}

static void append_stack(struct text *text, const struct profile *profile, uint32_t stack)
{
	for (; stack != STACK_EMPTY; stack = profile_get_stack_parent(profile, stack)) {
		const struct location *location =
			profile_get_location(profile, profile_get_stack_location(profile, stack));

		for (uint32_t i = 0; i < location->num_frames; i++)
			text_printf(text, " %s",
				    profile_get_string(
					    profile,
					    profile_get_frame(profile, location->first_frame + i)
						    ->name));
	}
}

static struct text describe(const struct zones_read_result *result)
{
	const struct timeline *timeline = result->timeline;
	struct text text = {0};

	text_append_string(&text, "");
	for (uint32_t i = 0; i < timeline_count_wait(timeline); i++) {
		const struct timeline_wait *wait = timeline_get_wait(timeline, i);

		text_printf(&text, "%llu: %u, %llu to %llu to %llu, weighs %llu and %llu:",
			    (unsigned long long)timeline_get_thread(timeline, wait->thread)->tid,
			    wait->state, (unsigned long long)wait->start_ns,
			    (unsigned long long)wait->queued_ns, (unsigned long long)wait->end_ns,
			    (unsigned long long)wait->weight,
			    (unsigned long long)wait->queue_weight);
		append_stack(&text, result->profile, wait->stack);
		if (wait->waker_name != STRING_EMPTY) {
			text_printf(&text, ", woken by %s",
				    timeline_get_string(timeline, wait->waker_name));
			if (wait->waker != TIMELINE_NONE)
				text_printf(&text, " %llu",
					    (unsigned long long)timeline_get_thread(timeline,
										    wait->waker)
						    ->tid);
			append_stack(&text, result->profile, wait->waker_stack);
		}
		text_append_char(&text, '\n');
	}
	return text;
}

static Perfetto__Trace *write_trace(const struct fixture *fixture)
{
	struct text written =
		builder_write(&format_pftrace, &fixture->result, (struct format_opts){0});
	Perfetto__Trace *trace = check_trace(&written);

	text_release(&written);
	return trace;
}

/* The events of the trace, in order: how many there are. */
static size_t find_events(const Perfetto__Trace *trace, const Perfetto__TracePacket **ret,
			  size_t room)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->n_packet; i++)
		if (trace->packet[i]->data_case == EVENTS && count++ < room)
			ret[count - 1] = trace->packet[i];
	return count;
}

/* The text of a number, as the sequences of these traces intern it; they are never cleared. */
static const char *find_value(const Perfetto__Trace *trace, uint64_t iid)
{
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__InternedData *data = trace->packet[i]->interned_data;

		for (size_t k = 0; data && k < data->n_debug_annotation_string_values; k++)
			if (data->debug_annotation_string_values[k]->iid == iid)
				return (const char *)data->debug_annotation_string_values[k]
					->str.data;
	}
	return "";
}

/* The name of an event, likewise. */
static const char *find_event_name(const Perfetto__Trace *trace, uint64_t iid)
{
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__InternedData *data = trace->packet[i]->interned_data;

		for (size_t k = 0; data && k < data->n_event_names; k++)
			if (data->event_names[k]->iid == iid)
				return data->event_names[k]->name;
	}
	return "";
}

static void a_wait_is_a_slice_with_the_stack_and_another_in_the_run_queue(void **state)
{
	struct fixture *fixture = *state;
	const Perfetto__TracePacket *events[4];
	Perfetto__Trace *trace;

	add_wait(fixture, "main;read;pipe_read_[k];schedule_timeout_[k];schedule_[k]",
		 (struct timeline_wait){.start_ns = 1000,
					.queued_ns = 3000,
					.end_ns = 3500,
					.weight = 20 * PERIOD_NS,
					.queue_weight = 5 * PERIOD_NS,
					.thread = 1});
	trace = write_trace(fixture);
	assert_int_equal(find_events(trace, events, 4), 4);
	for (size_t i = 0; i < 4; i++) {
		static const uint64_t times[] = {1000, 3000, 3000, 3500};

		assert_int_equal(events[i]->timestamp, times[i]);
		assert_int_equal(events[i]->track_event->type, i % 2 ? 2 : 1);
		assert_int_equal(events[i]->track_event->has_callstack_iid, i % 2 == 0);
		assert_int_equal(events[i]->track_event->track_uuid,
				 events[0]->track_event->track_uuid);
	}
	assert_string_equal(find_event_name(trace, events[0]->track_event->name_iid), "blocked");
	assert_string_equal(find_event_name(trace, events[2]->track_event->name_iid), "run queue");
	/* The kernel's function that it waits in, and the weight. */
	assert_int_equal(events[0]->track_event->n_debug_annotations, 2);
	assert_int_equal(events[0]->track_event->debug_annotations[1]->uint_value, 20 * PERIOD_NS);
	assert_memory_equal(
		find_value(trace, events[0]->track_event->debug_annotations[0]->string_value_iid),
		"pipe_read", 9);
	assert_int_equal(events[2]->track_event->debug_annotations[0]->uint_value, 5 * PERIOD_NS);
	perfetto__trace__free_unpacked(trace, NULL);
}

static void a_stack_with_nothing_but_the_scheduler_of_the_kernel_gives_no_reason(void **state)
{
	struct fixture *fixture = *state;
	const Perfetto__TracePacket *events[2];
	Perfetto__Trace *trace;

	add_wait(fixture, "main;read;schedule_[k]",
		 (struct timeline_wait){.start_ns = 1000, .queued_ns = 3000, .end_ns = 3000});
	trace = write_trace(fixture);
	assert_int_equal(find_events(trace, events, 2), 2);
	assert_int_equal(events[0]->track_event->n_debug_annotations, 1);
	perfetto__trace__free_unpacked(trace, NULL);
}

/* Who woke it is at its end, with its own stack, and leads to the run queue. */
static void a_flow_leads_from_the_waker_to_the_run_queue(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_wait wait = {.start_ns = 1000,
				     .queued_ns = 3000,
				     .end_ns = 3500,
				     .thread = 1,
				     .waker = 0,
				     .waker_name = add_string(fixture->result.timeline, "server")};
	const Perfetto__TracePacket *events[5];
	const Perfetto__TrackEvent *wakeup;
	Perfetto__Trace *trace;

	wait.waker_stack = builder_add_stack(fixture->result.profile, "main;write;pipe_write_[k]");
	add_wait(fixture, "main;read;pipe_read_[k]", wait);
	trace = write_trace(fixture);
	assert_int_equal(find_events(trace, events, 5), 5);
	wakeup = events[2]->track_event;
	assert_int_equal(wakeup->type, 3);
	assert_int_equal(events[2]->timestamp, 3000);
	assert_string_equal(find_event_name(trace, wakeup->name_iid), "wakes worker [8]");
	assert_true(wakeup->has_callstack_iid);
	assert_int_not_equal(wakeup->callstack_iid, events[0]->track_event->callstack_iid);
	assert_int_not_equal(wakeup->track_uuid, events[0]->track_event->track_uuid);
	assert_int_equal(wakeup->n_flow_ids, 1);
	assert_int_equal(events[3]->track_event->n_terminating_flow_ids, 1);
	assert_true(wakeup->flow_ids[0] == events[3]->track_event->terminating_flow_ids[0]);
	assert_int_equal(events[3]->timestamp, 3000);
	perfetto__trace__free_unpacked(trace, NULL);
}

/* A wait whose sample is there, too, as in a recording. */
static void add_sampled_wait(struct fixture *fixture, const char *folded, struct timeline_wait wait)
{
	uint32_t thread = builder_add_thread(fixture->result.profile, 7, wait.thread + 7, "x");
	struct timeline_sample sample = {.time_ns = wait.end_ns,
					 .weight = wait.weight,
					 .thread = wait.thread,
					 .metric = (uint8_t)fixture->metric};

	add_wait(fixture, folded, wait);
	sample.stack = builder_add_stack(fixture->result.profile, folded);
	assert_int_equal(profile_add_sample(fixture->result.profile, thread, sample.stack,
					    fixture->metric, wait.weight),
			 0);
	assert_int_equal(timeline_add_sample(fixture->result.timeline, &sample, NULL), 0);
}

static void waits_come_back_as_they_were_and_are_no_samples(void **state)
{
	struct fixture *fixture = *state;
	uint32_t server = add_string(fixture->result.timeline, "server");
	uint32_t interrupt = add_string(fixture->result.timeline, "[interrupt]");
	uint32_t waker_stack = builder_add_stack(fixture->result.profile, "main;write");
	struct zones_read_result second;
	struct text expected;
	struct text actual;
	struct text trace;

	add_sampled_wait(fixture, "main;read;pipe_read_[k]",
			 (struct timeline_wait){.start_ns = 1000,
						.queued_ns = 3000,
						.end_ns = 3500,
						.weight = 2000,
						.queue_weight = 500,
						.thread = 1,
						.waker = 0,
						.waker_name = server,
						.waker_stack = waker_stack});
	add_sampled_wait(fixture, "main;burn",
			 (struct timeline_wait){.start_ns = 2000,
						.queued_ns = 3600,
						.end_ns = 3600,
						.weight = 1600,
						.state = OFF_CPU_PREEMPTED});
	/* It starts in the run queue when the preempted wait ends: a wait of its own. */
	add_sampled_wait(
		fixture, "main;burn",
		(struct timeline_wait){
			.start_ns = 3600, .queued_ns = 3600, .end_ns = 3700, .queue_weight = 100});
	/* Woken before it had left its CPU: all of it is in the run queue. */
	add_sampled_wait(fixture, "main;read;pipe_read_[k]",
			 (struct timeline_wait){.start_ns = 4000,
						.queued_ns = 4000,
						.end_ns = 4100,
						.queue_weight = 100,
						.thread = 1});
	/* An interrupt woke it, and it ran at once. */
	add_sampled_wait(fixture, "main;nanosleep",
			 (struct timeline_wait){.start_ns = 4200,
						.queued_ns = 4300,
						.end_ns = 4300,
						.weight = 100,
						.waker = TIMELINE_NONE,
						.waker_name = interrupt,
						.waker_stack = waker_stack});
	/* It goes on at the end. */
	add_sampled_wait(fixture, "main;read;folio_wait_[k]",
			 (struct timeline_wait){.start_ns = 5000,
						.queued_ns = 9000,
						.end_ns = 9000,
						.weight = 4000,
						.thread = 1,
						.state = OFF_CPU_UNINTERRUPTIBLE});
	trace = builder_write(&format_pftrace, &fixture->result, (struct format_opts){0});
	expected = describe(&fixture->result);
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	actual = describe(&second);
	assert_string_equal(actual.data, expected.data);
	assert_string_equal(second.warnings.data, "");
	/* Two waits are of one thread and stack. Each has a sum of all time, too. */
	assert_int_equal(profile_count_samples(second.profile), 8);
	assert_int_equal(timeline_count_sample(second.timeline), 6);
	assert_int_equal(timeline_count_zone(second.timeline), 0);
	text_release(&actual);
	text_release(&expected);
	text_release(&trace);
	builder_release(&second);
}

/* The only timestamp of a metric. */
static void assert_spread(const struct profile *profile, const char *metric, uint64_t start_ms,
			  uint64_t end_ms)
{
	const struct timestamps *timestamps = profile_get_timestamps(profile);
	uint32_t id = profile_find_metric(profile, metric);
	size_t count = 0;

	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);

		if (profile_get_sample(profile, timestamp->sample)->metric != id)
			continue;
		assert_int_equal(timestamp->time_ns, start_ms * 1000000);
		assert_int_equal(timestamps_get_end_ns(timestamps, timestamp), end_ms * 1000000);
		count++;
	}
	assert_int_equal(count, 1);
}

static void assert_wait_is_spread(const struct profile *profile)
{
	assert_spread(profile, "blocked", 1000, 3000);
	assert_spread(profile, "run-queue", 3000, 3500);
	assert_spread(profile, METRIC_OFFWAKE, 1000, 3000);
}

/* A wait counts while it lasts: as it was recorded, whether or not the reader wants the slices. */
static void weights_of_waits_are_spread_over_their_slices(void **state)
{
	struct fixture *fixture = *state;
	struct profile *profile = profile_new();
	struct import import = {.name = "x", .profile = profile};
	struct zones_read_result second;
	struct text trace;
	struct timeline_wait wait = {.start_ns = 1000000000,
				     .queued_ns = 3000000000,
				     .end_ns = 3500000000,
				     .weight = 2000000000,
				     .queue_weight = 500000000,
				     .thread = 1};
	const char *const more[] = {"run-queue", METRIC_OFFWAKE};

	add_sampled_wait(fixture, "main;read", wait);
	for (size_t i = 0; i < 2; i++) {
		struct timeline_sample sample = {
			.time_ns = wait.end_ns, .weight = 500000000, .thread = wait.thread};
		uint32_t metric;

		assert_int_equal(profile_add_metric(fixture->result.profile, more[i], "nanoseconds",
						    &metric),
				 0);
		sample.metric = (uint8_t)metric;
		sample.stack = builder_add_stack(fixture->result.profile, "main;read");
		assert_int_equal(timeline_add_sample(fixture->result.timeline, &sample, NULL), 0);
	}
	trace = builder_write(&format_pftrace, &fixture->result, (struct format_opts){0});
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	assert_wait_is_spread(second.profile);
	builder_release(&second);

	assert_int_equal(profile_keep_timestamps(profile), 0);
	import.data = (const uint8_t *)trace.data;
	import.size = trace.length;
	assert_int_equal(format_pftrace.read(&import), 0);
	assert_wait_is_spread(profile);
	profile_free(profile);
	text_release(&trace);
}

/* As those of samples do, so that the trace can be written again as it was. */
static void stacks_of_waits_come_back_with_their_addresses(void **state)
{
	struct fixture *fixture = *state;
	struct profile *profile = fixture->result.profile;
	struct timeline_wait wait = {.start_ns = 1000, .queued_ns = 3000, .end_ns = 3000};
	struct frame frame = {.kind = FRAME_KERNEL};
	const struct location *found;
	struct zones_read_result second;
	struct text trace;
	uint32_t location;

	assert_int_equal(profile_add_string(profile, "pipe_read", &frame.name), 0);
	assert_int_equal(profile_add_string(profile, "[kernel]", &frame.module), 0);
	frame.full_name = frame.name;
	assert_int_equal(
		profile_add_location(profile, LOCATION_KERNEL, 0, 0xffffffff81234567, &location),
		0);
	assert_int_equal(profile_set_frames(profile, location, &frame, 1, UNNAMED_NOT), 0);
	assert_int_equal(profile_add_stack(profile, STACK_EMPTY, location, &wait.stack), 0);
	assert_int_equal(timeline_add_wait(fixture->result.timeline, &wait, NULL), 0);
	trace = builder_write(&format_pftrace, &fixture->result, (struct format_opts){0});
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	assert_int_equal(timeline_count_wait(second.timeline), 1);
	found = profile_get_location(
		second.profile,
		profile_get_stack_location(second.profile,
					   timeline_get_wait(second.timeline, 0)->stack));
	assert_int_equal(found->space, LOCATION_KERNEL);
	assert_true(found->address == 0xffffffff81234567);
	text_release(&trace);
	builder_release(&second);
}

/* Of more than a state holds: stacks are emitted again. */
static void many_waits_refer_only_to_stacks_that_are_emitted(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_wait wait = {.weight = 1, .state = OFF_CPU_PREEMPTED};
	Perfetto__Trace *trace;
	size_t num_cleared = 0;

	wait.stack = builder_add_stack(fixture->result.profile, "main;burn");
	for (uint64_t i = 0; i < 600000; i++) {
		wait.start_ns = 2000000000000 + 2 * i;
		wait.queued_ns = wait.end_ns = wait.start_ns + 1;
		assert_int_equal(timeline_add_wait(fixture->result.timeline, &wait, NULL), 0);
	}
	trace = write_trace(fixture);
	for (size_t i = 0; i < trace->n_packet; i++)
		num_cleared += trace->packet[i]->trusted_packet_sequence_id == 22 &&
			       trace->packet[i]->sequence_flags & STATE_CLEARED;
	assert_true(num_cleared >= 2);
	perfetto__trace__free_unpacked(trace, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_wait_is_a_slice_with_the_stack_and_another_in_the_run_queue, set_up,
			tear_down),
		cmocka_unit_test_setup_teardown(
			a_stack_with_nothing_but_the_scheduler_of_the_kernel_gives_no_reason,
			set_up, tear_down),
		cmocka_unit_test_setup_teardown(a_flow_leads_from_the_waker_to_the_run_queue,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(waits_come_back_as_they_were_and_are_no_samples,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(weights_of_waits_are_spread_over_their_slices,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(stacks_of_waits_come_back_with_their_addresses,
						set_up, tear_down),
		cmocka_unit_test_setup_teardown(many_waits_refer_only_to_stacks_that_are_emitted,
						set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
