#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/exact_test.h"
#include "analysis/interval.h"
#include "base/array.h"

/* Of the changes that are called real, this share may be so by chance. */
#define FALSE_SHARE 0.05

/*
 * num_samples is what the confidence rests on. Where it is not known the weight itself is taken,
 * which is right where that counts samples. 0: there is no confidence.
 */
struct side {
	uint64_t sum;
	double num_samples;
	struct function_weight *weights; /* by function */
};

/* What is tested: one change, or both of a row whose weights are the same. */
struct diff_candidate {
	struct diff_change *change;
	struct diff_change *same; /* NULL: there is none */
	double chance;
	double least; /* chance, for as many samples in the function */
};

static struct share get_share(const struct side *side, uint64_t weight)
{
	return (struct share){
		.share = side->sum ? (double)weight / (double)side->sum : 0,
		.num_samples = side->num_samples,
	};
}

static struct diff_change compare(const struct side *before, uint64_t before_weight,
				  const struct side *after, uint64_t after_weight)
{
	struct share first = get_share(before, before_weight);
	struct share second = get_share(after, after_weight);
	struct interval interval = interval_of_change(first, second, INTERVAL_95);

	return (struct diff_change){
		.before = before_weight,
		.after = after_weight,
		.before_share = first.share,
		.after_share = second.share,
		.change = second.share - first.share,
		.low = interval.low,
		.high = interval.high,
		.is_noise = true,
	};
}

static int make_rows(struct diff_table *table, const struct side *before, const struct side *after)
{
	const struct function_list *list = &table->functions;

	table->rows = calloc(list->num_functions, sizeof(*table->rows));
	if (!table->rows)
		return -ENOMEM;
	for (size_t i = 0; i < list->num_functions; i++) {
		const struct function_weight *first = &before->weights[i];
		const struct function_weight *second = &after->weights[i];

		if (!first->occurs && !second->occurs)
			continue;
		table->rows[table->num_rows++] = (struct diff_row){
			.function = list->functions[i].name,
			.function_length = list->functions[i].name_length,
			.module = list->functions[i].module,
			.self = compare(before, first->self, after, second->self),
			.total = compare(before, first->total, after, second->total),
		};
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

/* Weights that are none of samples count as so many of the samples as they are of all. */
static struct exact_counts count_samples(const struct diff_change *change,
					 const struct side *before, const struct side *after)
{
	return (struct exact_counts){
		.before = round(change->before_share * before->num_samples),
		.after = round(change->after_share * after->num_samples),
		.all_before = before->num_samples,
		.all_after = after->num_samples,
	};
}

/* A function without weight on either side (one with totals alone has no self) is not tested. */
static int add_candidate(struct diff_candidates *candidates, struct diff_change *change,
			 struct diff_change *same, const struct side *before,
			 const struct side *after)
{
	struct exact_counts counts = count_samples(change, before, after);
	struct diff_candidate *added;

	if (!change->before && !change->after)
		return 0;
	added = array_add(&candidates->items);
	if (!added)
		return -ENOMEM;
	*added = (struct diff_candidate){
		.change = change,
		.same = same,
		.chance = exact_test_get_chance(&counts),
		.least = exact_test_get_least_chance(&counts),
	};
	return 0;
}

static int add_candidates(struct diff_candidates *candidates, struct diff_table *table,
			  const struct side *before, const struct side *after)
{
	for (size_t i = 0; i < table->num_rows; i++) {
		struct diff_change *self = &table->rows[i].self;
		struct diff_change *total = &table->rows[i].total;
		bool are_same = self->before == total->before && self->after == total->after;
		int err = add_candidate(candidates, self, are_same ? total : NULL, before, after);

		if (!err && !are_same)
			err = add_candidate(candidates, total, NULL, before, after);
		if (err)
			return err;
	}
	return 0;
}

/*
 * Functions of a few samples cannot be called changed whatever happens, and to test them as well makes
 * others harder to find. With k tests each must reach FALSE_SHARE / k: the smallest k such that no more
 * than k functions can do so are those that are worth it (Gilbert, "A modified false discovery rate
 * multiple-comparisons procedure for discrete data", 2005). How few samples a function has does not
 * depend on which recording they are of, so that the choice favours nothing. Returns how many they are,
 * in the order of what is the least.
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
 * Benjamini and Hochberg: of the changes in order of their chance, the k-th is real if it or one
 * behind it is less likely than k / (number of changes) * FALSE_SHARE. Self and total weights are
 * tested together: it is one comparison that is to be wrong once in twenty.
 */
static int mark_noise(struct diff_table *table, const struct side *before, const struct side *after)
{
	struct diff_candidates candidates = {0};
	size_t num_real = 0;
	size_t count;
	int err = add_candidates(&candidates, table, before, after);

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

/* To the last difference: tables of the same data are the same, though qsort() is not stable. */
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

static int weigh(struct side *side, const struct function_list *list, uint32_t metric,
		 const struct selection *selection, uint64_t num_samples)
{
	int err;

	side->weights = calloc(list->num_functions, sizeof(*side->weights));
	if (!side->weights)
		return -ENOMEM;
	err = function_list_weigh(list, metric, selection, side->weights, &side->sum);
	side->num_samples = num_samples ? (double)num_samples : (double)side->sum;
	return err;
}

static int fill(struct diff_table *table, const struct diff_opts *opts, struct side *before,
		struct side *after)
{
	const struct function_list *list = &table->functions;
	int err = weigh(before, list, opts->before, opts->selection, opts->before_samples);

	if (err)
		return err;
	err = weigh(after, list, opts->after, opts->selection, opts->after_samples);
	if (err)
		return err;
	if (opts->is_doubtful)
		before->num_samples = after->num_samples = 0;
	err = make_rows(table, before, after);
	if (err)
		return err;
	err = mark_noise(table, before, after);
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
	struct side before = {0};
	struct side after = {0};
	int err;

	*table = (struct diff_table){0};
	err = function_list_init(&table->functions, tree, true);
	if (err)
		return err;
	err = fill(table, opts, &before, &after);
	free(before.weights);
	free(after.weights);
	return err;
}

void diff_table_release(struct diff_table *table)
{
	free(table->rows);
	function_list_release(&table->functions);
	*table = (struct diff_table){0};
}
