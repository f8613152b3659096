#include "formats/signed_sums.h"

#include <errno.h>
#include <stdlib.h>

#include "base/arithmetic.h"
#include "base/text.h"
#include "formats/reader.h"

/* A file looks like a comparison if the sums below 0 are at least this part of those above. */
#define COMPARISON_PART 3

void signed_sums_release(struct signed_sums *sums)
{
	negative_sums_release(&sums->sums);
}

int signed_sums_subtract(struct signed_sums *sums, uint32_t thread, uint32_t stack, uint32_t metric,
			 uint64_t amount)
{
	struct negative_sum wanted = {.thread = thread, .stack = stack, .metric = metric};
	uint64_t *sum;
	uint32_t item;
	int err = negative_sums_intern(&sums->sums, &wanted, &item);

	if (err)
		return err;
	sum = &sums->sums.items[item].amount;
	return __builtin_add_overflow(*sum, amount, sum) ? -EOVERFLOW : 0;
}

int signed_sums_add(struct signed_sums *sums, struct import *import, uint64_t offset,
		    const struct negative_sum *sample, bool is_negative)
{
	int err;

	if (!is_negative || !sample->amount)
		return reader_add_sample(import, offset, sample->thread, sample->stack,
					 sample->metric, sample->amount);
	err = signed_sums_subtract(sums, sample->thread, sample->stack, sample->metric,
				   sample->amount);
	if (err == -EOVERFLOW)
		return import_fail_byte(import, offset, "the weights of a stack exceed 64 bits");
	if (err)
		return err;
	import->counts.records++;
	return 0;
}

int signed_sums_multiply(struct signed_sums *sums, uint64_t factor)
{
	array_for_each (&sums->sums, sum)
		if (__builtin_mul_overflow(sum->amount, factor, &sum->amount))
			return -EOVERFLOW;
	return 0;
}

/* ---- subtracting -------------------------------------------------------------------------------- */

struct subtraction {
	struct signed_sums *sums;
	const struct import *import;
	uint8_t *is_lowered; /* by sample */
	/* Negative sums larger than their stack, by name; threads are told apart or all are 0. */
	struct negative_sums groups;
	bool joins_threads;
	/*
	 * Levels of stacks by name: two runs of a program have other addresses, two versions other
	 * lines. thread: number of the parent, from 1; stack: name of a frame; metric: a location
	 * without frames.
	 */
	struct negative_sums levels;
	uint32_t *
		named; /* by stack of the profile: number of its innermost level; 0: not known yet */
	ARRAY(uint32_t) path;
};

static void release_subtraction(struct subtraction *subtraction)
{
	negative_sums_release(&subtraction->groups);
	negative_sums_release(&subtraction->levels);
	array_release(&subtraction->path);
	free(subtraction->named);
	free(subtraction->is_lowered);
}

static int add_named_levels(struct subtraction *subtraction, uint32_t location, uint32_t *number)
{
	const struct profile *profile = subtraction->import->profile;
	const struct location *found = profile_get_location(profile, location);
	uint32_t i = found->num_frames;

	do {
		struct negative_sum level = {.thread = *number};
		int err;

		if (i)
			level.stack = profile_get_frame(profile, found->first_frame + i - 1)->name;
		else
			level.metric = location;
		err = negative_sums_intern(&subtraction->levels, &level, number);
		if (err)
			return err;
		*number += 1;
	} while (i && --i);
	return 0;
}

static int find_named_stack(struct subtraction *subtraction, uint32_t stack, uint32_t *ret)
{
	const struct profile *profile = subtraction->import->profile;
	uint32_t number;

	subtraction->path.length = 0;
	for (; stack != STACK_EMPTY && !subtraction->named[stack];
	     stack = profile_get_stack_parent(profile, stack)) {
		uint32_t *added = array_add(&subtraction->path);

		if (!added)
			return -ENOMEM;
		*added = stack;
	}
	number = stack == STACK_EMPTY ? 0 : subtraction->named[stack];
	while (subtraction->path.length) {
		int err;

		stack = subtraction->path.items[--subtraction->path.length];
		err = add_named_levels(subtraction, profile_get_stack_location(profile, stack),
				       &number);
		if (err)
			return err;
		subtraction->named[stack] = number;
	}
	*ret = number;
	return 0;
}

static int find_group(struct subtraction *subtraction, const struct negative_sum *sum,
		      struct negative_sum *ret)
{
	*ret = (struct negative_sum){.thread = subtraction->joins_threads ? 0 : sum->thread,
				     .metric = sum->metric};
	return find_named_stack(subtraction, sum->stack, &ret->stack);
}

/* Group the sums that are not subtracted yet. */
static int make_groups(struct subtraction *subtraction)
{
	negative_sums_release(&subtraction->groups);
	array_for_each (&subtraction->sums->sums, sum) {
		struct negative_sum group;
		uint32_t item;
		int err;

		if (!sum->amount)
			continue;
		err = find_group(subtraction, sum, &group);
		if (err)
			return err;
		err = negative_sums_intern(&subtraction->groups, &group, &item);
		if (err)
			return err;
		group = subtraction->groups.items[item];
		subtraction->groups.items[item].amount = add_saturated(group.amount, sum->amount);
	}
	return 0;
}

/* Take as much from a sample as it has. */
static void lower_sample(struct subtraction *subtraction, uint32_t sample, uint64_t *amount)
{
	struct profile *profile = subtraction->import->profile;
	uint64_t value = profile_get_sample(profile, sample)->value;
	uint64_t part = value < *amount ? value : *amount;

	*amount -= part;
	profile_set_sample_value(profile, sample, value - part);
	subtraction->is_lowered[sample] = true;
}

static struct negative_sum get_key(const struct sample *sample)
{
	return (struct negative_sum){
		.thread = sample->thread, .stack = sample->stack, .metric = sample->metric};
}

/* From the samples of the same stacks. */
static void subtract_exactly(struct subtraction *subtraction)
{
	struct negative_sums *sums = &subtraction->sums->sums;
	const struct profile *profile = subtraction->import->profile;

	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		struct negative_sum wanted = get_key(profile_get_sample(profile, i));
		uint32_t item = negative_sums_find(sums, &wanted);

		if (item != HASH_INDEX_NONE)
			lower_sample(subtraction, i, &sums->items[item].amount);
	}
}

/* The group of a sample of the input; HASH_INDEX_NONE: it has no group. */
static int find_group_of_sample(struct subtraction *subtraction, uint32_t sample, uint32_t *ret)
{
	const struct profile *profile = subtraction->import->profile;
	const struct sample *found = profile_get_sample(profile, sample);
	struct negative_sum key = get_key(found);
	struct negative_sum group;
	int err;

	*ret = HASH_INDEX_NONE;
	if (profile_get_thread(profile, found->thread)->source < subtraction->import->source)
		return 0;
	err = find_group(subtraction, &key, &group);
	if (err)
		return err;
	*ret = negative_sums_find(&subtraction->groups, &group);
	return 0;
}

/*
 * Subtract from the samples of stacks with the same names, and put the remainder back into the
 * sums.
 */
static int subtract_by_name(struct subtraction *subtraction)
{
	struct negative_sums *groups = &subtraction->groups;
	uint32_t item;
	int err = make_groups(subtraction);

	if (err || !groups->length)
		return err;
	for (uint32_t i = 0; i < profile_count_samples(subtraction->import->profile); i++) {
		err = find_group_of_sample(subtraction, i, &item);
		if (err)
			return err;
		if (item != HASH_INDEX_NONE && groups->items[item].amount)
			lower_sample(subtraction, i, &groups->items[item].amount);
	}
	array_for_each (&subtraction->sums->sums, sum) {
		struct negative_sum group;
		uint64_t *left;

		if (!sum->amount)
			continue;
		err = find_group(subtraction, sum, &group);
		if (err)
			return err;
		left = &groups->items[negative_sums_find(groups, &group)].amount;
		sum->amount = sum->amount < *left ? sum->amount : *left;
		*left -= sum->amount;
	}
	return make_groups(subtraction);
}

/* Samples of stacks whose sum stays below 0. A sum of 0 stays, as a weight of 0 does. */
static int remove_negative(struct subtraction *subtraction)
{
	struct profile *profile = subtraction->import->profile;
	_cleanup_free_ uint8_t *is_removed =
		calloc((size_t)profile_count_samples(profile) + 1, sizeof(*is_removed));

	if (!is_removed)
		return -ENOMEM;
	for (uint32_t i = 0; subtraction->groups.length && i < profile_count_samples(profile);
	     i++) {
		uint32_t item;
		int err;

		if (!subtraction->is_lowered[i] || profile_get_sample(profile, i)->value)
			continue;
		err = find_group_of_sample(subtraction, i, &item);
		if (err)
			return err;
		is_removed[i] = item != HASH_INDEX_NONE;
	}
	return profile_remove_samples(profile, is_removed);
}

/* Threads of two runs have other ids: they are joined in a comparison at last. */
static int subtract(struct subtraction *subtraction)
{
	const struct profile *profile = subtraction->import->profile;
	int err;

	subtraction->is_lowered = calloc((size_t)profile_count_samples(profile) + 1,
					 sizeof(*subtraction->is_lowered));
	subtraction->named =
		calloc((size_t)profile_count_stacks(profile) + 1, sizeof(*subtraction->named));
	if (!subtraction->is_lowered || !subtraction->named)
		return -ENOMEM;
	subtract_exactly(subtraction);
	err = subtract_by_name(subtraction);
	if (err)
		return err;
	if (subtraction->sums->is_comparison && subtraction->groups.length) {
		subtraction->joins_threads = true;
		err = subtract_by_name(subtraction);
		if (err)
			return err;
	}
	return remove_negative(subtraction);
}

/* ---- remaining negative sums --------------------------------------------------------------------------------- */

/* The weight that an input adds to a metric. */
struct signed_total {
	uint64_t above; /* saturated, as the other */
	uint64_t below;
	uint64_t num_samples; /* of the profile */
	uint64_t num_below;   /* stacks */
	bool has_negative;
};

/* Returns whether a sample of the input is left. */
static bool add_up(const struct subtraction *subtraction, struct signed_total *totals)
{
	const struct import *import = subtraction->import;
	const struct profile *profile = import->profile;
	bool is_left = false;

	array_for_each (&subtraction->sums->sums, sum)
		totals[sum->metric].has_negative = true;
	array_for_each (&subtraction->groups, group) {
		struct signed_total *total = &totals[group->metric];

		total->num_below++;
		total->below = add_saturated(total->below, group->amount);
	}
	for (uint32_t i = 0; i < profile_count_samples(profile); i++) {
		const struct sample *sample = profile_get_sample(profile, i);
		struct signed_total *total = &totals[sample->metric];

		total->num_samples += sample->value != 0;
		if (profile_get_thread(profile, sample->thread)->source < import->source)
			continue;
		is_left = true;
		total->above = add_saturated(total->above, sample->value);
	}
	return is_left;
}

/* "2 stacks have negative sums of alloc_space (16 bytes in all), skipping" */
static void warn_of_rest(struct import *import, uint32_t metric, const struct signed_total *total)
{
	const char *unit = format_get_metric_unit(import->profile, metric);
	_cleanup_(text_release) struct text amount = {0};
	uint64_t factor = 1;

	for (uint8_t i = 0; i < import->decimals; i++)
		factor *= 10;
	text_append_number(&amount, total->below / factor);
	if (total->below % factor)
		text_printf(&amount, ".%0*llu", import->decimals,
			    (unsigned long long)(total->below % factor));
	if (!string_equals(unit, "count"))
		text_printf(&amount, " %s", unit);
	import_warn(
		import, "%llu %s of %s (%s in all), skipping", (unsigned long long)total->num_below,
		total->num_below == 1 ? "stack has a negative sum" : "stacks have negative sums",
		format_get_metric_name(import->profile, metric), amount.failed ? "" : amount.data);
}

static void report(const struct signed_sums *sums, struct import *import,
		   const struct signed_total *totals)
{
	struct profile *profile = import->profile;
	bool looks_like_comparison = false;

	for (uint32_t i = 0; i < profile_count_metrics(profile); i++) {
		const struct signed_total *total = &totals[i];

		/* How many samples were cancelled out is unknown: each stack has at least one. */
		if (total->has_negative)
			profile_set_metric_samples(profile, i, total->num_samples);
		if (!total->num_below)
			continue;
		import->counts.skipped += total->num_below;
		looks_like_comparison |= total->below >= total->above / COMPARISON_PART;
		warn_of_rest(import, i, total);
	}
	if (sums->is_comparison || looks_like_comparison)
		import_warn(import,
			    "the file %s a comparison of two profiles: only growth is read; "
			    "'stackwide diff BEFORE AFTER' compares profiles",
			    sums->is_comparison ? "is" : "looks like");
}

int signed_sums_apply(struct signed_sums *sums, struct import *import)
{
	_cleanup_(release_subtraction) struct subtraction subtraction = {.sums = sums,
									 .import = import};
	_cleanup_free_ struct signed_total *totals = NULL;
	bool is_left;
	int err;

	if (!sums->sums.length)
		return 0;
	totals = calloc((size_t)profile_count_metrics(import->profile) + 1, sizeof(*totals));
	if (!totals)
		return -ENOMEM;
	err = subtract(&subtraction);
	if (err)
		return err;
	is_left = add_up(&subtraction, totals);
	report(sums, import, totals);
	return is_left ? 0
		       : import_fail_byte(import, 0,
					  "expected weights above 0: all sums are negative");
}
