/*
 * Shares of samples are binomial, and a share of 0 or of few samples has an interval, too: Wilson's
 * stays within 0 and 1 and is correct for small numbers, unlike the one from the standard error.
 * The interval of a difference is combined from those of both shares (Newcombe, "Interval
 * estimation for the difference between independent proportions", 1998, method 10).
 */
#include "analysis/interval.h"

#include <math.h>

/* Wilson's interval of one share. */
static struct interval get_interval(struct share share, double deviations)
{
	double n = share.num_samples;
	double square = deviations * deviations;
	double center;
	double half;

	/* Without samples any share is possible. */
	if (n <= 0)
		return (struct interval){0, 1};
	center = (share.share + square / (2 * n)) / (1 + square / n);
	half = deviations / (1 + square / n) *
	       sqrt(share.share * (1 - share.share) / n + square / (4 * n * n));
	return (struct interval){
		/* The share itself is inside, whatever rounding does. */
		.low = fmax(0, fmin(share.share, center - half)),
		.high = fmin(1, fmax(share.share, center + half)),
	};
}

struct interval interval_of_change(struct share before, struct share after, double deviations)
{
	struct interval first = get_interval(before, deviations);
	struct interval second = get_interval(after, deviations);
	double change = after.share - before.share;

	if (before.num_samples <= 0 || after.num_samples <= 0)
		return (struct interval){-1, 1};
	return (struct interval){
		.low = change - hypot(after.share - second.low, first.high - before.share),
		.high = change + hypot(second.high - after.share, before.share - first.low),
	};
}
