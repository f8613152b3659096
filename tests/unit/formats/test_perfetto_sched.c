/*
 * Perfetto traces: scheduling and the system are read as they were written, by us and by others.
 */
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

static void what_is_not_read_is_told_where_the_trace_is_rewritten(void **state _unused_)
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
	assert_string_equal(warnings.data,
			    "x: not read, and left out of what is written: 1 of the kernel's "
			    "events, 1 of Android's log, 1 of other kinds\n");
	profile_free(import.profile);
	timeline_free(import.timeline);
	text_release(&warnings);
	text_release(&trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scheduling_comes_back_as_it_was),
		cmocka_unit_test(events_of_others_are_sorted_over_all_cpus),
		cmocka_unit_test(columns_that_differ_in_length_are_skipped),
		cmocka_unit_test(what_is_not_read_is_told_where_the_trace_is_rewritten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
