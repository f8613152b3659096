#include <errno.h>

#include "base/array.h"
#include "unit.h"

static void items_keep_their_order_over_growth(void **state _unused_)
{
	ARRAY(int) numbers = {0};

	for (int i = 0; i < 1000; i++) {
		int *added = array_add(&numbers);

		assert_non_null(added);
		*added = i;
	}
	for (int i = 0; i < 1000; i++)
		assert_int_equal(numbers.items[i], i);
	array_release(&numbers);
}

static void inserting_opens_a_zeroed_gap(void **state _unused_)
{
	ARRAY(int) numbers = {0};

	*array_add(&numbers) = 1;
	*array_add(&numbers) = 3;
	assert_int_equal(*array_insert(&numbers, 1), 0);
	numbers.items[1] = 2;
	for (int i = 0; i < 3; i++)
		assert_int_equal(numbers.items[i], i + 1);
	array_remove(&numbers, 0);
	assert_int_equal(numbers.length, 2);
	assert_int_equal(numbers.items[0], 2);
	array_release(&numbers);
}

static void a_size_that_overflows_is_out_of_memory(void **state _unused_)
{
	ARRAY(uint64_t) numbers = {0};

	assert_int_equal(array_reserve(&numbers, SIZE_MAX / 4), -ENOMEM);
	assert_int_equal(numbers.capacity, 0);
	assert_null(numbers.items);
}

static void iterating_over_nothing_does_nothing(void **state _unused_)
{
	ARRAY(int) numbers = {0};
	int count = 0;

	array_for_each (&numbers, number)
		count += *number + 1;
	assert_int_equal(count, 0);
}

static void counting_the_front_finds_every_border(void **state _unused_)
{
	ARRAY(int) numbers = {0};

	assert_int_equal(array_count_front(&numbers, number, *number < 0), 0);
	for (int i = 0; i < 100; i++)
		*array_add(&numbers) = 2 * i;
	for (int i = 0; i <= 100; i++) {
		assert_int_equal(array_count_front(&numbers, number, *number < 2 * i), i);
		assert_int_equal(count_front(numbers.items, 7, number, *number < 2 * i),
				 i < 7 ? i : 7);
	}
	array_release(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(items_keep_their_order_over_growth),
		cmocka_unit_test(inserting_opens_a_zeroed_gap),
		cmocka_unit_test(a_size_that_overflows_is_out_of_memory),
		cmocka_unit_test(iterating_over_nothing_does_nothing),
		cmocka_unit_test(counting_the_front_finds_every_border),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
