#include "analysis/normalize.h"

#include <errno.h>

static int sum_metric(const struct profile *profile, uint32_t metric, uint64_t *ret)
{
	*ret = 0;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);

		if (sample->metric == metric && __builtin_add_overflow(*ret, sample->value, ret))
			return -EOVERFLOW;
	}
	return 0;
}

/*
 * The product of two 64-bit factors needs 128 bits. The result is at most `to` if weight is at most
 * `from`.
 */
static uint64_t scale(uint64_t weight, uint64_t to, uint64_t from)
{
	return (uint64_t)((unsigned __int128)weight * to / from);
}

/*
 * The rounding error of one sample of a node is carried to the next, so that their sum is rounded
 * once.
 */
static int scale_samples(struct profile *profile, const struct call_tree *tree, uint32_t metric,
			 uint64_t to, uint64_t from, uint64_t *ret_missing)
{
	_cleanup_free_ uint64_t *sums = calloc(call_tree_get_count(tree), sizeof(*sums));

	if (!sums)
		return -ENOMEM;
	*ret_missing = to;
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		uint64_t *sum;
		uint64_t before;

		if (sample->metric != metric)
			continue;
		sum = &sums[call_tree_get_sample_node(tree, i)];
		before = scale(*sum, to, from);
		*sum += sample->value;
		profile_set_sample_value(profile, i, scale(*sum, to, from) - before);
		*ret_missing -= scale(*sum, to, from) - before;
	}
	return 0;
}

int normalize_baseline(struct profile *profile, const struct call_tree_opts *opts,
		       struct normalized *ret)
{
	_cleanup_(call_tree_freep) struct call_tree *tree = NULL;
	struct call_tree_opts tree_opts = *opts;
	uint64_t baseline = 0;
	uint64_t sum;
	int err = sum_metric(profile, opts->metric, &sum);

	*ret = (struct normalized){.sum = sum};
	if (err)
		return err;
	err = sum_metric(profile, opts->baseline, &baseline);
	if (err || !baseline || baseline == sum)
		return err;
	tree_opts.keeps_samples = true;
	tree_opts.has_baseline = true;
	err = call_tree_new(profile, &tree_opts, &tree);
	if (err)
		return err;
	return scale_samples(profile, tree, opts->baseline, sum, baseline, &ret->missing);
}
