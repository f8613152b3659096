#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/diff_parts.h"
#include "analysis/dispersion.h"
#include "analysis/exact_test.h"
#include "analysis/interval.h"
#include "analysis/student.h"
#include "base/array.h"

/* Accepted share of false alarms among the changes reported as real. */
#define FALSE_SHARE 0.05
/* Confidence of an interval; matches INTERVAL_95. */
#define CONFIDENCE 0.95

/*
 * num_samples is the base of the confidence. If it is not known, the weight itself is used, which
 * is right if it counts samples. 0: no confidence.
 */
struct diff_side {
	uint64_t sum;
	double num_samples;
	struct function_weight *weights; /* by function */
	struct part_sums parts;
	struct function_parts *functions; /* by function; NULL: no parts */
};

/* Weights of a side's parts in a function. */
struct function_parts {
	struct part_weights self;
	struct part_weights total;
};

/* A test: one change, or both changes of a row with equal weights. */
struct diff_candidate {
	struct diff_change *change;
	struct diff_change *same; /* or NULL */
	double chance;
	double least; /* chance, for as many samples in the function */
};

static double get_share(const struct diff_side *side, uint64_t weight)
{
	return side->sum ? (double)weight / (double)side->sum : 0;
}

static struct interval get_interval(const struct diff_change *change)
{
	struct share before = {change->before_share, change->before_samples};
	struct share after = {change->after_share, change->after_samples};
	double deviations = isinf(change->degrees)
				    ? INTERVAL_95
				    : student_get_deviations(1 - CONFIDENCE, change->degrees);

	return interval_of_change(before, after, deviations);
}

static void compare(struct diff_change *change, const struct diff_side *before,
		    const struct part_weights *before_parts, const struct diff_side *after,
		    const struct part_weights *after_parts)
{
	struct dispersion first =
		dispersion_of_parts(&before->parts, before_parts, before->num_samples);
	struct dispersion second =
		dispersion_of_parts(&after->parts, after_parts, after->num_samples);
	struct interval interval;

	change->degrees =
		dispersion_unite(&first, before->num_samples, &second, after->num_samples);
	change->before_samples = before->num_samples / first.factor;
	change->after_samples = after->num_samples / second.factor;
	change->before_share = get_share(before, change->before);
	change->after_share = get_share(after, change->after);
	change->change = change->after_share - change->before_share;
	interval = get_interval(change);
	change->low = interval.low;
	change->high = interval.high;
	change->is_noise = true;
}

static int make_rows(struct diff_table *table, const struct diff_side *before,
		     const struct diff_side *after)
{
	static const struct function_parts no_parts;
	const struct function_list *list = &table->functions;

	table->rows = calloc(list->num_functions, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < list->num_functions; i++) {
		const struct function_weight *first = &before->weights[i];
		const struct function_weight *second = &after->weights[i];
		const struct function_parts *first_parts =
			before->functions ? &before->functions[i] : &no_parts;
		const struct function_parts *second_parts =
			after->functions ? &after->functions[i] : &no_parts;
		struct diff_row *row;

		if (!first->occurs && !second->occurs)
			continue;
		row = &table->rows[table->num_rows++];
		*row = (struct diff_row){
			.function = list->functions[i].name,
			.function_length = list->functions[i].name_length,
			.module = list->functions[i].module,
			.id = i,
			.self = {.before = first->self, .after = second->self},
			.total = {.before = first->total, .after = second->total},
		};
		compare(&row->self, before, &first_parts->self, after, &second_parts->self);
		compare(&row->total, before, &first_parts->total, after, &second_parts->total);
	}
	return 0;
}

static int compare_chances(const void *left, const void *right)
{
	const struct diff_candidate *a = left;
	const struct diff_candidate *b = right;

	return (a->chance > b->chance) - (a->chance < b->chance);
}

static int compare_least(const void *left, const void *right)
{
	const struct diff_candidate *a = left;
	const struct diff_candidate *b = right;

	return (a->least > b->least) - (a->least < b->least);
}

struct diff_candidates {
	ARRAY(struct diff_candidate) items;
};

/*
 * Weights other than sample counts are converted: a function's share of the weight is taken as its
 * share of the samples.
 */
static struct exact_counts count_samples(const struct diff_change *change)
{
	return (struct exact_counts){
		.before = round(change->before_share * round(change->before_samples)),
		.after = round(change->after_share * round(change->after_samples)),
		.all_before = round(change->before_samples),
		.all_after = round(change->after_samples),
	};
}

/* A function without weight on either side (self of one with totals only) is not tested. */
static int add_candidate(struct diff_candidates *candidates, struct diff_change *change,
			 struct diff_change *same)
{
	struct exact_counts counts = count_samples(change);
	struct diff_candidate *added;

	if (!change->before && !change->after)
		return 0;
	added = array_add(&candidates->items);
	if (!added)
		return -ENOMEM;
	*added = (struct diff_candidate){
		.change = change,
		.same = same,
		.chance = student_widen_chance(exact_test_get_chance(&counts), change->degrees),
		.least =
			student_widen_chance(exact_test_get_least_chance(&counts), change->degrees),
	};
	return 0;
}

static int add_candidates(struct diff_candidates *candidates, struct diff_table *table)
{
	for (size_t i = 0; i < table->num_rows; i++) {
		struct diff_change *self = &table->rows[i].self;
		struct diff_change *total = &table->rows[i].total;
		bool are_same = self->before == total->before && self->after == total->after;
		int err = add_candidate(candidates, self, are_same ? total : NULL);

		if (!err && !are_same)
			err = add_candidate(candidates, total, NULL);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Functions with few samples cannot be significant in any case, and testing them makes other
 * changes harder to find. With k tests each must reach FALSE_SHARE / k. Choose the smallest k such
 * that no more than k functions can do so, and test these (Gilbert, "A modified false discovery
 * rate multiple-comparisons procedure for discrete data", 2005). The number of samples of a
 * function does not depend on which recording they are from, so this choice is unbiased. Returns
 * the number of tests, in the order of their least possible chance.
 */
static size_t choose_testable(struct diff_candidates *candidates)
{
	size_t count = candidates->items.length;
	size_t num_tests = 0;
	size_t num_testable;

	qsort(candidates->items.items, count, sizeof(struct diff_candidate), compare_least);
	do {
		num_tests++;
		num_testable =
			array_count_front(&candidates->items, candidate,
					  candidate->least <= FALSE_SHARE / (double)num_tests);
	} while (num_testable > num_tests);
	return num_testable;
}

/*
 * Benjamini and Hochberg: with changes sorted by chance, the k-th is real if it or a later one is
 * less likely than k / (number of changes) * FALSE_SHARE. Self and total weights are tested
 * together: one comparison in twenty as a whole may be wrong.
 */
static int mark_noise(struct diff_table *table)
{
	struct diff_candidates candidates = {0};
	size_t num_real = 0;
	size_t count;
	int err = add_candidates(&candidates, table);

	if (err || !candidates.items.length) {
		array_release(&candidates.items);
		return err;
	}
	count = choose_testable(&candidates);
	qsort(candidates.items.items, count, sizeof(struct diff_candidate), compare_chances);
	for (size_t i = 0; i < count; i++)
		if (candidates.items.items[i].chance <=
		    FALSE_SHARE * (double)(i + 1) / (double)count)
			num_real = i + 1;
	for (size_t i = 0; i < num_real; i++) {
		const struct diff_candidate *real = &candidates.items.items[i];

		real->change->is_noise = false;
		if (real->same)
			real->same->is_noise = false;
	}
	array_release(&candidates.items);
	return 0;
}

/* 0: self has changed; 1: only total has; 2: noise */
static int get_rank(const struct diff_row *row)
{
	return !row->self.is_noise ? 0 : !row->total.is_noise ? 1 : 2;
}

static int compare_changes(double a, double b)
{
	return (fabs(a) < fabs(b)) - (fabs(a) > fabs(b));
}

/* Down to the last difference: the same data gives the same table, though qsort() is not stable. */
static int compare_rows(const void *left, const void *right)
{
	const struct diff_row *a = left;
	const struct diff_row *b = right;
	int order = get_rank(a) - get_rank(b);

	if (!order && get_rank(a) != 1)
		order = compare_changes(a->self.change, b->self.change);
	if (!order)
		order = compare_changes(a->total.change, b->total.change);
	if (!order)
		order = strcmp(a->function, b->function);
	return order ? order : strcmp(a->module, b->module);
}

static int weigh(struct diff_side *side, const struct function_list *list,
		 const struct diff_side_opts *opts)
{
	int err;

	side->weights = calloc(list->num_functions, sizeof(*side->weights));
	if (!side->weights)
		return -ENOMEM;
	err = opts->values
		      ? function_list_weigh_values(list, opts->values, side->weights, &side->sum)
		      : function_list_weigh(list, opts->metric, opts->selection, side->weights,
					    &side->sum);
	side->num_samples = opts->num_samples ? (double)opts->num_samples : (double)side->sum;
	return err;
}

/* Add a part: its total weight, and its weight in each function. */
static void add_part(struct diff_side *side, const struct function_weight *weights,
		     size_t num_functions, uint64_t sum)
{
	part_sums_add(&side->parts, (double)sum);
	for (size_t i = 0; i < num_functions; i++) {
		part_weights_add(&side->functions[i].self, (double)weights[i].self, (double)sum);
		part_weights_add(&side->functions[i].total, (double)weights[i].total, (double)sum);
	}
}

static int add_parts(struct diff_side *side, const struct function_list *list,
		     const struct diff_parts *parts)
{
	uint32_t num_samples = profile_count_samples(list->tree->profile);
	_cleanup_free_ uint64_t *values = calloc((size_t)num_samples + 1, sizeof(*values));
	_cleanup_free_ struct function_weight *weights =
		calloc(list->num_functions, sizeof(*weights));

	side->functions = calloc(list->num_functions, sizeof(*side->functions));
	if (!values || !weights || !side->functions)
		return -ENOMEM;
	for (size_t i = 0; i < parts->num_parts; i++) {
		uint64_t sum;
		int err;

		diff_parts_get_values(parts, i, values);
		err = function_list_weigh_values(list, values, weights, &sum);
		if (err)
			return err;
		add_part(side, weights, list->num_functions, sum);
	}
	return 0;
}

static bool are_runs(const struct diff_runs *runs)
{
	return runs->length > 1 && !runs->are_slices;
}

/* ret_slices  of time; 0: the parts are runs, or there are no parts */
static int divide(struct diff_side *side, const struct function_list *list,
		  const struct diff_side_opts *opts, size_t *ret_slices)
{
	_cleanup_(diff_parts_release) struct diff_parts parts;
	int err = diff_parts_init(&parts, list->tree->profile, opts);

	if (err || !parts.num_parts)
		return err;
	err = add_parts(side, list, &parts);
	if (err)
		return err;
	*ret_slices = are_runs(&opts->runs) ? 0 : side->parts.num_parts;
	return 0;
}

static int divide_before_and_after(struct diff_table *table, const struct diff_opts *opts,
				   struct diff_side *before, struct diff_side *after)
{
	bool has_runs = are_runs(&opts->before.runs) || are_runs(&opts->after.runs);
	int err;

	if (!has_runs || are_runs(&opts->before.runs)) {
		err = divide(before, &table->functions, &opts->before, &table->before_slices);
		if (err)
			return err;
	}
	if (has_runs && !are_runs(&opts->after.runs))
		return 0;
	return divide(after, &table->functions, &opts->after, &table->after_slices);
}

static int fill(struct diff_table *table, const struct diff_opts *opts, struct diff_side *before,
		struct diff_side *after)
{
	const struct function_list *list = &table->functions;
	int err = weigh(before, list, &opts->before);

	if (err)
		return err;
	err = weigh(after, list, &opts->after);
	if (err)
		return err;
	if (opts->is_doubtful)
		before->num_samples = after->num_samples = 0;
	err = divide_before_and_after(table, opts, before, after);
	if (err)
		return err;
	err = make_rows(table, before, after);
	if (err)
		return err;
	err = mark_noise(table);
	if (err)
		return err;
	table->before_sum = before->sum;
	table->after_sum = after->sum;
	for (size_t i = 0; i < table->num_rows; i++)
		table->rows[i].is_noise =
			table->rows[i].self.is_noise && table->rows[i].total.is_noise;
	qsort(table->rows, table->num_rows, sizeof(*table->rows), compare_rows);
	return 0;
}

int diff_table_init(struct diff_table *table, const struct frame_tree *tree,
		    const struct diff_opts *opts)
{
	struct diff_side before = {0};
	struct diff_side after = {0};
	int err;

	*table = (struct diff_table){0};
	err = function_list_init(&table->functions, tree, true);
	if (err)
		return err;
	err = fill(table, opts, &before, &after);
	free(before.weights);
	free(before.functions);
	free(after.weights);
	free(after.functions);
	return err;
}

void diff_table_release(struct diff_table *table)
{
	free(table->rows);
	function_list_release(&table->functions);
	*table = (struct diff_table){0};
}
