/* Ends of stacks by their outermost frames. The test may take the memory away. */
#include "base/array.h"

static int is_memory_full;
static void *insert_bytes(void *items_pointer, size_t *length, size_t *capacity, size_t index,
			  size_t item_size)
{
	return is_memory_full
		       ? NULL
		       : array_insert_bytes(items_pointer, length, capacity, index, item_size);
}

#define array_insert_bytes(...) insert_bytes(__VA_ARGS__)
#include "collect/trace/stack_tops.c"
#undef array_insert_bytes

#include <errno.h>

#include "unit.h"

#include "base/attributes.h"

#define PAGE 0x1000ull
#define TOP  0x7f0000010000ull

static struct stack_tops tops;

static int tear_down(void **state _unused_)
{
	stack_tops_release(&tops);
	tops = (struct stack_tops){0};
	return 0;
}

static void add(uint32_t process, uint64_t outermost_sp)
{
	assert_int_equal(stack_tops_add(&tops, process, outermost_sp), 0);
}

static size_t count_tops(uint32_t process)
{
	size_t count;

	(void)stack_tops_get(&tops, process, &count);
	return count;
}

static const struct stack_top *get_top(uint32_t process, size_t number)
{
	size_t count;
	const struct stack_top *found = stack_tops_get(&tops, process, &count);

	assert_true(number < count);
	return &found[number];
}

static void a_stack_ends_with_the_page_of_its_outermost_frame(void **state _unused_)
{
	add(1, TOP);
	add(1, TOP + PAGE - 1);
	add(1, TOP + PAGE);
	add(1, TOP);
	assert_int_equal(count_tops(1), 2);
	assert_int_equal(get_top(1, 0)->end, TOP + PAGE);
	assert_int_equal(get_top(1, 1)->end, TOP + 2 * PAGE);
	add(1, UINT64_MAX); /* without an end */
	assert_int_equal(count_tops(1), 2);
}

static void each_process_has_its_stacks(void **state _unused_)
{
	add(2, TOP);
	add(1, TOP);
	add(3, TOP + PAGE);
	add(2, TOP - PAGE);
	assert_int_equal(count_tops(1), 1);
	assert_int_equal(count_tops(2), 2);
	assert_int_equal(count_tops(3), 1);
	assert_int_equal(count_tops(4), 0);
	assert_int_equal(get_top(2, 0)->end, TOP);
	assert_int_equal(get_top(2, 0)->process, 2);
}

static void stacks_in_known_memory_are_ignored(void **state _unused_)
{
	assert_int_equal(stack_tops_ignore(&tops, 1, TOP, TOP + 4 * PAGE), 0);
	add(1, TOP);
	add(1, TOP + 4 * PAGE - 1);
	assert_int_equal(count_tops(1), 0);
	add(1, TOP - 1);
	add(1, TOP + 4 * PAGE);
	add(2, TOP);
	assert_int_equal(count_tops(1), 2);
	assert_int_equal(count_tops(2), 1);
}

static void known_memory_is_joined(void **state _unused_)
{
	static const uint64_t ranges[][2] = {
		{0, 2}, {6, 8}, {4, 5}, {2, 4}, {3, 7}, {12, 13}, {10, 11},
	};

	for (size_t i = 0; i < ARRAY_LENGTH(ranges); i++)
		assert_int_equal(stack_tops_ignore(&tops, 1, TOP + ranges[i][0] * PAGE,
						   TOP + ranges[i][1] * PAGE),
				 0);
	assert_int_equal(stack_tops_ignore(&tops, 2, TOP, TOP + 20 * PAGE), 0);
	assert_int_equal(tops.known.length, 4);
	assert_int_equal(tops.known.items[0].start, TOP);
	assert_int_equal(tops.known.items[0].end, TOP + 8 * PAGE);
	assert_int_equal(tops.known.items[1].start, TOP + 10 * PAGE);
	assert_int_equal(tops.known.items[2].start, TOP + 12 * PAGE);
	for (uint64_t page = 0; page < 14; page++) {
		bool is_known = page < 8 || page == 10 || page == 12;

		assert_int_equal(is_ignored(&tops, 1, TOP + page * PAGE), is_known);
	}
}

static void a_sample_extends_its_stack(void **state _unused_)
{
	add(1, TOP);
	assert_int_equal(get_top(1, 0)->start, TOP + PAGE);
	assert_true(get_top(1, 0)->first_ns == UINT64_MAX);
	stack_tops_assign(&tops, 1, 200, TOP - 2 * PAGE + 5, TOP);
	stack_tops_assign(&tops, 1, 100, TOP - PAGE, TOP);
	assert_int_equal(get_top(1, 0)->start, TOP - 2 * PAGE);
	assert_int_equal(get_top(1, 0)->first_ns, 100);
	/* Of another process, beyond the last top, and too far below. */
	stack_tops_assign(&tops, 2, 50, TOP - 3 * PAGE, TOP);
	stack_tops_assign(&tops, 1, 50, TOP + 2 * PAGE, TOP);
	stack_tops_assign(&tops, 1, 50, TOP + PAGE - MAX_STACK_BYTES - 1, TOP);
	assert_int_equal(get_top(1, 0)->start, TOP - 2 * PAGE);
	assert_int_equal(get_top(1, 0)->first_ns, 100);
	stack_tops_assign(&tops, 1, 50, TOP + PAGE - MAX_STACK_BYTES, TOP);
	assert_int_equal(get_top(1, 0)->start, TOP + PAGE - MAX_STACK_BYTES);
}

static void a_sample_across_another_stack_extends_none(void **state _unused_)
{
	add(1, TOP);
	add(1, TOP - 3 * PAGE);
	stack_tops_assign(&tops, 1, 50, TOP - 4 * PAGE, TOP);
	assert_int_equal(get_top(1, 0)->start, TOP - 2 * PAGE);
	assert_int_equal(get_top(1, 1)->start, TOP + PAGE);
	stack_tops_assign(&tops, 1, 50, TOP - PAGE, TOP);
	assert_int_equal(get_top(1, 1)->start, TOP - PAGE);
	/* The lowest byte that the other stack leaves to it. */
	stack_tops_assign(&tops, 1, 50, TOP - 2 * PAGE, TOP);
	assert_int_equal(get_top(1, 1)->start, TOP - 2 * PAGE);
	stack_tops_assign(&tops, 1, 50, TOP - 2 * PAGE - 1, TOP);
	assert_int_equal(get_top(1, 1)->start, TOP - 2 * PAGE);
}

static void the_number_of_stacks_is_bounded(void **state _unused_)
{
	for (uint64_t i = 0; i < MAX_TOPS; i++)
		add(1, TOP + i * PAGE);
	assert_int_equal(count_tops(1), MAX_TOPS);
	add(1, TOP + MAX_TOPS * PAGE);
	add(0, TOP);
	assert_int_equal(count_tops(1), MAX_TOPS);
	assert_int_equal(count_tops(0), 0);
}

static void without_memory_nothing_is_added(void **state _unused_)
{
	is_memory_full = true;
	assert_int_equal(stack_tops_add(&tops, 1, TOP), -ENOMEM);
	assert_int_equal(stack_tops_ignore(&tops, 1, TOP, TOP + PAGE), -ENOMEM);
	is_memory_full = false;
	assert_int_equal(count_tops(1), 0);
	assert_false(is_ignored(&tops, 1, TOP));
	add(1, TOP + PAGE);
	assert_int_equal(count_tops(1), 1);
}

#define TEST(name) cmocka_unit_test_teardown(name, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stack_ends_with_the_page_of_its_outermost_frame),
		TEST(each_process_has_its_stacks),
		TEST(stacks_in_known_memory_are_ignored),
		TEST(known_memory_is_joined),
		TEST(a_sample_extends_its_stack),
		TEST(a_sample_across_another_stack_extends_none),
		TEST(the_number_of_stacks_is_bounded),
		TEST(without_memory_nothing_is_added),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
