/*
 * The first probability is computed from logarithms of factorials, its neighbours by their ratio,
 * outwards from the observed count: they shrink, and soon add nothing any more. Large counts are
 * normally distributed, and logarithms of their factorials would lose all digits.
 */
#include "analysis/exact_test.h"

#include <math.h>

/* Smaller parts of the sum are not added. */
#define NEGLIGIBLE 1e-12
/* Beyond it the distribution is a normal one: by its skewness, to less than a thousandth. */
#define MAX_EXACT_VARIANCE 1e8

static double get_log_factorial(double n)
{
	int sign;

	return lgamma_r(n + 1, &sign);
}

static double get_log_choose(double n, double k)
{
	return get_log_factorial(n) - get_log_factorial(k) - get_log_factorial(n - k);
}

/*
 * Probability that exactly `before` of `all` samples in the function are from the first recording.
 */
static double get_probability(const struct exact_counts *counts, double before)
{
	double all = counts->before + counts->after;

	return exp(get_log_choose(counts->all_before, before) +
		   get_log_choose(counts->all_after, all - before) -
		   get_log_choose(counts->all_before + counts->all_after, all));
}

static double get_lowest(const struct exact_counts *counts)
{
	return fmax(0, counts->before + counts->after - counts->all_after);
}

static double get_highest(const struct exact_counts *counts)
{
	return fmin(counts->before + counts->after, counts->all_before);
}

static double get_expected(const struct exact_counts *counts)
{
	return (counts->before + counts->after) *
	       (counts->all_before / (counts->all_before + counts->all_after));
}

static double get_variance(const struct exact_counts *counts)
{
	double all = counts->before + counts->after;
	double sum = counts->all_before + counts->all_after;

	return get_expected(counts) * (counts->all_after / sum) * ((sum - all) / fmax(sum - 1, 1));
}

/* Sum of all outcomes beyond the observed one, plus half of that itself. */
static double sum_tail(const struct exact_counts *counts, int step)
{
	double all = counts->before + counts->after;
	double rest = counts->all_after - all;
	double x = counts->before;
	double term = get_probability(counts, x);
	double sum = term / 2;

	while (step < 0 ? x > get_lowest(counts) : x < get_highest(counts)) {
		if (step < 0)
			term *= x * (rest + x) / ((counts->all_before - x + 1) * (all - x + 1));
		else
			term *= (counts->all_before - x) * (all - x) / ((x + 1) * (rest + x + 1));
		x += step;
		sum += term;
		/* Both may be too small for a number. */
		if (term <= sum * NEGLIGIBLE)
			break;
	}
	return sum;
}

double exact_test_get_chance(const struct exact_counts *counts)
{
	double expected;
	double variance;
	double tail;

	if (counts->all_before <= 0 || counts->all_after <= 0)
		return 1;
	expected = get_expected(counts);
	variance = get_variance(counts);
	if (variance > MAX_EXACT_VARIANCE)
		return erfc(fabs(counts->before - expected) / sqrt(2 * variance));
	tail = sum_tail(counts, counts->before < expected ? -1 : 1);
	/* Near the expected count the other tail may be smaller; both add up to 1. */
	return fmax(0, 2 * fmin(tail, 1 - tail));
}

double exact_test_get_least_chance(const struct exact_counts *counts)
{
	if (counts->all_before <= 0 || counts->all_after <= 0)
		return 1;
	if (get_variance(counts) > MAX_EXACT_VARIANCE)
		return 0;
	return fmin(1, fmin(get_probability(counts, get_lowest(counts)),
			    get_probability(counts, get_highest(counts))));
}
