#include "analysis/normalize.h"

#include <errno.h>

#include "profile_builder.h"

/* The number of the sample before; the one after is the next. */
static uint32_t add_stack(struct profile *profile, const char *folded, uint64_t before,
			  uint64_t after)
{
	uint32_t stack = builder_add_stack(profile, folded);

	assert_int_equal(profile_add_sample(profile, 0, stack, 0, before), 0);
	assert_int_equal(profile_add_sample(profile, 0, stack, 1, after), 0);
	return profile_count_samples(profile) - 2;
}

static uint64_t get_value(const struct profile *profile, uint32_t sample)
{
	return profile_get_sample(profile, sample)->value;
}

static struct normalized normalized;
static const struct call_tree_opts opts = {.metric = 1, .baseline = 0, .has_baseline = true};

static void the_baseline_is_scaled_and_rounded_down_by_stack(void **state _unused_)
{
	struct profile *profile = builder_new_comparison();
	uint32_t a = add_stack(profile, "a", 1, 1);
	uint32_t b = add_stack(profile, "b", 1, 3);
	uint32_t c = add_stack(profile, "c", 4, 7);

	assert_int_equal(normalize_baseline(profile, &opts, &normalized), 0);
	assert_int_equal(get_value(profile, a), 1); /* 11 / 6 */
	assert_int_equal(get_value(profile, b), 1);
	assert_int_equal(get_value(profile, c), 7); /* 44 / 6 */
	assert_int_equal(get_value(profile, c + 1), 7);
	assert_int_equal(normalized.sum, 11);
	assert_int_equal(normalized.missing, 2);
	profile_free(profile);
}

static void what_is_one_line_is_rounded_once(void **state _unused_)
{
	struct profile *profile = builder_new_comparison();
	uint32_t first = add_stack(profile, "a", 1, 0); /* two locations, one label */
	uint32_t second = add_stack(profile, "a", 1, 3);

	assert_int_equal(normalize_baseline(profile, &opts, &normalized), 0);
	assert_int_equal(get_value(profile, first) + get_value(profile, second), 3);
	profile_free(profile);
}

static void what_other_labels_tell_apart_is_rounded_apart(void **state _unused_)
{
	struct profile *profile = builder_new_comparison();
	uint32_t user = add_stack(profile, "a", 1, 0);
	uint32_t kernel = add_stack(profile, "a_[k]", 1, 3);

	assert_int_equal(normalize_baseline(profile, &opts, &normalized), 0);
	assert_int_equal(get_value(profile, user), 1);
	assert_int_equal(get_value(profile, kernel), 1);
	profile_free(profile);
}

static void scaling_needs_more_than_64_bits_and_has_them(void **state _unused_)
{
	struct profile *profile = builder_new_comparison();
	uint64_t to = UINT64_MAX / 2 + 1;
	uint32_t b;

	add_stack(profile, "a", 3, UINT64_MAX / 2);
	b = add_stack(profile, "b", UINT64_MAX - 3, 1);
	assert_int_equal(normalize_baseline(profile, &opts, &normalized), 0);
	assert_int_equal(get_value(profile, b),
			 (uint64_t)((unsigned __int128)(UINT64_MAX - 3) * to / UINT64_MAX));
	profile_free(profile);
}

static void a_baseline_that_weighs_nothing_stays(void **state _unused_)
{
	struct profile *profile = builder_new_comparison();
	uint32_t a = add_stack(profile, "a", 0, 7);

	assert_int_equal(normalize_baseline(profile, &opts, &normalized), 0);
	assert_int_equal(get_value(profile, a), 0);
	assert_int_equal(get_value(profile, a + 1), 7);
	assert_int_equal(normalized.missing, 0);
	profile_free(profile);
}

static void a_side_beyond_64_bits_is_an_error(void **state _unused_)
{
	struct profile *profile = builder_new_comparison();

	add_stack(profile, "a", 1, UINT64_MAX);
	add_stack(profile, "b", 1, 1);
	assert_int_equal(normalize_baseline(profile, &opts, &normalized), -EOVERFLOW);
	profile_free(profile);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_baseline_is_scaled_and_rounded_down_by_stack),
		cmocka_unit_test(what_is_one_line_is_rounded_once),
		cmocka_unit_test(what_other_labels_tell_apart_is_rounded_apart),
		cmocka_unit_test(scaling_needs_more_than_64_bits_and_has_them),
		cmocka_unit_test(a_baseline_that_weighs_nothing_stays),
		cmocka_unit_test(a_side_beyond_64_bits_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
