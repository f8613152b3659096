/* A thread's stack that is reported only after a sample on it; and short memory. */
#include "collect/trace/stack_regions.h"

#include <errno.h>

#include "base/clock.h"
#include "failing_memory.h"
#include "test_folder.h"
#include "unit.h"

#define FIRST_NS 1000
#define TID      101
#define START    0x10000ull
#define END      0x20000ull

/* The log of one thread with a stack in [BEGIN, END). */
struct fixture {
	struct trace_log *log;
	struct timeline *timeline;
	uint32_t process;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	const struct wire_stack_area area = {.type = WIRE_STACK_AREA,
					     .kind = WIRE_STACK_THREAD,
					     .pid = 100,
					     .tid = TID,
					     .start = START,
					     .end = 0x40000,
					     .thread_pointer = END - 0x100,
					     .time_ns = FIRST_NS + NS_PER_SECOND};

	assert_non_null(fixture);
	assert_int_equal(trace_log_new(test_parent_folder(), &fixture->log, NULL), 0);
	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
	fixture->timeline = timeline_new();
	assert_int_equal(timeline_add_process(fixture->timeline,
					      &(struct timeline_process){.pid = 100},
					      &fixture->process),
			 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	timeline_free(fixture->timeline);
	trace_log_free(fixture->log);
	free(fixture);
	return 0;
}

/* Whether a pointer shows that the stack is there. */
static bool shows_stack(const struct fixture *fixture, uint64_t time_ns, uint64_t address,
			uint32_t tid)
{
	const struct stack_tops tops = {0};
	const struct stack_pointer pointer = {.time_ns = time_ns, .address = address, .tid = tid};
	struct stack_regions *regions = stack_regions_new(fixture->log, &tops, fixture->timeline);
	uint32_t region;
	size_t count;

	assert_non_null(regions);
	assert_int_equal(stack_regions_find(regions, 0, fixture->process, &pointer, &region), 0);
	(void)stack_regions_get_all(regions, &count);
	stack_regions_free(regions);
	return count > 0;
}

/* Each case has a timeline of its own, as what is declared stays there. */
static void a_stack_that_is_reported_late_holds_the_pointers_in_it(void **state _unused_)
{
	static const struct {
		uint64_t time_ns;
		uint64_t address;
		uint32_t tid;
		bool is_in;
	} cases[] = {
		{FIRST_NS, START + 8, TID, true},
		{FIRST_NS, START, TID, false},
		{FIRST_NS, END, TID, true},
		{FIRST_NS, END + 8, TID, false},
		{FIRST_NS, START + 8, TID + 1, false},
		{FIRST_NS - 1, START + 8, TID, false},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(cases); i++) {
		void *made;

		assert_int_equal(set_up(&made), 0);
		if (shows_stack(made, cases[i].time_ns, cases[i].address, cases[i].tid) !=
		    cases[i].is_in)
			fail_msg("case %zu", i);
		(void)tear_down(&made);
	}
}

/* From the moment on at which it is reported, whoever has a pointer into it. */
static void a_stack_is_there_when_it_is_reported(void **state _unused_)
{
	for (int i = 0; i < 2; i++) {
		void *made;

		assert_int_equal(set_up(&made), 0);
		assert_int_equal(shows_stack(made, FIRST_NS + NS_PER_SECOND - 1 + (uint64_t)i,
					     START + 8, TID + 1),
				 i);
		(void)tear_down(&made);
	}
}

/* Another thread's stack is below the first one's in the same mapping: neither has a guard. */
static void stacks_that_touch_have_their_own_bounds(void **state)
{
	struct fixture *fixture = *state;
	const struct wire_stack_area upper = {.type = WIRE_STACK_AREA,
					      .kind = WIRE_STACK_THREAD,
					      .pid = 100,
					      .tid = TID + 1,
					      .start = START,
					      .end = 0x40000,
					      .thread_pointer = 0x40000 - 0x100,
					      .time_ns = FIRST_NS + NS_PER_SECOND};
	struct stack_tops tops = {0};
	/* Outermost frames are below the threads' own data, here in the page before. */
	const uint64_t outermost[] = {END - 0x1800, 0x40000 - 0x1800};
	struct stack_regions *regions;
	uint32_t found[2];

	assert_int_equal(trace_log_add_area(fixture->log, 0, &upper), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(stack_tops_add(&tops, 0, outermost[i]), 0);
	for (size_t i = 0; i < 2; i++)
		stack_tops_assign(&tops, 0, FIRST_NS + NS_PER_SECOND, outermost[i] - 0x5000,
				  outermost[i]);
	regions = stack_regions_new(fixture->log, &tops, fixture->timeline);
	assert_non_null(regions);
	for (size_t i = 0; i < 2; i++) {
		const struct stack_pointer pointer = {.time_ns = FIRST_NS + NS_PER_SECOND + 1 + i,
						      .address = outermost[i] - 0x5000,
						      .tid = TID + (pid_t)i};

		assert_int_equal(
			stack_regions_find(regions, 0, fixture->process, &pointer, &found[i]), 0);
	}
	assert_int_equal(timeline_get_region(fixture->timeline, found[0])->start, START);
	assert_int_equal(timeline_get_region(fixture->timeline, found[0])->end, END);
	assert_int_equal(timeline_get_region(fixture->timeline, found[1])->start, END);
	assert_int_equal(timeline_get_region(fixture->timeline, found[1])->end, 0x40000);
	assert_int_equal(timeline_count_region(fixture->timeline), 2);
	stack_regions_free(regions);
	stack_tops_release(&tops);
}

/* A stack with known bounds keeps them: below others, of any size, and if it replaces another one. */
static void known_bounds_are_kept(void **state)
{
	struct fixture *fixture = *state;
	struct wire_stack_area area = {.type = WIRE_STACK_AREA,
				       .kind = WIRE_STACK_BOUNDED_THREAD,
				       .pid = 100,
				       .tid = TID + 1,
				       .start = 0x40000,
				       .end = 0x40000 + (200 << 20),
				       .time_ns = FIRST_NS};
	struct stack_tops tops = {0};
	const uint64_t inner = 0x50000;
	struct stack_regions *regions;
	struct stack_pointer pointer = {.address = 0x48000, .tid = TID + 1};
	uint32_t found[2];

	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
	/* A later thread has the memory. */
	area.tid = TID + 2;
	area.end = 0x60000;
	area.time_ns = FIRST_NS + 10;
	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
	/* A stack inside the stack. */
	assert_int_equal(stack_tops_add(&tops, 0, inner), 0);
	assert_int_equal(stack_tops_add(&tops, 0, 0x5f000), 0);
	stack_tops_assign(&tops, 0, FIRST_NS, inner - 16, inner);
	regions = stack_regions_new(fixture->log, &tops, fixture->timeline);
	assert_non_null(regions);
	for (size_t i = 0; i < 2; i++) {
		pointer.time_ns = FIRST_NS + 10 * i;
		assert_int_equal(
			stack_regions_find(regions, 0, fixture->process, &pointer, &found[i]), 0);
	}
	for (size_t i = 0; i < 2; i++) {
		const struct stack_region *region =
			timeline_get_region(fixture->timeline, found[i]);

		assert_int_equal(region->start, 0x40000);
		assert_int_equal(region->end, i ? 0x60000 : 0x40000 + (200 << 20));
		assert_int_equal(region->kind, REGION_DECLARED);
	}
	stack_regions_free(regions);
	stack_tops_release(&tops);
}

static int make_regions(void *context)
{
	const struct fixture *fixture = context;
	const struct stack_tops tops = {0};
	struct stack_regions *regions = stack_regions_new(fixture->log, &tops, fixture->timeline);

	stack_regions_free(regions);
	return regions ? 0 : -ENOMEM;
}

static void regions_without_memory_are_none(void **state)
{
	failing_memory_try_all(make_regions, *state);
}

/* The pointer is found again where that lacked memory, and the stack is noted once. */
static void a_region_that_lacked_memory_can_be_found_again(void **state _unused_)
{
	const struct stack_tops tops = {0};
	const struct stack_pointer pointer = {
		.time_ns = FIRST_NS + NS_PER_SECOND, .address = START + 8, .tid = TID};
	int64_t num_before = 0;
	bool is_short = true;

	for (; is_short; num_before++) {
		struct fixture *fixture;
		struct stack_regions *regions;
		const struct kernel_region *known;
		uint32_t region = UINT32_MAX;
		size_t count;
		void *made;
		int err;

		assert_int_equal(set_up(&made), 0);
		fixture = made;
		regions = stack_regions_new(fixture->log, &tops, fixture->timeline);
		failing_memory_start(num_before);
		err = stack_regions_find(regions, 0, fixture->process, &pointer, &region);
		is_short = failing_memory_end();
		assert_int_equal(err, is_short ? -ENOMEM : 0);
		assert_int_equal(
			stack_regions_find(regions, 0, fixture->process, &pointer, &region), 0);
		known = stack_regions_get_all(regions, &count);
		if (count != 1 || known[0].region != region)
			fail_msg("%zu regions without allocation %lld", count,
				 (long long)num_before);
		assert_int_equal(timeline_get_region(fixture->timeline, region)->start, START);
		stack_regions_free(regions);
		(void)tear_down(&made);
	}
	assert_true(num_before > 2);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_stack_is_there_when_it_is_reported),
		cmocka_unit_test(a_stack_that_is_reported_late_holds_the_pointers_in_it),
		TEST(stacks_that_touch_have_their_own_bounds),
		TEST(known_bounds_are_kept),
		TEST(regions_without_memory_are_none),
		cmocka_unit_test(a_region_that_lacked_memory_can_be_found_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
