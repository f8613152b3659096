/*
 * Functions come into the order of their addresses, whatever the order was and however many they
 * are.
 */
#include "unit.h"

#include <stdlib.h>

#include "base/hash.h"
#include "unwind/frame_sort.h"

#define LENGTH 5000

/* Functions at `start(i)`, each with its place in program_offset, sorted. The caller frees them. */
static struct frame_function *make_sorted(size_t length, uint64_t (*start)(size_t i))
{
	struct frame_function *functions = calloc(length, sizeof(*functions));

	assert_non_null(functions);
	for (size_t i = 0; i < length; i++)
		functions[i] = (struct frame_function){
			.start = start(i), .size = 1, .program_offset = (uint32_t)i};
	assert_int_equal(frame_sort(functions, length), 0);
	return functions;
}

/* They are in order, and the same ones as before. */
static void assert_sorted(struct frame_function *functions, size_t length,
			  uint64_t (*start)(size_t i))
{
	uint64_t sum = 0;

	for (size_t i = 0; i < length; i++) {
		const struct frame_function *function = &functions[i];

		assert_int_equal(function->start, start(function->program_offset));
		sum += function->program_offset;
		if (!i)
			continue;
		assert_true(function[-1].start <= function->start);
		if (function[-1].start == function->start)
			assert_true(function[-1].program_offset < function->program_offset);
	}
	assert_int_equal(sum, length * (length - 1) / 2);
	free(functions);
}

static uint64_t ascending(size_t i)
{
	return 0x1000 + 16 * i;
}

static uint64_t descending(size_t i)
{
	return 0x100000 - 16 * i;
}

/* As linkers leave them: every other one is a cold part, far away. */
static uint64_t hot_and_cold(size_t i)
{
	return (i & 1 ? 0x400000 : 0x900000) + 32 * i;
}

static uint64_t anywhere(size_t i)
{
	return hash_mix(i, 1);
}

static uint64_t few_addresses(size_t i)
{
	return 0x1000 + hash_mix(i, 1) % 7;
}

static void check(uint64_t (*start)(size_t i))
{
	static const size_t lengths[] = {1, 2, 100, LENGTH};

	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++)
		assert_sorted(make_sorted(lengths[i], start), lengths[i], start);
}

static void functions_in_order_stay_so(void **state _unused_)
{
	check(ascending);
}

static void functions_in_any_order_are_sorted_by_start(void **state _unused_)
{
	check(descending);
	check(hot_and_cold);
	check(anywhere);
}

static void functions_that_start_together_are_in_the_order_of_their_instructions(
	void **state _unused_)
{
	check(few_addresses);
}

static void of_functions_that_start_together_the_earlier_common_part_comes_first(
	void **state _unused_)
{
	struct frame_function functions[LENGTH];

	for (size_t i = 0; i < LENGTH; i++)
		functions[i] = (struct frame_function){.start = 0x1000 + i / 2,
						       .cie = i % 2 ? 0 : 1,
						       .program_offset = (uint32_t)i};
	assert_int_equal(frame_sort(functions, LENGTH), 0);
	for (size_t i = 0; i < LENGTH; i++)
		assert_int_equal(functions[i].cie, i % 2);
}

static void no_functions_are_sorted(void **state _unused_)
{
	assert_int_equal(frame_sort(NULL, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_in_order_stay_so),
		cmocka_unit_test(functions_in_any_order_are_sorted_by_start),
		cmocka_unit_test(
			functions_that_start_together_are_in_the_order_of_their_instructions),
		cmocka_unit_test(
			of_functions_that_start_together_the_earlier_common_part_comes_first),
		cmocka_unit_test(no_functions_are_sorted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
