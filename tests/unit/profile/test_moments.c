#include "profile/moments.h"

#include "profile/merge.h"
#include "profile_maker.h"

#define MS 1000000ull

static uint64_t sum_weights(const struct moments *moments, uint32_t sample)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < moments_count(moments); i++)
		if (moments_get(moments, i)->sample == sample)
			sum += moments_get(moments, i)->weight;
	return sum;
}

static void times_are_rounded_down_to_milliseconds(void **state _unused_)
{
	struct moments *moments = moments_new();

	assert_int_equal(moments_add(moments, 3, 7 * MS + 999999, 5), 0);
	assert_int_equal(moments_get(moments, 0)->time_ns, 7 * MS);
	assert_int_equal(moments_get(moments, 0)->weight, 5);
	assert_int_equal(moments_get(moments, 0)->sample, 3);
	moments_free(moments);
}

static void sorting_is_by_sample_and_then_by_time(void **state _unused_)
{
	struct moments *moments = moments_new();

	assert_int_equal(moments_add(moments, 1, 5 * MS, 1), 0);
	assert_int_equal(moments_add(moments, 0, 9 * MS, 2), 0);
	assert_int_equal(moments_add(moments, 1, 2 * MS, 3), 0);
	moments_sort(moments);
	assert_int_equal(moments_get(moments, 0)->weight, 2);
	assert_int_equal(moments_get(moments, 1)->weight, 3);
	assert_int_equal(moments_get(moments, 2)->weight, 1);
	moments_free(moments);
}

static void each_resolution_is_a_multiple_of_the_finer_one(void **state _unused_)
{
	for (uint64_t ns = MS; ns < UINT64_MAX / 4; ns = moments_get_coarser_ns(ns)) {
		assert_true(moments_get_coarser_ns(ns) > ns);
		assert_int_equal(moments_get_coarser_ns(ns) % ns, 0);
	}
}

static void too_many_moments_of_few_samples_become_coarser(void **state _unused_)
{
	struct moments *moments = moments_new();
	uint64_t expected[2] = {0, 0};

	for (uint32_t i = 0; i < 2500000; i++) {
		assert_int_equal(moments_add(moments, i % 2, i * MS, 1 + i % 3), 0);
		expected[i % 2] += 1 + i % 3;
	}
	assert_true(moments_count(moments) <= 1 << 20);
	assert_true(moments_get_resolution_ns(moments) > MS);
	for (size_t i = 0; i < moments_count(moments); i++)
		assert_int_equal(
			moments_get(moments, i)->time_ns % moments_get_resolution_ns(moments), 0);
	assert_int_equal(sum_weights(moments, 0), expected[0]);
	assert_int_equal(sum_weights(moments, 1), expected[1]);
	moments_free(moments);
}

static void moments_of_as_many_samples_are_all_kept(void **state _unused_)
{
	struct moments *moments = moments_new();

	for (uint32_t i = 0; i < 1100000; i++)
		assert_int_equal(moments_add(moments, i, i * MS, 1), 0);
	assert_int_equal(moments_count(moments), 1100000);
	moments_free(moments);
}

static void profile_keeps_them_only_when_it_is_told_to(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = maker_add_thread(profile, 1, 1, "t");
	const struct sample *sample;

	maker_add_sample(profile, thread, "a", 2);
	sample = profile_get_sample(profile, 0);
	assert_int_equal(profile_add_moment(profile, thread, sample->stack, 0, 2, 8 * MS), 0);
	assert_null(profile_get_moments(profile));
	assert_int_equal(profile_keep_moments(profile), 0);
	assert_int_equal(profile_add_moment(profile, thread, sample->stack, 0, 2, 8 * MS), 0);
	assert_int_equal(profile_add_moment(profile, thread, STACK_EMPTY, 0, 2, 8 * MS), 0);
	assert_int_equal(moments_count(profile_get_moments(profile)), 1);
	profile_free(profile);
}

static struct profile *make_timed(const char *stack, uint64_t time_ns)
{
	struct profile *profile = profile_new();
	uint32_t thread;
	uint32_t source;

	assert_int_equal(profile_keep_moments(profile), 0);
	assert_int_equal(profile_add_source(profile, STRING_EMPTY, &source), 0);
	assert_int_equal(profile_set_clock(profile, source, time_ns + 1), 0);
	thread = maker_add_thread(profile, 1, 1, "t");
	maker_add_sample(profile, thread, stack, 2);
	assert_int_equal(profile_add_moment(profile, thread, profile_get_sample(profile, 0)->stack,
					    0, 2, time_ns),
			 0);
	return profile;
}

static void merging_brings_times_and_clocks_along(void **state _unused_)
{
	struct profile *profile = make_timed("a", 5 * MS);
	struct profile *other = make_timed("b", 9 * MS);
	struct moments *moments = profile_get_moments(profile);
	uint64_t zero_ns;

	assert_int_equal(profile_merge(profile, other), 0);
	assert_int_equal(moments_count(moments), 2);
	assert_int_equal(moments_get(moments, 1)->time_ns, 9 * MS);
	assert_int_equal(moments_get(moments, 1)->sample, 1);
	assert_true(moments_find_clock(moments, 0, &zero_ns));
	assert_int_equal(zero_ns, 5 * MS + 1);
	assert_true(moments_find_clock(moments, 1, &zero_ns));
	assert_int_equal(zero_ns, 9 * MS + 1);
	assert_false(moments_find_clock(moments, 2, &zero_ns));
	profile_free(other);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_rounded_down_to_milliseconds),
		cmocka_unit_test(sorting_is_by_sample_and_then_by_time),
		cmocka_unit_test(each_resolution_is_a_multiple_of_the_finer_one),
		cmocka_unit_test(too_many_moments_of_few_samples_become_coarser),
		cmocka_unit_test(moments_of_as_many_samples_are_all_kept),
		cmocka_unit_test(profile_keeps_them_only_when_it_is_told_to),
		cmocka_unit_test(merging_brings_times_and_clocks_along),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
