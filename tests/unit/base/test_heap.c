#include "base/heap.h"

#include <stdlib.h>

#include "base/array.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

#define MANY 500

static bool is_less(const void *owner, uint32_t a, uint32_t b)
{
	const int *values = owner;

	return values[a] < values[b];
}

static void numbers_come_out_in_order(void **state _unused_)
{
	int values[MANY];
	uint32_t heap[MANY];

	srand(1);
	for (size_t length = 0; length <= MANY; length += length < 10 ? 1 : 49) {
		int last = -1;

		for (uint32_t i = 0; i < length; i++) {
			values[i] = rand() % 100;
			heap[i] = i;
		}
		heap_heapify(heap, length, is_less, values);
		for (size_t left = length; left;) {
			assert_true(values[heap[0]] >= last);
			last = values[heap[0]];
			heap[0] = heap[--left];
			heap_sift_down(heap, left, is_less, values);
		}
	}
}

static void the_first_gives_way_when_it_has_grown(void **state _unused_)
{
	int values[] = {5, 3, 8};
	uint32_t heap[] = {0, 1, 2};

	heap_heapify(heap, 3, is_less, values);
	assert_int_equal(heap[0], 1);
	values[1] = 6;
	heap_sift_down(heap, 3, is_less, values);
	assert_int_equal(heap[0], 0);
}

/* As a queue that is used while it is filled. */
static void what_is_added_one_by_one_comes_out_in_order(void **state _unused_)
{
	int values[MANY];
	uint32_t heap[MANY];
	size_t length = 0;
	int last = -1;

	srand(2);
	for (uint32_t i = 0; i < MANY; i++) {
		values[i] = rand() % 100;
		heap[length++] = i;
		heap_sift_up(heap, length, is_less, values);
		for (uint32_t k = 0; k <= i; k++)
			assert_true(values[heap[0]] <= values[k]);
	}
	while (length) {
		assert_true(values[heap[0]] >= last);
		last = values[heap[0]];
		heap[0] = heap[--length];
		heap_sift_down(heap, length, is_less, values);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_come_out_in_order),
		cmocka_unit_test(the_first_gives_way_when_it_has_grown),
		cmocka_unit_test(what_is_added_one_by_one_comes_out_in_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
