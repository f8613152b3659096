/*
 * The order of folded stacks: that of their bytes, whatever these are.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "formats/folded/sort.h"

#define COUNT     5000
#define MAX_BYTES 64

struct stacks {
	struct folded_entry entries[COUNT];
	uint8_t bytes[COUNT][MAX_BYTES];
	uint32_t seed;
};

static uint32_t draw(struct stacks *stacks, uint32_t end)
{
	stacks->seed = stacks->seed * 1664525 + 1013904223;
	return (stacks->seed >> 8) % end;
}

static int compare(const struct folded_entry *a, const struct folded_entry *b)
{
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->stack, b->stack, shorter);

	if (order)
		return order;
	if (a->length != b->length)
		return a->length < b->length ? -1 : 1;
	return (a->line > b->line) - (a->line < b->line);
}

/* Each stack starts with so many bytes that all have, and goes on with few different ones. */
static void assert_sorted(uint32_t seed, size_t num_common, uint32_t max_rest, uint32_t num_bytes)
{
	struct stacks *stacks = calloc(1, sizeof(*stacks));
	uint64_t sum = 0;

	assert_non_null(stacks);
	stacks->seed = seed;
	for (uint32_t i = 0; i < COUNT; i++) {
		uint32_t rest = draw(stacks, max_rest + 1);

		memset(stacks->bytes[i], 'c', num_common);
		for (uint32_t j = 0; j < rest; j++)
			stacks->bytes[i][num_common + j] = (uint8_t)draw(stacks, num_bytes);
		stacks->entries[i] = (struct folded_entry){.stack = stacks->bytes[i],
							   .length = (uint32_t)num_common + rest,
							   .line = i};
	}
	folded_sort(stacks->entries, COUNT);
	for (uint32_t i = 0; i < COUNT; i++) {
		sum += stacks->entries[i].line;
		assert_ptr_equal(stacks->entries[i].stack, stacks->bytes[stacks->entries[i].line]);
		if (i)
			assert_true(compare(&stacks->entries[i - 1], &stacks->entries[i]) < 0);
	}
	assert_int_equal(sum, (uint64_t)COUNT * (COUNT - 1) / 2);
	free(stacks);
}

static void any_bytes_are_sorted(void **state _unused_)
{
	assert_sorted(1, 0, 64, 256);
	assert_sorted(2, 0, 12, 2);
	assert_sorted(3, 8, 8, 3);
}

static void long_common_prefixes_are_no_obstacle(void **state _unused_)
{
	assert_sorted(4, 40, 3, 4);
	assert_sorted(5, 31, 33, 2);
	assert_sorted(6, 64, 0, 1);
}

/* NUL bytes are bytes, and what lies behind an end is none. */
static void a_prefix_comes_before_what_goes_on_with_zeros(void **state _unused_)
{
	assert_sorted(7, 0, 20, 1);
	assert_sorted(8, 16, 12, 1);
}

static void few_and_none_are_sorted(void **state _unused_)
{
	struct folded_entry entries[] = {{.stack = (const uint8_t *)"b", .length = 1},
					 {.stack = (const uint8_t *)"ab", .length = 2},
					 {.stack = (const uint8_t *)"a", .length = 1}};

	folded_sort(entries, 0);
	folded_sort(entries, ARRAY_LENGTH(entries));
	assert_memory_equal(entries[0].stack, "a", 2);
	assert_memory_equal(entries[1].stack, "ab", 3);
	assert_memory_equal(entries[2].stack, "b", 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_bytes_are_sorted),
		cmocka_unit_test(long_common_prefixes_are_no_obstacle),
		cmocka_unit_test(a_prefix_comes_before_what_goes_on_with_zeros),
		cmocka_unit_test(few_and_none_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
