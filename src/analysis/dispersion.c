#include "analysis/dispersion.h"

#include <math.h>

void part_sums_add(struct part_sums *sums, double total)
{
	sums->num_parts += total > 0;
	sums->total += total;
	sums->squares += total * total;
}

void part_weights_add(struct part_weights *weights, double weight, double total)
{
	weights->weight += weight;
	weights->squares += weight * weight;
	weights->products += weight * total;
}

struct dispersion dispersion_of_parts(const struct part_sums *sums,
				      const struct part_weights *weights, double num_samples)
{
	double num_parts = (double)sums->num_parts;
	double share = sums->total > 0 ? weights->weight / sums->total : 0;
	double variance;
	double squares;

	if (num_parts < 2 || share <= 0 || share >= 1 || num_samples <= 0)
		return (struct dispersion){0};
	/*
	 * Squares of the differences between a part's weight in the function and the share of its
	 * total.
	 */
	squares = weights->squares - 2 * share * weights->products + share * share * sums->squares;
	variance = num_parts / (num_parts - 1) * squares / (sums->total * sums->total);
	return (struct dispersion){
		.factor = variance * num_samples / (share * (1 - share)),
		.expected = num_samples * share * (1 - share),
		.degrees = num_parts - 1,
	};
}

double dispersion_unite(struct dispersion *before, double before_samples, struct dispersion *after,
			double after_samples)
{
	double expected = before->expected + after->expected;
	struct dispersion both = DISPERSION_NONE;
	double degrees;
	double first;
	double second;

	if (expected > 0) {
		both.factor = fmax(
			1, (before->factor * before->expected + after->factor * after->expected) /
				   expected);
		both.degrees = before->degrees + after->degrees;
	}
	if (before->factor <= both.factor && after->factor <= both.factor) {
		*before = *after = both;
		return both.degrees;
	}
	*(before->factor <= both.factor ? before : after) = both;
	/*
	 * The variances are proportional to these, as both shares are the same if nothing changed.
	 */
	first = before->factor / before_samples;
	second = after->factor / after_samples;
	degrees = (first + second) * (first + second) /
		  (first * first / before->degrees + second * second / after->degrees);
	/* The estimates overlap: one is part of the other. */
	return fmin(degrees, both.degrees);
}
