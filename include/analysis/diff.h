/*
 * The changes between two recordings: for every function its share before and after, the change,
 * its confidence interval, and whether it could be noise.
 *
 * The interval of a change applies to one function alone. Among many functions some leave their
 * interval by chance: one in twenty, if nothing has changed at all. So a function is reported as
 * changed only if an exact test distinguishes it from all that were compared (Benjamini and
 * Hochberg). Among the functions reported as changed, one in twenty is expected to be a false
 * alarm. If nothing has changed, at most one comparison in twenty reports any change
 * (tests/bench/diff).
 *
 * This treats a recording as independent samples. The caller supplies their number: a weight in
 * nanoseconds or bytes is no number of samples. If the number cannot be known, nothing is reported
 * as changed.
 *
 * Samples are not independent: a thread at neighbouring ticks is in the same function, and no two
 * runs of a program are alike. The parts of a recording show how much more than independent samples
 * a function's share varies. The parts are runs, if a side has several, or else slices of its time,
 * if the profile has timestamps. A function then counts as correspondingly fewer samples, and the
 * uncertainty of that estimate is included, too (Student's t). Three runs per side are few: among a
 * hundred functions a change must be ten times its standard error. Other methods for few runs
 * (Smyth, "Linear models and empirical Bayes methods", 2004) borrow variance from other functions.
 * They need functions that vary independently. Those of one program do not: a disturbance of a run
 * affects them all. So each is estimated on its own.
 *
 * All modules perf-PID.map, the code of JIT compilers, count as one.
 *
 * Pure: no I/O. Names are borrowed from the profile.
 */
#ifndef ANALYSIS_DIFF_H
#define ANALYSIS_DIFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analysis/function_list.h"
#include "base/attributes.h"

struct diff_change {
	uint64_t before; /* weight */
	uint64_t after;
	double before_share; /* of the weight of the whole side, from 0 to 1 */
	double after_share;
	double change; /* after_share - before_share */
	double low;    /* 95 % interval of the change; -1 and 1 if unknown */
	double high;
	double before_samples; /* equivalent number of independent samples */
	double after_samples;
	double degrees; /* degrees of freedom of the variance; INFINITY: it is known */
	bool is_noise;  /* it could be */
};

struct diff_row {
	const char *function;
	size_t function_length; /* in bytes */
	const char *module;     /* may be empty */
	size_t id;              /* in the list of functions */
	struct diff_change self;
	struct diff_change total;
	bool is_noise; /* both changes may be noise */
};

struct diff_table {
	/*
	 * First rows whose self has changed, the greatest change first; then rows with a change of
	 * total only; then those that could be noise.
	 */
	struct diff_row *rows;
	size_t num_rows;
	uint64_t before_sum; /* weight of all samples */
	uint64_t after_sum;
	/* Slices of time used for the variance of shares; 0: that side has none. */
	size_t before_slices;
	size_t after_slices;
	struct function_list functions;
};

/* Samples of threads whose source is from first_source on and before end_source. */
struct diff_run {
	uint32_t first_source;
	uint32_t end_source;
};

struct diff_runs {
	const struct diff_run *items;
	size_t length;
	bool are_slices; /* time slices of one run: recordings made one after the other */
};

/*
 * Enough slices of time to know their variance well (to a sixth), but few enough to be long
 * compared with the program's repetitive work; and the minimum.
 */
#define DIFF_SLICES     24
#define DIFF_MIN_SLICES 10

struct diff_side_opts {
	uint32_t metric;                   /* of the profile */
	const struct selection *selection; /* NULL: all samples */
	/*
	 * If parts of samples count: by sample, the weight that counts, 0 for samples outside the
	 * side; and by timestamp which of these count. Both NULL: all of it.
	 */
	const uint64_t *values;
	const uint64_t *timestamps;
	uint64_t num_samples; /* drawn; 0: equal to the weight */
	/*
	 * The parts of the side, borrowed. If either side has several runs, shares vary as from run
	 * to run. A single run on the other side is assumed to vary likewise. Else they vary as
	 * slices of time do: the given ones, or those of the timestamps.
	 */
	struct diff_runs runs;
};

struct diff_opts {
	struct diff_side_opts before;
	struct diff_side_opts after;
	/* The number of samples cannot be known: any change could be noise or real. */
	bool is_doubtful;
};

/*
 * tree  must not change while the table is in use
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW if the weight of a side exceeds 64 bits. The table may be
 * released in any case.
 */
_must_check_ int diff_table_init(struct diff_table *table, const struct frame_tree *tree,
				 const struct diff_opts *opts);
void diff_table_release(struct diff_table *table);

#endif
