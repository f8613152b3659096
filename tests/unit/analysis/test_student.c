#include "analysis/student.h"

#include <math.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void assert_near(double actual, double expected, double error)
{
	if (fabs(actual - expected) > error)
		fail_msg("%.12g is not %.12g", actual, expected);
}

/* The textbook's table: 5 % are outside of so many deviations. */
static void the_table_of_every_textbook_comes_out(void **state _unused_)
{
	static const double table[][2] = {
		{1, 12.7062047}, {2, 4.3026527},  {3, 3.1824463},   {4, 2.7764451},
		{10, 2.2281389}, {23, 2.0686576}, {100, 1.9839715}, {INFINITY, 1.9599640},
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		assert_near(student_get_chance(table[i][1], table[i][0]), 0.05, 1e-8);
		assert_near(student_get_deviations(0.05, table[i][0]), table[i][1], 1e-6);
	}
}

/* The density, summed up by Simpson's rule. */
static void degrees_need_not_be_whole(void **state _unused_)
{
	assert_near(student_get_chance(3, 2.5), 0.0725760955, 1e-9);
	assert_near(student_get_chance(1.5, 7.3), 0.1755630928, 1e-9);
	assert_near(student_get_chance(-4, 3.2), 0.0248174617, 1e-9);
	assert_near(student_get_chance(0.7, 200), 0.4847407330, 1e-9);
	assert_near(student_get_chance(5, 46), 0.0000087903, 1e-9);
}

/* With one degree it is Cauchy's distribution, with two it has a formula of its own. */
static void few_degrees_have_long_tails(void **state _unused_)
{
	for (double t = 0.125; t < 1e6; t *= 2) {
		assert_near(student_get_chance(t, 1) / (2 / M_PI * atan(1 / t)), 1, 1e-10);
		assert_near(student_get_chance(t, 2), 1 - t / sqrt(2 + t * t), 1e-12);
	}
}

static void many_degrees_are_the_normal_distribution(void **state _unused_)
{
	assert_near(student_get_chance(3, 1e6), erfc(3 / sqrt(2)), 1e-7);
	assert_near(student_get_chance(3, 1e9), erfc(3 / sqrt(2)), 1e-15);
	assert_near(student_get_chance(0, 5), 1, 1e-12);
}

static void deviations_are_the_way_back(void **state _unused_)
{
	for (double degrees = 1; degrees < 1e8; degrees *= 3.7)
		for (double chance = 0.9; chance > 1e-6; chance /= 7)
			assert_near(student_get_chance(student_get_deviations(chance, degrees),
						       degrees) /
					    chance,
				    1, 1e-9);
}

static void a_variance_that_is_estimated_makes_chance_likelier(void **state _unused_)
{
	assert_near(student_widen_chance(erfc(2.7764451 / sqrt(2)), 4), 0.05, 1e-8);
	assert_near(student_widen_chance(0.001, INFINITY), 0.001, 0);
	assert_near(student_widen_chance(1, 3), 1, 1e-9);
	/* What is too rare for a double is as rare as the least one, of 38.5 deviations. */
	assert_near(student_widen_chance(0, 2), 1 - 38.5 / sqrt(2 + 38.5 * 38.5), 1e-5);
	for (double chance = 1; chance > 1e-300; chance /= 10)
		assert_true(student_widen_chance(chance, 5) >= chance * (1 - 1e-9));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_table_of_every_textbook_comes_out),
		cmocka_unit_test(degrees_need_not_be_whole),
		cmocka_unit_test(few_degrees_have_long_tails),
		cmocka_unit_test(many_degrees_are_the_normal_distribution),
		cmocka_unit_test(deviations_are_the_way_back),
		cmocka_unit_test(a_variance_that_is_estimated_makes_chance_likelier),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
