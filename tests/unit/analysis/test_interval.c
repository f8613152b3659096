#include "analysis/interval.h"

#include <stdbool.h>

#include "base/attributes.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static struct interval change(double before, double before_count, double after, double after_count)
{
	struct share first = {before / before_count, before_count};
	struct share second = {after / after_count, after_count};

	return interval_of_change(first, second, INTERVAL_95);
}

static void assert_interval(struct interval interval, double low, double high)
{
	assert_float_equal((float)interval.low, (float)low, 0.00006f);
	assert_float_equal((float)interval.high, (float)high, 0.00006f);
}

/* Newcombe 1998, table II, method 10. */
static void the_published_examples_come_out(void **state _unused_)
{
	assert_interval(change(48, 80, 56, 70), 0.0524, 0.3339);
	assert_interval(change(3, 10, 9, 10), 0.1705, 0.8090);
	assert_interval(change(2, 7, 6, 7), 0.0582, 0.8062);
	assert_interval(change(0, 29, 5, 56), -0.0381, 0.1926);
	assert_interval(change(0, 20, 0, 10), -0.1611, 0.2775);
	assert_interval(change(0, 20, 10, 10), 0.6791, 1.0000);
}

static void nothing_known_is_every_change(void **state _unused_)
{
	struct interval interval =
		interval_of_change((struct share){0, 0}, (struct share){0.5, 100}, INTERVAL_95);

	assert_interval(interval, -1, 1);
}

static void few_samples_show_nothing_and_many_do(void **state _unused_)
{
	assert_true(change(1, 10, 2, 10).low < 0);
	assert_true(change(1000, 10000, 2000, 10000).low > 0);
}

static void the_interval_stays_within_what_shares_can_do(void **state _unused_)
{
	struct interval interval = change(0, 3, 3, 3);

	assert_true(interval.high <= 1);
	assert_true(interval.low >= -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_published_examples_come_out),
		cmocka_unit_test(nothing_known_is_every_change),
		cmocka_unit_test(few_samples_show_nothing_and_many_do),
		cmocka_unit_test(the_interval_stays_within_what_shares_can_do),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
