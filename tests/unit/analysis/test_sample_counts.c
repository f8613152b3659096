/*
 * How many samples stand behind weights of each kind.
 */
#include "analysis/sample_counts.h"

#include <stdio.h>

#include "profile_builder.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

#define NUM_STACKS 20

/* Stack n weighs weight(n). */
static struct profile *make_profile(uint64_t (*weight)(uint32_t n))
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "web");
	char stack[32];

	for (uint32_t i = 0; i < NUM_STACKS; i++) {
		(void)snprintf(stack, sizeof(stack), "main;f%u", i);
		builder_add_sample(profile, thread, stack, weight(i));
	}
	return profile;
}

static void add_weight(struct profile *profile, const char *metric_name, const char *unit,
		       uint64_t weight, uint32_t *ret_metric)
{
	uint32_t thread = builder_add_thread(profile, 2, 2, "db");

	assert_int_equal(profile_add_metric(profile, metric_name, unit, ret_metric), 0);
	assert_int_equal(profile_add_sample(profile, thread, builder_add_stack(profile, "main"),
					    *ret_metric, weight),
			 0);
}

static struct sample_counts find(const struct profile *profile, uint32_t metric,
				 const struct selection *selection)
{
	struct sample_counts counts;

	assert_int_equal(sample_counts_find(profile, metric, 0, selection, &counts), 0);
	return counts;
}

static uint64_t weigh_few(uint32_t n)
{
	return n + 1;
}

static void counts_are_as_many_as_they_weigh(void **state _unused_)
{
	struct profile *profile = make_profile(weigh_few);
	struct sample_counts counts = find(profile, 0, NULL);

	assert_int_equal(counts.num_samples, 0);
	assert_int_equal(counts.period, 1);
	assert_false(counts.is_doubtful);
	profile_free(profile);
}

static uint64_t weigh_periods(uint32_t n)
{
	return (uint64_t)(n + 1) * 250000;
}

static void multiples_of_a_period_are_so_many_samples(void **state _unused_)
{
	struct profile *profile = make_profile(weigh_periods);
	struct sample_counts counts = find(profile, 0, NULL);

	assert_int_equal(counts.period, 250000);
	assert_int_equal(counts.num_samples, NUM_STACKS * (NUM_STACKS + 1) / 2);
	assert_false(counts.is_doubtful);
	profile_free(profile);
}

static uint64_t divisor;

static uint64_t weigh_multiples(uint32_t n)
{
	return (n + 1) * divisor;
}

/* Of memory, whose sizes have a divisor, too. */
static void sizes_are_no_periods(void **state _unused_)
{
	static const uint64_t sizes[] = {8, 16, 24, 512, 984, 4096, 1 << 20};
	static const uint64_t periods[] = {7, 100, 250, 1000, 10000, 1000003, 10000000, 10101010};

	for (size_t i = 0; i < ARRAY_LENGTH(sizes); i++) {
		struct profile *profile;

		divisor = sizes[i];
		profile = make_profile(weigh_multiples);
		assert_true(find(profile, 0, NULL).is_doubtful);
		assert_int_equal(find(profile, 0, NULL).period, 1);
		profile_free(profile);
	}
	for (size_t i = 0; i < ARRAY_LENGTH(periods); i++) {
		struct profile *profile;

		divisor = periods[i];
		profile = make_profile(weigh_multiples);
		assert_false(find(profile, 0, NULL).is_doubtful);
		assert_int_equal(find(profile, 0, NULL).period, periods[i]);
		profile_free(profile);
	}
}

static uint64_t weigh_varying_periods(uint32_t n)
{
	return 1000003 + (uint64_t)n * n * 7919;
}

static void weights_without_small_ones_are_no_counts(void **state _unused_)
{
	struct profile *profile = make_profile(weigh_varying_periods);

	assert_true(find(profile, 0, NULL).is_doubtful);
	profile_free(profile);
}

static void time_is_as_many_samples_as_its_input_counts(void **state _unused_)
{
	struct profile *profile = make_profile(weigh_few);
	struct selection selection = {.num_samples = NUM_STACKS + 1};
	struct sample_counts counts;
	uint32_t metric;

	add_weight(profile, "cpu", "nanoseconds", 1 << 30, &metric);
	counts = find(profile, metric, NULL);
	assert_int_equal(counts.num_samples, NUM_STACKS * (NUM_STACKS + 1) / 2);
	assert_false(counts.is_of_profile);
	selection.is_selected = calloc(NUM_STACKS + 1, 1);
	assert_non_null(selection.is_selected);
	selection.is_selected[4] = selection.is_selected[NUM_STACKS] = true;
	assert_int_equal(find(profile, metric, &selection).num_samples, 5);
	selection_release(&selection);
	profile_free(profile);
}

static void waits_are_not_as_many_samples_as_there_were_ticks(void **state _unused_)
{
	struct profile *profile = make_profile(weigh_few);
	struct sample_counts counts;
	uint32_t blocked;
	uint32_t wall;

	add_weight(profile, "blocked", "nanoseconds", 1 << 30, &blocked);
	add_weight(profile, "wall", "nanoseconds", 1 << 30, &wall);
	add_weight(profile, "wall", "nanoseconds", 1 << 20, &wall);
	counts = find(profile, wall, NULL);
	assert_true(counts.is_of_profile);
	assert_int_equal(counts.num_samples, 2);
	assert_int_equal(find(profile, blocked, NULL).num_samples, 1);
	profile_free(profile);
}

static void bytes_that_nothing_counts_are_what_the_profile_says(void **state _unused_)
{
	struct profile *profile = profile_new();
	struct sample_counts counts;
	uint32_t metric;

	add_weight(profile, "space", "bytes", 4096, &metric);
	counts = find(profile, metric, NULL);
	assert_true(counts.is_of_profile);
	assert_int_equal(counts.num_samples, profile_get_metric(profile, metric)->num_samples);
	assert_int_not_equal(counts.num_samples, 4096);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_are_as_many_as_they_weigh),
		cmocka_unit_test(multiples_of_a_period_are_so_many_samples),
		cmocka_unit_test(sizes_are_no_periods),
		cmocka_unit_test(weights_without_small_ones_are_no_counts),
		cmocka_unit_test(time_is_as_many_samples_as_its_input_counts),
		cmocka_unit_test(waits_are_not_as_many_samples_as_there_were_ticks),
		cmocka_unit_test(bytes_that_nothing_counts_are_what_the_profile_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
