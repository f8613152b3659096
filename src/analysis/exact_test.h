/*
 * How likely chance alone makes so large a difference between two recordings.
 *
 * Fisher's exact test: of all samples of both recordings that are in a function, how many are of the
 * first is drawn without replacement (the hypergeometric distribution) if nothing has changed. Of what
 * was found itself, half counts (mid-p): whole, the test would find less than it may. Pure: no I/O.
 *
 * Source: R. A. Fisher, The design of experiments (1935); H. O. Lancaster, Significance tests in
 * discrete distributions, JASA 56 (1961).
 */
#ifndef ANALYSIS_EXACT_TEST_H
#define ANALYSIS_EXACT_TEST_H

/* Samples: in the function, and in all; these are whole numbers. */
struct exact_counts {
	double before;
	double after;
	double all_before;
	double all_after;
};

/* Of a difference at least as large, in either direction: from 0 to 1. */
double exact_test_get_chance(const struct exact_counts *counts);

/* The least that it could be for so many samples in the function: known before any is counted. */
double exact_test_get_least_chance(const struct exact_counts *counts);

#endif
