/*
 * How much more a share varies than with independent samples.
 *
 * A recording's samples are not drawn independently. A thread at neighbouring ticks is in the same
 * function. A program in another run has different memory, caches and neighbours. Parts of a
 * recording are independent: slices of its time that are long compared with the program's
 * activities, or whole runs. The differences of a share from part to part show the error of the
 * share of all parts together.
 *
 * The share is the quotient of two sums over the parts. Its variance is that of a ratio: of the
 * differences between the parts' weight in the function and the weight expected from their size.
 * Parts may be of any size; the larger count for more. For parts of one size it is the variance of
 * the mean of their shares, as Welch uses it. Pure: no I/O.
 *
 * Source: W. G. Cochran, Sampling techniques, 3rd edition (1977), sections 2.11 and 9A (clusters);
 * B. L. Welch, The generalization of Student's problem when several different population variances
 * are involved, Biometrika 34 (1947).
 */
#ifndef ANALYSIS_DISPERSION_H
#define ANALYSIS_DISPERSION_H

#include <stddef.h>

/* Sums of the total weights of a recording's parts. */
struct part_sums {
	size_t num_parts; /* parts with any weight */
	double total;
	double squares;
};

/* The same of their weights in a function. */
struct part_weights {
	double weight;
	double squares;
	double products; /* with the part's whole weight */
};

/* Estimate of a share's variance. */
struct dispersion {
	double factor;   /* relative to that of independent samples */
	double expected; /* variance of as many independent samples, in samples; 0: unknown */
	double degrees;  /* degrees of freedom; INFINITY: the variance counts as known */
};

/* Independent samples. */
#define DISPERSION_NONE ((struct dispersion){.factor = 1, .degrees = INFINITY})

void part_sums_add(struct part_sums *sums, double total);
/* total  of the same part */
void part_weights_add(struct part_weights *weights, double weight, double total);

/*
 * num_samples  total of the parts
 *
 * It is undefined for a share of 0 or 1, and for less than two parts.
 */
struct dispersion dispersion_of_parts(const struct part_sums *sums,
				      const struct part_weights *weights, double num_samples);

/*
 * Adjust both factors for the test of a change from one share to another. Returns the degrees of
 * freedom.
 *
 * If nothing has changed, the samples of both sides vary alike, and the variation of both together
 * is the better estimate: a side with a single sample of the function tells nothing about its
 * variation, nor does a side of a single run. A side that varies more keeps its own factor. A
 * variation below that of independent samples never counts: parts that happen to be alike prove
 * nothing.
 *
 * before_samples, after_samples  numbers of samples
 *
 * Source: Welch, as above; F. E. Satterthwaite, Biometrics 2 (1946).
 */
double dispersion_unite(struct dispersion *before, double before_samples, struct dispersion *after,
			double after_samples);

#endif
