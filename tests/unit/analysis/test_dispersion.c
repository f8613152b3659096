#include "analysis/dispersion.h"

#include <math.h>

#include "base/array.h"
#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_near(double actual, double expected)
{
	if (fabs(actual - expected) > 1e-9 * fabs(expected))
		fail_msg("%.12g is not %.12g", actual, expected);
}

static struct dispersion disperse(const double *weights, const double *totals, size_t count,
				  double num_samples)
{
	struct part_sums sums = {0};
	struct part_weights in_function = {0};

	for (size_t i = 0; i < count; i++) {
		part_sums_add(&sums, totals[i]);
		part_weights_add(&in_function, weights[i], totals[i]);
	}
	return dispersion_of_parts(&sums, &in_function, num_samples);
}

/* Shares of 0.075, 0.225 and 0.15: a variance of 0.005625 among them, a third of that of their mean. */
static void parts_of_one_size_vary_as_the_mean_of_their_shares(void **state _unused_)
{
	const double weights[] = {30, 90, 60};
	const double totals[] = {400, 400, 400};
	struct dispersion dispersion = disperse(weights, totals, 3, 1200);

	assert_near(dispersion.factor, 0.005625 / 3 / (0.15 * 0.85 / 1200));
	assert_near(dispersion.degrees, 2);
}

/* All have the same share: of any size, they vary by nothing. */
static void parts_that_are_alike_make_nothing_sure(void **state _unused_)
{
	const double weights[] = {10, 20, 90};
	const double totals[] = {100, 200, 900};
	struct dispersion before = disperse(weights, totals, 3, 1200);
	struct dispersion after = before;

	assert_true(fabs(before.factor) < 1e-9);
	assert_near(dispersion_unite(&before, 1200, &after, 1200), 4);
	assert_near(before.factor, 1);
	assert_near(after.factor, 1);
}

/* Where a weight is a thousand of a sample, the samples are what counts. */
static void weights_need_not_be_samples(void **state _unused_)
{
	const double weights[] = {30e3, 90e3, 60e3};
	const double totals[] = {400e3, 400e3, 400e3};

	assert_near(disperse(weights, totals, 3, 1200).factor, 0.005625 / 3 / (0.15 * 0.85 / 1200));
}

static void what_varies_not_at_all_says_nothing(void **state _unused_)
{
	const double none[] = {0, 0};
	const double some[] = {3, 0};
	const double totals[] = {100, 0};
	const double all[] = {100, 100};

	assert_true(disperse(none, all, 2, 200).expected == 0);
	assert_true(disperse(all, all, 2, 200).expected == 0);
	/* The second part weighs nothing, and is none. */
	assert_true(disperse(some, totals, 2, 100).expected == 0);
}

/* A function of a single sample before, and of many afterwards that come at once. */
static void both_sides_together_say_how_much_samples_vary(void **state _unused_)
{
	struct dispersion before = {.factor = 1, .expected = 1, .degrees = 23};
	struct dispersion after = {.factor = 21, .expected = 9, .degrees = 23};

	/* The one that varies more keeps its own; the degrees are those of all parts at most. */
	assert_near(dispersion_unite(&before, 1000, &after, 1000), 46);
	assert_near(before.factor, 19);
	assert_near(after.factor, 21);
}

static void the_side_that_varies_more_decides_the_degrees(void **state _unused_)
{
	struct dispersion before = {.factor = 6, .expected = 10, .degrees = 2};
	struct dispersion after = {.factor = 2, .expected = 30, .degrees = 4};
	double first = 6.0 / 1000;
	double second = 3.0 / 3000; /* of both: (6 * 10 + 2 * 30) / 40, with 6 degrees */

	assert_near(dispersion_unite(&before, 1000, &after, 3000),
		    (first + second) * (first + second) /
			    (first * first / 2 + second * second / 6));
	after = DISPERSION_NONE;
	before = DISPERSION_NONE;
	assert_true(isinf(dispersion_unite(&before, 1000, &after, 3000)));
}

static void a_single_run_is_taken_to_vary_as_the_others_do(void **state _unused_)
{
	struct dispersion before = {0};
	struct dispersion after = {.factor = 3, .expected = 10, .degrees = 4};
	struct dispersion unknown[2] = {{0}};

	assert_near(dispersion_unite(&before, 1000, &after, 3000), 4);
	assert_near(before.factor, 3);
	assert_true(isinf(dispersion_unite(&unknown[0], 1000, &unknown[1], 3000)));
	assert_near(unknown[0].factor, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts_of_one_size_vary_as_the_mean_of_their_shares),
		cmocka_unit_test(parts_that_are_alike_make_nothing_sure),
		cmocka_unit_test(weights_need_not_be_samples),
		cmocka_unit_test(what_varies_not_at_all_says_nothing),
		cmocka_unit_test(both_sides_together_say_how_much_samples_vary),
		cmocka_unit_test(the_side_that_varies_more_decides_the_degrees),
		cmocka_unit_test(a_single_run_is_taken_to_vary_as_the_others_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
