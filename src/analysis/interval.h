/*
 * How much a share has changed between two recordings, and how sure that is.
 *
 * A recording is taken as a number of samples that were drawn independently, each of which is in
 * the function or is not. Shares are from 0 to 1. Pure: no I/O.
 */
#ifndef ANALYSIS_INTERVAL_H
#define ANALYSIS_INTERVAL_H

/* A share in a recording. */
struct share {
	double share;
	double num_samples; /* that the share is taken of; 0: nothing is known */
};

struct interval {
	double low;
	double high;
};

/* Standard deviations that hold 95 % of a normal distribution between them. */
#define INTERVAL_95 1.959963984540054

/*
 * The interval that holds the true change, after minus before.
 *
 * deviations  INTERVAL_95, or another number of standard deviations
 *
 * Wilson's intervals of both shares, combined as Newcombe does: unlike the textbook's, these hold
 * what they promise for few samples and for shares near 0 too, where profiles have most functions.
 *
 * Source: R. G. Newcombe, Interval estimation for the difference between independent proportions,
 * Statistics in Medicine 17 (1998), method 10.
 */
struct interval interval_of_change(struct share before, struct share after, double deviations);

#endif
