#include "wire/exponential.h"

#include <math.h>

#include "base/attributes.h"
#include "unit.h"

static double get_exact(uint32_t random, uint64_t mean)
{
	return -log(((double)random + 1) / 4294967296.0) * (double)mean;
}

static void assert_near_logarithm(uint32_t random, uint64_t mean)
{
	double exact = get_exact(random, mean);
	double distance = (double)wire_exponential_distance(random, mean);

	/* The last bit of the logarithm, and rounding. */
	if (fabs(distance - exact) > (double)mean / (1 << 19) + 0.5)
		fail_msg("of %u: %.0f, expected %.2f", random, distance, exact);
}

static void a_distance_is_the_mean_times_a_logarithm(_unused_ void **state)
{
	static const uint64_t means[] = {1, 10, 4097, 512 << 10, 1ull << 40};

	for (size_t i = 0; i < ARRAY_LENGTH(means); i++) {
		for (uint64_t random = 0; random <= UINT32_MAX; random += 0x10001)
			assert_near_logarithm((uint32_t)random, means[i]);
		for (unsigned int bit = 0; bit < 32; bit++) {
			assert_near_logarithm((1u << bit) - 1, means[i]);
			assert_near_logarithm(1u << bit, means[i]);
		}
	}
}

static void the_largest_mean_does_not_overflow(_unused_ void **state)
{
	uint64_t distance = wire_exponential_distance(0, WIRE_MAX_MEAN_DISTANCE);

	assert_true(distance > 22 * WIRE_MAX_MEAN_DISTANCE);
	assert_true(distance < 23 * WIRE_MAX_MEAN_DISTANCE);
}

static void nothing_is_the_distance_of_certainty(_unused_ void **state)
{
	assert_int_equal(wire_exponential_distance(UINT32_MAX, 1 << 20), 0);
}

/* Over all of u, evenly: the mean, and as much of a deviation as it has. */
static void the_mean_and_the_deviation_are_those_of_an_exponential_distribution(
	_unused_ void **state)
{
	const uint64_t mean = 512 << 10;
	double sum = 0, squares = 0, number = 0;

	for (uint64_t random = 0x800; random <= UINT32_MAX; random += 0x1000, number++) {
		double distance = (double)wire_exponential_distance((uint32_t)random, mean);

		sum += distance;
		squares += distance * distance;
	}
	assert_true(fabs(sum / number / (double)mean - 1) < 1e-5);
	assert_true(fabs(squares / number / (double)mean / (double)mean - 2) < 1e-3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_distance_is_the_mean_times_a_logarithm),
		cmocka_unit_test(the_largest_mean_does_not_overflow),
		cmocka_unit_test(nothing_is_the_distance_of_certainty),
		cmocka_unit_test(
			the_mean_and_the_deviation_are_those_of_an_exponential_distribution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
