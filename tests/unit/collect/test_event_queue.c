#include "collect/kernel/event_queue.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "unit.h"

#define NUM_EVENTS 6

struct log {
	uint64_t times[64];
	char names[64];
	size_t length;
	int fail_at; /* number of the record that handle() fails at; -1: none */
};

static int keep(uint64_t time_ns, uint32_t kind _unused_, const void *record, size_t size,
		void *context)
{
	struct log *log = context;

	assert_int_equal(size, 1);
	log->times[log->length] = time_ns;
	log->names[log->length] = *(const char *)record;
	return (int)log->length++ == log->fail_at ? -ENOMEM : 0;
}

static void add(struct event_queue *queue, uint64_t time_ns, char name)
{
	assert_int_equal(event_queue_add(queue, time_ns, 0, &name, 1), 0);
}

/* What is as old as until_ns, when nothing younger may leave. */
static int drain(struct event_queue *queue, uint64_t until_ns, struct log *log)
{
	return event_queue_drain(queue, until_ns + EVENT_QUEUE_HOLD_BACK_NS, keep, log);
}

static void swap(int *a, int *b)
{
	int held = *a;

	*a = *b;
	*b = held;
}

/* The next permutation in lexical order, as in C++'s library. */
static bool permute(int *order, size_t length)
{
	size_t i = length - 1;
	size_t j = length - 1;

	while (i > 0 && order[i - 1] >= order[i])
		i--;
	if (i == 0)
		return false;
	while (order[j] <= order[i - 1])
		j--;
	swap(&order[i - 1], &order[j]);
	for (j = length - 1; i < j; i++, j--)
		swap(&order[i], &order[j]);
	return true;
}

static void every_order_of_arrival_gives_the_order_of_time(void **state _unused_)
{
	int order[NUM_EVENTS] = {0, 1, 2, 3, 4, 5};

	do {
		struct event_queue *queue = event_queue_new();
		struct log log = {.fail_at = -1};

		for (size_t i = 0; i < NUM_EVENTS; i++)
			add(queue, 100 + (uint64_t)order[i], (char)('a' + order[i]));
		assert_int_equal(event_queue_drain(queue, UINT64_MAX, keep, &log), 0);
		assert_memory_equal(log.names, "abcdef", NUM_EVENTS);
		assert_int_equal(event_queue_get_late_count(queue), 0);
		event_queue_free(queue);
	} while (permute(order, NUM_EVENTS));
}

/*
 * Three rings with records of interleaved times, read one after the other in every order, in
 * two rounds: what may still be overtaken is held back.
 */
static void rings_read_in_rounds_are_merged_under_every_reordering(void **state _unused_)
{
	static const uint64_t times[3][2][3] = {
		{{10, 40, 70}, {110, 140, 170}},
		{{20, 50, 80}, {120, 150, 180}},
		{{30, 60, 105}, {130, 160, 190}},
	};
	int order[3] = {0, 1, 2};

	do {
		struct event_queue *queue = event_queue_new();
		struct log log = {.fail_at = -1};

		for (int round = 0; round < 2; round++) {
			for (int i = 0; i < 3; i++)
				for (int j = 0; j < 3; j++)
					add(queue, times[order[i]][round][j], 'x');
			assert_int_equal(drain(queue, 100 * ((uint64_t)round + 1), &log), 0);
			assert_int_equal(log.length, round ? 18 : 8);
		}
		for (size_t i = 1; i < log.length; i++)
			assert_true(log.times[i - 1] < log.times[i]);
		assert_int_equal(event_queue_get_late_count(queue), 0);
		event_queue_free(queue);
	} while (permute(order, 3));
}

static void records_of_equal_time_keep_their_order(void **state _unused_)
{
	struct event_queue *queue = event_queue_new();
	struct log log = {.fail_at = -1};

	for (char name = 'a'; name < 'a' + 26; name++)
		add(queue, 5, name);
	assert_int_equal(drain(queue, 5, &log), 0);
	assert_memory_equal(log.names, "abcdefghijklmnopqrstuvwxyz", 26);
	event_queue_free(queue);
}

static void a_late_record_is_counted_and_never_turns_time_back(void **state _unused_)
{
	struct event_queue *queue = event_queue_new();
	struct log log = {.fail_at = -1};

	add(queue, 100, 'a');
	assert_int_equal(drain(queue, 200, &log), 0);
	add(queue, 50, 'b');
	add(queue, 150, 'c');
	assert_int_equal(drain(queue, 200, &log), 0);
	assert_memory_equal(log.names, "abc", 3);
	assert_int_equal(log.times[1], 100);
	assert_int_equal(event_queue_get_late_count(queue), 1);
	event_queue_free(queue);
}

/* Two rings: one was read when the other one's older record was still being written. */
static void a_record_that_is_on_its_way_is_waited_for(void **state _unused_)
{
	struct event_queue *queue = event_queue_new();
	struct log log = {.fail_at = -1};
	const uint64_t third_ns = EVENT_QUEUE_HOLD_BACK_NS / 3;
	uint64_t now_ns = NS_PER_SECOND;

	add(queue, now_ns - 10 * third_ns, 'a');
	add(queue, now_ns - third_ns, 'c');
	assert_int_equal(event_queue_drain(queue, now_ns, keep, &log), 0);
	assert_int_equal(log.length, 1);
	add(queue, now_ns - 2 * third_ns, 'b');
	assert_int_equal(event_queue_drain(queue, now_ns + 3 * third_ns, keep, &log), 0);
	assert_memory_equal(log.names, "abc", 3);
	assert_int_equal(event_queue_get_late_count(queue), 0);
	event_queue_free(queue);
}

static void at_the_end_nothing_is_held_back(void **state _unused_)
{
	struct event_queue *queue = event_queue_new();
	struct log log = {.fail_at = -1};

	add(queue, NS_PER_SECOND, 'a');
	assert_int_equal(event_queue_drain(queue, NS_PER_MS, keep, &log), 0);
	assert_int_equal(event_queue_drain(queue, NS_PER_SECOND, keep, &log), 0);
	assert_int_equal(log.length, 0);
	assert_int_equal(event_queue_drain(queue, UINT64_MAX, keep, &log), 0);
	assert_int_equal(log.length, 1);
	event_queue_free(queue);
}

static void a_failing_handler_stops_the_drain(void **state _unused_)
{
	struct event_queue *queue = event_queue_new();
	struct log log = {.fail_at = 1};

	for (uint64_t i = 0; i < 4; i++)
		add(queue, i, 'x');
	assert_int_equal(drain(queue, 10, &log), -ENOMEM);
	assert_int_equal(log.length, 2);
	assert_int_equal(event_queue_get_length(queue), 2);
	event_queue_free(queue);
}

/* As a ring is read while an older record is being handled. */
static int keep_and_add(uint64_t time_ns, uint32_t kind _unused_, const void *record, size_t size,
			void *context)
{
	struct event_queue *queue = context;

	(void)record;
	assert_int_equal(event_queue_get_size(queue), time_ns == 10 ? 1 : 0);
	assert_int_equal(size, 1);
	if (time_ns == 10)
		for (uint64_t i = 0; i < 100; i++)
			add(queue, 30 + i, 'c');
	return 0;
}

static void a_handler_may_add_records(void **state _unused_)
{
	struct event_queue *queue = event_queue_new();
	struct log log = {.fail_at = -1};

	add(queue, 10, 'a');
	add(queue, 29, 'b');
	assert_int_equal(event_queue_get_size(queue), 2);
	assert_int_equal(
		event_queue_drain(queue, 10 + EVENT_QUEUE_HOLD_BACK_NS, keep_and_add, queue), 0);
	assert_int_equal(event_queue_get_size(queue), 101);
	assert_int_equal(drain(queue, 59, &log), 0);
	assert_int_equal(log.length, 31);
	assert_int_equal(log.names[0], 'b');
	assert_int_equal(event_queue_get_late_count(queue), 0);
	event_queue_free(queue);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_order_of_arrival_gives_the_order_of_time),
		cmocka_unit_test(rings_read_in_rounds_are_merged_under_every_reordering),
		cmocka_unit_test(records_of_equal_time_keep_their_order),
		cmocka_unit_test(a_late_record_is_counted_and_never_turns_time_back),
		cmocka_unit_test(a_record_that_is_on_its_way_is_waited_for),
		cmocka_unit_test(at_the_end_nothing_is_held_back),
		cmocka_unit_test(a_failing_handler_stops_the_drain),
		cmocka_unit_test(a_handler_may_add_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
