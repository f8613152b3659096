#include "archive_fixture.h"

static struct archive_expiry expire(const struct fixture *fixture, struct archive_limits limits,
				    const char *protected_name)
{
	struct archive_expiry expiry;

	assert_int_equal(archive_expire(fixture->archive, &limits, protected_name, &expiry, NULL),
			 0);
	return expiry;
}

/* Of one file system block, whatever that is. */
static uint64_t add_blocks(const struct fixture *fixture, int num_captures)
{
	struct archive_list list;
	uint64_t size;

	for (int i = 0; i < num_captures; i++)
		fixture_add(fixture, NOON + i, 100);
	assert_int_equal(archive_list_init(&list, fixture->archive, 0, INT64_MAX, NULL), 0);
	size = list.captures.items[0].size_bytes;
	archive_list_release(&list);
	return size;
}

static void captures_that_are_too_old_go(void **state)
{
	struct archive_expiry expiry;

	for (int i = 0; i < 4; i++)
		fixture_add(*state, NOON + i * DAY, 1);
	expiry = expire(*state, (struct archive_limits){.now_s = NOON + 3 * DAY, .keep_s = DAY},
			NULL);
	assert_int_equal(expiry.num_removed, 2);
	assert_int_equal(expiry.num_kept, 2);
	fixture_assert_lists(*state, "2026/11/23/120000Z-host.folded "
				     "2026/11/24/120000Z-host.folded");
}

static void the_oldest_go_when_there_are_too_many(void **state)
{
	uint64_t size = add_blocks(*state, 5);
	struct archive_expiry expiry =
		expire(*state, (struct archive_limits){.max_size_bytes = 2 * size}, NULL);

	assert_int_equal(expiry.num_removed, 3);
	assert_true(expiry.kept_bytes == 2 * size);
	fixture_assert_lists(*state, "2026/11/21/120003Z-host.folded "
				     "2026/11/21/120004Z-host.folded");
}

static void the_newest_stays_whatever_the_limits(void **state)
{
	struct archive_limits limits = {.now_s = NOON + 9 * DAY,
					.keep_s = 1,
					.max_size_bytes = 1,
					.min_free_bytes = UINT64_MAX};

	add_blocks(*state, 3);
	assert_int_equal(expire(*state, limits, NULL).num_removed, 2);
	fixture_assert_lists(*state, "2026/11/21/120002Z-host.folded");
	assert_int_equal(expire(*state, limits, NULL).num_removed, 0);
}

static void the_capture_just_made_stays_when_the_clock_was_set_back(void **state)
{
	fixture_add(*state, NOON, 1);
	fixture_add(*state, NOON + DAY, 1);
	expire(*state, (struct archive_limits){.now_s = NOON, .max_size_bytes = 1},
	       "2026/11/21/120000Z-host.folded");
	fixture_assert_lists(*state, "2026/11/21/120000Z-host.folded "
				     "2026/11/22/120000Z-host.folded");
}

static void captures_of_the_future_are_not_too_old(void **state)
{
	fixture_add(*state, NOON, 1);
	fixture_add(*state, NOON + DAY, 1);
	expire(*state, (struct archive_limits){.now_s = 0, .keep_s = 1}, NULL);
	expire(*state, (struct archive_limits){.now_s = INT64_MIN, .keep_s = 1}, NULL);
	fixture_assert_lists(*state, "2026/11/21/120000Z-host.folded "
				     "2026/11/22/120000Z-host.folded");
}

/* As when --keep was made shorter. */
static void all_that_are_too_old_go_at_once(void **state)
{
	struct archive_limits limits = {.now_s = NOON + 200 * DAY, .keep_s = 10 * DAY};

	for (int i = 0; i < 200; i++)
		fixture_add(*state, NOON + i * DAY, 1);
	assert_int_equal(expire(*state, limits, NULL).num_kept, 10);
	assert_int_equal(expire(*state, limits, NULL).num_removed, 0);
}

static void a_clock_that_jumps_ahead_makes_no_capture_too_old(void **state)
{
	struct archive_limits limits = {.now_s = NOON + 4500 * DAY, .keep_s = 14 * DAY};
	struct archive_expiry expiry;

	for (int i = 0; i < 5; i++)
		fixture_add(*state, NOON + i * 300, 1);
	expiry = expire(*state, limits, NULL);
	assert_int_equal(expiry.num_removed, 0);
	assert_int_equal(expiry.num_spared, 4);
	assert_int_equal(expiry.gap_s, 4500 * DAY - 4 * 300);
	/* Captures are made with that clock, too: the pause is one between two of them now. */
	for (int i = 0; i < 5; i++)
		fixture_add(*state, limits.now_s + i * 300, 1);
	limits.now_s += 5 * 300;
	expiry = expire(*state, limits, NULL);
	assert_int_equal(expiry.num_removed, 0);
	assert_int_equal(expiry.gap_s, 0);
}

static void captures_before_a_pause_age_with_those_after_it(void **state)
{
	struct archive_limits limits = {.now_s = NOON + 44 * DAY, .keep_s = 14 * DAY};

	fixture_add(*state, NOON, 1);
	/* The machine was off for a month. */
	for (int i = 0; i < 14; i++)
		fixture_add(*state, NOON + (30 + i) * DAY, 1);
	assert_int_equal(expire(*state, limits, NULL).num_removed, 1);
}

static void captures_that_are_seldom_age_by_the_calendar(void **state)
{
	struct archive_limits limits = {.now_s = NOON + 35 * DAY, .keep_s = 20 * DAY};

	for (int i = 0; i < 5; i++)
		fixture_add(*state, NOON + i * 7 * DAY, 1);
	assert_int_equal(expire(*state, limits, NULL).num_removed, 3);
}

static void without_limits_nothing_goes(void **state)
{
	add_blocks(*state, 3);
	assert_int_equal(
		expire(*state, (struct archive_limits){.now_s = NOON + 999 * DAY}, NULL).num_kept,
		3);
}

static void space_is_made_on_a_full_disk(void **state)
{
	add_blocks(*state, 3);
	assert_int_equal(
		expire(*state, (struct archive_limits){.min_free_bytes = 1}, NULL).num_removed, 0);
	assert_int_equal(expire(*state, (struct archive_limits){.min_free_bytes = UINT64_MAX}, NULL)
				 .num_removed,
			 2);
}

static void files_of_others_stay_and_so_do_their_folders(void **state)
{
	fixture_add(*state, NOON, 1);
	fixture_add(*state, NOON + DAY, 1);
	fixture_add(*state, NOON + 40 * DAY, 1);
	fixture_make_file(*state, "2026/11/21/notes.txt");
	fixture_make_file(*state, "2026/11/21/120000Z-host.folded.bak");
	fixture_make_file(*state, "readme.txt");
	expire(*state, (struct archive_limits){.now_s = NOON + 40 * DAY, .keep_s = 1}, NULL);
	fixture_assert_lists(*state, "2026/12/31/120000Z-host.folded");
	assert_true(fixture_has(*state, "2026/11/21/notes.txt"));
	assert_true(fixture_has(*state, "2026/11/21/120000Z-host.folded.bak"));
	assert_true(fixture_has(*state, "readme.txt"));
	assert_false(fixture_has(*state, "2026/11/22"));
}

static void folders_that_are_empty_then_go_too(void **state)
{
	fixture_add(*state, NOON, 1);
	fixture_add(*state, NOON + 60 * DAY, 1);
	expire(*state, (struct archive_limits){.now_s = NOON + 60 * DAY, .keep_s = 1}, NULL);
	assert_false(fixture_has(*state, "2026"));
	assert_true(fixture_has(*state, "2027/01/20"));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, fixture_init, fixture_release)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(captures_that_are_too_old_go),
		TEST(the_oldest_go_when_there_are_too_many),
		TEST(the_newest_stays_whatever_the_limits),
		TEST(the_capture_just_made_stays_when_the_clock_was_set_back),
		TEST(captures_of_the_future_are_not_too_old),
		TEST(all_that_are_too_old_go_at_once),
		TEST(a_clock_that_jumps_ahead_makes_no_capture_too_old),
		TEST(captures_before_a_pause_age_with_those_after_it),
		TEST(captures_that_are_seldom_age_by_the_calendar),
		TEST(without_limits_nothing_goes),
		TEST(space_is_made_on_a_full_disk),
		TEST(files_of_others_stay_and_so_do_their_folders),
		TEST(folders_that_are_empty_then_go_too),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
