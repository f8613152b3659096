#include "profile/timestamps.h"

#include <errno.h>

#include "profile/profile.h"
#include "profile_builder.h"

#define MS 1000000ull

static uint64_t sum_weights(const struct timestamps *timestamps, uint32_t sample)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < timestamps_count(timestamps); i++)
		if (timestamps_get(timestamps, i)->sample == sample)
			sum += timestamps_get(timestamps, i)->weight;
	return sum;
}

static void times_are_rounded_down_to_milliseconds(void **state _unused_)
{
	struct timestamps *timestamps = timestamps_new();

	assert_int_equal(timestamps_add(timestamps, 3, 7 * MS + 999999, 5), 0);
	assert_int_equal(timestamps_get(timestamps, 0)->time_ns, 7 * MS);
	assert_int_equal(timestamps_get(timestamps, 0)->weight, 5);
	assert_int_equal(timestamps_get(timestamps, 0)->sample, 3);
	timestamps_free(timestamps);
}

/* The part of the only timestamp that is in a range, in milliseconds. */
static uint64_t get_part(const struct timestamps *timestamps, uint64_t from, uint64_t to)
{
	const struct timestamp *timestamp = timestamps_get(timestamps, 0);

	return timestamps_get_weight_before(timestamps, timestamp, to * MS) -
	       timestamps_get_weight_before(timestamps, timestamp, from * MS);
}

static void an_interval_is_spread_over_its_time(void **state _unused_)
{
	struct timestamps *timestamps = timestamps_new();
	uint64_t sum = 0;

	assert_int_equal(timestamps_add_interval(timestamps, 3, 10 * MS + 7, 40 * MS + 9, 1000), 0);
	assert_int_equal(timestamps_get(timestamps, 0)->time_ns, 10 * MS);
	assert_int_equal(timestamps_get(timestamps, 0)->duration, 30);
	assert_int_equal(timestamps_get_end_ns(timestamps, timestamps_get(timestamps, 0)), 40 * MS);
	assert_int_equal(get_part(timestamps, 0, 10), 0);
	assert_int_equal(get_part(timestamps, 10, 25), 500);
	assert_int_equal(get_part(timestamps, 25, 40), 500);
	assert_int_equal(get_part(timestamps, 40, 50), 0);
	assert_int_equal(get_part(timestamps, 0, 50), 1000);
	/* Nothing is lost by rounding. */
	for (uint64_t i = 0; i < 50; i++)
		sum += get_part(timestamps, i, i + 1);
	assert_int_equal(sum, 1000);
	timestamps_free(timestamps);
}

static void a_moment_is_in_one_range(void **state _unused_)
{
	struct timestamps *timestamps = timestamps_new();

	assert_int_equal(timestamps_add(timestamps, 3, 10 * MS, 5), 0);
	assert_int_equal(get_part(timestamps, 0, 10), 0);
	assert_int_equal(get_part(timestamps, 10, 11), 5);
	assert_int_equal(get_part(timestamps, 11, 12), 0);
	assert_int_equal(
		timestamps_get_weight_before(timestamps, timestamps_get(timestamps, 0), UINT64_MAX),
		5);
	timestamps_free(timestamps);
}

/* Waits of an hour, each a millisecond after the one before. */
static void intervals_become_coarser_as_a_whole(void **state _unused_)
{
	struct timestamps *timestamps = timestamps_new();
	uint64_t resolution_ns;

	for (uint64_t i = 0; i < 1200000; i++)
		assert_int_equal(
			timestamps_add_interval(timestamps, 0, i * MS, i * MS + 3600000 * MS, 1),
			0);
	assert_int_equal(sum_weights(timestamps, 0), 1200000);
	resolution_ns = timestamps_get_resolution_ns(timestamps);
	assert_true(resolution_ns > MS);
	for (size_t i = 0; i < timestamps_count(timestamps); i++) {
		const struct timestamp *timestamp = timestamps_get(timestamps, i);

		assert_true(timestamp->duration * resolution_ns <= 3600000 * MS + resolution_ns);
		assert_true(timestamp->duration * resolution_ns + resolution_ns >= 3600000 * MS);
	}
	/* More than 32 bits hold: its end is kept. */
	assert_int_equal(timestamps_add_interval(timestamps, 1, 0, UINT64_MAX / 2, 1), 0);
	timestamps_sort(timestamps);
	timestamps_free(timestamps);
}

static void sorting_is_by_sample_and_then_by_time(void **state _unused_)
{
	struct timestamps *timestamps = timestamps_new();

	assert_int_equal(timestamps_add(timestamps, 1, 5 * MS, 1), 0);
	assert_int_equal(timestamps_add(timestamps, 0, 9 * MS, 2), 0);
	assert_int_equal(timestamps_add(timestamps, 1, 2 * MS, 3), 0);
	timestamps_sort(timestamps);
	assert_int_equal(timestamps_get(timestamps, 0)->weight, 2);
	assert_int_equal(timestamps_get(timestamps, 1)->weight, 3);
	assert_int_equal(timestamps_get(timestamps, 2)->weight, 1);
	timestamps_free(timestamps);
}

static void each_resolution_is_a_multiple_of_the_finer_one(void **state _unused_)
{
	for (uint64_t ns = MS; ns < UINT64_MAX / 4; ns = timestamps_get_coarser_ns(ns)) {
		assert_true(timestamps_get_coarser_ns(ns) > ns);
		assert_int_equal(timestamps_get_coarser_ns(ns) % ns, 0);
	}
}

static void too_many_timestamps_of_few_samples_become_coarser(void **state _unused_)
{
	struct timestamps *timestamps = timestamps_new();
	uint64_t expected[2] = {0, 0};

	for (uint32_t i = 0; i < 2500000; i++) {
		assert_int_equal(timestamps_add(timestamps, i % 2, i * MS, 1 + i % 3), 0);
		expected[i % 2] += 1 + i % 3;
	}
	assert_true(timestamps_count(timestamps) <= 1 << 20);
	assert_true(timestamps_get_resolution_ns(timestamps) > MS);
	for (size_t i = 0; i < timestamps_count(timestamps); i++)
		assert_int_equal(timestamps_get(timestamps, i)->time_ns %
					 timestamps_get_resolution_ns(timestamps),
				 0);
	assert_int_equal(sum_weights(timestamps, 0), expected[0]);
	assert_int_equal(sum_weights(timestamps, 1), expected[1]);
	timestamps_free(timestamps);
}

static void timestamps_of_as_many_samples_are_all_kept(void **state _unused_)
{
	struct timestamps *timestamps = timestamps_new();

	for (uint32_t i = 0; i < 1100000; i++)
		assert_int_equal(timestamps_add(timestamps, i, i * MS, 1), 0);
	assert_int_equal(timestamps_count(timestamps), 1100000);
	timestamps_free(timestamps);
}

static void profile_keeps_them_only_when_asked_to(void **state _unused_)
{
	struct profile *profile = profile_new();
	uint32_t thread = builder_add_thread(profile, 1, 1, "t");
	const struct sample *sample;

	builder_add_sample(profile, thread, "a", 2);
	sample = profile_get_sample(profile, 0);
	assert_int_equal(profile_add_timestamp(profile, thread, sample->stack, 0, 2, 8 * MS), 0);
	assert_null(profile_get_timestamps(profile));
	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, sample->stack, 0, 2, 8 * MS), 0);
	assert_int_equal(profile_add_timestamp(profile, thread, STACK_EMPTY, 0, 2, 8 * MS), 0);
	assert_int_equal(timestamps_count(profile_get_timestamps(profile)), 1);
	profile_free(profile);
}

static struct profile *make_timed(const char *stack, uint64_t time_ns)
{
	struct profile *profile = profile_new();
	uint32_t thread;
	uint32_t source;

	assert_int_equal(profile_keep_timestamps(profile), 0);
	assert_int_equal(profile_add_source(profile, STRING_EMPTY, &source), 0);
	assert_int_equal(profile_set_clock(profile, source, time_ns + 1), 0);
	thread = builder_add_thread(profile, 1, 1, "t");
	builder_add_sample(profile, thread, stack, 2);
	assert_int_equal(profile_add_timestamp(profile, thread,
					       profile_get_sample(profile, 0)->stack, 0, 2,
					       time_ns),
			 0);
	return profile;
}

static void what_multiplies_a_sample_multiplies_its_times(void **state _unused_)
{
	struct profile *profile = make_timed("a;b", 7 * MS);
	const struct timestamps *timestamps = profile_get_timestamps(profile);

	assert_int_equal(profile_multiply_samples(profile, 0, 0, 1, 100), 0);
	assert_int_equal(profile_get_sample(profile, 0)->value, 200);
	assert_int_equal(timestamps_get(timestamps, 0)->weight, 200);
	assert_int_equal(profile_multiply_samples(profile, 0, 1, UINT32_MAX, 10), 0);
	assert_int_equal(profile_multiply_samples(profile, 1, 0, UINT32_MAX, 10), 0);
	assert_int_equal(profile_multiply_samples(profile, 0, 0, 1, UINT64_MAX / 199), -EOVERFLOW);
	assert_int_equal(profile_get_sample(profile, 0)->value, 200);
	assert_int_equal(timestamps_get(timestamps, 0)->weight, 200);
	profile_free(profile);
}

/* Weights of 2, taken at two times, of 1 and of 1, and one of another metric: of 4 times 1.5, nothing is lost. */
static void what_scales_samples_scales_their_times_and_rounds_the_sum_once(void **state _unused_)
{
	struct profile *profile = make_timed("a;b", 7 * MS);
	const struct ratio ratio = {3, 2};
	const struct ratio large = {UINT64_MAX, 2};
	struct timestamps *timestamps = profile_get_timestamps(profile);
	uint32_t other;

	builder_add_sample(profile, 0, "a;c", 1);
	builder_add_sample(profile, 0, "a;d", 1);
	assert_int_equal(profile_add_metric(profile, "others", "count", &other), 0);
	assert_int_equal(profile_add_sample(profile, 0, STACK_EMPTY, other, 5), 0);
	assert_int_equal(profile_add_timestamp(profile, 0, STACK_EMPTY, other, 5, 9 * MS), 0);
	timestamps_set_weight(timestamps, 0, 1);
	assert_int_equal(profile_add_timestamp(profile, 0, profile_get_sample(profile, 0)->stack, 0,
					       1, 8 * MS),
			 0);
	assert_int_equal(profile_scale_samples(profile, 0, &large), -EOVERFLOW);
	assert_int_equal(profile_get_sample(profile, 0)->value, 2);

	assert_int_equal(profile_scale_samples(profile, 0, &ratio), 0);
	assert_int_equal(profile_get_sample(profile, 0)->value, 3);
	assert_int_equal(profile_get_sample(profile, 1)->value, 1);
	assert_int_equal(profile_get_sample(profile, 2)->value, 2);
	assert_int_equal(profile_get_sample(profile, 3)->value, 5);
	assert_int_equal(timestamps_get(timestamps, 0)->weight, 1);
	assert_int_equal(timestamps_get(timestamps, 1)->weight, 5);
	assert_int_equal(timestamps_get(timestamps, 2)->weight, 2);
	profile_free(profile);
}

static void merging_brings_times_and_clocks_along(void **state _unused_)
{
	struct profile *profile = make_timed("a", 5 * MS);
	struct profile *other = make_timed("b", 9 * MS);
	struct timestamps *timestamps = profile_get_timestamps(profile);
	uint64_t zero_ns;

	assert_int_equal(profile_merge(profile, other), 0);
	assert_int_equal(timestamps_count(timestamps), 2);
	assert_int_equal(timestamps_get(timestamps, 1)->time_ns, 9 * MS);
	assert_int_equal(timestamps_get(timestamps, 1)->sample, 1);
	assert_true(timestamps_find_clock(timestamps, 0, &zero_ns));
	assert_int_equal(zero_ns, 5 * MS + 1);
	assert_true(timestamps_find_clock(timestamps, 1, &zero_ns));
	assert_int_equal(zero_ns, 9 * MS + 1);
	assert_false(timestamps_find_clock(timestamps, 2, &zero_ns));
	profile_free(other);
	profile_free(profile);
}

/* It has no source of its own before. */
static void clock_of_a_recording_goes_to_its_source(void **state _unused_)
{
	struct profile *profile = make_timed("a", 5 * MS);
	struct profile *recording = profile_new();
	struct timestamps *timestamps = profile_get_timestamps(profile);
	uint64_t zero_ns;

	assert_int_equal(profile_keep_timestamps(recording), 0);
	builder_add_sample(recording, builder_add_thread(recording, 2, 2, "t"), "b", 1);
	assert_int_equal(profile_set_clock(recording, 0, 9 * MS), 0);
	assert_int_equal(profile_merge(profile, recording), 0);
	assert_true(timestamps_find_clock(timestamps, 0, &zero_ns));
	assert_int_equal(zero_ns, 5 * MS + 1);
	assert_true(timestamps_find_clock(timestamps, 1, &zero_ns));
	assert_int_equal(zero_ns, 9 * MS);
	profile_free(recording);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(times_are_rounded_down_to_milliseconds),
		cmocka_unit_test(an_interval_is_spread_over_its_time),
		cmocka_unit_test(a_moment_is_in_one_range),
		cmocka_unit_test(intervals_become_coarser_as_a_whole),
		cmocka_unit_test(sorting_is_by_sample_and_then_by_time),
		cmocka_unit_test(each_resolution_is_a_multiple_of_the_finer_one),
		cmocka_unit_test(too_many_timestamps_of_few_samples_become_coarser),
		cmocka_unit_test(timestamps_of_as_many_samples_are_all_kept),
		cmocka_unit_test(profile_keeps_them_only_when_asked_to),
		cmocka_unit_test(what_multiplies_a_sample_multiplies_its_times),
		cmocka_unit_test(what_scales_samples_scales_their_times_and_rounds_the_sum_once),
		cmocka_unit_test(merging_brings_times_and_clocks_along),
		cmocka_unit_test(clock_of_a_recording_goes_to_its_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
