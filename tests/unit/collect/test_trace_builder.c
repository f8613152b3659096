#include "collect/trace/trace_builder.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "failing_memory.h"
#include "test_folder.h"
#include "unit.h"

#define PID         100
#define PERIOD      10
#define WAIT_PERIOD 1000

/* One process, as the recorder has it, and its log. */
struct fixture {
	struct profile *profile;
	struct file_table *files;
	struct process_table *processes;
	struct trace_log *log;
	struct timeline *timeline;
};

static int set_up(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	uint32_t process;

	fixture->profile = profile_new();
	fixture->files = file_table_new("/nonexistent", NULL);
	fixture->processes = process_table_new("/nonexistent", fixture->files);
	assert_int_equal(trace_log_new(test_parent_folder(), &fixture->log, NULL), 0);
	fixture->timeline = timeline_new();
	assert_int_equal(process_table_on_fork(fixture->processes, 1, PID, 1), 0);
	assert_int_equal(process_table_on_comm(fixture->processes, 2, PID, "game", false), 0);
	assert_int_equal(profile_add_process(fixture->profile, PID, STRING_EMPTY, &process), 0);
	*state = fixture;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *fixture = *state;

	timeline_free(fixture->timeline);
	trace_log_free(fixture->log);
	process_table_free(fixture->processes);
	file_table_free(fixture->files);
	profile_free(fixture->profile);
	free(fixture);
	return 0;
}

static void add_sample(struct fixture *fixture, uint64_t time_ns, uint32_t tid, const char *comm,
		       uint64_t user_sp)
{
	struct thread thread = {.tid = tid};
	struct timed_sample sample = {.time_ns = time_ns, .user_sp = user_sp, .num_periods = 1};

	assert_int_equal(profile_add_string(fixture->profile, comm, &thread.comm), 0);
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	trace_log_add_sample(fixture->log, &sample);
}

static void add_area(struct fixture *fixture, uint64_t time_ns, enum wire_stack_kind kind,
		     uint32_t tid, uint64_t start, uint64_t end, uint64_t thread_pointer)
{
	struct wire_stack_area area = {.type = WIRE_STACK_AREA,
				       .tid = tid,
				       .kind = kind,
				       .time_ns = time_ns,
				       .start = start,
				       .end = end,
				       .thread_pointer = thread_pointer};

	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
}

static void build(struct fixture *fixture)
{
	struct trace_source source = {.log = fixture->log,
				      .profile = fixture->profile,
				      .processes = fixture->processes,
				      .period_ns = PERIOD,
				      .wait_ns = WAIT_PERIOD};

	assert_int_equal(trace_builder_build(&source, fixture->timeline), 0);
}

static struct timeline_sample get_sample(const struct fixture *fixture, uint32_t number)
{
	struct timeline_sample sample = {0};
	uint64_t position = 0;

	for (uint32_t i = 0; i <= number; i++)
		assert_int_equal(timeline_next_sample(fixture->timeline, &position, &sample), 1);
	return sample;
}

static uint32_t count_occupancies(const struct fixture *fixture)
{
	struct occupancy occupancy;
	uint64_t position = 0;
	uint32_t count = 0;

	while (timeline_next_occupancy(fixture->timeline, &position, &occupancy) > 0)
		count++;
	return count;
}

/* In order of start. */
static struct occupancy get_occupancy(const struct fixture *fixture, uint32_t number)
{
	struct occupancy occupancy = {0};
	uint64_t position = 0;

	for (uint32_t i = 0; i <= number; i++)
		assert_int_equal(timeline_next_occupancy(fixture->timeline, &position, &occupancy),
				 1);
	return occupancy;
}

/* The region that the sample's thread was on, or came to; NULL: none. */
static const struct stack_region *region_of(struct fixture *fixture, uint32_t number)
{
	struct timeline_sample sample = get_sample(fixture, number);
	const struct stack_region *found = NULL;
	struct occupancy occupancy;
	uint64_t position = 0;

	while (timeline_next_occupancy(fixture->timeline, &position, &occupancy) > 0)
		if (occupancy.thread == sample.thread && occupancy.start_ns <= sample.time_ns &&
		    sample.time_ns <= occupancy.end_ns)
			found = timeline_get_region(fixture->timeline, occupancy.region);
	return found;
}

static const char *region_name(struct fixture *fixture, uint32_t sample)
{
	return timeline_get_string(fixture->timeline, region_of(fixture, sample)->name);
}

static void samples_come_out_in_order_of_time_with_the_period_as_weight(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 20, PID, "game", 0);
	add_sample(fixture, 10, PID, "game", 0);
	build(fixture);
	assert_int_equal(get_sample(fixture, 0).time_ns, 10);
	assert_int_equal(get_sample(fixture, 1).time_ns, 20);
	assert_int_equal(get_sample(fixture, 1).weight, PERIOD);
	assert_null(region_of(fixture, 0));
}

/* As often as they are read. Waits, and samples of other metrics, are as they were. */
static void weights_of_an_event_that_took_turns_are_scaled(void **state)
{
	struct fixture *fixture = *state;
	struct metric_scale scale = {.metric = 1, .ratio = {3, 2}};
	struct trace_source source = {.log = fixture->log,
				      .profile = fixture->profile,
				      .processes = fixture->processes,
				      .period_ns = PERIOD,
				      .wait_ns = WAIT_PERIOD,
				      .scales = &scale,
				      .num_scales = 1};

	add_sample(fixture, 10, PID, "game", 0);
	for (uint64_t i = 0; i < 4; i++)
		trace_log_add_sample(fixture->log, &(struct timed_sample){.time_ns = 20 + i,
									  .metric = i == 3 ? 2 : 1,
									  .num_periods = 1,
									  .weight = 1});
	assert_int_equal(trace_builder_build(&source, fixture->timeline), 0);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(get_sample(fixture, 0).weight, PERIOD);
		assert_int_equal(get_sample(fixture, 1).weight, 1);
		assert_int_equal(get_sample(fixture, 2).weight, 2);
		assert_int_equal(get_sample(fixture, 3).weight, 1);
		assert_int_equal(get_sample(fixture, 4).weight, 1);
	}
}

static void a_renamed_thread_is_one_with_its_last_name(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 10, 101, "game", 0);
	add_sample(fixture, 20, 101, "worker", 0);
	build(fixture);
	assert_int_equal(timeline_count_thread(fixture->timeline), 1);
	assert_string_equal(timeline_get_string(fixture->timeline,
						timeline_get_thread(fixture->timeline, 0)->name),
			    "worker");
}

static void a_thread_stack_ends_above_the_thread_pointer_and_has_the_threads_name(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_THREAD, 101, 0x10000, 0x40000, 0x1ff00);
	add_sample(fixture, 10, 101, "worker", 0x18000);
	build(fixture);
	assert_string_equal(region_name(fixture, 0), "worker");
	assert_int_equal(region_of(fixture, 0)->start, 0x10000);
	assert_int_equal(region_of(fixture, 0)->end, 0x20000);
}

static void stacks_of_two_threads_in_one_mapping_are_two_regions(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_THREAD, 101, 0x10000, 0x30000, 0x2ff00);
	add_sample(fixture, 10, 101, "upper", 0x28000);
	add_area(fixture, 20, WIRE_STACK_THREAD, 102, 0x10000, 0x30000, 0x1ff00);
	add_sample(fixture, 20, 102, "lower", 0x18000);
	add_sample(fixture, 30, 101, "upper", 0x27000);
	build(fixture);
	assert_string_equal(region_name(fixture, 0), "upper");
	assert_string_equal(region_name(fixture, 1), "lower");
	assert_string_equal(region_name(fixture, 2), "upper");
	assert_int_equal(region_of(fixture, 0)->start, 0x20000);
}

static void a_stack_that_another_thread_uses_anew_is_another_region(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_THREAD, 101, 0x10000, 0x20000, 0x1ff00);
	add_sample(fixture, 10, 101, "first", 0x18000);
	add_area(fixture, 20, WIRE_STACK_THREAD, 102, 0x10000, 0x20000, 0x1ff00);
	add_sample(fixture, 20, 102, "second", 0x18000);
	build(fixture);
	assert_string_equal(region_name(fixture, 0), "first");
	assert_string_equal(region_name(fixture, 1), "second");
}

static void a_mapping_too_large_for_one_stack_goes_by_the_implicit_rule(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 101, 0x10000, 0x10000 + (17 << 20), 0);
	add_sample(fixture, 10, 101, "worker", 0x18008);
	build(fixture);
	assert_int_equal(region_of(fixture, 0)->kind, REGION_IMPLICIT);
	assert_int_equal(region_of(fixture, 0)->end, 0x19000);
}

static void add_whole_sample(struct fixture *fixture, uint64_t time_ns, uint32_t tid,
			     uint64_t user_sp, uint64_t outermost_sp)
{
	struct thread thread = {.tid = tid};
	struct timed_sample sample = {.time_ns = time_ns,
				      .user_sp = user_sp,
				      .outermost_sp = outermost_sp,
				      .num_periods = 1};

	assert_int_equal(profile_add_string(fixture->profile, "worker", &thread.comm), 0);
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	trace_log_add_sample(fixture->log, &sample);
}

/* Stacks of 16 KiB, one above the other, that the kernel has as one mapping. */
static void fibers_that_share_a_mapping_are_told_apart_by_their_outermost_frames(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 101, 0x10000, 0x20000, 0);
	add_whole_sample(fixture, 10, 101, 0x13000, 0x13fc0);
	add_whole_sample(fixture, 20, 101, 0x16000, 0x17fc0);
	add_whole_sample(fixture, 30, 101, 0x12500, 0x13fc0);
	add_sample(fixture, 40, 101, "worker", 0x17800); /* its walk ended early */
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 2);
	assert_int_equal(region_of(fixture, 0)->start, 0x10000);
	assert_int_equal(region_of(fixture, 0)->end, 0x14000);
	assert_int_equal(region_of(fixture, 1)->start, 0x14000);
	assert_int_equal(region_of(fixture, 1)->end, 0x18000);
	assert_int_equal(count_occupancies(fixture), 4);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(get_occupancy(fixture, i).region, i % 2);
}

static void expect_stack(struct fixture *fixture, uint32_t sample, uint64_t start, uint64_t end,
			 enum region_kind kind, const char *name)
{
	const struct stack_region *region = region_of(fixture, sample);

	assert_string_equal(timeline_get_string(fixture->timeline, region->name), name);
	assert_int_equal(region->start, start);
	assert_int_equal(region->end, end);
	assert_int_equal(region->kind, kind);
}

static void a_fiber_with_a_mapping_of_its_own_is_as_large_as_that(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 0, 0x100000, 0x120000, 0);
	add_whole_sample(fixture, 10, 101, 0x11f000, 0x11ffc0);
	/* The kernel has joined it with other memory above. */
	add_area(fixture, 20, WIRE_STACK_OTHER, 0, 0x200000, 0x246000, 0);
	add_whole_sample(fixture, 20, 101, 0x23f000, 0x23ffc0);
	/* Larger than mappings that hold several stacks. */
	add_area(fixture, 30, WIRE_STACK_OTHER, 0, 0x10001000, 0x12001000, 0);
	add_whole_sample(fixture, 30, 101, 0x11ff0000, 0x12000f80);
	build(fixture);
	expect_stack(fixture, 0, 0x100000, 0x120000, REGION_DECLARED, "stack 0x100000, 128 KiB");
	expect_stack(fixture, 1, 0x200000, 0x240000, REGION_DECLARED, "stack 0x200000, 256 KiB");
	expect_stack(fixture, 2, 0x10001000, 0x12001000, REGION_DECLARED,
		     "stack 0x10001000, 32768 KiB");
}

static void a_mapping_with_room_for_another_stack_does_not_tell_the_size_of_one(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 0, 0x100000, 0x200000, 0);
	add_whole_sample(fixture, 10, 101, 0x13f000, 0x13ffc0);
	/* One of malloc()'s arenas. */
	add_area(fixture, 20, WIRE_STACK_OTHER, 0, 0x8000000, 0x8030000, 0);
	add_whole_sample(fixture, 20, 101, 0x802f000, 0x802ffc0);
	build(fixture);
	expect_stack(fixture, 0, 0x13f000, 0x140000, REGION_PARTIAL,
		     "stack 0x13f000, at least 4 KiB");
	expect_stack(fixture, 1, 0x802f000, 0x8030000, REGION_PARTIAL,
		     "stack 0x802f000, at least 4 KiB");
}

/* Stacks of 64 KiB, of which the second and the last two have never run. */
static void evenly_spaced_stacks_have_the_size_of_their_distance(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 5, WIRE_STACK_OTHER, 0, 0x100000, 0x160000, 0);
	add_whole_sample(fixture, 10, 101, 0x10f000, 0x10ffc0);
	add_whole_sample(fixture, 20, 101, 0x12e000, 0x12ffc0);
	add_whole_sample(fixture, 30, 101, 0x13f000, 0x13ffc0);
	build(fixture);
	expect_stack(fixture, 0, 0x100000, 0x110000, REGION_DECLARED, "stack 0x100000, 64 KiB");
	expect_stack(fixture, 1, 0x120000, 0x130000, REGION_PARTIAL,
		     "stack 0x120000, at least 64 KiB");
	expect_stack(fixture, 2, 0x130000, 0x140000, REGION_DECLARED, "stack 0x130000, 64 KiB");
}

static void other_memory_below_is_not_the_lowest_stacks(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 5, WIRE_STACK_OTHER, 0, 0x100000, 0x135000, 0);
	add_whole_sample(fixture, 10, 101, 0x114000, 0x114fc0);
	add_whole_sample(fixture, 20, 101, 0x123000, 0x124fc0);
	add_whole_sample(fixture, 30, 101, 0x134000, 0x134fc0);
	build(fixture);
	expect_stack(fixture, 0, 0x105000, 0x115000, REGION_PARTIAL,
		     "stack 0x105000, at least 64 KiB");
	expect_stack(fixture, 1, 0x115000, 0x125000, REGION_DECLARED, "stack 0x115000, 64 KiB");
	expect_stack(fixture, 2, 0x125000, 0x135000, REGION_DECLARED, "stack 0x125000, 64 KiB");
}

static void stacks_of_several_sizes_may_fill_a_mapping(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 5, WIRE_STACK_OTHER, 0, 0x100000, 0x170000, 0);
	add_whole_sample(fixture, 10, 101, 0x10f000, 0x10ffc0);
	add_whole_sample(fixture, 20, 101, 0x12e000, 0x12ffc0);
	add_whole_sample(fixture, 30, 101, 0x16f000, 0x16ffc0);
	build(fixture);
	expect_stack(fixture, 0, 0x100000, 0x110000, REGION_DECLARED, "stack 0x100000, 64 KiB");
	expect_stack(fixture, 1, 0x110000, 0x130000, REGION_DECLARED, "stack 0x110000, 128 KiB");
	expect_stack(fixture, 2, 0x130000, 0x170000, REGION_DECLARED, "stack 0x130000, 256 KiB");
}

/* Of sixteen stacks three have run: what is between them is not one stack each. */
static void unevenly_spaced_stacks_are_known_as_far_as_they_were_used(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 5, WIRE_STACK_OTHER, 0, 0x100000, 0x200000, 0);
	add_whole_sample(fixture, 10, 101, 0x12f000, 0x12ffc0);
	add_whole_sample(fixture, 20, 101, 0x17e000, 0x17ffc0);
	add_whole_sample(fixture, 30, 101, 0x1ff000, 0x1fffc0);
	build(fixture);
	expect_stack(fixture, 0, 0x12f000, 0x130000, REGION_PARTIAL,
		     "stack 0x12f000, at least 4 KiB");
	expect_stack(fixture, 1, 0x17e000, 0x180000, REGION_PARTIAL,
		     "stack 0x17e000, at least 8 KiB");
	expect_stack(fixture, 2, 0x1ff000, 0x200000, REGION_PARTIAL,
		     "stack 0x1ff000, at least 4 KiB");
}

/* Two of them share a page. */
static void a_goroutines_stack_has_the_bounds_that_go_says(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_GOROUTINE, 101, 0x10000, 0x10800, 0);
	add_whole_sample(fixture, 10, 101, 0x10700, 0x107d0);
	add_area(fixture, 20, WIRE_STACK_GOROUTINE, 102, 0x10800, 0x11000, 0);
	add_whole_sample(fixture, 20, 102, 0x10f00, 0x10fd0);
	add_area(fixture, 30, WIRE_STACK_GOROUTINE, 101, 0x20000, 0x30000, 0);
	add_whole_sample(fixture, 30, 101, 0x2f000, 0x2ffd0);
	add_sample(fixture, 40, 102, "worker", 0x10f10);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 3);
	expect_stack(fixture, 0, 0x10000, 0x10800, REGION_DECLARED, "stack 0x10000, 2 KiB");
	expect_stack(fixture, 1, 0x10800, 0x11000, REGION_DECLARED, "stack 0x10800, 2 KiB");
	expect_stack(fixture, 2, 0x20000, 0x30000, REGION_DECLARED, "stack 0x20000, 64 KiB");
	assert_ptr_equal(region_of(fixture, 3), region_of(fixture, 1));
}

/* Its mapping was reported, too, when the goroutine could not be read. */
static void a_goroutines_stack_is_cut_out_of_its_mapping(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 0, 0x10000, 0x80000, 0);
	add_whole_sample(fixture, 10, 101, 0x2f000, 0x2ffd0);
	add_area(fixture, 20, WIRE_STACK_GOROUTINE, 101, 0x28000, 0x30000, 0);
	add_whole_sample(fixture, 20, 101, 0x2f000, 0x2ffd0);
	build(fixture);
	expect_stack(fixture, 1, 0x28000, 0x30000, REGION_DECLARED, "stack 0x28000, 32 KiB");
}

/* Go frees stacks and makes others of the memory, of any size. */
static void a_goroutines_stack_may_be_where_others_were_and_will_be(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_GOROUTINE, 101, 0x10000, 0x14000, 0);
	add_whole_sample(fixture, 10, 101, 0x13000, 0x13fd0);
	add_area(fixture, 20, WIRE_STACK_GOROUTINE, 102, 0x12000, 0x14000, 0);
	add_whole_sample(fixture, 20, 102, 0x13000, 0x13fd0);
	add_area(fixture, 30, WIRE_STACK_GOROUTINE, 101, 0x10000, 0x12000, 0);
	add_whole_sample(fixture, 30, 101, 0x11000, 0x11fd0);
	add_area(fixture, 40, WIRE_STACK_GOROUTINE, 102, 0x12000, 0x14000, 0);
	add_whole_sample(fixture, 40, 102, 0x13000, 0x13fd0);
	add_area(fixture, 50, WIRE_STACK_GOROUTINE, 101, 0x10000, 0x14000, 0);
	add_whole_sample(fixture, 50, 101, 0x11000, 0x13fd0);
	/* Of one that ended; then a thread has its signal handlers there. */
	add_area(fixture, 60, WIRE_STACK_SIGNAL, 103, 0x10000, 0x14000, 0);
	add_sample(fixture, 60, 103, "worker", 0x13000);
	build(fixture);
	expect_stack(fixture, 0, 0x10000, 0x14000, REGION_DECLARED, "stack 0x10000, 16 KiB");
	expect_stack(fixture, 1, 0x12000, 0x14000, REGION_DECLARED, "stack 0x12000, 8 KiB");
	expect_stack(fixture, 2, 0x10000, 0x12000, REGION_DECLARED, "stack 0x10000, 8 KiB");
	assert_ptr_equal(region_of(fixture, 3), region_of(fixture, 1));
	expect_stack(fixture, 4, 0x10000, 0x14000, REGION_DECLARED, "stack 0x10000, 16 KiB");
	assert_ptr_not_equal(region_of(fixture, 4), region_of(fixture, 0));
	expect_stack(fixture, 5, 0x10000, 0x14000, REGION_DECLARED, "signals of worker");
}

/* The mapping may hold other data below. */
static void of_a_very_large_thread_stack_the_top_is_kept(void **state)
{
	struct fixture *fixture = *state;
	uint64_t start = 0x10000;
	uint64_t end = start + (65 << 20);

	add_area(fixture, 10, WIRE_STACK_THREAD, 101, start, end, end - 0x100);
	add_sample(fixture, 10, 101, "worker", end - 0x2000);
	add_sample(fixture, 20, 101, "worker", end - (64 << 20));
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 1);
	expect_stack(fixture, 0, end - (64 << 20), end, REGION_DECLARED, "worker");
	assert_ptr_equal(region_of(fixture, 1), region_of(fixture, 0));
}

/* In memory too large for a stack, or where no mapping is reported: a heap. */
static void fibers_in_a_heap_are_known_by_their_outermost_frames(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 101, 0x10000, 0x10000 + (100 << 20), 0);
	add_whole_sample(fixture, 10, 101, 0x8013000, 0x8013fc0);
	add_whole_sample(fixture, 20, 101, 0x43000, 0x4bfc0);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 2);
	assert_int_equal(region_of(fixture, 0)->end, 0x8014000);
	assert_int_equal(region_of(fixture, 1)->start, 0x43000);
	assert_int_equal(region_of(fixture, 1)->end, 0x4c000);
}

/* The kernel has joined a fiber's memory with that of a thread's stack above it. */
static void a_fiber_below_a_threads_stack_is_another_region(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_THREAD, 101, 0x10000, 0x40000, 0x3f740);
	add_whole_sample(fixture, 10, 101, 0x3d000, 0x3ef80);
	add_whole_sample(fixture, 20, 101, 0x13000, 0x13fc0);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 2);
	assert_string_equal(region_name(fixture, 0), "worker");
	assert_int_equal(region_of(fixture, 0)->start, 0x14000);
	assert_int_equal(region_of(fixture, 0)->end, 0x40000);
	expect_stack(fixture, 1, 0x10000, 0x14000, REGION_DECLARED, "stack 0x10000, 16 KiB");
}

/* The outermost frame is that of the stack which the signal has interrupted. */
static void a_signal_handlers_stack_stays_apart_from_the_one_it_interrupted(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_MAIN, PID, 0x80000, 0x90000, 0);
	add_whole_sample(fixture, 10, PID, 0x8e000, 0x8ffc0);
	add_area(fixture, 20, WIRE_STACK_SIGNAL, PID, 0x10000, 0x12000, 0);
	add_whole_sample(fixture, 20, PID, 0x11000, 0x8ffc0);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 2);
	assert_string_equal(region_name(fixture, 0), "[stack]");
	assert_string_equal(region_name(fixture, 1), "signals of worker");
}

/* As Go has them: both lie in one mapping. */
static void a_fiber_does_not_reach_down_to_the_stack_of_a_signal_handler(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 101, 0x10000, 0x80000, 0);
	add_whole_sample(fixture, 10, 101, 0x4a000, 0x4bfc0);
	add_area(fixture, 20, WIRE_STACK_SIGNAL, 101, 0x18000, 0x20000, 0);
	add_whole_sample(fixture, 20, 101, 0x1f800, 0x4bfc0);
	add_whole_sample(fixture, 30, 101, 0x4a000, 0x4bfc0);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 2);
	assert_string_equal(region_name(fixture, 0), "stack 0x4a000, at least 8 KiB");
	assert_string_equal(region_name(fixture, 1), "signals of worker");
	assert_ptr_equal(region_of(fixture, 2), region_of(fixture, 0));
}

/* The fiber's stack starts right above. */
static void a_signal_handlers_stack_ends_where_the_kernel_says(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_OTHER, 101, 0x10000, 0x30000, 0);
	add_whole_sample(fixture, 10, 101, 0x2a000, 0x2ffc0);
	add_area(fixture, 20, WIRE_STACK_SIGNAL, 101, 0x18000, 0x20000, 0);
	add_whole_sample(fixture, 20, 101, 0x1f800, 0x2ffc0);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 2);
	expect_stack(fixture, 0, 0x20000, 0x30000, REGION_DECLARED, "stack 0x20000, 64 KiB");
	expect_stack(fixture, 1, 0x18000, 0x20000, REGION_DECLARED, "signals of worker");
}

static void a_signal_stack_is_named_after_its_thread(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_SIGNAL, 101, 0x10010, 0x12010, 0);
	add_sample(fixture, 10, 101, "worker", 0x11000);
	build(fixture);
	expect_stack(fixture, 0, 0x10010, 0x12010, REGION_DECLARED, "signals of worker");
}

static void the_main_stack_has_the_lowest_start_that_was_seen(void **state)
{
	struct fixture *fixture = *state;

	add_area(fixture, 10, WIRE_STACK_MAIN, PID, 0x18000, 0x20000, 0);
	add_sample(fixture, 10, PID, "game", 0x19000);
	add_area(fixture, 20, WIRE_STACK_MAIN, PID, 0x10000, 0x20000, 0);
	add_sample(fixture, 20, PID, "game", 0x11000);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 1);
	assert_string_equal(region_name(fixture, 1), "[stack]");
	assert_int_equal(region_of(fixture, 0)->start, 0x10000);
}

/* The kernel could not report the memory with the first sample, as it was being changed. */
static void the_main_stack_is_there_from_the_first_sample_on(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 10, PID, "game", 0x1f000);
	add_area(fixture, 20, WIRE_STACK_MAIN, PID, 0x10000, 0x20000, 0);
	add_sample(fixture, 20, PID, "game", 0x1e000);
	build(fixture);
	assert_int_equal(timeline_count_region(fixture->timeline), 1);
	assert_string_equal(region_name(fixture, 0), "[stack]");
}

static void a_threads_first_sample_is_on_the_stack_that_is_reported_later(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 10, 101, "worker", 0x18000);
	add_area(fixture, 15, WIRE_STACK_MAIN, PID, 0x80000, 0x90000, 0);
	add_area(fixture, 20, WIRE_STACK_THREAD, 101, 0x10000, 0x40000, 0x1ff00);
	add_sample(fixture, 20, 101, "worker", 0x17000);
	build(fixture);
	assert_string_equal(region_name(fixture, 0), "worker");
	assert_ptr_equal(region_of(fixture, 0), region_of(fixture, 1));
}

/* The next owner of the memory is reported after the one before, not instead of it. */
static void another_threads_later_stack_is_not_taken_for_it(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 10, 101, "worker", 0x18000);
	add_area(fixture, 20, WIRE_STACK_THREAD, 102, 0x10000, 0x40000, 0x1ff00);
	add_sample(fixture, 20, 102, "other", 0x17000);
	build(fixture);
	assert_int_equal(region_of(fixture, 0)->kind, REGION_IMPLICIT);
	assert_string_equal(region_name(fixture, 1), "other");
}

/* A fiber's memory that the kernel joined with the page in which the first thread's TLS lies. */
static void what_lies_below_the_first_threads_tls_is_no_thread_stack(void **state)
{
	struct fixture *fixture = *state;
	struct wire_stack_area area = {.type = WIRE_STACK_AREA,
				       .pid = PID,
				       .tid = PID,
				       .kind = WIRE_STACK_THREAD,
				       .time_ns = 10,
				       .start = 0x10000,
				       .end = 0x40000,
				       .thread_pointer = 0x3f740};

	assert_int_equal(trace_log_add_area(fixture->log, 0, &area), 0);
	add_sample(fixture, 10, PID, "game", 0x18000);
	build(fixture);
	assert_string_equal(region_name(fixture, 0), "stack 0x10000, 192 KiB");
}

static void fill_is_what_lies_above_the_stack_pointer_and_ends_at_0(void **state)
{
	struct fixture *fixture = *state;
	struct region_fill fill;
	uint64_t position = 0;

	add_area(fixture, 10, WIRE_STACK_MAIN, PID, 0x10000, 0x20000, 0);
	add_sample(fixture, 10, PID, "game", 0x1f000);
	add_sample(fixture, 20, PID, "game", 0x1c000);
	build(fixture);
	assert_int_equal(timeline_next_fill(fixture->timeline, &position, &fill), 1);
	assert_int_equal(fill.bytes, 0x1000);
	assert_int_equal(timeline_next_fill(fixture->timeline, &position, &fill), 1);
	assert_int_equal(fill.bytes, 0x4000);
	assert_int_equal(timeline_next_fill(fixture->timeline, &position, &fill), 1);
	assert_int_equal(fill.bytes, 0);
	assert_int_equal(fill.time_ns, 20);
	assert_int_equal(timeline_next_fill(fixture->timeline, &position, &fill), 0);
}

static void a_fill_counts_once_it_changes_by_more_than_an_eighth(void **state)
{
	static const uint64_t reported[][2] = {{10, 0x1000}, {30, 0x1208}, {50, 0xfc0}, {50, 0}};
	static const uint64_t fills[] = {0x1000, 0x1200, 0x1208, 0xfc8, 0xfc0};
	struct fixture *fixture = *state;
	struct region_fill fill;
	uint64_t position = 0;

	add_area(fixture, 10, WIRE_STACK_MAIN, PID, 0x10000, 0x20000, 0);
	for (size_t i = 0; i < ARRAY_LENGTH(fills); i++)
		add_sample(fixture, 10 + 10 * i, PID, "game", 0x20000 - fills[i]);
	build(fixture);
	for (size_t i = 0; i < ARRAY_LENGTH(reported); i++) {
		assert_int_equal(timeline_next_fill(fixture->timeline, &position, &fill), 1);
		assert_int_equal(fill.time_ns, reported[i][0]);
		assert_int_equal(fill.bytes, reported[i][1]);
	}
	assert_int_equal(timeline_next_fill(fixture->timeline, &position, &fill), 0);
}

/* A process with a region [0x10000, 0x20000) and on it a zone of thread 101 from 10 to 50. */
static void add_zones(struct fixture *fixture)
{
	struct timeline_process process = {.pid = PID};
	struct timeline_thread thread = {.tid = 101};
	struct stack_region region = {.start = 0x10000, .end = 0x20000};
	struct source_location location = {0};
	struct zone zone = {.start_ns = 10,
			    .end_ns = 50,
			    .pointer = 0x1f000,
			    .parent = TIMELINE_NONE,
			    .last_attribute = TIMELINE_NONE};
	struct occupancy occupancy = {.start_ns = 10, .end_ns = 50};

	assert_int_equal(timeline_add_string(fixture->timeline, "fiber", &region.name), 0);
	assert_int_equal(timeline_add_process(fixture->timeline, &process, NULL), 0);
	assert_int_equal(timeline_add_thread(fixture->timeline, &thread, NULL), 0);
	assert_int_equal(timeline_add_region(fixture->timeline, &region, NULL), 0);
	assert_int_equal(timeline_add_location(fixture->timeline, &location, NULL), 0);
	assert_int_equal(timeline_add_zone(fixture->timeline, &zone, NULL), 0);
	assert_int_equal(timeline_add_occupancy(fixture->timeline, &occupancy, NULL), 0);
}

static void samples_and_zones_share_process_thread_and_region(void **state)
{
	struct fixture *fixture = *state;

	add_zones(fixture);
	add_area(fixture, 20, WIRE_STACK_OTHER, 101, 0x10000, 0x40000, 0);
	add_sample(fixture, 20, 101, "worker", 0x18000);
	build(fixture);
	assert_int_equal(timeline_count_process(fixture->timeline), 1);
	assert_int_equal(timeline_count_thread(fixture->timeline), 1);
	assert_ptr_equal(region_of(fixture, 0), timeline_get_region(fixture->timeline, 0));
	assert_string_equal(region_name(fixture, 0), "fiber");
}

/* Zones of a library that does not report its process, nor what its threads are called. */
static void who_zones_do_not_name_has_the_names_of_the_recording(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_thread *thread;
	struct timeline_process *process;

	add_zones(fixture);
	process = timeline_get_process(fixture->timeline, 0);
	process->pid = 0;
	thread = timeline_get_thread(fixture->timeline, 0);
	assert_int_equal(
		timeline_add_string(fixture->timeline, TIMELINE_UNNAMED_THREAD, &thread->name), 0);
	add_sample(fixture, 20, 101, "game", 0);
	add_sample(fixture, 30, 101, "worker", 0);
	build(fixture);
	assert_int_equal(timeline_count_process(fixture->timeline), 1);
	assert_int_equal(process->pid, PID);
	assert_string_equal(timeline_get_string(fixture->timeline, process->name), "game");
	assert_string_equal(timeline_get_string(fixture->timeline, thread->name), "worker");
}

static void what_a_program_calls_its_thread_stays(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_thread *thread;

	add_zones(fixture);
	thread = timeline_get_thread(fixture->timeline, 0);
	assert_int_equal(timeline_add_string(fixture->timeline, "renderer", &thread->name), 0);
	add_sample(fixture, 20, 101, "worker", 0);
	build(fixture);
	assert_string_equal(timeline_get_string(fixture->timeline, thread->name), "renderer");
}

/* The kernel gives pids and tids anew: who has one later is somebody else. */
static void a_reused_pid_is_another_process_with_another_thread(void **state)
{
	struct fixture *fixture = *state;
	const struct timeline *timeline = fixture->timeline;
	struct thread thread = {.tid = PID};
	struct timed_sample sample = {.time_ns = 200, .num_periods = 1};

	add_sample(fixture, 10, PID, "game", 0);
	assert_int_equal(process_table_on_exit(fixture->processes, 100, PID), 0);
	assert_int_equal(process_table_on_fork(fixture->processes, 150, PID, 1), 0);
	assert_int_equal(process_table_on_comm(fixture->processes, 160, PID, "other", false), 0);
	assert_int_equal(profile_add_process(fixture->profile, PID, STRING_EMPTY, &thread.process),
			 0);
	assert_int_equal(thread.process, process_table_get_count(fixture->processes) - 1);
	assert_int_equal(profile_add_string(fixture->profile, "other", &thread.comm), 0);
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	trace_log_add_sample(fixture->log, &sample);
	build(fixture);
	assert_int_equal(timeline_count_process(timeline), 2);
	assert_int_equal(timeline_get_process(timeline, 1)->pid, PID);
	assert_int_equal(timeline_get_process(timeline, 1)->start_ns, 150);
	assert_string_equal(timeline_get_string(timeline, timeline_get_process(timeline, 1)->name),
			    "other");
	assert_int_equal(timeline_count_thread(timeline), 2);
	assert_int_equal(get_sample(fixture, 0).thread, 0);
	assert_int_equal(get_sample(fixture, 1).thread, 1);
	assert_string_equal(timeline_get_string(timeline, timeline_get_thread(timeline, 0)->name),
			    "game");
}

static void a_tid_that_a_later_thread_has_is_another_thread(void **state)
{
	struct fixture *fixture = *state;
	const struct timeline *timeline = fixture->timeline;

	trace_log_add_thread(fixture->log, 5, PID, 101);
	add_sample(fixture, 10, 101, "worker", 0);
	add_sample(fixture, 20, 101, "worker", 0);
	trace_log_add_thread(fixture->log, 30, PID, 101);
	trace_log_add_thread(fixture->log, 30, PID + 1, 102); /* somebody else's */
	add_sample(fixture, 40, 101, "worker", 0);
	add_sample(fixture, 50, 101, "renamed", 0);
	build(fixture);
	assert_int_equal(timeline_count_thread(timeline), 2);
	assert_int_equal(timeline_get_thread(timeline, 0)->start_ns, 5);
	assert_int_equal(timeline_get_thread(timeline, 1)->start_ns, 30);
	for (uint32_t i = 0; i < 4; i++)
		assert_int_equal(get_sample(fixture, i).thread, i / 2);
	assert_string_equal(timeline_get_string(timeline, timeline_get_thread(timeline, 0)->name),
			    "worker");
	assert_string_equal(timeline_get_string(timeline, timeline_get_thread(timeline, 1)->name),
			    "renamed");
}

static void a_thread_that_the_program_declared_is_one_however_often_its_tid_is_used(void **state)
{
	struct fixture *fixture = *state;

	add_zones(fixture);
	add_sample(fixture, 20, 101, "worker", 0);
	trace_log_add_thread(fixture->log, 30, PID, 101);
	add_sample(fixture, 40, 101, "worker", 0);
	build(fixture);
	assert_int_equal(timeline_count_thread(fixture->timeline), 1);
}

static void a_sample_elsewhere_ends_the_occupancy_that_a_zone_started(void **state)
{
	struct fixture *fixture = *state;
	struct occupancy first;

	add_zones(fixture);
	add_area(fixture, 20, WIRE_STACK_MAIN, 101, 0x80000, 0x90000, 0);
	add_sample(fixture, 20, 101, "worker", 0x88000);
	build(fixture);
	first = get_occupancy(fixture, 0);
	assert_int_equal(first.region, 0);
	assert_int_equal(first.start_ns, 10);
	assert_int_equal(first.end_ns, 20);
}

/* What the recording knows of a process goes along, and its parents do. */
static void processes_come_with_their_ancestors(void **state)
{
	struct fixture *fixture = *state;
	const struct timeline *timeline = fixture->timeline;
	struct thread thread = {.tid = 300, .process = 2};
	struct timed_sample sample = {.time_ns = 200, .num_periods = 1};
	uint32_t ignored;

	assert_int_equal(process_table_on_fork(fixture->processes, 20, 200, PID), 0);
	assert_int_equal(process_table_on_fork(fixture->processes, 30, 300, 200), 0);
	assert_int_equal(process_table_on_fork(fixture->processes, 40, 400, PID), 0);
	for (uint32_t pid = 200; pid <= 400; pid += 100)
		assert_int_equal(profile_add_process(fixture->profile, pid, STRING_EMPTY, &ignored),
				 0);
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	trace_log_add_sample(fixture->log, &sample);
	build(fixture);
	assert_int_equal(timeline_count_process(timeline), 3);
	for (uint32_t i = 0; i < 3; i++) {
		const struct timeline_process *process = timeline_get_process(timeline, i);

		assert_int_equal(process->pid, 300 - 100 * i);
		assert_int_equal(process->parent_pid, i == 2 ? 1 : 200 - 100 * i);
		assert_int_equal(process->end_ns, 0);
	}
}

static void a_process_ends_after_its_last_sample_and_an_image_before_the_next(void **state)
{
	struct fixture *fixture = *state;
	const struct timeline *timeline = fixture->timeline;
	struct thread thread = {.tid = PID, .process = 1};
	struct timed_sample sample = {.time_ns = 203, .num_periods = 1};
	uint32_t ignored;

	add_sample(fixture, 10, PID, "game", 0);
	assert_int_equal(process_table_on_comm(fixture->processes, 100, PID, "next", true), 0);
	assert_int_equal(process_table_on_exit(fixture->processes, 200, PID), 0);
	assert_int_equal(profile_add_process(fixture->profile, PID, STRING_EMPTY, &ignored), 0);
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	trace_log_add_sample(fixture->log, &sample);
	build(fixture);
	assert_int_equal(timeline_count_process(timeline), 2);
	assert_int_equal(timeline_get_process(timeline, 0)->end_ns, 99);
	assert_int_equal(timeline_get_process(timeline, 1)->start_ns, 100);
	assert_int_equal(timeline_get_process(timeline, 1)->end_ns, 204);
}

/* The next one. */
static void assert_task_event(const struct fixture *fixture, uint64_t *position, uint64_t time_ns,
			      enum task_event_kind kind, uint32_t tid, uint32_t child_pid,
			      const char *name)
{
	const struct timeline *timeline = fixture->timeline;
	struct task_event event;

	assert_int_equal(timeline_next_task_event(timeline, position, &event), 1);
	assert_int_equal(event.time_ns, time_ns);
	assert_int_equal(event.kind, kind);
	assert_int_equal(timeline_get_thread(timeline, event.thread)->tid, tid);
	assert_int_equal(event.child_pid, child_pid);
	assert_string_equal(timeline_get_string(timeline, event.name), name);
}

/* What happened before the recording, and to threads that were not seen, is not shown. */
static void threads_show_what_became_of_them(void **state)
{
	struct fixture *fixture = *state;
	struct clock_snapshot clock = {.boottime_ns = 5};
	struct thread thread = {.tid = PID, .process = 2};
	struct timed_sample sample = {.time_ns = 110, .num_periods = 1};
	struct task_event event;
	uint64_t position = 0;
	uint32_t ignored;

	assert_int_equal(timeline_add_clock(fixture->timeline, &clock, NULL), 0);
	add_sample(fixture, 10, PID, "game", 0);
	assert_int_equal(process_table_on_fork_by(fixture->processes, 20, 200, PID, 101), 0);
	trace_log_add_rename(fixture->log, 40, PID, 101, "worker");
	trace_log_add_rename(fixture->log, 50, PID, 103, "unseen");
	assert_int_equal(process_table_on_comm(fixture->processes, 100, PID, "next", true), 0);
	for (uint32_t pid = 200; pid >= PID; pid -= 100)
		assert_int_equal(profile_add_process(fixture->profile, pid, STRING_EMPTY, &ignored),
				 0);
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	trace_log_add_sample(fixture->log, &sample);
	assert_int_equal(process_table_on_exit(fixture->processes, 120, PID), 0);
	/* When the recording started, it was there. */
	assert_int_equal(process_table_on_fork_by(fixture->processes, 5, 201, PID, 101), 0);
	build(fixture);
	assert_task_event(fixture, &position, 20, TASK_FORK, 101, 200, "");
	assert_task_event(fixture, &position, 100, TASK_EXEC, PID, 0, "next");
	assert_task_event(fixture, &position, 120, TASK_EXIT, PID, 0, "");
	assert_task_event(fixture, &position, 40, TASK_RENAME, 101, 0, "worker");
	assert_int_equal(timeline_next_task_event(fixture->timeline, &position, &event), 0);
}

/* Of threads that had one tid, each has its own; what came before all of them is of one not seen. */
static void what_became_of_a_thread_is_not_said_of_a_later_one_with_its_tid(void **state)
{
	struct fixture *fixture = *state;
	const struct timeline *timeline = fixture->timeline;
	struct task_event event;
	uint64_t position = 0;

	trace_log_add_rename(fixture->log, 4, PID, 101, "unseen");
	trace_log_add_thread(fixture->log, 5, PID, 101);
	trace_log_add_rename(fixture->log, 6, PID, 101, "early");
	add_sample(fixture, 10, 101, "early", 0);
	trace_log_add_thread(fixture->log, 30, PID, 101);
	trace_log_add_rename(fixture->log, 31, PID, 101, "late");
	add_sample(fixture, 40, 101, "late", 0);
	assert_int_equal(process_table_on_fork_by(fixture->processes, 3, 200, PID, 101), 0);
	assert_int_equal(process_table_on_fork_by(fixture->processes, 20, 201, PID, 101), 0);
	assert_int_equal(process_table_on_fork_by(fixture->processes, 50, 202, PID, 101), 0);
	build(fixture);
	assert_int_equal(timeline_count_thread(timeline), 2);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(timeline_next_task_event(timeline, &position, &event), 1);
		assert_int_equal(timeline_get_thread(timeline, event.thread)->start_ns,
				 event.time_ns < 30 ? 5 : 30);
	}
	assert_int_equal(timeline_next_task_event(timeline, &position, &event), 0);
}

/* ---- waits -------------------------------------------------------------------------------- */

static void add_wait(struct fixture *fixture, uint32_t tid, const struct timed_wait *wait)
{
	struct thread thread = {.tid = tid};
	struct timed_wait added = *wait;

	assert_int_equal(profile_add_string(fixture->profile, "worker", &thread.comm), 0);
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &added.thread), 0);
	add_sample(fixture, wait->end_ns, tid, "worker", 0);
	trace_log_add_wait(fixture->log, &added);
}

static struct timeline_wait get_wait(const struct fixture *fixture, uint32_t number)
{
	struct timeline_wait wait = {0};
	uint64_t position = 0;

	for (uint32_t i = 0; i <= number; i++)
		assert_int_equal(timeline_next_wait(fixture->timeline, &position, &wait), 1);
	return wait;
}

static void a_wait_has_its_times_and_weights(void **state)
{
	struct fixture *fixture = *state;
	struct timeline_wait wait;
	uint64_t position = 0;

	add_wait(fixture, 101,
		 &(struct timed_wait){.end_ns = 900,
				      .wait_ns = 600,
				      .queue_ns = 100,
				      .num_periods = 2,
				      .num_queue_periods = 1,
				      .stack = 5,
				      .state = OFF_CPU_UNINTERRUPTIBLE});
	build(fixture);
	wait = get_wait(fixture, 0);
	assert_int_equal(timeline_get_thread(fixture->timeline, wait.thread)->tid, 101);
	assert_int_equal(wait.start_ns, 200);
	assert_int_equal(wait.queued_ns, 800);
	assert_int_equal(wait.end_ns, 900);
	assert_int_equal(wait.weight, 2 * WAIT_PERIOD);
	assert_int_equal(wait.queue_weight, WAIT_PERIOD);
	assert_int_equal(wait.stack, 5);
	assert_int_equal(wait.state, OFF_CPU_UNINTERRUPTIBLE);
	while (timeline_next_wait(fixture->timeline, &position, &wait) > 0)
		;
	assert_int_equal(position, 1);
}

/* Clocks of different CPUs may differ a little, but slices of a track must not overlap. */
static void waits_of_a_thread_do_not_overlap(void **state)
{
	struct fixture *fixture = *state;

	add_wait(fixture, 101, &(struct timed_wait){.end_ns = 900, .wait_ns = 200});
	add_wait(fixture, 102, &(struct timed_wait){.end_ns = 950, .wait_ns = 900});
	add_wait(fixture, 101, &(struct timed_wait){.end_ns = 990, .wait_ns = 40, .queue_ns = 95});
	build(fixture);
	assert_int_equal(get_wait(fixture, 0).start_ns, 700);
	assert_int_equal(get_wait(fixture, 1).start_ns, 50);
	assert_int_equal(get_wait(fixture, 2).start_ns, 900);
	assert_int_equal(get_wait(fixture, 2).queued_ns, 900);
	assert_int_equal(get_wait(fixture, 2).end_ns, 990);
}

static void a_wait_is_of_the_thread_that_had_the_tid_then(void **state)
{
	struct fixture *fixture = *state;

	trace_log_add_thread(fixture->log, 5, PID, 101);
	add_wait(fixture, 101, &(struct timed_wait){.end_ns = 20, .wait_ns = 10});
	trace_log_add_thread(fixture->log, 30, PID, 101);
	add_wait(fixture, 101, &(struct timed_wait){.end_ns = 50, .wait_ns = 10});
	build(fixture);
	assert_int_equal(timeline_count_thread(fixture->timeline), 2);
	assert_int_not_equal(get_wait(fixture, 0).thread, get_wait(fixture, 1).thread);
	assert_int_equal(get_wait(fixture, 1).thread, get_sample(fixture, 1).thread);
}

static void who_woke_a_thread_is_one_of_the_timelines_or_a_name(void **state)
{
	struct fixture *fixture = *state;
	struct timed_wait timed = {
		.end_ns = 100, .wait_ns = 10, .waker_pid = PID, .waker_stack = 6};
	static const uint32_t wakers[] = {102, 0, 999};
	struct timeline_wait wait;

	assert_int_equal(profile_add_string(fixture->profile, "writer", &timed.waker_name), 0);
	add_sample(fixture, 50, 102, "writer", 0);
	for (size_t i = 0; i < ARRAY_LENGTH(wakers); i++, timed.end_ns += 100) {
		timed.waker_tid = wakers[i];
		add_wait(fixture, 101, &timed);
	}
	timed.waker_name = STRING_EMPTY;
	add_wait(fixture, 101, &timed);
	build(fixture);
	for (uint32_t i = 0; i < ARRAY_LENGTH(wakers); i++) {
		wait = get_wait(fixture, i);
		assert_string_equal(timeline_get_string(fixture->timeline, wait.waker_name),
				    "writer");
		assert_int_equal(wait.waker_stack, 6);
		if (i)
			assert_int_equal(wait.waker, TIMELINE_NONE);
		else
			assert_int_equal(timeline_get_thread(fixture->timeline, wait.waker)->tid,
					 102);
	}
	assert_int_equal(get_wait(fixture, 3).waker_name, STRING_EMPTY);
}

/* ---- a full disk -------------------------------------------------------------------------- */

#define MANY 30000u

/* A limit of the files' size is as good. What was not read yet is counted, too. */
static void occupancies_and_events_that_found_no_room_are_counted(void **state)
{
	struct fixture *fixture = *state;
	struct spool_counts occupancies;
	struct spool_counts events;
	struct rlimit before;
	struct rlimit limit;

	add_area(fixture, 1, WIRE_STACK_OTHER, 0, 0x10000, 0x20000, 0);
	add_area(fixture, 1, WIRE_STACK_OTHER, 0, 0x20000, 0x30000, 0);
	for (uint32_t i = 0; i < MANY; i++) {
		add_sample(fixture, 10 + i, PID, "game", i % 2 ? 0x18000 : 0x28000);
		assert_int_equal(
			process_table_on_fork_by(fixture->processes, 10 + i, 1000 + i, PID, PID),
			0);
	}
	assert_int_equal(spool_rewind(trace_log_get_samples(fixture->log)), 0);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	limit = before;
	limit.rlim_cur = 600 << 10;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	build(fixture);
	assert_int_equal(trace_log_complete(fixture->log), 0);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	occupancies = recorded_occupancies_get_counts(trace_log_get_occupancies(fixture->log));
	events = spool_get_counts(trace_log_get_task_events(fixture->log));
	assert_int_equal(occupancies.kept + occupancies.lost, MANY);
	assert_int_equal(occupancies.lost_errno, EFBIG);
	assert_int_equal(count_occupancies(fixture), occupancies.kept);
	assert_int_equal(events.kept + events.lost, MANY);
	assert_int_equal(events.lost_errno, EFBIG);
}

/* ---- memory ------------------------------------------------------------------------------- */

/* A trace of stacks of all kinds, of waits and of processes, as a whole. */
static int build_in_memory(const struct fixture *fixture)
{
	struct trace_source source = {.log = fixture->log,
				      .profile = fixture->profile,
				      .processes = fixture->processes,
				      .period_ns = PERIOD,
				      .wait_ns = WAIT_PERIOD};

	return trace_builder_build(&source, fixture->timeline);
}

static bool has_lost_items(const struct fixture *fixture)
{
	return spool_get_counts(trace_log_get_samples(fixture->log)).lost ||
	       spool_get_counts(trace_log_get_fills(fixture->log)).lost ||
	       trace_log_get_wait_counts(fixture->log).lost ||
	       recorded_occupancies_get_counts(trace_log_get_occupancies(fixture->log)).lost ||
	       spool_get_counts(trace_log_get_task_events(fixture->log)).lost;
}

/* Or items are lost, and counted. */
static void a_trace_that_lacks_memory_is_an_error(void **state _unused_)
{
	bool is_short = true;
	int64_t num_before = 0;

	for (; is_short; num_before++) {
		struct fixture *fixture;
		void *made;
		int err;

		assert_int_equal(set_up(&made), 0);
		fixture = made;
		add_area(fixture, 5, WIRE_STACK_MAIN, PID, 0x80000, 0x90000, 0);
		add_area(fixture, 5, WIRE_STACK_THREAD, 101, 0x10000, 0x20000, 0x1ff00);
		add_area(fixture, 6, WIRE_STACK_SIGNAL, 101, 0x30000, 0x34000, 0);
		add_area(fixture, 6, WIRE_STACK_OTHER, 101, 0x100000, 0x110000, 0);
		add_area(fixture, 7, WIRE_STACK_GOROUTINE, 101, 0x200000, 0x202000, 0);
		add_sample(fixture, 10, PID, "game", 0x88000);
		add_sample(fixture, 11, 101, "worker", 0x18000);
		add_sample(fixture, 12, 101, "worker", 0x33000);
		add_whole_sample(fixture, 13, 101, 0x104000, 0x107000);
		add_sample(fixture, 14, 101, "worker", 0x201000);
		add_sample(fixture, 15, 101, "worker", 0x701000);
		failing_memory_start(num_before);
		err = build_in_memory(fixture);
		is_short = failing_memory_end();
		if (err != (is_short && !has_lost_items(fixture) ? -ENOMEM : 0))
			fail_msg("%d without allocation %lld", err, (long long)num_before);
		if (!is_short) {
			assert_string_equal(region_name(fixture, 0), "[stack]");
			assert_string_equal(region_name(fixture, 1), "worker");
		}
		(void)tear_down(&made);
	}
	assert_true(num_before > 20);
}

/* A line of ancestors has 64 at most, with the first one. */
static void a_line_of_ancestors_is_bounded(void **state)
{
	struct fixture *fixture = *state;
	struct thread thread = {.tid = 300, .process = 70};
	struct timed_sample sample = {.time_ns = 200, .num_periods = 1};
	uint32_t ignored;

	for (uint32_t i = 1; i <= 70; i++) {
		assert_int_equal(process_table_on_fork(fixture->processes, 20 + i, PID + (pid_t)i,
						       PID + (pid_t)i - 1),
				 0);
		assert_int_equal(
			profile_add_process(fixture->profile, PID + i, STRING_EMPTY, &ignored), 0);
	}
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	trace_log_add_sample(fixture->log, &sample);
	build(fixture);
	assert_int_equal(timeline_count_process(fixture->timeline), 64);
	assert_int_equal(timeline_get_process(fixture->timeline, 63)->pid, PID + 7);
}

/* Its exit was reported at 200, and its end is the moment after. */
static void a_sample_at_the_end_of_a_process_delays_it(void **state)
{
	struct fixture *fixture = *state;

	add_sample(fixture, 10, PID, "game", 0);
	add_sample(fixture, 201, PID, "game", 0);
	assert_int_equal(process_table_on_exit(fixture->processes, 200, PID), 0);
	build(fixture);
	assert_int_equal(timeline_get_process(fixture->timeline, 0)->end_ns, 202);
}

#define NUM_STACKS 4

static int64_t get_allocated_bytes(void)
{
	struct mallinfo2 info = mallinfo2();

	return (int64_t)(info.uordblks + info.hblkhd);
}

/* What a trace takes whose only thread is on another stack in each sample. */
static int64_t measure(uint32_t num_samples)
{
	struct fixture *fixture;
	struct timed_sample sample = {.num_periods = 1};
	struct thread thread = {.tid = 101};
	void *state;
	int64_t before;
	int64_t taken;

	assert_int_equal(set_up(&state), 0);
	fixture = state;
	before = get_allocated_bytes();
	assert_int_equal(profile_add_thread(fixture->profile, &thread, &sample.thread), 0);
	for (uint32_t i = 0; i < NUM_STACKS; i++)
		add_area(fixture, 1, WIRE_STACK_OTHER, 0, 0x10000 * (i + 1), 0x10000 * (i + 2), 0);
	for (uint32_t i = 0; i < num_samples; i++) {
		sample.time_ns = 10 + i;
		sample.user_sp = 0x18000 + 0x10000 * (i % NUM_STACKS);
		trace_log_add_sample(fixture->log, &sample);
	}
	build(fixture);
	assert_int_equal(timeline_count_occupancy(fixture->timeline), 0);
	assert_int_equal(count_occupancies(fixture), num_samples);
	taken = get_allocated_bytes() - before;
	assert_int_equal(timeline_count_region(fixture->timeline), NUM_STACKS);
	tear_down(&state);
	return taken;
}

/* Occupancies of 270,000 samples in an array would be 9 MB. */
static void a_recording_ten_times_as_long_takes_no_more_memory(void **state _unused_)
{
	int64_t few = measure(30000);
	int64_t many = measure(300000);

	assert_true(many < few + (2 << 20));
}

/* The same of one thread that forks, and of its children, of which nothing else is seen. */
static int64_t measure_forks(uint32_t num_forks)
{
	struct fixture *fixture;
	struct task_event event;
	uint64_t position = 0;
	uint32_t count = 0;
	uint32_t ignored;
	void *state;
	int64_t before;
	int64_t taken;

	assert_int_equal(set_up(&state), 0);
	fixture = state;
	add_sample(fixture, 10, PID, "make", 0);
	for (uint32_t i = 0; i < num_forks; i++) {
		assert_int_equal(
			process_table_on_fork_by(fixture->processes, 20 + i, 1000 + i, PID, PID),
			0);
		assert_int_equal(
			profile_add_process(fixture->profile, 1000 + i, STRING_EMPTY, &ignored), 0);
	}
	before = get_allocated_bytes();
	build(fixture);
	while (timeline_next_task_event(fixture->timeline, &position, &event) > 0)
		count++;
	taken = get_allocated_bytes() - before;
	assert_int_equal(count, num_forks);
	assert_int_equal(timeline_count_task_event(fixture->timeline), 0);
	tear_down(&state);
	return taken;
}

static void forks_take_no_memory_of_the_trace(void **state _unused_)
{
	int64_t few = measure_forks(1000);
	int64_t many = measure_forks(40000);

	assert_true(many < few + (1 << 19));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(samples_come_out_in_order_of_time_with_the_period_as_weight),
		cmocka_unit_test(a_trace_that_lacks_memory_is_an_error),
		TEST(a_line_of_ancestors_is_bounded),
		TEST(a_sample_at_the_end_of_a_process_delays_it),
		TEST(weights_of_an_event_that_took_turns_are_scaled),
		TEST(a_wait_has_its_times_and_weights),
		TEST(waits_of_a_thread_do_not_overlap),
		TEST(a_wait_is_of_the_thread_that_had_the_tid_then),
		TEST(who_woke_a_thread_is_one_of_the_timelines_or_a_name),
		TEST(who_zones_do_not_name_has_the_names_of_the_recording),
		TEST(what_a_program_calls_its_thread_stays),
		TEST(a_reused_pid_is_another_process_with_another_thread),
		TEST(a_tid_that_a_later_thread_has_is_another_thread),
		TEST(a_thread_that_the_program_declared_is_one_however_often_its_tid_is_used),
		TEST(a_renamed_thread_is_one_with_its_last_name),
		TEST(a_thread_stack_ends_above_the_thread_pointer_and_has_the_threads_name),
		TEST(stacks_of_two_threads_in_one_mapping_are_two_regions),
		TEST(a_stack_that_another_thread_uses_anew_is_another_region),
		TEST(a_mapping_too_large_for_one_stack_goes_by_the_implicit_rule),
		TEST(a_signal_handlers_stack_ends_where_the_kernel_says),
		TEST(a_signal_stack_is_named_after_its_thread),
		TEST(fibers_that_share_a_mapping_are_told_apart_by_their_outermost_frames),
		TEST(a_fiber_with_a_mapping_of_its_own_is_as_large_as_that),
		TEST(a_mapping_with_room_for_another_stack_does_not_tell_the_size_of_one),
		TEST(evenly_spaced_stacks_have_the_size_of_their_distance),
		TEST(other_memory_below_is_not_the_lowest_stacks),
		TEST(stacks_of_several_sizes_may_fill_a_mapping),
		TEST(unevenly_spaced_stacks_are_known_as_far_as_they_were_used),
		TEST(a_goroutines_stack_has_the_bounds_that_go_says),
		TEST(a_goroutines_stack_is_cut_out_of_its_mapping),
		TEST(a_goroutines_stack_may_be_where_others_were_and_will_be),
		TEST(of_a_very_large_thread_stack_the_top_is_kept),
		TEST(fibers_in_a_heap_are_known_by_their_outermost_frames),
		TEST(a_fiber_below_a_threads_stack_is_another_region),
		TEST(a_signal_handlers_stack_stays_apart_from_the_one_it_interrupted),
		TEST(a_fiber_does_not_reach_down_to_the_stack_of_a_signal_handler),
		TEST(the_main_stack_has_the_lowest_start_that_was_seen),
		TEST(the_main_stack_is_there_from_the_first_sample_on),
		TEST(a_threads_first_sample_is_on_the_stack_that_is_reported_later),
		TEST(another_threads_later_stack_is_not_taken_for_it),
		TEST(what_lies_below_the_first_threads_tls_is_no_thread_stack),
		TEST(fill_is_what_lies_above_the_stack_pointer_and_ends_at_0),
		TEST(a_fill_counts_once_it_changes_by_more_than_an_eighth),
		TEST(samples_and_zones_share_process_thread_and_region),
		TEST(a_sample_elsewhere_ends_the_occupancy_that_a_zone_started),
		TEST(processes_come_with_their_ancestors),
		TEST(threads_show_what_became_of_them),
		TEST(what_became_of_a_thread_is_not_said_of_a_later_one_with_its_tid),
		TEST(a_process_ends_after_its_last_sample_and_an_image_before_the_next),
		TEST(occupancies_and_events_that_found_no_room_are_counted),
		cmocka_unit_test(a_recording_ten_times_as_long_takes_no_more_memory),
		cmocka_unit_test(forks_take_no_memory_of_the_trace),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
