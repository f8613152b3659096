#include "collect/trace/schedule_decoder.h"

#include <errno.h>

#include "unit.h"

#include "base/array.h"
#include "batch_builder.h"

#define START_NS     50
#define IDLE_NAME    7
#define UNKNOWN_NAME 8

static int refuse_nothing(const struct scheduled_name *named _unused_, void *context _unused_)
{
	return 0;
}

static struct string_table *intern(struct wire_schedule *batch)
{
	struct string_table *strings = string_table_new();

	assert_non_null(strings);
	assert_int_equal(schedule_batch_intern(batch, strings, refuse_nothing, NULL), 0);
	return strings;
}

static struct sched_switch take_switch(struct schedule_decoder *decoder)
{
	struct schedule_event event;

	assert_true(schedule_decoder_next(decoder, &event));
	assert_false(event.is_wakeup);
	return event.on_cpu;
}

static struct sched_waking take_wakeup(struct schedule_decoder *decoder)
{
	struct schedule_event event;

	assert_true(schedule_decoder_next(decoder, &event));
	assert_true(event.is_wakeup);
	return event.wakeup;
}

static void assert_end(struct schedule_decoder *decoder)
{
	struct schedule_event event;

	assert_false(schedule_decoder_next(decoder, &event));
}

static void states_are_the_tracepoints(void **state _unused_)
{
	static const struct {
		uint32_t kernel;
		uint16_t tracepoint;
	} cases[] = {
		{0x0, 0x0},    /* running */
		{0x1, 0x1},    /* interruptible */
		{0x2, 0x2},    /* uninterruptible */
		{0x102, 0x2},  /* killable */
		{0x402, 0x80}, /* idle: uninterruptible that adds no load */
		{0x400, 0x0},  /* the second half of it alone is no state */
		{0x2001, 0x1}, /* interruptible, freezable */
		{0x104, 0x4},  /* stopped, wakes for kill */
		{0x8, 0x8},    /* traced */
		{0x90, 0x10},  /* dead, reaped by itself */
		{0xa0, 0x20},  /* dead, a zombie */
		{0x40, 0x40},  /* parked */
		{0x1000, 0x2}, /* waits for a sleeping spin lock */
		{0x8000, 0x2}, /* frozen */
		{0x30, 0x20},  /* the highest bit decides */
		{0x200, 0x0},  /* being woken */
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++)
		assert_int_equal(schedule_decode_state(cases[i].kernel, false),
				 cases[i].tracepoint);
}

static void a_preempted_thread_is_runnable_whatever_its_state(void **state _unused_)
{
	assert_int_equal(schedule_decode_state(0x0, true), TASK_STATE_PREEMPTED);
	assert_int_equal(schedule_decode_state(0x1, true), TASK_STATE_PREEMPTED);
	assert_int_equal(schedule_decode_state(0x402, true), TASK_STATE_PREEMPTED);
}

static void a_switch_knows_both_threads(void **state _unused_)
{
	struct wire_schedule batch = batch_of(3, 0, 11);
	struct schedule_decoder decoder = {0};
	struct string_table *strings;
	struct sched_switch event;

	batch_name(&batch, 10, 11, "first");
	batch_name(&batch, 10, 12, "second");
	batch_add(&batch, 100, 12, WIRE_SCHEDULE_SWITCH)->state = 1;
	batch_add(&batch, 200, 0, WIRE_SCHEDULE_SWITCH_PREEMPTED)->priority = 139;
	strings = intern(&batch);
	schedule_decoder_start(&decoder, &batch, false, START_NS, IDLE_NAME);

	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, START_NS);
	assert_int_equal(event.next_tid, 11);
	assert_string_equal(string_table_get(strings, event.next_name), "first");
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 100);
	assert_int_equal(event.cpu, 3);
	assert_int_equal(event.previous_tid, 11);
	assert_int_equal(event.previous_state, 1);
	assert_int_equal(event.next_tid, 12);
	assert_int_equal(event.next_priority, 120);
	assert_string_equal(string_table_get(strings, event.next_name), "second");
	event = take_switch(&decoder);
	assert_int_equal(event.previous_tid, 12);
	assert_int_equal(event.previous_state, TASK_STATE_PREEMPTED);
	assert_int_equal(event.next_tid, 0);
	assert_int_equal(event.next_name, IDLE_NAME);
	assert_int_equal(event.next_priority, 139);
	assert_end(&decoder);
	string_table_free(strings);
}

static void a_wakeup_knows_where_it_happens_and_where_the_thread_goes(void **state _unused_)
{
	struct wire_schedule batch = batch_of(1, 0, 0);
	struct schedule_decoder decoder = {0};
	struct string_table *strings;
	struct sched_waking event;

	batch_name(&batch, 20, 20, "sleeper");
	batch_add(&batch, 100, 20, WIRE_SCHEDULE_WAKEUP)->state = 5;
	batch_add(&batch, 101, 20, WIRE_SCHEDULE_WAKEUP_IN_INTERRUPT)->priority =
		WIRE_SCHEDULE_DEADLINE;
	strings = intern(&batch);
	schedule_decoder_start(&decoder, &batch, false, START_NS, IDLE_NAME);

	take_switch(&decoder);
	event = take_wakeup(&decoder);
	assert_int_equal(event.time_ns, 100);
	assert_int_equal(event.tid, 20);
	assert_int_equal(event.cpu, 1);
	assert_int_equal(event.target_cpu, 5);
	assert_int_equal(event.priority, 120);
	assert_false(event.is_in_interrupt);
	assert_string_equal(string_table_get(strings, event.name), "sleeper");
	event = take_wakeup(&decoder);
	assert_true(event.is_in_interrupt);
	assert_int_equal(event.priority, -1);
	assert_end(&decoder);
	string_table_free(strings);
}

static void a_name_holds_until_its_place_is_used_again(void **state _unused_)
{
	struct wire_schedule first = batch_of(0, 0, 0);
	struct wire_schedule second = batch_of(0, 1, 0);
	struct schedule_decoder decoder = {0};
	struct string_table *strings = string_table_new();

	batch_name(&first, 5, 5, "before exec");
	batch_add(&first, 100, 5, WIRE_SCHEDULE_SWITCH);
	batch_add(&second, 200, 5, WIRE_SCHEDULE_SWITCH);
	batch_name(&second, 5, 5, "a name of 16 byt");
	batch_add(&second, 300, 5, WIRE_SCHEDULE_SWITCH);
	assert_int_equal(schedule_batch_intern(&first, strings, refuse_nothing, NULL), 0);
	assert_int_equal(schedule_batch_intern(&second, strings, refuse_nothing, NULL), 0);
	schedule_decoder_start(&decoder, &first, false, START_NS, IDLE_NAME);
	take_switch(&decoder);
	take_switch(&decoder);
	assert_end(&decoder);
	schedule_decoder_start(&decoder, &second, false, START_NS, IDLE_NAME);
	assert_string_equal(string_table_get(strings, take_switch(&decoder).next_name),
			    "before exec");
	assert_string_equal(string_table_get(strings, take_switch(&decoder).next_name),
			    "a name of 16 byt");
	string_table_free(strings);
}

static void while_batches_are_missing_the_cpu_is_idle(void **state _unused_)
{
	struct wire_schedule first = batch_of(0, 0, 0);
	struct wire_schedule third = batch_of(0, 2, 8);
	struct schedule_decoder decoder = {0};
	struct sched_switch event;

	batch_add(&first, 100, 5, WIRE_SCHEDULE_SWITCH);
	batch_add(&third, 900, 9, WIRE_SCHEDULE_SWITCH)->state = 2;
	schedule_decoder_start(&decoder, &first, false, START_NS, IDLE_NAME);
	take_switch(&decoder);
	take_switch(&decoder);
	schedule_decoder_start(&decoder, &third, true, START_NS, IDLE_NAME);

	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 100);
	assert_int_equal(event.next_tid, 0);
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 900);
	assert_int_equal(event.next_tid, 8);
	event = take_switch(&decoder);
	assert_int_equal(event.previous_tid, 8);
	assert_int_equal(event.previous_state, 2);
	assert_end(&decoder);
}

static void what_ran_before_a_lost_first_batch_is_unknown(void **state _unused_)
{
	struct wire_schedule second = batch_of(0, 1, 8);
	struct schedule_decoder decoder = {0};
	struct sched_switch event;

	batch_add(&second, 900, 9, WIRE_SCHEDULE_SWITCH);
	schedule_decoder_start(&decoder, &second, true, START_NS, IDLE_NAME);
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, START_NS);
	assert_int_equal(event.next_tid, 0);
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 900);
	assert_int_equal(event.next_tid, 8);
}

static void batches_that_are_truncated_are_none(void **state _unused_)
{
	struct wire_schedule batch = batch_of(0, 0, 0);

	batch_add(&batch, 100, 5, WIRE_SCHEDULE_SWITCH);
	batch_name(&batch, 5, 5, "name");
	assert_true(schedule_batch_is_valid(&batch, BATCH_BYTES(&batch)));
	assert_true(schedule_batch_is_valid(&batch, sizeof(batch)));
	assert_false(schedule_batch_is_valid(&batch, BATCH_BYTES(&batch) - 1));
	assert_false(schedule_batch_is_valid(&batch, 3));
	batch.num_slots--; /* the name's text is missing */
	assert_false(schedule_batch_is_valid(&batch, sizeof(batch)));
	batch.slots[batch.num_slots - 1].event.kind = WIRE_SCHEDULE_UNSEEN; /* its second slot is */
	assert_false(schedule_batch_is_valid(&batch, sizeof(batch)));
	batch.num_slots = WIRE_SCHEDULE_SLOTS + 1;
	assert_false(schedule_batch_is_valid(&batch, BATCH_BYTES(&batch)));
	batch.num_slots = 1;
	batch.type = WIRE_STACK;
	assert_false(schedule_batch_is_valid(&batch, sizeof(batch)));
}

/* What the kernel did not report: 8 was seen until 300, 9 since 500, and leaves at 700. */
static struct wire_schedule batch_with_gap(void)
{
	struct wire_schedule batch = batch_of(3, 0, 8);

	batch_name(&batch, 8, 8, "told");
	batch_add(&batch, 200, 8, WIRE_SCHEDULE_SWITCH);
	batch_name(&batch, 9, 9, "unseen");
	batch_add_unseen(&batch, 700, 9, 300, 500)->priority = 100;
	batch_add(&batch, 700, 0, WIRE_SCHEDULE_SWITCH)->state = 1;
	return batch;
}

static void what_runs_unseen_is_unknown_until_it_is_seen(void **state _unused_)
{
	struct wire_schedule batch = batch_with_gap();
	struct schedule_decoder decoder = {.unknown_name = UNKNOWN_NAME};
	struct string_table *strings = intern(&batch);
	struct sched_switch event;

	assert_true(schedule_batch_is_valid(&batch, BATCH_BYTES(&batch)));
	schedule_decoder_start(&decoder, &batch, false, START_NS, IDLE_NAME);
	assert_int_equal(take_switch(&decoder).time_ns, START_NS);
	assert_int_equal(take_switch(&decoder).time_ns, 200);

	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 300);
	assert_int_equal(event.previous_tid, 8);
	assert_int_equal(event.next_tid, SCHEDULE_FIRST_UNKNOWN_TID + 3);
	assert_int_equal(event.next_name, UNKNOWN_NAME);
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 500);
	assert_int_equal(event.previous_tid, SCHEDULE_FIRST_UNKNOWN_TID + 3);
	assert_int_equal(event.next_tid, 9);
	assert_int_equal(event.next_priority, 100);
	assert_string_equal(string_table_get(strings, event.next_name), "unseen");
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 700);
	assert_int_equal(event.previous_tid, 9);
	assert_int_equal(event.previous_state, 1);
	assert_int_equal(event.next_tid, 0);
	assert_end(&decoder);
	string_table_free(strings);
}

/* Nothing between proves more than the last event does. */
static void a_thread_that_is_first_seen_when_it_leaves_has_no_time(void **state _unused_)
{
	struct wire_schedule batch = batch_of(0, 0, 8);
	struct schedule_decoder decoder = {0};
	struct string_table *strings;
	struct sched_switch event;

	batch_add(&batch, 200, 8, WIRE_SCHEDULE_SWITCH);
	batch_add_unseen(&batch, 700, 0, 200, 700);
	batch_add(&batch, 700, 5, WIRE_SCHEDULE_SWITCH);
	strings = intern(&batch);
	schedule_decoder_start(&decoder, &batch, false, START_NS, IDLE_NAME);
	take_switch(&decoder);
	take_switch(&decoder);
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 200);
	assert_int_equal(event.next_tid, SCHEDULE_FIRST_UNKNOWN_TID);
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 700);
	assert_int_equal(event.next_tid, 0);
	assert_int_equal(event.next_name, IDLE_NAME);
	event = take_switch(&decoder);
	assert_int_equal(event.time_ns, 700);
	assert_int_equal(event.previous_tid, 0);
	assert_int_equal(event.next_tid, 5);
	assert_end(&decoder);
	string_table_free(strings);
}

struct wanted_switch {
	uint64_t time_ns;
	int32_t next_tid;
};

/* Behind the switch to what ran when the recording began. */
static void assert_switches(struct wire_schedule *batch, const struct wanted_switch *wanted,
			    size_t count)
{
	struct schedule_decoder decoder = {.unknown_name = UNKNOWN_NAME};
	struct string_table *strings = intern(batch);

	schedule_decoder_start(&decoder, batch, false, START_NS, IDLE_NAME);
	assert_int_equal(take_switch(&decoder).time_ns, START_NS);
	for (size_t i = 0; i < count; i++) {
		struct sched_switch event = take_switch(&decoder);

		assert_int_equal(event.time_ns, wanted[i].time_ns);
		assert_int_equal(event.next_tid, wanted[i].next_tid);
	}
	assert_end(&decoder);
	string_table_free(strings);
}

/* 8 leaves unseen, then 5 does: each is unknown in its turn, and nothing is reported twice. */
static void what_is_unseen_twice_in_a_row_is_reported_twice(void **state _unused_)
{
	static const struct wanted_switch wanted[] = {
		{200, 8}, {300, SCHEDULE_FIRST_UNKNOWN_TID}, {500, 9},
		{700, 5}, {700, SCHEDULE_FIRST_UNKNOWN_TID}, {800, 6},
		{900, 0},
	};
	struct wire_schedule batch = batch_of(0, 0, 8);

	batch_add(&batch, 200, 8, WIRE_SCHEDULE_SWITCH);
	batch_add_unseen(&batch, 700, 9, 300, 500);
	batch_add(&batch, 700, 5, WIRE_SCHEDULE_SWITCH);
	batch_add_unseen(&batch, 900, 6, 700, 800);
	batch_add(&batch, 900, 0, WIRE_SCHEDULE_SWITCH);
	assert_switches(&batch, wanted, ARRAY_LENGTH(wanted));
}

/* A tick saw it before the last event: time does not go back. */
static void what_is_seen_before_the_last_event_starts_with_it(void **state _unused_)
{
	static const struct wanted_switch wanted[] = {{200, 8}, {200, 9}};
	struct wire_schedule batch = batch_of(0, 0, 8);

	batch_add(&batch, 200, 8, WIRE_SCHEDULE_SWITCH);
	batch_add_unseen(&batch, 700, 9, 100, 150);
	assert_switches(&batch, wanted, ARRAY_LENGTH(wanted));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_are_the_tracepoints),
		cmocka_unit_test(a_preempted_thread_is_runnable_whatever_its_state),
		cmocka_unit_test(a_switch_knows_both_threads),
		cmocka_unit_test(a_wakeup_knows_where_it_happens_and_where_the_thread_goes),
		cmocka_unit_test(a_name_holds_until_its_place_is_used_again),
		cmocka_unit_test(while_batches_are_missing_the_cpu_is_idle),
		cmocka_unit_test(what_ran_before_a_lost_first_batch_is_unknown),
		cmocka_unit_test(batches_that_are_truncated_are_none),
		cmocka_unit_test(what_runs_unseen_is_unknown_until_it_is_seen),
		cmocka_unit_test(a_thread_that_is_first_seen_when_it_leaves_has_no_time),
		cmocka_unit_test(what_is_unseen_twice_in_a_row_is_reported_twice),
		cmocka_unit_test(what_is_seen_before_the_last_event_starts_with_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
