/*
 * Probability that chance alone makes such a large difference between two recordings.
 *
 * Fisher's exact test: take all samples of both recordings that are in a function. If nothing has
 * changed, the number from the first recording is drawn without replacement (the hypergeometric
 * distribution). The observed outcome itself counts half (mid-p): counted fully, the test would
 * find less than it may. Pure: no I/O.
 *
 * Source: R. A. Fisher, The design of experiments (1935); H. O. Lancaster, Significance tests in
 * discrete distributions, JASA 56 (1961).
 */
#ifndef ANALYSIS_EXACT_TEST_H
#define ANALYSIS_EXACT_TEST_H

/* Numbers of samples, in the function and in all; these are whole numbers. */
struct exact_counts {
	double before;
	double after;
	double all_before;
	double all_after;
};

/* The chance of a difference at least as large, in either direction: from 0 to 1. */
double exact_test_get_chance(const struct exact_counts *counts);

/* The least possible chance for as many samples in the function: known before any is counted. */
double exact_test_get_least_chance(const struct exact_counts *counts);

#endif
