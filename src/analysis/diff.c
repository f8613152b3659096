#include "analysis/diff.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "analysis/interval.h"
#include "base/array.h"

/* Of the changes that are called real, this share may be so by chance. */
#define FALSE_SHARE 0.05

/*
 * num_samples is what the confidence rests on. Where it is not known the weight itself is taken,
 * which is right where that counts samples.
 */
struct side {
	uint64_t sum;
	double num_samples;
	struct function_weight *weights; /* by function */
};

/* A change whose interval does not hold 0. */
struct diff_candidate {
	struct diff_change *change;
	double chance;
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

static int compare_candidates(const void *left, const void *right)
{
	const struct diff_candidate *a = left;
	const struct diff_candidate *b = right;

	return (a->chance > b->chance) - (a->chance < b->chance);
}

static struct share get_side(double share, const struct side *side)
{
	return (struct share){share, side->num_samples};
}

/*
 * Benjamini and Hochberg: of the changes in order of their chance, the k-th is real if it or one
 * behind it is less likely than k / (number of changes) * FALSE_SHARE.
 */
static int mark_noise(struct diff_table *table, bool of_total, const struct side *before,
		      const struct side *after)
{
	ARRAY(struct diff_candidate) candidates = {0};
	size_t num_compared = 0;
	size_t num_real = 0;

	for (size_t i = 0; i < table->num_rows; i++) {
		struct diff_row *row = &table->rows[i];
		struct diff_change *change = of_total ? &row->total : &row->self;
		struct diff_candidate *added;

		/*
		 * A function without weight on either side (in the column of self weights, one with
		 * totals alone) was not compared.
		 */
		num_compared += change->before || change->after;
		/*
		 * Too likely to be among the real ones, whatever the rank: the greatest chance that
		 * is asked for is FALSE_SHARE.
		 */
		if (change->low <= 0 && change->high >= 0)
			continue;
		added = array_add(&candidates);
		if (!added) {
			array_release(&candidates);
			return -ENOMEM;
		}
		added->change = change;
		added->chance = interval_get_chance(get_side(change->before_share, before),
						    get_side(change->after_share, after));
	}
	if (candidates.length)
		qsort(candidates.items, candidates.length, sizeof(struct diff_candidate),
		      compare_candidates);
	for (size_t i = 0; i < candidates.length; i++)
		if (candidates.items[i].chance <=
		    FALSE_SHARE * (double)(i + 1) / (double)num_compared)
			num_real = i + 1;
	for (size_t i = 0; i < num_real; i++)
		candidates.items[i].change->is_noise = false;
	array_release(&candidates);
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
	err = make_rows(table, before, after);
	if (err)
		return err;
	err = mark_noise(table, false, before, after);
	if (err)
		return err;
	err = mark_noise(table, true, before, after);
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
