#include "collect/trace/trace_schedule.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "test_folder.h"
#include "unit.h"

#include "batch_builder.h"
#include "process/file_table.h"

struct schedule {
	const struct sched_switch *events;
	size_t length;
	size_t next;
};

static int rewind_events(void *context)
{
	((struct schedule *)context)->next = 0;
	return 0;
}

static int next_event(void *context, void *ret_item)
{
	struct schedule *schedule = context;
	struct schedule_event *ret = ret_item;

	if (schedule->next == schedule->length)
		return 0;
	ret->is_wakeup = false;
	ret->on_cpu = schedule->events[schedule->next++];
	return 1;
}

static void set_schedule(struct timeline *timeline, struct schedule *schedule)
{
	struct timeline_source source = {
		.rewind = rewind_events, .next = next_event, .context = schedule};

	timeline_set_schedule(timeline, &source);
}

/* Process 0 with the threads 0 and 1, whose tids are 10 and 11, and three regions. */
static struct timeline *make_timeline(void)
{
	struct timeline *timeline = timeline_new();
	struct timeline_process process = {.pid = 10};

	assert_int_equal(timeline_add_process(timeline, &process, NULL), 0);
	for (uint32_t i = 0; i < 2; i++) {
		struct timeline_thread thread = {.tid = 10 + i};

		assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	}
	for (uint32_t i = 0; i < 3; i++) {
		struct stack_region region = {.start = 4096 * i, .end = 4096 * (i + 1)};

		assert_int_equal(timeline_add_region(timeline, &region, NULL), 0);
	}
	return timeline;
}

static struct recorded_occupancies *make_occupancies(void)
{
	struct recorded_occupancies *occupancies;

	assert_int_equal(recorded_occupancies_new(test_parent_folder(), &occupancies, NULL), 0);
	return occupancies;
}

static void occupy(struct recorded_occupancies *occupancies, uint32_t thread, uint32_t region,
		   uint64_t start_ns, uint64_t end_ns)
{
	const struct timeline_consumer *consumer = recorded_occupancies_get_consumer(occupancies);
	struct occupancy occupancy = {
		.thread = thread, .region = region, .start_ns = start_ns, .end_ns = end_ns};

	assert_int_equal(consumer->start_occupancy(consumer->context, &occupancy), 0);
	assert_int_equal(consumer->end_occupancy(consumer->context, &occupancy), 0);
}

/* Of the occupancies in order of start. */
static void assert_ends(struct recorded_occupancies *occupancies, struct timeline *timeline,
			const uint64_t *ends_ns, size_t count)
{
	struct occupancy occupancy;
	uint64_t position = 0;

	recorded_occupancies_give(occupancies, timeline);
	for (size_t i = 0; i < count; i++) {
		assert_int_equal(timeline_next_occupancy(timeline, &position, &occupancy), 1);
		assert_int_equal(occupancy.end_ns, ends_ns[i]);
	}
	assert_int_equal(timeline_next_occupancy(timeline, &position, &occupancy), 0);
	timeline_free(timeline);
	recorded_occupancies_free(occupancies);
}

#define ASSERT_ENDS(occupancies, timeline, ...)                       \
	assert_ends(occupancies, timeline, (uint64_t[]){__VA_ARGS__}, \
		    ARRAY_LENGTH(((uint64_t[]){__VA_ARGS__})))

static void an_occupancy_lasts_until_the_thread_does_not_come_back(void **state _unused_)
{
	static const struct sched_switch events[] = {
		{.time_ns = 100, .next_tid = 10},
		{.time_ns = 200, .previous_tid = 10, .previous_state = 1},
		{.time_ns = 300, .next_tid = 10},
		{.time_ns = 400, .previous_tid = 10, .previous_state = 1},
		{.time_ns = 500, .next_tid = 12},
	};
	struct schedule schedule = {events, ARRAY_LENGTH(events), 0};
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();

	set_schedule(timeline, &schedule);
	occupy(occupancies, 0, 0, 110, 120);
	assert_int_equal(trace_schedule_prolong(occupancies, timeline), 0);
	ASSERT_ENDS(occupancies, timeline, 400);
}

static void a_thread_that_runs_to_the_end_keeps_what_samples_say(void **state _unused_)
{
	static const struct sched_switch events[] = {
		{.time_ns = 200, .previous_tid = 10, .previous_state = 1},
		{.time_ns = 300, .next_tid = 10},
	};
	struct schedule schedule = {events, ARRAY_LENGTH(events), 0};
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();

	set_schedule(timeline, &schedule);
	occupy(occupancies, 0, 0, 110, 320);
	assert_int_equal(trace_schedule_prolong(occupancies, timeline), 0);
	ASSERT_ENDS(occupancies, timeline, 320);
}

static void an_exit_ends_it_though_the_tid_is_used_again(void **state _unused_)
{
	static const struct sched_switch events[] = {
		{.time_ns = 100, .next_tid = 10},
		{.time_ns = 200, .previous_tid = 10, .previous_state = 0x20},
		{.time_ns = 300, .next_tid = 10},
		{.time_ns = 400, .previous_tid = 10, .previous_state = 0x10},
	};
	struct schedule schedule = {events, ARRAY_LENGTH(events), 0};
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();

	set_schedule(timeline, &schedule);
	occupy(occupancies, 0, 0, 110, 120);
	assert_int_equal(trace_schedule_prolong(occupancies, timeline), 0);
	ASSERT_ENDS(occupancies, timeline, 200);
}

static void nobody_stays_where_another_thread_has_come(void **state _unused_)
{
	static const struct sched_switch events[] = {
		{.time_ns = 400, .previous_tid = 10, .previous_state = 1},
		{.time_ns = 500, .previous_tid = 11, .previous_state = 1},
	};
	struct schedule schedule = {events, ARRAY_LENGTH(events), 0};
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();

	set_schedule(timeline, &schedule);
	occupy(occupancies, 0, 0, 100, 120);
	occupy(occupancies, 1, 0, 150, 160);
	occupy(occupancies, 1, 1, 160, 170);
	assert_int_equal(trace_schedule_prolong(occupancies, timeline), 0);
	/* The second is not its thread's last. */
	ASSERT_ENDS(occupancies, timeline, 150, 160, 500);
}

/* After its end was reported, its last thread is still in the kernel for a while. */
static void a_process_ends_when_its_threads_have_left_their_cpus(void **state _unused_)
{
	static const struct sched_switch events[] = {
		{.time_ns = 300, .previous_tid = 11, .previous_state = 0x20},
		{.time_ns = 400, .previous_tid = 10, .previous_state = 0x20},
		{.time_ns = 500 + NS_PER_SECOND, .previous_tid = 11, .previous_state = 0x20},
	};
	struct schedule schedule = {events, ARRAY_LENGTH(events), 0};
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();

	set_schedule(timeline, &schedule);
	timeline_get_process(timeline, 0)->end_ns = 350;
	assert_int_equal(trace_schedule_prolong(occupancies, timeline), 0);
	assert_int_equal(timeline_get_process(timeline, 0)->end_ns, 401);
	timeline_free(timeline);
	recorded_occupancies_free(occupancies);
}

/* The next image has its tid, and leaves the CPU later. */
static void an_image_that_an_exec_ended_is_not_prolonged(void **state _unused_)
{
	static const struct sched_switch events[] = {
		{.time_ns = 400, .previous_tid = 10, .previous_state = 0x20},
	};
	struct schedule schedule = {events, ARRAY_LENGTH(events), 0};
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();
	struct timeline_process next = {.pid = 10, .start_ns = 351, .end_ns = 395};
	struct timeline_thread thread = {.tid = 10};

	set_schedule(timeline, &schedule);
	timeline_get_process(timeline, 0)->end_ns = 350;
	assert_int_equal(timeline_add_process(timeline, &next, &thread.process), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	assert_int_equal(trace_schedule_prolong(occupancies, timeline), 0);
	assert_int_equal(timeline_get_process(timeline, 0)->end_ns, 350);
	assert_int_equal(timeline_get_process(timeline, 1)->end_ns, 401);
	timeline_free(timeline);
	recorded_occupancies_free(occupancies);
}

/* The stack of the program before is gone, though the thread goes on. */
static void an_exec_ends_an_occupancy(void **state _unused_)
{
	static const struct sched_switch events[] = {
		{.time_ns = 100, .next_tid = 10},
		{.time_ns = 400, .previous_tid = 10, .previous_state = 0x20},
	};
	struct schedule schedule = {events, ARRAY_LENGTH(events), 0};
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();
	struct timeline_process next = {.pid = 10, .start_ns = 251};
	struct timeline_thread thread = {.tid = 10};

	set_schedule(timeline, &schedule);
	timeline_get_process(timeline, 0)->end_ns = 250;
	assert_int_equal(timeline_add_process(timeline, &next, &thread.process), 0);
	assert_int_equal(timeline_add_thread(timeline, &thread, NULL), 0);
	occupy(occupancies, 0, 0, 110, 120);
	occupy(occupancies, 2, 1, 260, 270);
	assert_int_equal(trace_schedule_prolong(occupancies, timeline), 0);
	ASSERT_ENDS(occupancies, timeline, 250, 400);
}

static void threads_that_no_sample_showed_are_added_to_their_process(void **state _unused_)
{
	struct file_table *files = file_table_new("/nowhere", NULL);
	struct process_table *processes = process_table_new("/nowhere", files);
	struct wire_schedule batch = batch_of(0, 0, 0);
	struct recorded_occupancies *occupancies = make_occupancies();
	struct timeline *timeline = make_timeline();
	struct schedule_store *store;
	const struct timeline_thread *thread;

	assert_int_equal(schedule_store_new(test_parent_folder(), &store, NULL), 0);
	assert_int_equal(process_table_on_comm(processes, 5, 20, "server", true), 0);
	batch_name(&batch, 10, 11, "is there");
	batch_name(&batch, 10, 12, "sleeper");
	batch_name(&batch, 20, 20, "server");
	batch_name(&batch, 99, 99, "unknown");
	assert_int_equal(schedule_store_add(store, &batch, BATCH_BYTES(&batch)), 0);
	assert_int_equal(trace_schedule_add(store, processes, occupancies, timeline), 0);

	assert_int_equal(timeline_count_thread(timeline), 4);
	thread = timeline_get_thread(timeline, 2);
	assert_int_equal(thread->tid, 12);
	assert_int_equal(thread->process, 0);
	assert_string_equal(timeline_get_string(timeline, thread->name), "sleeper");
	thread = timeline_get_thread(timeline, 3);
	assert_int_equal(thread->tid, 20);
	assert_int_equal(timeline_get_process(timeline, thread->process)->pid, 20);
	timeline_free(timeline);
	recorded_occupancies_free(occupancies);
	schedule_store_free(store);
	process_table_free(processes);
	file_table_free(files);
}

static void set_name(struct timeline *timeline, uint32_t id, const char *name, uint64_t named_ns)
{
	struct timeline_thread *thread = timeline_get_thread(timeline, id);

	assert_int_equal(timeline_add_string(timeline, name, &thread->name), 0);
	thread->named_ns = named_ns;
}

/* The name of a thread that a switch at 100 shows as "worker". */
static const char *name_by_switch(struct timeline *timeline)
{
	struct file_table *files = file_table_new("/nowhere", NULL);
	struct process_table *processes = process_table_new("/nowhere", files);
	struct wire_schedule batch = batch_of(0, 0, 0);
	struct recorded_occupancies *occupancies = make_occupancies();
	struct schedule_store *store;

	assert_int_equal(schedule_store_new(test_parent_folder(), &store, NULL), 0);
	batch_name(&batch, 10, 10, "worker");
	batch_add(&batch, 100, 10, WIRE_SCHEDULE_SWITCH);
	assert_int_equal(schedule_store_add(store, &batch, BATCH_BYTES(&batch)), 0);
	assert_int_equal(trace_schedule_add(store, processes, occupancies, timeline), 0);
	recorded_occupancies_free(occupancies);
	schedule_store_free(store);
	process_table_free(processes);
	file_table_free(files);
	return timeline_get_string(timeline, timeline_get_thread(timeline, 0)->name);
}

static void a_thread_has_the_last_name_that_samples_or_switches_show(void **state _unused_)
{
	struct timeline *timeline = make_timeline();

	set_name(timeline, 0, "early", 99);
	assert_string_equal(name_by_switch(timeline), "worker");
	set_name(timeline, 0, "late", 101);
	assert_string_equal(name_by_switch(timeline), "late");
	set_name(timeline, 0, "what its zones say", UINT64_MAX);
	assert_string_equal(name_by_switch(timeline), "what its zones say");
	timeline_free(timeline);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_occupancy_lasts_until_the_thread_does_not_come_back),
		cmocka_unit_test(a_thread_that_runs_to_the_end_keeps_what_samples_say),
		cmocka_unit_test(an_exit_ends_it_though_the_tid_is_used_again),
		cmocka_unit_test(nobody_stays_where_another_thread_has_come),
		cmocka_unit_test(a_process_ends_when_its_threads_have_left_their_cpus),
		cmocka_unit_test(an_image_that_an_exec_ended_is_not_prolonged),
		cmocka_unit_test(an_exec_ends_an_occupancy),
		cmocka_unit_test(threads_that_no_sample_showed_are_added_to_their_process),
		cmocka_unit_test(a_thread_has_the_last_name_that_samples_or_switches_show),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
