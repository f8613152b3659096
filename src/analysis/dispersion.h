/*
 * How much more a share varies than independent samples would make it.
 *
 * A recording's samples are not drawn independently. A thread at neighbouring ticks is in the same
 * function, and a program that runs again has its memory, its caches and its neighbours otherwise. What
 * is independent are parts of it: slices of its time that are long beside what it does, or whole runs.
 * How much a share differs from part to part says how much that of all parts together may be off.
 *
 * The share is the quotient of two sums over the parts, and its variance that of a ratio: of what the
 * parts have in the function more or less than their size lets expect. Parts may be of any size; the
 * larger count for more. For parts of one size it is the variance of the mean of their shares, as Welch
 * takes it. Pure: no I/O.
 *
 * Source: W. G. Cochran, Sampling techniques, 3rd edition (1977), sections 2.11 and 9A (clusters);
 * B. L. Welch, The generalization of Student's problem when several different population variances are
 * involved, Biometrika 34 (1947).
 */
#ifndef ANALYSIS_DISPERSION_H
#define ANALYSIS_DISPERSION_H

#include <stddef.h>

/* Sums over the parts of a recording: of what they weigh in all. */
struct part_sums {
	size_t num_parts; /* those that weigh anything */
	double total;
	double squares;
};

/* And of what they weigh in a function. */
struct part_weights {
	double weight;
	double squares;
	double products; /* with the part's whole weight */
};

/* What is known of a share's variance. */
struct dispersion {
	double factor; /* of that of independent samples */
	double expected; /* variance of so many independent samples, in samples; 0: nothing is known */
	double degrees; /* degrees of freedom; INFINITY: it is taken for known */
};

/* Independent samples. */
#define DISPERSION_NONE ((struct dispersion){.factor = 1, .degrees = INFINITY})

void part_sums_add(struct part_sums *sums, double total);
/* total  of the same part */
void part_weights_add(struct part_weights *weights, double weight, double total);

/*
 * num_samples  that the parts are, together
 *
 * It cannot be said of a share of 0 or 1, nor of less than two parts.
 */
struct dispersion dispersion_of_parts(const struct part_sums *sums,
				      const struct part_weights *weights, double num_samples);

/*
 * What a change from one share to another is to be judged by: both factors are set. Returns the degrees
 * of freedom.
 *
 * If nothing has changed, the samples of both sides vary alike, and what varies on both together is the
 * better estimate: a side with a single sample of the function says nothing of how it comes and goes,
 * nor does a side of a single run. A side that varies more keeps what is its own. Less than independent
 * samples vary never counts: parts that happen to be alike make nothing sure.
 *
 * before_samples, after_samples  numbers of samples
 *
 * Source: Welch, as above; F. E. Satterthwaite, Biometrics 2 (1946).
 */
double dispersion_unite(struct dispersion *before, double before_samples, struct dispersion *after,
			double after_samples);

#endif
