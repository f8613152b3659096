#include "collect/trace/schedule_store.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "test_folder.h"
#include "unit.h"

#include "batch_builder.h"

static struct schedule_store *make_store(void)
{
	struct schedule_store *store;

	assert_int_equal(schedule_store_new(test_parent_folder(), &store, NULL), 0);
	schedule_store_set_start(store, 1);
	return store;
}

static void add(struct schedule_store *store, const struct wire_schedule *batch)
{
	assert_int_equal(schedule_store_add(store, batch, BATCH_BYTES(batch)), 0);
}

static struct timeline *give(struct schedule_store *store)
{
	struct timeline *timeline = timeline_new();

	assert_non_null(timeline);
	assert_int_equal(schedule_store_give(store, timeline), 0);
	assert_non_null(timeline_get_schedule(timeline));
	return timeline;
}

static uint64_t time_of(const struct schedule_event *event)
{
	return event->is_wakeup ? event->wakeup.time_ns : event->on_cpu.time_ns;
}

/* Read all; gives their number, and fails when one is older than the one before. */
static size_t count_ordered(const struct timeline *timeline)
{
	const struct timeline_source *source = timeline_get_schedule(timeline);
	struct schedule_event event;
	uint64_t last_ns = 0;
	size_t count = 0;
	int got;

	assert_int_equal(source->rewind(source->context), 0);
	while ((got = source->next(source->context, &event)) > 0) {
		assert_true(time_of(&event) >= last_ns);
		last_ns = time_of(&event);
		count++;
	}
	assert_int_equal(got, 0);
	return count;
}

static void events_of_all_cpus_come_in_order_of_time(void **state _unused_)
{
	struct schedule_store *store = make_store();
	uint32_t random = 12345;
	uint32_t numbers[5] = {0};
	uint64_t times[5] = {100, 90, 300, 20, 100};
	struct timeline *timeline;

	for (int i = 0; i < 200; i++) {
		uint16_t cpu = (uint16_t)((random = random * 1103515245 + 12345) >> 16) % 5;
		struct wire_schedule batch = batch_of(cpu, numbers[cpu]++, 0);

		for (int k = 0; k < 7; k++) {
			random = random * 1103515245 + 12345;
			times[cpu] += random >> 24;
			batch_add(&batch, times[cpu], 1 + cpu,
				  k % 2 ? WIRE_SCHEDULE_WAKEUP : WIRE_SCHEDULE_SWITCH);
		}
		add(store, &batch);
	}
	timeline = give(store);
	/* and what each of the five CPUs began with */
	assert_int_equal(count_ordered(timeline), 200 * 7 + 5);
	assert_int_equal(count_ordered(timeline), 200 * 7 + 5);
	assert_int_equal(schedule_store_get_counts(store).switches, 200 * 4);
	assert_int_equal(schedule_store_get_counts(store).wakeups, 200 * 3);
	timeline_free(timeline);
	schedule_store_free(store);
}

static void names_are_the_timelines(void **state _unused_)
{
	struct schedule_store *store = make_store();
	struct wire_schedule batch = batch_of(0, 0, 0);
	struct schedule_event event;
	const struct timeline_source *source;
	struct timeline *timeline;

	batch_name(&batch, 30, 31, "worker");
	batch_add(&batch, 100, 31, WIRE_SCHEDULE_SWITCH);
	add(store, &batch);
	timeline = timeline_new();
	assert_int_equal(timeline_add_string(timeline, "here first", &(uint32_t){0}), 0);
	assert_int_equal(schedule_store_give(store, timeline), 0);
	source = timeline_get_schedule(timeline);
	assert_int_equal(source->rewind(source->context), 0);
	assert_int_equal(source->next(source->context, &event), 1);
	assert_string_equal(timeline_get_string(timeline, event.on_cpu.next_name), "swapper/0");
	assert_int_equal(source->next(source->context, &event), 1);
	assert_string_equal(timeline_get_string(timeline, event.on_cpu.next_name), "worker");
	timeline_free(timeline);
	schedule_store_free(store);
}

static void a_thread_is_known_once_by_its_last_name(void **state _unused_)
{
	struct schedule_store *store = make_store();
	struct wire_schedule batch = batch_of(0, 0, 0);
	const struct scheduled_thread *threads;
	size_t count;

	batch_name(&batch, 30, 31, "sh");
	batch_name(&batch, 40, 40, "other");
	batch_name(&batch, 30, 31, "make");
	add(store, &batch);
	threads = schedule_store_get_threads(store, &count);
	assert_int_equal(count, 2);
	assert_int_equal(threads[0].pid, 30);
	assert_int_equal(threads[0].tid, 31);
	assert_string_equal(schedule_store_get_name(store, threads[0].name), "make");
	schedule_store_free(store);
}

/* A CPU with few switches sends its batch long after the thread got its name on another one. */
static void the_last_name_is_that_of_the_last_time(void **state _unused_)
{
	struct schedule_store *store = make_store();
	struct wire_schedule late = batch_of(1, 0, 0);
	struct wire_schedule early = batch_of(0, 0, 0);
	const struct scheduled_thread *threads;
	size_t count;

	batch_name(&late, 30, 31, "ping");
	batch_add(&late, 200, 31, WIRE_SCHEDULE_SWITCH);
	batch_name(&early, 30, 31, "handover");
	batch_name(&early, 30, 32, "pong");
	batch_add(&early, 100, 31, WIRE_SCHEDULE_SWITCH);
	add(store, &late);
	add(store, &early);
	threads = schedule_store_get_threads(store, &count);
	assert_int_equal(count, 2);
	assert_string_equal(schedule_store_get_name(store, threads[0].name), "ping");
	assert_string_equal(schedule_store_get_name(store, threads[1].name), "pong");
	schedule_store_free(store);
}

static void a_missing_batch_leaves_a_gap(void **state _unused_)
{
	struct schedule_store *store = make_store();
	struct wire_schedule first = batch_of(0, 0, 0);
	struct wire_schedule third = batch_of(0, 2, 7);
	struct timeline *timeline;

	batch_add(&first, 100, 5, WIRE_SCHEDULE_SWITCH);
	batch_add(&third, 900, 9, WIRE_SCHEDULE_SWITCH);
	add(store, &first);
	add(store, &third);
	timeline = give(store);
	/* start, 5; idle, 7, 9 */
	assert_int_equal(count_ordered(timeline), 5);
	timeline_free(timeline);
	schedule_store_free(store);
}

/* RLIMIT_FSIZE acts like a full disk. */
static void a_batch_that_cannot_be_written_leaves_a_gap(void **state _unused_)
{
	struct schedule_store *store = make_store();
	struct wire_schedule batches[] = {batch_of(0, 0, 0), batch_of(0, 1, 5), batch_of(0, 2, 7)};
	struct schedule_store_counts counts;
	struct rlimit before;
	struct rlimit limit;
	struct timeline *timeline;

	batch_add(&batches[0], 100, 5, WIRE_SCHEDULE_SWITCH);
	batch_add(&batches[1], 500, 7, WIRE_SCHEDULE_SWITCH);
	batch_add(&batches[1], 510, 7, WIRE_SCHEDULE_WAKEUP);
	batch_add(&batches[2], 900, 9, WIRE_SCHEDULE_SWITCH);
	add(store, &batches[0]);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = (struct rlimit){.rlim_cur = schedule_store_get_counts(store).size_bytes,
				.rlim_max = before.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	add(store, &batches[1]);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	add(store, &batches[2]);
	counts = schedule_store_get_counts(store);
	assert_int_equal(counts.switches, 2);
	assert_int_equal(counts.lost_switches, 1);
	assert_int_equal(counts.lost_wakeups, 1);
	timeline = give(store);
	/* start, 5; idle, 7, 9 */
	assert_int_equal(count_ordered(timeline), 5);
	timeline_free(timeline);
	schedule_store_free(store);
}

static void what_is_no_batch_is_ignored(void **state _unused_)
{
	struct schedule_store *store = make_store();
	struct wire_schedule batch = batch_of(UINT16_MAX, 0, 0);
	struct timeline *timeline;

	assert_int_equal(schedule_store_add(store, "x", 1), 0);
	batch_add(&batch, 100, 5, WIRE_SCHEDULE_SWITCH);
	add(store, &batch); /* of a CPU that cannot be */
	timeline = give(store);
	assert_int_equal(count_ordered(timeline), 0);
	timeline_free(timeline);
	schedule_store_free(store);
}

static void a_folder_that_is_not_there_is_named(void **state _unused_)
{
	struct schedule_store *store;
	struct error error;

	assert_int_equal(schedule_store_new("/nowhere/at/all", &store, &error), -ENOENT);
	assert_non_null(strstr(error.message, "/nowhere/at/all"));
	assert_non_null(strstr(error.message, "TMPDIR"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(events_of_all_cpus_come_in_order_of_time),
		cmocka_unit_test(names_are_the_timelines),
		cmocka_unit_test(a_thread_is_known_once_by_its_last_name),
		cmocka_unit_test(the_last_name_is_that_of_the_last_time),
		cmocka_unit_test(a_missing_batch_leaves_a_gap),
		cmocka_unit_test(a_batch_that_cannot_be_written_leaves_a_gap),
		cmocka_unit_test(what_is_no_batch_is_ignored),
		cmocka_unit_test(a_folder_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
