#include "base/arithmetic.h"

#include "base/attributes.h"

#include "unit.h"

static void a_value_is_scaled_and_rounded_down(void **state _unused_)
{
	struct ratio ratio = {7, 3};

	assert_int_equal(ratio_scale(&ratio, 0), 0);
	assert_int_equal(ratio_scale(&ratio, 1), 2);
	assert_int_equal(ratio_scale(&ratio, 3), 7);
	assert_int_equal(ratio_scale(&ratio, 300000000000000000), 700000000000000000);
}

static void what_does_not_fit_is_the_largest_there_is(void **state _unused_)
{
	struct ratio ratio = {UINT64_MAX, 2};

	assert_true(ratio_scale(&ratio, 2) == UINT64_MAX);
	assert_true(ratio_scale(&ratio, 3) == UINT64_MAX);
	assert_true(ratio_scale(&ratio, UINT64_MAX) == UINT64_MAX);
}

/* One by one each 1 would stay 1: of 1,000 that stand for 1,300, all of the 300 would be lost. */
static void small_values_lose_nothing_in_sum(void **state _unused_)
{
	struct ratio ratio = {13, 10};
	uint64_t scaled = 0;
	uint64_t sum = 0;

	for (int i = 0; i < 1000; i++) {
		uint64_t value = ratio_scale_next(&ratio, &sum, 1);

		assert_in_range(value, 1, 2);
		scaled += value;
	}
	assert_int_equal(sum, 1000);
	assert_int_equal(scaled, 1300);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_value_is_scaled_and_rounded_down),
		cmocka_unit_test(what_does_not_fit_is_the_largest_there_is),
		cmocka_unit_test(small_values_lose_nothing_in_sum),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
