#include "profile/provenance.h"

/* clang-format off */
#include "unit.h"
/* clang-format on */

static void each_source_has_its_own_recordings_and_all_have_a_sum(void **state _unused_)
{
	struct provenance *provenance = provenance_new();
	struct sampling night = {.duration_ns = 5, .lost_samples = 2};
	struct sampling day = {.duration_ns = 7};
	uint32_t first;
	uint32_t second;

	assert_int_equal(provenance_add_source(provenance, 1, &first), 0);
	assert_int_equal(provenance_add_source(provenance, 2, &second), 0);
	provenance_add_sampling(provenance, first, &night);
	provenance_add_sampling(provenance, second, &day);
	provenance_add_sampling(provenance, second, &day);
	assert_int_equal(provenance_find_sampling(provenance, first)->duration_ns, 5);
	assert_int_equal(provenance_find_sampling(provenance, second)->duration_ns, 14);
	assert_int_equal(provenance_get_sum(provenance)->duration_ns, 19);
	assert_int_equal(provenance_get_sum(provenance)->lost_samples, 2);
	provenance_free(provenance);
}

static void recording_without_sources_stands_under_0(void **state _unused_)
{
	struct provenance *provenance = provenance_new();
	struct sampling sampling = {.duration_ns = 5};

	assert_null(provenance_find_sampling(provenance, 0));
	provenance_add_sampling(provenance, 0, &sampling);
	assert_int_equal(provenance_find_sampling(provenance, 0)->duration_ns, 5);
	provenance_free(provenance);
}

static void tallies_of_one_name_are_summed_and_stay_at_the_greatest(void **state _unused_)
{
	struct provenance *provenance = provenance_new();

	assert_int_equal(provenance_add_tally(provenance, 0, 9, 0), 0);
	assert_int_equal(provenance_count_tallies(provenance), 0);
	assert_int_equal(provenance_add_tally(provenance, 0, 9, 3), 0);
	assert_int_equal(provenance_add_tally(provenance, 1, 9, 4), 0);
	assert_int_equal(provenance_add_tally(provenance, 0, 9, UINT64_MAX), 0);
	assert_int_equal(provenance_count_tallies(provenance), 2);
	assert_true(provenance_get_tally(provenance, 0)->count == UINT64_MAX);
	assert_int_equal(provenance_get_tally(provenance, 1)->count, 4);
	provenance_free(provenance);
}

static void what_is_handed_over_is_known_of_the_other_source(void **state _unused_)
{
	struct provenance *provenance = provenance_new();
	struct sampling sampling = {.duration_ns = 5};
	uint32_t file;
	uint32_t part;

	assert_int_equal(provenance_add_source(provenance, 1, &file), 0);
	assert_int_equal(provenance_add_source(provenance, 2, &part), 0);
	provenance_set_label(provenance, part, 3);
	provenance_add_sampling(provenance, part, &sampling);
	assert_int_equal(provenance_add_tally(provenance, part, 9, 4), 0);
	assert_int_equal(provenance_hand_over(provenance, part, file), 0);
	assert_int_equal(provenance_get_source(provenance, file), 1);
	assert_int_equal(provenance_get_label(provenance, file), 3);
	assert_int_equal(provenance_find_sampling(provenance, file)->duration_ns, 5);
	assert_null(provenance_find_sampling(provenance, part));
	assert_int_equal(provenance_get_tally(provenance, 0)->source, file);
	assert_int_equal(provenance_get_sum(provenance)->duration_ns, 5);
	provenance_free(provenance);
}

static void what_is_handed_over_is_found_when_more_is_added(void **state _unused_)
{
	struct provenance *provenance = provenance_new();
	uint32_t file;
	uint32_t part;

	assert_int_equal(provenance_add_source(provenance, 1, &file), 0);
	assert_int_equal(provenance_add_source(provenance, 2, &part), 0);
	assert_int_equal(provenance_add_tally(provenance, part, 9, 4), 0);
	assert_int_equal(provenance_hand_over(provenance, part, file), 0);
	assert_int_equal(provenance_add_tally(provenance, file, 9, 1), 0);
	assert_int_equal(provenance_add_tally(provenance, part, 9, 7), 0);
	assert_int_equal(provenance_count_tallies(provenance), 2);
	assert_int_equal(provenance_get_tally(provenance, 0)->count, 5);
	provenance_free(provenance);
}

static void a_recording_becomes_the_first_source(void **state _unused_)
{
	struct provenance *provenance = provenance_new();
	struct sampling sampling = {.duration_ns = 5};
	uint32_t source;

	provenance_add_sampling(provenance, 0, &sampling);
	assert_int_equal(provenance_add_source(provenance, 1, &source), 0);
	assert_int_equal(provenance_find_sampling(provenance, source)->duration_ns, 5);
	assert_int_equal(provenance_add_source(provenance, 2, &source), 0);
	assert_null(provenance_find_sampling(provenance, source));
	assert_int_equal(provenance_get_sum(provenance)->duration_ns, 5);
	provenance_free(provenance);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_source_has_its_own_recordings_and_all_have_a_sum),
		cmocka_unit_test(recording_without_sources_stands_under_0),
		cmocka_unit_test(tallies_of_one_name_are_summed_and_stay_at_the_greatest),
		cmocka_unit_test(what_is_handed_over_is_known_of_the_other_source),
		cmocka_unit_test(what_is_handed_over_is_found_when_more_is_added),
		cmocka_unit_test(a_recording_becomes_the_first_source),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
