/*
 * The change of a share between two recordings, and its confidence interval.
 *
 * A recording is modelled as a number of samples that were drawn independently, each in the
 * function or not. Shares are from 0 to 1. Pure: no I/O.
 */
#ifndef ANALYSIS_INTERVAL_H
#define ANALYSIS_INTERVAL_H

/* A share in a recording. */
struct share {
	double share;
	double num_samples; /* base of the share; 0: unknown */
};

struct interval {
	double low;
	double high;
};

/* Standard deviations on either side that contain 95 % of a normal distribution. */
#define INTERVAL_95 1.959963984540054

/*
 * The interval that holds the true change, after minus before.
 *
 * deviations  INTERVAL_95, or another number of standard deviations
 *
 * Wilson's intervals of both shares, combined as Newcombe does: unlike the textbook's, these are
 * also correct for few samples and for shares near 0, where most functions of a profile are.
 *
 * Source: R. G. Newcombe, Interval estimation for the difference between independent proportions,
 * Statistics in Medicine 17 (1998), method 10.
 */
struct interval interval_of_change(struct share before, struct share after, double deviations);

#endif
