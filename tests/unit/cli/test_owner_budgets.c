/* What the files of users cost, and what is read of them afterwards. */
#include "cli/record/owner_budgets.h"

#include "base/clock.h"
#include "unit.h"

#define LIMIT (60 * NS_PER_SECOND)
#define SHARE NS_PER_SECOND

static struct owner_budgets budgets;

static int set_up(void **state _unused_)
{
	budgets = (struct owner_budgets){.limit_ns = LIMIT};
	return 0;
}

static int tear_down(void **state _unused_)
{
	owner_budgets_release(&budgets);
	return 0;
}

static bool spend(uid_t owner, uint64_t cpu_ns)
{
	return owner_budgets_charge(&budgets, owner, cpu_ns, 0);
}

static void an_owner_over_budget_loses_debug_information_and_then_names(void **state _unused_)
{
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_ALL);
	assert_false(spend(7, SHARE - 1));
	assert_false(spend(7, 1));
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_ALL);
	assert_true(spend(7, 1));
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_SYMBOLS);
	assert_int_equal(owner_budgets_get_caution(&budgets, 8), READ_ALL);
	/* Half as much for symbols. */
	assert_false(spend(7, SHARE / 2));
	assert_true(spend(7, 1));
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_NOTHING);
	assert_int_equal(owner_budgets_get_caution(&budgets, 8), READ_ALL);
}

static void faults_count_as_time(void **state _unused_)
{
	assert_false(owner_budgets_charge(&budgets, 7, 0, 2));
	assert_true(owner_budgets_charge(&budgets, 7, 0, 1));
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_SYMBOLS);
	/* The time before no longer counts, and neither do the faults. */
	assert_false(owner_budgets_charge(&budgets, 7, SHARE / 2, 2));
	assert_true(owner_budgets_charge(&budgets, 7, 0, 1));
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_NOTHING);
}

static void all_owners_have_thrice_as_much(void **state _unused_)
{
	for (uid_t owner = 1; owner <= 6; owner++)
		assert_false(spend(owner, SHARE / 2));
	assert_int_equal(owner_budgets_get_caution(&budgets, 1), READ_ALL);
	assert_true(spend(7, 1));
	assert_int_equal(owner_budgets_get_caution(&budgets, 1), READ_SYMBOLS);
	assert_int_equal(owner_budgets_get_caution(&budgets, 99), READ_SYMBOLS);
	for (uid_t owner = 11; owner < 19; owner++)
		assert_false(owner_budgets_charge(&budgets, owner, 0, 1));
	assert_true(owner_budgets_charge(&budgets, 19, 0, 1));
	assert_int_equal(owner_budgets_get_caution(&budgets, 99), READ_NOTHING);
	assert_false(spend(17, SHARE));
	assert_true(spend(17, 1)); /* its own */
	assert_int_equal(owner_budgets_get_caution(&budgets, 17), READ_NOTHING);
}

static void an_owner_without_names_costs_no_more(void **state _unused_)
{
	assert_true(spend(7, SHARE + 1));
	assert_true(spend(7, SHARE));
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_NOTHING);
	budgets.all = (struct owner_budget){0};
	assert_false(spend(7, SHARE));
	assert_int_equal(owner_budgets_get_caution(&budgets, 7), READ_NOTHING);
}

static void the_limit_is_halved_with_the_caution(void **state _unused_)
{
	assert_int_equal(owner_budgets_get_limit(&budgets, 7), SHARE);
	assert_true(spend(7, SHARE + 1));
	assert_int_equal(owner_budgets_get_limit(&budgets, 7), SHARE / 2);
	assert_int_equal(owner_budgets_get_limit(&budgets, 8), SHARE);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_owner_over_budget_loses_debug_information_and_then_names),
		TEST(faults_count_as_time),
		TEST(all_owners_have_thrice_as_much),
		TEST(an_owner_without_names_costs_no_more),
		TEST(the_limit_is_halved_with_the_caution),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
