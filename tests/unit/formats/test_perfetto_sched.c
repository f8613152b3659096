/*
 * Perfetto traces: scheduling and the system are read as they were written, by us and by others.
 */
#include <perfetto.pb-c.h>

#include "unit.h"

#include "formats/perfetto.h"
#include "import_fixture.h"
#include "trace_builder.h"
#include "zones_builder.h"

enum { KERNEL = 1 };

static uint32_t add_string(struct timeline *timeline, const char *string)
{
	uint32_t id;

	assert_int_equal(timeline_add_string(timeline, string, &id), 0);
	return id;
}

/* Two threads of one process take turns on two CPUs; the second one has no sample and no zone. */
static struct timeline *make_timeline(void)
{
	struct timeline *timeline = timeline_new();
	struct timeline_system system = {.num_cpus = 2};
	struct timeline_process process = {.pid = 7, .start_ns = 5};
	struct timeline_thread thread = {.tid = 7};
	struct sched_switch on_cpu = {.time_ns = 100, .next_tid = 7, .next_priority = 120};
	struct sched_waking wakeup = {.time_ns = 150, .tid = 8, .priority = 139, .target_cpu = 1};

	assert_non_null(timeline);
	system.kernel_release = add_string(timeline, "6.1.0");
	system.kernel_version = add_string(timeline, "#1 SMP");
	system.machine = add_string(timeline, "x86_64");
	timeline_set_system(timeline, &system);
	process.name = add_string(timeline, "server");
	assert_int_equal(timeline_add_process(timeline, &process, NULL), 0);
	thread.name = process.name;
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	thread.tid = 8;
	thread.name = on_cpu.next_name = wakeup.name = add_string(timeline, "worker");
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	assert_int_equal(timeline_add_switch(timeline, &on_cpu, NULL), 0);
	on_cpu = (struct sched_switch){.time_ns = 200,
				       .previous_tid = 7,
				       .next_tid = 0,
				       .next_priority = 120,
				       .next_name = add_string(timeline, "swapper/1"),
				       .cpu = 1,
				       .previous_state = TASK_STATE_PREEMPTED};
	assert_int_equal(timeline_add_switch(timeline, &on_cpu, NULL), 0);
	on_cpu.time_ns = 300;
	on_cpu.cpu = 0;
	on_cpu.next_tid = 8;
	assert_int_equal(timeline_add_switch(timeline, &on_cpu, NULL), 0);
	assert_int_equal(timeline_add_wakeup(timeline, &wakeup, NULL), 0);
	wakeup.time_ns = 250;
	wakeup.is_in_interrupt = true;
	wakeup.cpu = 1;
	assert_int_equal(timeline_add_wakeup(timeline, &wakeup, NULL), 0);
	return timeline;
}

static void append_string(struct text *text, const struct timeline *timeline, uint32_t string)
{
	text_printf(text, " '%s'", timeline_get_string(timeline, string));
}

static struct text describe(const struct timeline *timeline)
{
	const struct timeline_system *system = timeline_get_system(timeline);
	struct text text = {0};

	text_printf(&text, "%u CPUs", system->num_cpus);
	append_string(&text, timeline, system->kernel_release);
	append_string(&text, timeline, system->kernel_version);
	append_string(&text, timeline, system->machine);
	for (uint32_t i = 0; i < timeline_count_thread(timeline); i++) {
		const struct timeline_thread *thread = timeline_get_thread(timeline, i);

		text_printf(&text, "\n%llu of %u", (unsigned long long)thread->tid,
			    timeline_get_process(timeline, thread->process)->pid);
		append_string(&text, timeline, thread->name);
	}
	for (uint32_t i = 0; i < timeline_count_switch(timeline); i++) {
		const struct sched_switch *event = timeline_get_switch(timeline, i);

		text_printf(&text, "\n%llu on %u: %x, then %d at %d",
			    (unsigned long long)event->time_ns, event->cpu, event->previous_state,
			    event->next_tid, event->next_priority);
		append_string(&text, timeline, event->next_name);
	}
	for (uint32_t i = 0; i < timeline_count_wakeup(timeline); i++) {
		const struct sched_waking *event = timeline_get_wakeup(timeline, i);

		text_printf(&text, "\n%llu on %u: %d wakes on %u at %d, %d",
			    (unsigned long long)event->time_ns, event->cpu, event->tid,
			    event->target_cpu, event->priority, event->is_in_interrupt);
		append_string(&text, timeline, event->name);
	}
	return text;
}

static void scheduling_comes_back_as_it_was(void **state _unused_)
{
	struct zones_read_result first = {.profile = profile_new(), .timeline = make_timeline()};
	struct text trace = builder_write(&format_pftrace, &first, (struct format_opts){0});
	struct zones_read_result second;
	struct text expected = describe(first.timeline);
	struct text actual;

	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	actual = describe(second.timeline);
	assert_string_equal(actual.data, expected.data);
	assert_string_equal(second.warnings.data, "");
	text_release(&expected);
	text_release(&actual);
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

/* Two CPUs, an interrupt within a softirq, and two workers that take turns on one CPU. */
static void the_kernels_own_work_comes_back(void **state _unused_)
{
	static const struct timeline_kwork kworks[] = {
		{100, 190, 0, 1, 0, KWORK_SOFTIRQ},    {110, 120, 0, 24, 0, KWORK_IRQ},
		{130, 300, 1, 50, 0, KWORK_WORKQUEUE}, {140, 250, 1, 51, 0, KWORK_WORKQUEUE},
		{260, 260, 1, 24, 0, KWORK_IRQ},
	};
	struct zones_read_result first = {.profile = profile_new(), .timeline = make_timeline()};
	struct zones_read_result second;
	struct text trace;
	uint32_t count = ARRAY_LENGTH(kworks);

	for (uint32_t i = 0; i < count; i++) {
		struct timeline_kwork kwork = kworks[i];

		if (kwork.kind != KWORK_SOFTIRQ)
			kwork.name = add_string(first.timeline,
						kwork.kind == KWORK_IRQ ? "virtio0" : "flush");
		assert_int_equal(timeline_add_kwork(first.timeline, &kwork, NULL), 0);
	}
	trace = builder_write(&format_pftrace, &first, (struct format_opts){0});
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	assert_string_equal(second.warnings.data, "");
	assert_int_equal(timeline_count_kwork(second.timeline), count);
	for (uint32_t i = 0; i < count; i++) {
		const struct timeline_kwork *kwork = timeline_get_kwork(second.timeline, i);
		static const char *const names[] = {"virtio0", "", "flush"};

		assert_int_equal(kwork->start_ns, kworks[i].start_ns);
		assert_int_equal(kwork->end_ns, kworks[i].end_ns);
		assert_int_equal(kwork->cpu, kworks[i].cpu);
		assert_int_equal(kwork->number, kworks[i].number);
		assert_int_equal(kwork->kind, kworks[i].kind);
		assert_string_equal(timeline_get_string(second.timeline, kwork->name),
				    names[kwork->kind]);
	}
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

/*
 * Process 1 began before the trace, as did 7, a child of it, which calls exec at 120; its child 9
 * lives from 130 to 400, when a switch shows it last.
 */
static struct timeline *make_family(void)
{
	static const struct {
		uint32_t pid;
		uint32_t parent_pid;
		uint32_t uid;
		uint64_t start_ns;
		uint64_t end_ns;
		const char *name;
		const char *command_line;
	} family[] = {
		{9, 7, 1000, 130, 401, "Web Content", "/usr/lib/web -child one"},
		{7, 1, 1000, 10, 119, "sh", "sh -c 'exec web'"},
		{7, 1, 1000, 120, 0, "web", "web"},
		{1, 0, 0, 5, 0, "init", "/sbin/init splash"},
	};
	struct timeline *timeline = timeline_new();
	struct clock_snapshot clock = {100, 100, 1000};
	struct timeline_system system = {.num_cpus = 1};
	struct timeline_sample sample = {.weight = 1};

	assert_non_null(timeline);
	system.kernel_release = add_string(timeline, "6.1.0");
	timeline_set_system(timeline, &system);
	assert_int_equal(timeline_add_clock(timeline, &clock, NULL), 0);
	for (size_t i = 0; i < ARRAY_LENGTH(family); i++) {
		struct timeline_process process = {
			.pid = family[i].pid,
			.parent_pid = family[i].parent_pid,
			.has_uid = true,
			.uid = family[i].uid,
			.start_ns = family[i].start_ns,
			.end_ns = family[i].end_ns,
		};
		struct timeline_thread thread = {.tid = family[i].pid};

		process.name = thread.name = add_string(timeline, family[i].name);
		process.command_line = add_string(timeline, family[i].command_line);
		assert_int_equal(timeline_add_process(timeline, &process, &thread.process), 0);
		if (family[i].pid != 1)
			assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	}
	sample.time_ns = 110;
	sample.thread = 1;
	assert_int_equal(timeline_add_sample(timeline, &sample, NULL), 0);
	sample.time_ns = 140;
	sample.thread = 0;
	assert_int_equal(timeline_add_sample(timeline, &sample, NULL), 0);
	sample.time_ns = 150;
	sample.thread = 2;
	assert_int_equal(timeline_add_sample(timeline, &sample, NULL), 0);
	return timeline;
}

/* Of one family, in the order of pid and start. */
static struct text describe_family(const struct timeline *timeline)
{
	struct text text = {0};

	for (uint64_t key = 0; key < 200; key++)
		for (uint32_t i = 0; i < timeline_count_process(timeline); i++) {
			const struct timeline_process *process = timeline_get_process(timeline, i);

			if (process->start_ns != key)
				continue;
			text_printf(&text, "%u of %u, user %u, %llu to %llu:", process->pid,
				    process->parent_pid, process->has_uid ? process->uid : 99,
				    (unsigned long long)process->start_ns,
				    (unsigned long long)process->end_ns);
			append_string(&text, timeline, process->name);
			append_string(&text, timeline, process->command_line);
			text_append_char(&text, '\n');
		}
	return text;
}

static struct profile *make_profile_with_metric(void)
{
	struct profile *profile = profile_new();
	uint32_t ignored;

	assert_non_null(profile);
	assert_int_equal(profile_add_metric(profile, "samples", "count", &ignored), 0);
	return profile;
}

static void a_command_line_says_what_an_interpreter_runs(void **state _unused_)
{
	struct zones_read_result first = {.profile = make_profile_with_metric(),
					  .timeline = make_family()};
	struct zones_read_result second;
	struct text trace = builder_write(&format_pftrace, &first, (struct format_opts){0});

	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	assert_written(&format_folded, second.profile,
		       (struct call_tree_opts){.root = TREE_ROOT_SCRIPT},
		       "Web Content 1\nsh (-c) 1\nweb 1\n");
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

static void what_became_of_threads_comes_back(void **state _unused_)
{
	static const struct task_event events[] = {
		{.time_ns = 120, .thread = 2, .kind = TASK_EXEC},
		{.time_ns = 130, .thread = 2, .kind = TASK_FORK, .child_pid = 9},
		{.time_ns = 135, .thread = 0, .kind = TASK_RENAME},
		{.time_ns = 400, .thread = 0, .kind = TASK_EXIT},
	};
	struct zones_read_result first = {.profile = make_profile_with_metric(),
					  .timeline = make_family()};
	struct zones_read_result second;
	struct text trace;

	for (size_t i = 0; i < ARRAY_LENGTH(events); i++) {
		struct task_event event = events[i];

		if (event.kind == TASK_EXEC || event.kind == TASK_RENAME)
			event.name = add_string(first.timeline, "web");
		assert_int_equal(timeline_add_task_event(first.timeline, &event, NULL), 0);
	}
	trace = builder_write(&format_pftrace, &first, (struct format_opts){0});
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	assert_string_equal(second.warnings.data, "");
	assert_int_equal(timeline_count_task_event(second.timeline), ARRAY_LENGTH(events));
	for (uint32_t i = 0; i < ARRAY_LENGTH(events); i++) {
		const struct task_event *event = timeline_get_task_event(second.timeline, i);
		const struct timeline_thread *thread =
			timeline_get_thread(second.timeline, event->thread);

		assert_int_equal(event->time_ns, events[i].time_ns);
		assert_int_equal(event->kind, events[i].kind);
		assert_int_equal(event->child_pid, events[i].child_pid);
		assert_string_equal(timeline_get_string(second.timeline, event->name),
				    event->kind == TASK_EXEC || event->kind == TASK_RENAME ? "web"
											   : "");
		assert_int_equal(thread->tid, events[i].thread ? 7 : 9);
		assert_int_equal(timeline_get_process(second.timeline, thread->process)->start_ns,
				 events[i].thread ? 120 : 130);
	}
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

/* Each sample of the profile has the name that its thread had at that time. */
static struct text describe_samples(const struct profile *profile)
{
	struct text text = {0};

	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		const struct thread *thread = profile_get_thread(profile, sample->thread);

		text_printf(&text, "%u %s %llu\n", thread->tid,
			    profile_get_string(profile, thread->comm),
			    (unsigned long long)sample->value);
	}
	return text;
}

static void samples_have_the_names_of_their_time(void **state _unused_)
{
	static const struct {
		uint64_t time_ns;
		uint32_t thread;
		const char *name;
	} names[] = {{1000, 0, "first"},       {1100, 2, "other"},     {1200, 0, "second \xff"},
		     {1300, 0, "second \xff"}, {1400, 2, "other two"}, {1500, 0, "first"}};
	struct zones_read_result results[3] = {
		{.profile = make_profile_with_metric(), .timeline = make_family()}};
	struct timeline *timeline = results[0].timeline;

	for (size_t i = 0; i < ARRAY_LENGTH(names); i++) {
		struct timeline_sample sample = {
			.time_ns = names[i].time_ns, .weight = 1, .thread = names[i].thread};

		assert_int_equal(timeline_rename_thread(timeline, names[i].thread, names[i].name,
							names[i].time_ns),
				 0);
		assert_int_equal(timeline_add_sample(timeline, &sample, NULL), 0);
	}
	assert_int_equal(timeline_count_thread_name(timeline), 5);
	/* A trace that is written again is the same. */
	for (size_t i = 1; i < ARRAY_LENGTH(results); i++) {
		struct text trace =
			builder_write(&format_pftrace, &results[i - 1], (struct format_opts){0});
		struct text samples;

		assert_int_equal(
			builder_read(&format_pftrace, trace.data, trace.length, false, &results[i]),
			0);
		samples = describe_samples(results[i].profile);
		assert_string_equal(samples.data, "7 sh 1\n"
						  "9 Web Content 1\n"
						  "7 web 1\n"
						  "9 first 2\n"
						  "7 other 1\n"
						  "9 second \xef\xbf\xbd 2\n"
						  "7 other two 1\n");
		assert_int_equal(timeline_count_thread_name(results[i].timeline), 5);
		text_release(&samples);
		text_release(&trace);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(results); i++)
		builder_release(&results[i]);
}

static void processes_come_back_with_parent_user_command_and_end(void **state _unused_)
{
	struct zones_read_result first = {.profile = make_profile_with_metric(),
					  .timeline = make_family()};
	struct text trace = builder_write(&format_pftrace, &first, (struct format_opts){0});
	struct text expected = describe_family(first.timeline);
	struct zones_read_result second;
	struct text actual;

	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	actual = describe_family(second.timeline);
	assert_string_equal(actual.data, expected.data);
	assert_string_equal(second.warnings.data, "");
	text_release(&expected);
	text_release(&actual);
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

/*
 * To readers a pid means what was said of it last. So what began while the trace was made comes at its
 * time, and ends are emitted. The exec is one, too.
 */
static void readers_get_processes_in_their_time(void **state _unused_)
{
	struct zones_read_result first = {.profile = make_profile_with_metric(),
					  .timeline = make_family()};
	struct text written = builder_write(&format_pftrace, &first, (struct format_opts){0});
	Perfetto__Trace *trace =
		perfetto__trace__unpack(NULL, written.length, (const uint8_t *)written.data);
	struct text seen = {0};

	assert_non_null(trace);
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TracePacket *packet = trace->packet[i];

		if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_PROCESS_TREE) {
			const Perfetto__ProcessTree__Process *process =
				packet->process_tree->processes[0];

			text_printf(&seen, "%llu: %d of %d, user %d: %s\n",
				    (unsigned long long)packet->timestamp, process->pid,
				    process->ppid, process->uid, process->cmdline[0]);
		}
		if (packet->data_case ==
		    PERFETTO__TRACE_PACKET__DATA_GENERIC_KERNEL_TASK_RENAME_EVENT)
			text_printf(&seen, "%llu: %d is %s\n",
				    (unsigned long long)packet->timestamp,
				    (int)packet->generic_kernel_task_rename_event->tid,
				    packet->generic_kernel_task_rename_event->comm);
		if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_FTRACE_EVENTS)
			text_printf(&seen, "%llu: %d ends\n",
				    (unsigned long long)packet->ftrace_events->event[0]->timestamp,
				    packet->ftrace_events->event[0]->sched_process_free->pid);
	}
	assert_string_equal(seen.data, "0: 7 of 1, user 1000: sh -c 'exec web'\n"
				       "119: 7 ends\n"
				       "0: 1 of 0, user 0: /sbin/init splash\n"
				       "0: 1 is init\n"
				       "130: 9 of 7, user 1000: /usr/lib/web -child one\n"
				       "130: 9 is Web Content\n"
				       "401: 9 ends\n"
				       "120: 7 of 1, user 1000: web\n");
	perfetto__trace__free_unpacked(trace, NULL);
	text_release(&seen);
	text_release(&written);
	builder_release(&first);
}

/* make's child `index`, with so many samples, a region, and a thread on it. */
static void add_child(struct timeline *timeline, uint32_t index, uint64_t end_ns,
		      uint32_t num_samples)
{
	struct timeline_process process = {.pid = 60 + index,
					   .parent_pid = 50,
					   .name = add_string(timeline, "cc"),
					   .start_ns = 110 + index,
					   .end_ns = end_ns};
	struct timeline_thread thread = {.tid = 60 + index, .name = process.name};
	struct stack_region region = {.start = 4096, .end = 8192};
	struct occupancy occupancy = {.start_ns = 120 + index, .end_ns = 121 + index};
	struct task_event event = {.time_ns = 110 + index, .kind = TASK_EXEC, .name = process.name};
	struct timeline_sample sample = {.time_ns = 120 + index, .weight = 1};

	assert_int_equal(timeline_add_process(timeline, &process, &thread.process), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, &sample.thread), 0);
	region.process = thread.process;
	region.name = add_string(timeline, "[stack]");
	assert_int_equal(timeline_add_region(timeline, &region, &occupancy.region), 0);
	occupancy.thread = event.thread = sample.thread;
	assert_int_equal(timeline_add_occupancy(timeline, &occupancy, NULL), 0);
	assert_int_equal(timeline_add_task_event(timeline, &event, NULL), 0);
	for (uint32_t i = 0; i < num_samples; i++, sample.time_ns++)
		assert_int_equal(timeline_add_sample(timeline, &sample, NULL), 0);
}

/* Three short children, one that is there at the end, and one that has three samples. */
static struct timeline *make_build(void)
{
	struct timeline *timeline = timeline_new();
	struct clock_snapshot clock = {100, 100, 1000};
	struct timeline_system system = {.num_cpus = 1};
	struct timeline_process make = {.pid = 50, .start_ns = 10};
	struct timeline_thread thread = {.tid = 50};

	assert_non_null(timeline);
	system.kernel_release = add_string(timeline, "6.1.0");
	timeline_set_system(timeline, &system);
	assert_int_equal(timeline_add_clock(timeline, &clock, NULL), 0);
	make.name = thread.name = add_string(timeline, "make");
	assert_int_equal(timeline_add_process(timeline, &make, &thread.process), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	for (uint32_t i = 0; i < 3; i++)
		add_child(timeline, i, 150 + i, i);
	add_child(timeline, 3, 0, 1);
	add_child(timeline, 4, 160, 3);
	return timeline;
}

/* Descriptors of processes and threads, and the pid of each sample. */
static struct text list_who(const struct text *written)
{
	Perfetto__Trace *trace =
		perfetto__trace__unpack(NULL, written->length, (const uint8_t *)written->data);
	struct text text = {0};

	assert_non_null(trace);
	for (size_t i = 0; i < trace->n_packet; i++) {
		const Perfetto__TracePacket *packet = trace->packet[i];

		if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_TRACK_DESCRIPTOR) {
			const Perfetto__TrackDescriptor *track = packet->track_descriptor;

			if (track->process)
				text_printf(&text, "%d %s; ", track->process->pid,
					    track->process->process_name);
			else if (track->thread)
				text_printf(&text, "%d/%d; ", track->thread->pid,
					    (int)track->thread->tid);
			else
				text_printf(&text, "%s; ", track->name);
		}
		if (packet->data_case == PERFETTO__TRACE_PACKET__DATA_PERF_SAMPLE)
			text_printf(&text, "sample %u/%u; ", packet->perf_sample->pid,
				    packet->perf_sample->tid);
	}
	perfetto__trace__free_unpacked(trace, NULL);
	return text;
}

static void short_lived_processes_are_shown_together_and_read_apart(void **state _unused_)
{
	struct zones_read_result first = {.profile = make_profile_with_metric(),
					  .timeline = make_build()};
	struct text trace = builder_write(&format_pftrace, &first, (struct format_opts){0});
	struct text expected = describe_family(first.timeline);
	struct zones_read_result second;
	struct text again;
	struct text who;
	struct text actual;

	who = list_who(&trace);
	assert_string_equal(who.data,
			    "2000000000 short-lived children of make; 50 make; 50/50; "
			    "63 cc; 64 cc; 2000000000/60; 2000000000/61; 2000000000/62; 63/63; "
			    "64/64; sample 2000000000/61; sample 2000000000/62; "
			    "sample 2000000000/62; sample 63/63; sample 64/64; sample 64/64; "
			    "sample 64/64; Stacks; [stack]; stack in use; Stacks; [stack]; "
			    "stack in use; ");
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &second),
			 0);
	actual = describe_family(second.timeline);
	assert_string_equal(actual.data, expected.data);
	assert_string_equal(second.warnings.data, "");
	assert_int_equal(timeline_count_thread(second.timeline), 6);
	text_release(&actual);
	/* Only the first process of the number is of each sample. */
	for (uint32_t i = 0; i < timeline_count_thread(second.timeline); i++) {
		const struct timeline_thread *thread = timeline_get_thread(second.timeline, i);

		assert_int_equal(timeline_get_process(second.timeline, thread->process)->pid,
				 thread->tid);
	}
	again = builder_write(&format_pftrace, &second, (struct format_opts){0});
	actual = list_who(&again);
	assert_string_equal(actual.data, who.data);
	text_release(&actual);
	text_release(&who);
	text_release(&again);
	text_release(&expected);
	text_release(&trace);
	builder_release(&first);
	builder_release(&second);
}

/* Three switches and two wakeups, each of them although they come in columns. */
static void events_are_counted_as_readers_keep_them(void **state _unused_)
{
	struct zones_read_result result = {.profile = profile_new(), .timeline = make_timeline()};
	uint64_t num_events = 0;
	struct format_opts opts = {.ret_num_events = &num_events};
	struct text trace = builder_write(&format_pftrace, &result, opts);

	assert_int_equal(num_events, 5);
	text_release(&trace);
	builder_release(&result);
}

/* A switch to a thread at a time, as ftrace's own event. */
static void put_switch(struct text *bundle, uint64_t time_ns, uint64_t tid)
{
	struct text event = {0};
	struct text on_cpu = {0};

	put_string(&on_cpu, 1, "before");
	put(&on_cpu, 2, 5);
	put(&on_cpu, 3, 120);
	put(&on_cpu, 4, 1);
	put_string(&on_cpu, 5, "after");
	put(&on_cpu, 6, tid);
	put(&on_cpu, 7, 110);
	put(&event, 1, time_ns);
	put_message(&event, 4, &on_cpu);
	put_message(bundle, 2, &event);
}

static struct text read_and_describe(struct text *trace, const char *warnings)
{
	struct zones_read_result result;
	struct text described;

	assert_int_equal(builder_read(&format_pftrace, trace->data, trace->length, false, &result),
			 0);
	assert_string_equal(result.warnings.data, warnings);
	described = describe(result.timeline);
	builder_release(&result);
	text_release(trace);
	return described;
}

static void events_of_others_are_sorted_over_all_cpus(void **state _unused_)
{
	struct text trace = {0};
	struct text bundle = {0};
	struct text wakeup = {0};
	struct text event = {0};
	struct text described;

	put(&bundle, 1, 1);
	put_switch(&bundle, 300, 9);
	put_packet(&trace, 1, 0, 0, KERNEL, &bundle);
	put(&bundle, 1, 0);
	put_switch(&bundle, 200, 6);
	put_string(&wakeup, 1, "woken");
	put(&wakeup, 2, 9);
	put(&wakeup, 3, 120);
	put(&wakeup, 5, 1);
	put(&event, 1, 250);
	put_message(&event, 20, &wakeup);
	put_message(&bundle, 2, &event);
	put_packet(&trace, 1, 0, 0, KERNEL, &bundle);
	described = read_and_describe(&trace, "");
	assert_string_equal(described.data, "0 CPUs '' '' ''\n"
					    "200 on 0: 1, then 6 at 110 'after'\n"
					    "300 on 1: 1, then 9 at 110 'after'\n"
					    "250 on 0: 9 wakes on 1 at 120, 0 'woken'");
	text_release(&described);
}

/* Fields of FtraceEvent. */
enum {
	SOFTIRQ_START = 24,
	SOFTIRQ_END = 25,
	IRQ_START = 36,
	IRQ_END = 37,
	WORK_END = 57,
	WORK_START = 58
};

/* An event of the kernel's own work, as ftrace has it; name may be NULL. */
static void put_kwork(struct text *bundle, uint32_t field, uint64_t time_ns, uint64_t number,
		      const char *name)
{
	struct text event = {0};
	struct text kwork = {0};

	put(&kwork, 1, number);
	if (name)
		put_string(&kwork, 2, name);
	put(&event, 1, time_ns);
	put(&event, 2, 50); /* who ran */
	put_message(&event, field, &kwork);
	put_message(bundle, 2, &event);
}

/* An end without a start is of what began before the trace, or of what was lost; a start without an end likewise. */
static void each_start_of_others_has_one_end(void **state _unused_)
{
	static const struct timeline_kwork expected[] = {
		{200, 210, 1, 24, 0, KWORK_IRQ},
		{300, 330, 1, 3, 0, KWORK_SOFTIRQ},
		{310, 320, 1, 25, 0, KWORK_IRQ},
		{420, 450, 1, 50, 0, KWORK_WORKQUEUE},
	};
	struct zones_read_result result;
	struct text trace = {0};
	struct text bundle = {0};

	put(&bundle, 1, 1);
	put_kwork(&bundle, IRQ_END, 100, 24, NULL);
	put_kwork(&bundle, IRQ_START, 200, 24, "virtio0");
	put_kwork(&bundle, IRQ_END, 210, 24, NULL);
	put_kwork(&bundle, IRQ_END, 220, 24, NULL);
	put_kwork(&bundle, SOFTIRQ_START, 300, 3, NULL);
	put_kwork(&bundle, IRQ_START, 310, 25, "virtio1");
	put_kwork(&bundle, IRQ_END, 320, 25, NULL);
	put_kwork(&bundle, SOFTIRQ_END, 330, 3, NULL);
	put_kwork(&bundle, SOFTIRQ_END, 340, 3, NULL);
	put_kwork(&bundle, WORK_START, 400, 1, NULL);
	put_kwork(&bundle, WORK_START, 420, 1, NULL);
	put_kwork(&bundle, WORK_END, 450, 1, NULL);
	put_kwork(&bundle, WORK_END, 460, 1, NULL);
	put_packet(&trace, 1, 0, 0, KERNEL, &bundle);
	assert_int_equal(builder_read(&format_pftrace, trace.data, trace.length, false, &result),
			 0);
	assert_string_equal(result.warnings.data, "");
	assert_int_equal(timeline_count_kwork(result.timeline), ARRAY_LENGTH(expected));
	for (uint32_t i = 0; i < ARRAY_LENGTH(expected); i++) {
		const struct timeline_kwork *kwork = timeline_get_kwork(result.timeline, i);
		bool is_found = false;

		for (size_t j = 0; j < ARRAY_LENGTH(expected); j++)
			is_found |= kwork->start_ns == expected[j].start_ns &&
				    kwork->end_ns == expected[j].end_ns &&
				    kwork->cpu == expected[j].cpu &&
				    kwork->number == expected[j].number &&
				    kwork->kind == expected[j].kind;
		assert_true(is_found);
	}
	builder_release(&result);
	text_release(&trace);
}

static void columns_that_differ_in_length_are_skipped(void **state _unused_)
{
	struct text trace = {0};
	struct text bundle = {0};
	struct text columns = {0};
	struct text described;

	put_bytes(&columns, 1, "\x10\x20", 2);
	put_bytes(&columns, 3, "\x01", 1);
	put_message(&bundle, 4, &columns);
	put_packet(&trace, 1, 0, 0, KERNEL, &bundle);
	described = read_and_describe(
		&trace,
		"x: at byte 0: scheduling whose columns differ in length, skipping this and others like it\n");
	assert_string_equal(described.data, "0 CPUs '' '' ''");
	text_release(&described);
}

static void what_is_not_read_is_reported_where_the_trace_is_rewritten(void **state _unused_)
{
	struct text trace = {0};
	struct text bundle = {0};
	struct text event = {0};
	struct text warnings = {0};
	struct import import = {.name = "x", .warn = builder_warn, .context = &warnings};

	put(&event, 1, 10);
	put_string(&event, 3, "a printk");
	put_message(&bundle, 2, &event);
	put_packet(&trace, 1, 0, 0, KERNEL, &bundle);
	put_string(&bundle, 1, "a line of a log");
	put_packet(&trace, 1, 0, 0, 39, &bundle);
	put_string(&bundle, 1, "nobody knows");
	put_packet(&trace, 1, 0, 0, 999, &bundle);
	text_append_string(&warnings, "");
	import.profile = profile_new();
	import.timeline = timeline_new();
	import.data = (const uint8_t *)trace.data;
	import.size = trace.length;
	assert_int_equal(format_pftrace.read(&import), 0);
	assert_string_equal(warnings.data, "");
	import.is_for_trace = true;
	assert_int_equal(format_pftrace.read(&import), 0);
	assert_string_equal(warnings.data, "x: skipped: 1 of the kernel's "
					   "events, 1 of Android's log, 1 of other kinds\n");
	profile_free(import.profile);
	timeline_free(import.timeline);
	text_release(&warnings);
	text_release(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_own_work_comes_back),
		cmocka_unit_test(scheduling_comes_back_as_it_was),
		cmocka_unit_test(events_are_counted_as_readers_keep_them),
		cmocka_unit_test(processes_come_back_with_parent_user_command_and_end),
		cmocka_unit_test(readers_get_processes_in_their_time),
		cmocka_unit_test(a_command_line_says_what_an_interpreter_runs),
		cmocka_unit_test(what_became_of_threads_comes_back),
		cmocka_unit_test(samples_have_the_names_of_their_time),
		cmocka_unit_test(short_lived_processes_are_shown_together_and_read_apart),
		cmocka_unit_test(events_of_others_are_sorted_over_all_cpus),
		cmocka_unit_test(each_start_of_others_has_one_end),
		cmocka_unit_test(columns_that_differ_in_length_are_skipped),
		cmocka_unit_test(what_is_not_read_is_reported_where_the_trace_is_rewritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
