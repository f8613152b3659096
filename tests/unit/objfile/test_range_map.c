#include "unit.h"

#include <stdlib.h>

#include "objfile/range_map.h"

static void add(struct range_map *map, uint64_t start, uint64_t end, uint32_t value)
{
	assert_int_equal(range_map_add(map, start, end, value), 0);
}

static uint32_t value_at(const struct range_map *map, uint64_t address)
{
	const struct range *range = range_map_find(map, address);

	return range ? range->value : UINT32_MAX;
}

static void an_empty_map_finds_nothing(void **state)
{
	struct range_map map = {0};

	(void)state;
	add(&map, 5, 5, 1);
	assert_int_equal(range_map_finish(&map), 0);
	assert_null(range_map_find(&map, 5));
	assert_null(range_map_find_next(&map, 0));
	range_map_release(&map);
}

static void an_inner_range_interrupts_the_outer(void **state)
{
	struct range_map map = {0};

	(void)state;
	add(&map, 20, 30, 2);
	add(&map, 10, 100, 1);
	assert_int_equal(range_map_finish(&map), 0);
	assert_int_equal(value_at(&map, 9), UINT32_MAX);
	assert_int_equal(value_at(&map, 10), 1);
	assert_int_equal(value_at(&map, 20), 2);
	assert_int_equal(value_at(&map, 29), 2);
	assert_int_equal(value_at(&map, 30), 1);
	assert_int_equal(value_at(&map, 100), UINT32_MAX);
	assert_int_equal(range_map_find_next(&map, 10)->start, 20);
	range_map_release(&map);
}

static void of_equal_ranges_the_smaller_value_stays(void **state)
{
	struct range_map map = {0};

	(void)state;
	add(&map, 10, 20, 7);
	add(&map, 10, 20, 3);
	add(&map, 10, 20, 5);
	assert_int_equal(range_map_finish(&map), 0);
	assert_int_equal(value_at(&map, 15), 3);
	range_map_release(&map);
}

/* The definition, without cleverness. */
static uint32_t naive_value_at(const struct range *ranges, size_t num_ranges, uint64_t address)
{
	const struct range *best = NULL;

	for (size_t i = 0; i < num_ranges; i++) {
		const struct range *range = &ranges[i];

		if (address < range->start || address >= range->end)
			continue;
		if (!best || range->start > best->start ||
		    (range->start == best->start && range->end < best->end) ||
		    (range->start == best->start && range->end == best->end &&
		     range->value < best->value))
			best = range;
	}
	return best ? best->value : UINT32_MAX;
}

static void random_ranges_behave_as_defined(void **state)
{
	(void)state;
	srand(1);
	for (int round = 0; round < 500; round++) {
		struct range_map map = {0};
		struct range ranges[12];
		size_t num_ranges = (size_t)rand() % ARRAY_LENGTH(ranges);

		for (size_t i = 0; i < num_ranges; i++) {
			ranges[i].start = (uint64_t)(rand() % 40);
			ranges[i].end = ranges[i].start + (uint64_t)(rand() % 20);
			ranges[i].value = (uint32_t)(rand() % 8);
			add(&map, ranges[i].start, ranges[i].end, ranges[i].value);
		}
		assert_int_equal(range_map_finish(&map), 0);
		for (uint64_t address = 0; address < 64; address++)
			assert_int_equal(value_at(&map, address),
					 naive_value_at(ranges, num_ranges, address));
		range_map_release(&map);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_map_finds_nothing),
		cmocka_unit_test(an_inner_range_interrupts_the_outer),
		cmocka_unit_test(of_equal_ranges_the_smaller_value_stays),
		cmocka_unit_test(random_ranges_behave_as_defined),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
