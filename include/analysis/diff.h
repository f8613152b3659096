/*
 * What has changed between two recordings: for every function its share before and after, the
 * change, how far that can be trusted, and whether it could be noise.
 *
 * The interval of a change is about one function alone. Among many functions some leave their
 * interval by chance: one in twenty, if nothing has changed at all. So a change is only called
 * one when an exact test makes it stand out among all that were compared (Benjamini and Hochberg): of
 * the functions called changed, one in twenty is expected to be so by chance, and if nothing has
 * changed, any is called changed in one comparison of twenty at most (tests/bench/diff).
 *
 * That takes a recording for independent samples. How many there were is the caller's knowledge: a
 * weight in nanoseconds or bytes is no number of samples. Where nobody can know, nothing is called
 * changed.
 *
 * Samples are not independent: a thread at neighbouring ticks is in the same function, and no two runs
 * of a program are alike. How much more than independent samples a function's share varies is seen from
 * the parts of a recording: from its runs, where a side is several, else from slices of its time,
 * where the profile has timestamps. It counts for as many fewer samples, and how sure that estimate is
 * counts as well (Student's t). Of runs, three a side are few: among a hundred functions a change must
 * be ten times its standard error. Other methods for few runs (Smyth, "Linear models and empirical Bayes
 * methods", 2004) take what varies from other functions, too. That asks functions to vary independently,
 * which those of one program do not: what disturbs a run disturbs them all. So each stands for itself.
 *
 * Modules perf-PID.map, in which compilers at run time keep their code, are one.
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
	double low;    /* 95 % interval of the change; -1 and 1 where nothing is known */
	double high;
	double before_samples; /* independent ones that the share is as sure as */
	double after_samples;
	double degrees; /* of freedom, of how much the shares vary; INFINITY: that is known */
	bool is_noise;  /* it could be */
};

struct diff_row {
	const char *function;
	size_t function_length; /* in bytes */
	const char *module;     /* may be empty */
	size_t id;              /* in the list of functions */
	struct diff_change self;
	struct diff_change total;
	bool is_noise; /* both changes could be */
};

struct diff_table {
	/* Where self has changed, the greatest change first; then where only total has; then what
	   could be noise. */
	struct diff_row *rows;
	size_t num_rows;
	uint64_t before_sum; /* weight of all samples */
	uint64_t after_sum;
	/* Slices of time from which was seen how much shares vary; 0: of that side from none. */
	size_t before_slices;
	size_t after_slices;
	struct function_list functions;
};

/* The samples whose threads are of a source from first_source on and before end_source. */
struct diff_run {
	uint32_t first_source;
	uint32_t end_source;
};

struct diff_runs {
	const struct diff_run *items;
	size_t length;
	bool are_slices; /* of time, of one run: recordings that were made one after the other */
};

/*
 * So many slices of time that their variance is known well (to a sixth), and so few that each is long
 * beside what a program does over and over; and the fewest.
 */
#define DIFF_SLICES     24
#define DIFF_MIN_SLICES 10

struct diff_side_opts {
	uint32_t metric;                   /* of the profile */
	const struct selection *selection; /* NULL: all samples */
	/* Where a part of a sample counts: by sample, how much of it, 0 for those that are none of the
	   side's; and by timestamp which of these count. Both NULL: all of it. */
	const uint64_t *values;
	const uint8_t *timestamps;
	uint64_t num_samples; /* that were drawn; 0: as many as the weight says */
	/*
	 * What the side consists of, borrowed. If either has several runs, shares vary as they do from
	 * run to run, and a single one on the other side is taken to vary likewise. Else as slices of
	 * time do: those that are given, or of the timestamps.
	 */
	struct diff_runs runs;
};

struct diff_opts {
	struct diff_side_opts before;
	struct diff_side_opts after;
	/* How many samples there were cannot be known: any change could be noise, and be any other one. */
	bool is_doubtful;
};

/*
 * tree  stays as it is while the table is in use
 *
 * Returns 0, -ENOMEM, or -EOVERFLOW when the weight of a side leaves 64 bits. The table may be
 * released in any case.
 */
_must_check_ int diff_table_init(struct diff_table *table, const struct frame_tree *tree,
				 const struct diff_opts *opts);
void diff_table_release(struct diff_table *table);

#endif
