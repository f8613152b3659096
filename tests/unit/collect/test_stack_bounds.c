/* Bounds of stacks by their tops and mappings. */
#include "collect/trace/stack_bounds.h"

#include <malloc.h>
#include <stdlib.h>

#include "unit.h"

#define PAGE 0x1000ull
#define BASE 0x10000000ull /* of no arena of malloc() */

static struct stack_tops tops;
static struct stack_area areas[8];
static size_t num_areas;
static struct stack_bounds *bounds;

static int set_up(void **state _unused_)
{
	num_areas = 0;
	return 0;
}

static int tear_down(void **state _unused_)
{
	stack_bounds_free(bounds);
	bounds = NULL;
	stack_tops_release(&tops);
	tops = (struct stack_tops){0};
	return 0;
}

static void add_mapping(uint32_t process, uint64_t first_page, uint64_t num_pages,
			enum stack_kind kind)
{
	areas[num_areas++] = (struct stack_area){.start = BASE + first_page * PAGE,
						 .end = BASE + (first_page + num_pages) * PAGE,
						 .process = process,
						 .kind = kind};
}

/* A stack that ends with a page, of which the last ones are used. */
static void use(uint32_t process, uint64_t end_page, uint64_t num_used)
{
	uint64_t end = BASE + end_page * PAGE;

	assert_int_equal(stack_tops_add(&tops, process, end - 64), 0);
	stack_tops_assign(&tops, process, 7, end - num_used * PAGE, end - 64);
}

static void make(void)
{
	stack_bounds_free(bounds);
	bounds = stack_bounds_new(areas, num_areas, &tops);
	assert_non_null(bounds);
}

static void expect(size_t top, uint64_t first_page, uint64_t num_pages, bool is_lower_bound)
{
	struct stack_area area = stack_bounds_get(bounds, top);

	assert_int_equal((area.start - BASE) / PAGE, first_page);
	assert_int_equal((area.end - BASE) / PAGE, first_page + num_pages);
	assert_int_equal(area.is_lower_bound, is_lower_bound);
	assert_int_equal(area.kind, STACK_OTHER);
	assert_int_equal(area.first_ns, 7);
}

static void a_stack_of_its_own_mapping_is_as_large_as_that(void **state _unused_)
{
	add_mapping(1, 0x100, 64, STACK_OTHER);
	use(1, 0x140, 3);
	/* The same of another process is unknown. */
	use(2, 0x140, 3);
	make();
	expect(0, 0x100, 64, false);
	expect(1, 0x13d, 3, true);
}

/* A mapping that ends where another one starts holds its last byte. */
static void a_top_is_in_the_mapping_that_it_ends(void **state _unused_)
{
	add_mapping(1, 0x100, 16, STACK_OTHER);
	add_mapping(1, 0x110, 16, STACK_OTHER);
	use(1, 0x110, 1);
	use(1, 0x120, 1);
	make();
	expect(0, 0x100, 16, false);
	expect(1, 0x110, 16, false);
}

static void memory_above_a_stack_is_at_most_eight_pages(void **state _unused_)
{
	for (uint64_t rest = 8; rest <= 9; rest++) {
		tear_down(NULL);
		set_up(NULL);
		add_mapping(1, 0x100, 64 + rest, STACK_OTHER);
		use(1, 0x140, 3);
		make();
		if (rest == 8)
			expect(0, 0x100, 64, false);
		else
			expect(0, 0x13d, 3, true);
	}
}

/* Nor is it half of the stack. */
static void memory_above_a_small_stack_is_less_than_half_of_it(void **state _unused_)
{
	for (uint64_t rest = 3; rest <= 4; rest++) {
		tear_down(NULL);
		set_up(NULL);
		add_mapping(1, 0x100, 8 + rest, STACK_OTHER);
		use(1, 0x108, 2);
		make();
		expect(0, rest == 3 ? 0x100 : 0x106, rest == 3 ? 8 : 2, rest == 4);
	}
}

static void a_mapping_above_16_mib_is_one_stack_that_ends_it(void **state _unused_)
{
	add_mapping(1, 0x100, 4097, STACK_OTHER);
	use(1, 0x100 + 4096, 2);
	make();
	expect(0, 0x100, 4096, false);
	use(1, 0x800, 2);
	make();
	expect(0, 0x7fe, 2, true);
	expect(1, 0x100 + 4094, 2, true);
	tear_down(NULL);
	set_up(NULL);
	add_mapping(1, 0x100, 4098, STACK_OTHER);
	use(1, 0x100 + 4096, 2);
	make();
	expect(0, 0x100 + 4094, 2, true);
}

static void a_mapping_above_a_gib_is_no_stack(void **state _unused_)
{
	for (uint64_t more = 0; more <= 1; more++) {
		uint64_t num_pages = (1ull << 18) + more;

		tear_down(NULL);
		set_up(NULL);
		add_mapping(1, 0x100, num_pages, STACK_OTHER);
		use(1, 0x100 + num_pages, 2);
		make();
		expect(0, more ? 0xfe + num_pages : 0x100, more ? 2 : num_pages, more);
	}
}

/* malloc() keeps those of threads at multiples of 64 MiB. */
static void an_arena_is_no_stack(void **state _unused_)
{
	add_mapping(1, 0, 64, STACK_OTHER);
	use(1, 64, 3);
	make();
	expect(0, 61, 3, true);
}

static void evenly_spaced_stacks_are_as_large_as_their_distance(void **state _unused_)
{
	add_mapping(1, 0x100, 0x100, STACK_OTHER);
	use(1, 0x140, 2);
	use(1, 0x150, 3);
	use(1, 0x160, 15);
	make();
	/* Below the lowest one there is other memory. */
	expect(0, 0x130, 16, true);
	expect(1, 0x140, 16, false);
	expect(2, 0x150, 16, false);
	tear_down(NULL);
	set_up(NULL);
	/* One was not seen. */
	add_mapping(1, 0x100, 0x100, STACK_OTHER);
	use(1, 0x110, 2);
	use(1, 0x120, 3);
	use(1, 0x140, 3);
	make();
	expect(0, 0x100, 16, false);
	expect(2, 0x130, 16, true);
}

static void a_larger_used_part_is_believed(void **state _unused_)
{
	add_mapping(1, 0x100, 0x100, STACK_OTHER);
	use(1, 0x110, 2);
	use(1, 0x120, 2);
	use(1, 0x140, 17);
	make();
	expect(2, 0x12f, 17, true);
}

static void two_stacks_at_any_distance_are_as_large_as_they_were_used(void **state _unused_)
{
	add_mapping(1, 0x100, 0x30, STACK_OTHER);
	use(1, 0x113, 2);
	use(1, 0x130, 2);
	make();
	expect(0, 0x111, 2, true);
	expect(1, 0x12e, 2, true);
	tear_down(NULL);
	set_up(NULL);
	/* Powers of two that fill the mapping. */
	add_mapping(1, 0x100, 0x30, STACK_OTHER);
	use(1, 0x110, 2);
	use(1, 0x130, 2);
	make();
	expect(0, 0x100, 16, false);
	expect(1, 0x110, 32, false);
}

/* What was reported for a mapping is for the lowest one that holds the top. */
static void the_smaller_of_two_mappings_counts(void **state _unused_)
{
	add_mapping(1, 0x100, 64, STACK_OTHER);
	add_mapping(1, 0x100, 32, STACK_OTHER);
	add_mapping(1, 0x100, 16, STACK_MAIN); /* none of a fiber's */
	use(1, 0x120, 1);
	make();
	expect(0, 0x100, 32, false);
}

/* What malloc() keeps for later is little, and does not grow. */
static void all_memory_is_given_back(void **state _unused_)
{
	size_t before = 0;

	add_mapping(1, 0x100, 0x100, STACK_OTHER);
	for (uint64_t i = 1; i <= 16; i++)
		use(1, 0x100 + i * 16, 1);
	for (int round = 0; round < 110; round++) {
		make();
		stack_bounds_free(bounds);
		bounds = NULL;
		if (round == 10)
			before = mallinfo2().uordblks;
	}
	assert_true(mallinfo2().uordblks <= before + 100 * sizeof(struct stack_area));
	stack_bounds_free(NULL);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_stack_of_its_own_mapping_is_as_large_as_that),
		TEST(a_top_is_in_the_mapping_that_it_ends),
		TEST(memory_above_a_stack_is_at_most_eight_pages),
		TEST(memory_above_a_small_stack_is_less_than_half_of_it),
		TEST(a_mapping_above_16_mib_is_one_stack_that_ends_it),
		TEST(a_mapping_above_a_gib_is_no_stack),
		TEST(an_arena_is_no_stack),
		TEST(evenly_spaced_stacks_are_as_large_as_their_distance),
		TEST(a_larger_used_part_is_believed),
		TEST(two_stacks_at_any_distance_are_as_large_as_they_were_used),
		TEST(the_smaller_of_two_mappings_counts),
		TEST(all_memory_is_given_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
